//! The frames in flight along a delay line, each with the time at which it leaves.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Frames in flight. Frames that keep their order are separate from those that are held back. Buffers are reused.
#[derive(Default)]
pub struct Hold {
    in_order: VecDeque<(u64, Vec<u8>)>,
    held_back: BinaryHeap<Reverse<(u64, u64, Vec<u8>)>>,
    spare: Vec<Vec<u8>>,
    latest_ns: u64,
    number: u64,
    bytes: usize,
}

impl Hold {
    /// Takes a frame that leaves at `due_ns`, or together with the frame before it if that one leaves later.
    pub fn push(&mut self, due_ns: u64, frame: &[u8]) {
        self.latest_ns = self.latest_ns.max(due_ns);
        let buffer = self.copy(frame);
        self.in_order.push_back((self.latest_ns, buffer));
    }

    /// Takes a frame that leaves at `due_ns` whatever leaves before it.
    pub fn push_held_back(&mut self, due_ns: u64, frame: &[u8]) {
        let buffer = self.copy(frame);
        self.number += 1;
        self.held_back.push(Reverse((due_ns, self.number, buffer)));
    }

    fn copy(&mut self, frame: &[u8]) -> Vec<u8> {
        let mut buffer = self.spare.pop().unwrap_or_default();
        buffer.clear();
        buffer.extend_from_slice(frame);
        self.bytes += frame.len();
        buffer
    }

    /// Returns the time at which the next frame leaves, if there is one.
    pub fn next_due_ns(&self) -> Option<u64> {
        let held_back = self.held_back.peek().map(|Reverse((due, ..))| *due);
        self.in_order.front().map(|(due, _)| *due).into_iter().chain(held_back).min()
    }

    /// Returns true if frames are in flight, and all of them are held back.
    pub fn is_held_back_only(&self) -> bool {
        self.in_order.is_empty() && !self.held_back.is_empty()
    }

    /// Returns the next frame that leaves by `now_ns`, with its time. The caller returns its buffer to
    /// [`Hold::recycle`].
    pub fn pop(&mut self, now_ns: u64) -> Option<(u64, Vec<u8>)> {
        let next = self.next_due_ns().filter(|due| *due <= now_ns)?;
        let frame = if self.in_order.front().is_some_and(|(due, _)| *due == next) {
            self.in_order.pop_front()?
        } else {
            let Reverse((due, _, frame)) = self.held_back.pop()?;
            (due, frame)
        };
        self.bytes -= frame.1.len();
        Some(frame)
    }

    /// Takes back the buffer of a frame that has left.
    pub fn recycle(&mut self, frame: Vec<u8>) {
        self.spare.push(frame);
    }

    /// Returns the number of bytes of the frames in flight.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(hold: &mut Hold, now_ns: u64) -> Vec<(u64, u8)> {
        std::iter::from_fn(|| hold.pop(now_ns)).map(|(due, frame)| (due, frame[0])).collect()
    }

    #[test]
    fn frames_keep_their_order_whatever_was_drawn_for_them() {
        let mut hold = Hold::default();
        for (due, name) in [(30, 1), (10, 2), (40, 3), (40, 4)] {
            hold.push(due, &[name]);
        }
        assert_eq!(hold.next_due_ns(), Some(30));
        assert_eq!(order(&mut hold, 29), []);
        assert_eq!(order(&mut hold, 30), [(30, 1), (30, 2)]);
        assert_eq!(order(&mut hold, 99), [(40, 3), (40, 4)]);
        assert_eq!((hold.next_due_ns(), hold.bytes()), (None, 0));
    }

    #[test]
    fn a_frame_held_back_is_overtaken_and_delays_no_other() {
        let mut hold = Hold::default();
        hold.push_held_back(50, &[1]);
        hold.push_held_back(50, &[2]);
        assert!(hold.is_held_back_only());
        hold.push(20, &[3]);
        assert!(!hold.is_held_back_only());
        hold.push(60, &[4]);
        assert_eq!(order(&mut hold, 99), [(20, 3), (50, 1), (50, 2), (60, 4)]);
    }
}
