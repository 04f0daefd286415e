//! The frames that are in a medium, by the tags under which it knows them.

/// Frames in slots that are used again.
#[derive(Default)]
pub struct Frames {
    slots: Vec<Frame>,
    free: Vec<u32>,
}

/// A frame, behind its offload header.
#[derive(Debug, Clone, Default)]
pub struct Frame {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// The station that it is for.
    pub to: usize,
}

impl Frames {
    /// Takes a frame; gives its tag.
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

    /// The frame with this tag.
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

    /// Returns true if no frame is there.
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
