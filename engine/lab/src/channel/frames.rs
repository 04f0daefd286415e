//! The frames in a medium, by the tags with which the medium identifies them.

/// Frames in slots that are reused.
#[derive(Default)]
pub struct Frames {
    slots: Vec<Frame>,
    free: Vec<u32>,
}

/// A frame, which follows an offload header.
#[derive(Debug, Clone, Default)]
pub struct Frame {
    /// The bytes of the header and the frame.
    pub bytes: Vec<u8>,
    /// The station for which the frame is.
    pub to: usize,
}

impl Frames {
    /// Stores a frame, and returns its tag.
    pub fn put(&mut self, bytes: &[u8], to: usize) -> u32 {
        let tag = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Frame::default());
            u32::try_from(self.slots.len() - 1).expect("a medium has fewer frames than 2^32")
        });
        let frame = &mut self.slots[tag as usize];
        frame.bytes.clear();
        frame.bytes.extend_from_slice(bytes);
        frame.to = to;
        tag
    }

    /// Returns the frame with this tag.
    pub fn get(&self, tag: u32) -> &Frame {
        &self.slots[tag as usize]
    }

    /// The frame with this tag, to be changed.
    pub fn get_mut(&mut self, tag: u32) -> &mut Frame {
        &mut self.slots[tag as usize]
    }

    /// Frees a tag.
    pub fn free(&mut self, tag: u32) {
        self.free.push(tag);
    }

    /// Returns true if there are no frames.
    pub fn is_empty(&self) -> bool {
        self.free.len() == self.slots.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_used_again_once_it_is_free() {
        let mut frames = Frames::default();
        let [first, second] = [frames.put(&[1], 4), frames.put(&[2, 2], 5)];
        assert_eq!((frames.get(second).bytes.as_slice(), frames.get(second).to), (&[2, 2][..], 5));
        frames.free(first);
        assert!(!frames.is_empty());
        assert_eq!(frames.put(&[3], 6), first);
        frames.free(first);
        frames.free(second);
        assert!(frames.is_empty());
    }
}
