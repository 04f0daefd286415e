//! The segments that were sent and are not yet acknowledged, and their states as the receiver reported them.
//!
//! Linux keeps two lists of the segments, ordered by sequence number and by send time (tcp_rtx_queue,
//! tsorted_sent_queue). The simulator keeps a ring ordered by sequence number, a cursor in it (first transmissions
//! are in order of time as well), and a queue of the retransmissions. Each step takes the same time, however many
//! segments there are.

use crate::Time;
use std::collections::VecDeque;

/// The mark of a segment that the receiver holds out of order.
pub const SACKED: u8 = 1;
/// The mark of a segment that is considered lost.
pub const LOST: u8 = 2;
/// The mark of a segment whose latest retransmission is considered to be in flight.
pub const RESENT: u8 = 4;
/// The mark of a segment that was ever retransmitted.
pub const EVER_RESENT: u8 = 8;
/// The mark of a segment that ends with FIN.
pub const FIN: u8 = 16;
/// The mark of a segment whose delivery was counted in a rate sample.
pub const SAMPLED: u8 = 32;
/// The mark of a segment with which a write ended.
pub const PUSHED: u8 = 64;

/// The number of segments for which a scoreboard keeps room that it does not need.
const SPARE: usize = 32;

/// The sender's state when a segment was last sent, for rate samples (tcp_rate_skb_sent).
#[derive(Debug, Clone, Copy, Default)]
pub struct Snapshot {
    /// The segments delivered by then.
    pub delivered_pkts: u64,
    /// The time at which the last of them was delivered.
    pub delivered_at: Time,
    /// The time at which the first segment of the sampled flight was sent.
    pub first_sent_at: Time,
    /// True if the application limited the rate.
    pub is_app_limited: bool,
}

/// A segment in flight, in one cache line.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub struct Segment {
    /// The sequence number of its first byte.
    pub sequence: u64,
    /// The data sequence number of its first byte.
    pub data_sequence: u64,
    /// The time at which it was last sent.
    pub sent_at: Time,
    /// The sender's state at that time.
    pub snapshot: Snapshot,
    /// The sequence numbers that it occupies: its bytes, and FIN if it has one.
    pub length: u32,
    /// Its marks: [`SACKED`] and so on.
    pub marks: u8,
}

impl Segment {
    /// Returns whether any of `marks` is set.
    pub fn has(&self, marks: u8) -> bool {
        self.marks & marks != 0
    }

    /// Returns the bytes of payload.
    pub fn payload_bytes(&self) -> u32 {
        self.length - u32::from(self.has(FIN))
    }

    /// Returns the sequence number after its last byte, and after FIN if it has one.
    pub fn end(&self) -> u64 {
        self.sequence + u64::from(self.length)
    }
}

/// All segments in flight. A segment's index counts from the first segment of the connection.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Scoreboard {
    /// The index of the first segment.
    pub(super) first: u64,
    /// The sequence number after the highest segment that is [`SACKED`], if any is.
    pub highest_sacked: u64,
    /// The number of times that a segment was marked lost (tp->lost).
    pub total_lost_pkts: u64,
    /// The index below which no first transmission can be found lost by its send time any more.
    original: u64,
    segments: VecDeque<Segment>,
    /// The number of segments marked [`SACKED`]; without SACK, the number of duplicate acknowledgments.
    pub sacked_pkts: u32,
    /// The number of segments marked [`LOST`].
    pub lost_pkts: u32,
    /// The number of segments marked [`RESENT`].
    pub resent_pkts: u32,
    /// The index below which no segment waits for retransmission.
    waiting: u64,
    /// The retransmissions in order of their send times: indices and times.
    resent: VecDeque<(u64, Time)>,
    /// SACK blocks of which all segments are known to be marked.
    pub(super) known: [(u64, u64); 4],
}

impl Scoreboard {
    /// Returns the number of segments that were sent and not acknowledged cumulatively.
    pub fn len(&self) -> u32 {
        self.segments.len() as u32
    }

    /// Returns whether there are no segments.
    pub fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// Returns the number of segments that are considered to be in the network (tcp_packets_in_flight).
    pub fn in_flight(&self) -> u32 {
        (self.len() + self.resent_pkts).saturating_sub(self.sacked_pkts + self.lost_pkts)
    }

    /// Returns the oldest segment.
    pub fn front(&self) -> Option<&Segment> {
        self.segments.front()
    }

    /// Returns the newest segment with its index.
    pub fn back(&self) -> Option<(u64, &Segment)> {
        self.segments.back().map(|segment| (self.first + self.segments.len() as u64 - 1, segment))
    }

    /// Returns all segments, the oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &Segment> {
        self.segments.iter()
    }

    /// Returns the index of the oldest segment.
    pub fn first(&self) -> u64 {
        self.first
    }

    /// Returns the segment of an index.
    pub fn get(&self, index: u64) -> Option<&Segment> {
        self.segments.get(usize::try_from(index.checked_sub(self.first)?).ok()?)
    }

    /// Returns the segment of an index, to be changed.
    pub fn get_mut(&mut self, index: u64) -> Option<&mut Segment> {
        self.segments.get_mut(usize::try_from(index.checked_sub(self.first)?).ok()?)
    }

    /// Adds a segment that is sent for the first time.
    pub fn push(&mut self, segment: Segment) {
        self.segments.push_back(segment);
    }

    /// Removes the oldest segment if `ack` acknowledges it, and corrects the counts of its marks.
    pub fn pop_acked(&mut self, ack: u64) -> Option<Segment> {
        let segment = *self.segments.front().filter(|segment| segment.end() <= ack)?;
        self.segments.pop_front();
        self.give_back();
        self.first += 1;
        self.resent_pkts -= u32::from(segment.has(RESENT));
        self.lost_pkts -= u32::from(segment.has(LOST));
        Some(segment)
    }

    /// Halves the ring if three quarters of it are empty, as after slow start: segments pass through all of it, so it
    /// takes room in the CPU's cache.
    fn give_back(&mut self) {
        let capacity = self.segments.capacity();
        if capacity > SPARE && self.segments.len() <= capacity / 4 {
            self.segments.shrink_to(capacity / 2);
        }
    }

    /// Marks a segment as retransmitted now. A tail loss probe (`is_probe`) repairs no loss, and is not counted as
    /// the retransmission of one (__tcp_retransmit_skb).
    pub fn mark_resent(&mut self, index: u64, is_probe: bool, now: Time, snapshot: Snapshot) {
        let Some(segment) = self.get_mut(index) else { return };
        let is_more = !is_probe && !segment.has(RESENT);
        let mark = if is_probe { 0 } else { RESENT };
        segment.marks = (segment.marks | mark | EVER_RESENT) & !SAMPLED;
        segment.sent_at = now;
        segment.snapshot = snapshot;
        self.resent_pkts += u32::from(is_more);
        while self.resent.front().is_some_and(|&(index, _)| index < self.first) {
            self.resent.pop_front();
        }
        self.resent.push_back((index, now));
    }

    /// Marks a segment as lost (tcp_mark_skb_lost). A segment whose retransmission was in flight is marked lost
    /// again. Returns whether anything changed.
    pub fn mark_lost(&mut self, index: u64) -> bool {
        let Some(segment) = self.get_mut(index).filter(|segment| !segment.has(SACKED)) else { return false };
        let was = segment.marks;
        segment.marks = (was | LOST) & if was & LOST != 0 { !RESENT } else { !0 };
        let again = was & LOST != 0;
        if again && was & RESENT == 0 {
            return false;
        }
        if again {
            self.resent_pkts -= 1;
        } else {
            self.lost_pkts += 1;
        }
        self.total_lost_pkts += 1;
        self.waiting = self.waiting.min(index);
        true
    }

    /// Marks all segments with more than `most` bytes as lost (tcp_simple_retransmit).
    pub fn mark_larger_lost(&mut self, most: u32) {
        for index in self.first..self.first + self.segments.len() as u64 {
            if self.get(index).is_some_and(|segment| segment.payload_bytes() > most) {
                self.mark_lost(index);
            }
        }
    }

    /// Divides a segment into parts of at most `most` bytes, each of which has its state; only the last one ends a write
    /// or has FIN (tcp_fragment). Returns the number of segments that are added, by which the indices of those after it
    /// grow.
    pub fn divide(&mut self, index: u64, most: u32) -> u32 {
        let Some(&whole) = self.get(index) else { return 0 };
        let added = whole.payload_bytes().div_ceil(most).saturating_sub(1);
        if added == 0 {
            return 0;
        }
        let position = (index - self.first) as usize;
        for part in 0..=added {
            let (before, is_last) = (part * most, part == added);
            let segment = Segment {
                sequence: whole.sequence + u64::from(before),
                data_sequence: whole.data_sequence + u64::from(before),
                length: if is_last { whole.length - before } else { most },
                marks: if is_last { whole.marks } else { whole.marks & !(FIN | PUSHED) },
                ..whole
            };
            if part == 0 {
                self.segments[position] = segment;
            } else {
                self.segments.insert(position + part as usize, segment);
            }
        }
        for (mark, count) in
            [(SACKED, &mut self.sacked_pkts), (LOST, &mut self.lost_pkts), (RESENT, &mut self.resent_pkts)]
        {
            *count += if whole.has(mark) { added } else { 0 };
        }
        self.shift_indices(index, u64::from(added));
        added
    }

    /// Notes that the segment of an index has become `added` more.
    fn shift_indices(&mut self, divided: u64, added: u64) {
        for cursor in [&mut self.original, &mut self.waiting] {
            *cursor += if *cursor > divided { added } else { 0 };
        }
        let shifted = self.resent.drain(..).flat_map(|(index, at)| {
            let first = index + if index > divided { added } else { 0 };
            let last = index + if index >= divided { added } else { 0 };
            (first..=last).map(move |index| (index, at))
        });
        self.resent = shifted.collect();
    }

    /// Removes the marks of all lost segments (tcp_undo_cwnd_reduction).
    pub fn clear_lost(&mut self) {
        for segment in &mut self.segments {
            segment.marks &= !LOST;
        }
        self.lost_pkts = 0;
        self.waiting = self.first;
    }

    /// Returns the index of the next segment that waits for retransmission, if any.
    pub fn next_waiting(&mut self) -> Option<u64> {
        if self.resent_pkts >= self.lost_pkts {
            return None;
        }
        self.waiting = self.waiting.max(self.first);
        while let Some(segment) = self.get(self.waiting) {
            if segment.has(LOST) && !segment.has(SACKED | RESENT) {
                return Some(self.waiting);
            }
            self.waiting += 1;
        }
        None
    }

    /// Marks the segments of a block as [`SACKED`], and hands each newly marked one in its previous state to
    /// `newly`, together with [`Self::highest_sacked`] before it.
    pub fn sack(&mut self, block: (u64, u64), mut newly: impl FnMut(&Segment, u64)) {
        let (start, end) = self.without_known(block);
        if start == end {
            return;
        }
        let mut index = self.index_of(start);
        while let Some(position) = index.checked_sub(self.first)
            && let Some(segment) = self.segments.get_mut(position as usize)
            && segment.end() <= end
        {
            if segment.sequence >= start && !segment.has(SACKED) {
                let before = *segment;
                segment.marks |= SACKED | SAMPLED;
                if before.has(LOST) {
                    segment.marks &= !(LOST | RESENT);
                    self.lost_pkts -= 1;
                    self.resent_pkts -= u32::from(before.has(RESENT));
                }
                if self.sacked_pkts == 0 {
                    self.highest_sacked = 0;
                }
                self.sacked_pkts += 1;
                newly(&before, self.highest_sacked);
                self.highest_sacked = self.highest_sacked.max(before.end());
            }
            index += 1;
        }
    }

    /// Remembers the blocks of an acknowledgment, of which all segments are now marked.
    pub fn remember(&mut self, blocks: &[(u64, u64)]) {
        self.known = [(0, 0); 4];
        for (known, block) in self.known.iter_mut().zip(blocks) {
            *known = *block;
        }
    }

    /// Returns the part of a block that remains when its ends are cut by the blocks of the previous
    /// acknowledgment.
    fn without_known(&self, (mut start, mut end): (u64, u64)) -> (u64, u64) {
        for _ in 0..2 {
            for &(known_start, known_end) in &self.known {
                if known_start <= start && start < known_end {
                    start = known_end;
                }
                if known_start < end && end <= known_end {
                    end = known_start;
                }
            }
        }
        (start, end.max(start))
    }

    /// Returns the index of the first segment that ends above `sequence`.
    pub fn index_of(&self, sequence: u64) -> u64 {
        let guess = self.guess(sequence);
        let position = guess
            .unwrap_or_else(|| self.segments.partition_point(|segment| segment.end() <= sequence) as u64);
        self.first + position
    }

    /// Returns the position of the segment with that sequence number, if all segments before it are as long as the
    /// first one, which is common: a search would read many segments.
    fn guess(&self, sequence: u64) -> Option<u64> {
        let first = self.segments.front()?;
        let position = sequence.checked_sub(first.sequence)? / u64::from(first.length).max(1);
        let segment = self.segments.get(usize::try_from(position).ok()?)?;
        (segment.sequence <= sequence && sequence < segment.end()).then_some(position)
    }

    /// Returns the index of the earliest first transmission that is not known to be delivered or lost.
    pub fn oldest_original(&mut self) -> Option<u64> {
        self.original = self.original.max(self.first);
        while self.get(self.original)?.has(SACKED | LOST | EVER_RESENT) {
            self.original += 1;
        }
        Some(self.original)
    }

    /// Returns the index of the earliest retransmission that is not known to be delivered or lost.
    pub fn oldest_resent(&mut self) -> Option<u64> {
        while let Some(&(index, sent_at)) = self.resent.front() {
            let is_out = |segment: &Segment| {
                segment.sent_at == sent_at
                    && !segment.has(SACKED)
                    && (segment.has(RESENT) || !segment.has(LOST))
            };
            if self.get(index).is_some_and(is_out) {
                return Some(index);
            }
            self.resent.pop_front();
        }
        None
    }

    /// Handles the report of a duplicate: retransmissions within its block are no longer considered to be in
    /// flight. Returns the number of segments of the block that had ever been retransmitted, and the sequence
    /// number of the first of them that had been SACKed, too.
    pub fn on_duplicate(&mut self, (start, end): (u64, u64)) -> (u32, Option<u64>) {
        let mut index = self.index_of(start);
        let (mut count, mut late) = (0, None);
        while let Some(segment) = self.get_mut(index)
            && segment.end() <= end
        {
            if segment.has(EVER_RESENT) {
                count += 1;
                late = late.or(segment.has(SACKED).then_some(segment.sequence));
            }
            if segment.has(RESENT) && segment.has(SACKED) {
                segment.marks &= !RESENT;
                self.resent_pkts -= 1;
            }
            index += 1;
        }
        (count, late)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(lengths: &[u32]) -> Scoreboard {
        let mut board = Scoreboard::default();
        let mut sequence = 1;
        for &length in lengths {
            let (sent_at, snapshot) = (Time::ZERO, Snapshot::default());
            board.push(Segment { sequence, data_sequence: 0, sent_at, snapshot, length, marks: 0 });
            sequence += u64::from(length);
        }
        board
    }

    #[test]
    fn a_segment_is_found_by_its_sequence_numbers_whatever_the_lengths_of_others() {
        for lengths in [[100; 5], [100, 100, 10, 100, 1], [10, 100, 100, 1, 100]] {
            let mut board = with(&lengths);
            assert!(board.pop_acked(1 + u64::from(lengths[0])).is_some());
            for sequence in 0..600 {
                let found = board.iter().take_while(|segment| segment.end() <= sequence).count();
                assert_eq!(board.index_of(sequence), 1 + found as u64, "{sequence} of {lengths:?}");
            }
        }
    }

    /// Linux counts segments by their size: 3 of 40 bytes at most for 100, 2 for 41 (tcp_skb_pcount).
    #[test]
    fn the_parts_of_a_divided_segment_have_its_state_and_those_after_it_keep_theirs() {
        let mut board = with(&[100, 100, 41]);
        board.get_mut(1).unwrap().marks |= PUSHED;
        (0..3).for_each(|index| assert!(board.mark_lost(index)));
        board.mark_resent(2, false, Time(7), Snapshot::default());
        assert_eq!((board.divide(0, 100), board.divide(1, 40), board.in_flight()), (0, 2, 1));
        let parts: Vec<_> = board.iter().map(|part| (part.sequence, part.length, part.has(PUSHED))).collect();
        assert_eq!(
            parts,
            [(1, 100, false), (101, 40, false), (141, 40, false), (181, 20, true), (201, 41, false)]
        );
        assert_eq!((board.lost_pkts, board.resent_pkts, board.total_lost_pkts), (5, 1, 3));
        assert_eq!(board.oldest_resent(), Some(4));
        assert_eq!((board.divide(4, 40), board.resent_pkts, board.oldest_resent()), (1, 2, Some(4)));
        assert_eq!(board.next_waiting(), Some(0));
        let data: Vec<_> = board.iter().map(|part| part.data_sequence).collect();
        assert_eq!(data, [0, 0, 40, 80, 0, 40]);
        board.mark_larger_lost(40);
        assert_eq!(board.total_lost_pkts, 3, "it is lost already");
    }

    #[test]
    fn the_room_of_many_segments_is_given_back_and_those_left_are_the_same() {
        let mut board = with(&[100; 1000]);
        let most = board.segments.capacity();
        while board.pop_acked(99_501).is_some() {}
        let sequences: Vec<_> = board.iter().map(|segment| segment.sequence).collect();
        assert_eq!(sequences, [99_501, 99_601, 99_701, 99_801, 99_901]);
        assert!(board.segments.capacity() <= most / 16, "{} of {most}", board.segments.capacity());
    }
}
