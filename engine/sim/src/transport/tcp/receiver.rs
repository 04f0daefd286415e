//! The receiver of data: order, gaps, SACK blocks (RFC 2018, RFC 2883), timestamps, ECN marks (RFC 3168, RFC
//! 8257).

use super::handshake::Options;
use super::{Scope, Tcp};
use crate::{Codepoint, Flags, Packet, SackBlocks, Time};
use std::collections::VecDeque;

/// Data that arrived out of order: its sequence numbers, and the data sequence number of its first byte.
#[derive(Debug, Clone, Copy)]
struct Held {
    start: u64,
    end: u64,
    data_sequence: u64,
}

impl Held {
    /// Returns the segments of `bytes` bytes each that were coalesced in this data; the data itself if `bytes` is
    /// 0.
    fn segments(self, bytes: u64) -> impl Iterator<Item = Self> {
        let length = if bytes == 0 { self.end - self.start } else { bytes };
        let count = (self.end - self.start).div_ceil(length.max(1));
        (0..count).map(move |number| {
            let start = self.start + number * length;
            let end = (start + length).min(self.end);
            Self { start, end, data_sequence: self.data_sequence + number * length }
        })
    }
}

/// The state of a receiver.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Receiver {
    held: VecDeque<Held>,
    pub(super) held_bytes: u64,
    /// A duplicate to report (RFC 2883).
    duplicate: Option<(u64, u64)>,
    /// The sequence number of FIN.
    fin: Option<u64>,
    /// True if FIN and everything before it arrived.
    has_fin: bool,
    /// The next sequence number expected.
    pub(super) next: u64,
    timestamp: Time,
    recent_count: usize,
    /// The SACK blocks to report, the newest first.
    pub(super) recent: [(u64, u64); 4],
}

impl Default for Receiver {
    fn default() -> Self {
        Self {
            next: 0,
            held: VecDeque::new(),
            held_bytes: 0,
            recent: [(0, 0); 4],
            recent_count: 0,
            duplicate: None,
            fin: None,
            has_fin: false,
            timestamp: Time::NEVER,
        }
    }
}

impl Receiver {
    /// Begins with a SYN, after which data begins at the sequence number `next`.
    pub(super) fn begin(&mut self, next: u64) {
        self.next = next;
    }

    /// Returns the next sequence number expected.
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// Returns the timestamp to echo.
    pub(super) fn timestamp(&self) -> Time {
        self.timestamp
    }

    /// Returns whether FIN and everything before it arrived.
    pub(super) fn has_fin(&self) -> bool {
        self.has_fin
    }

    /// Returns whether data that arrived out of order waits for data before it.
    pub(super) fn has_gaps(&self) -> bool {
        !self.held.is_empty()
    }

    /// Returns the bytes of the SACK option to send now, with its padding.
    pub(super) fn sack_option_bytes(&self, options: &Options) -> u32 {
        let count = (self.recent_count + usize::from(self.duplicate.is_some())).min(options.sack_room());
        if count == 0 { 0 } else { 4 + 8 * count as u32 }
    }

    /// Returns the SACK blocks to send now.
    pub(super) fn blocks(&self, options: &Options) -> SackBlocks {
        let mut blocks = SackBlocks::default();
        let recent = self.recent[..self.recent_count].iter().copied();
        for (start, end) in self.duplicate.into_iter().chain(recent).take(options.sack_room()) {
            blocks.push(start, end);
        }
        blocks
    }

    /// Notes that the duplicate was reported; it is reported only once.
    pub(super) fn on_duplicate_reported(&mut self) {
        self.duplicate = None;
    }

    /// Returns the place in the list of the block that new data extends, or the number of blocks if it extends none.
    fn place(&self, new: Held) -> usize {
        let extends = |block: &(u64, u64)| block.0 <= new.end && new.start <= block.1;
        self.recent[..self.recent_count].iter().position(extends).unwrap_or(self.recent_count)
    }

    /// Puts a block at the front of the list, merged with the blocks that it touches (tcp_sack_new_ofo_skb).
    fn report(&mut self, mut block: (u64, u64)) {
        let mut kept = [(0, 0); 4];
        let mut count = 1;
        for &other in &self.recent[..self.recent_count] {
            if other.0 <= block.1 && block.0 <= other.1 {
                block = (block.0.min(other.0), block.1.max(other.1));
            } else if count < kept.len() {
                kept[count] = other;
                count += 1;
            }
        }
        kept[0] = block;
        (self.recent, self.recent_count) = (kept, count);
    }

    /// Removes blocks that are no longer out of order (tcp_sack_remove).
    fn forget_reported(&mut self) {
        let mut count = 0;
        for index in 0..self.recent_count {
            if self.recent[index].0 >= self.next && self.has_gaps() {
                self.recent[count] = self.recent[index];
                count += 1;
            }
        }
        self.recent_count = count;
    }

    /// Holds data that is out of order. Returns `false` if any of it is already held.
    fn hold(&mut self, new: Held) -> bool {
        let index = self.held.partition_point(|held| held.end <= new.start);
        if self.held.get(index).is_some_and(|held| held.start < new.end) {
            return false;
        }
        self.held_bytes += new.end - new.start;
        let joins = |before: &Held, after: &Held| {
            let length = before.end - before.start;
            before.end == after.start && before.data_sequence + length == after.data_sequence
        };
        let mut block = new;
        let after = self.held.get(index).copied().filter(|after| joins(&new, after));
        let before = index.checked_sub(1).filter(|&before| joins(&self.held[before], &new));
        if let Some(before) = before {
            self.held[before].end = after.map_or(new.end, |after| after.end);
            block = self.held[before];
            if after.is_some() {
                self.held.remove(index);
            }
        } else if let Some(after) = after {
            block.end = after.end;
            self.held[index] = block;
        } else {
            self.held.insert(index, new);
        }
        self.report((block.start, block.end));
        true
    }

    /// Returns the bytes of payload from `start` to `end`, without FIN.
    fn payload(&self, start: u64, end: u64) -> u64 {
        self.fin.map_or(end, |fin| end.min(fin)) - start
    }
}

impl Tcp {
    /// Updates the timestamp to echo from a packet (RFC 7323 section 4.3).
    pub(super) fn take_timestamp(&mut self, packet: &Packet) {
        let receiver = &mut self.receiver;
        let is_newer = receiver.timestamp == Time::NEVER || packet.timestamp >= receiver.timestamp;
        if packet.sequence <= self.acks.acked() && is_newer {
            receiver.timestamp = packet.timestamp;
        }
    }

    /// Processes the data and the FIN of a packet, and acknowledges them.
    pub(super) fn on_data(&mut self, packet: &Packet, scope: &mut Scope<'_>) {
        let end = packet.sequence + u64::from(packet.payload_bytes);
        let has_fin = packet.flags.has(Flags::FIN);
        if has_fin {
            self.receiver.fin = Some(end);
        }
        let new = Held {
            start: packet.sequence,
            end: end + u64::from(has_fin),
            data_sequence: packet.data_sequence,
        };
        if new.start == new.end {
            return;
        }
        self.take_marks(packet, scope);
        scope.stream.note_segment(packet);
        if new.end <= self.receiver.next {
            self.on_repeated(new, scope);
        } else if new.start <= self.receiver.next {
            self.on_next(new, packet, scope);
        } else {
            self.acks.schedule();
            let mut is_new = false;
            for segment in new.segments(packet.segment_bytes.into()) {
                if self.acks.has_held_back() && self.receiver.place(segment) >= BLOCKS_EXPECTED {
                    self.send_ack(scope);
                }
                if self.receiver.hold(segment) {
                    is_new = true;
                } else {
                    self.report_duplicate(segment);
                }
            }
            // Without SACK, a window that grows would hide a duplicate acknowledgment (tcp_data_queue_ofo).
            if is_new && self.options.has_sack && scope.stream.grow_window(packet, self.me.subflow) {
                self.acks.on_grown();
            }
        }
        scope.stream.set_held(self.me.subflow, self.receiver.held_bytes);
        self.acknowledge(scope);
    }

    /// Handles data that was received before.
    fn on_repeated(&mut self, data: Held, scope: &mut Scope<'_>) {
        self.report_duplicate(data);
        self.hasten_acks(None, scope);
        self.acks.demand();
    }

    fn report_duplicate(&mut self, data: Held) {
        self.receiver.duplicate = self.options.has_sack.then_some((data.start, data.end));
    }

    /// Handles data that is next in order, and any held data that follows it.
    fn on_next(&mut self, data: Held, packet: &Packet, scope: &mut Scope<'_>) {
        self.accept(data, scope);
        self.note_data(packet, scope);
        scope.stream.measure_round_trip(packet, scope.now, self.own);
        if packet.payload_bytes >= GROWS_FROM_BYTES && scope.stream.grow_window(packet, self.me.subflow) {
            self.acks.on_grown();
        }
        if self.receiver.has_gaps() {
            while let Some(held) = self.receiver.held.front().copied()
                && held.start <= self.receiver.next
            {
                self.receiver.held.pop_front();
                self.receiver.held_bytes -= held.end - held.start;
                self.accept(held, scope);
            }
            self.receiver.forget_reported();
            if !self.receiver.has_gaps() {
                self.acks.demand();
            }
        }
    }

    /// Hands data that is next in order to the stream.
    fn accept(&mut self, data: Held, scope: &mut Scope<'_>) {
        if data.end <= self.receiver.next {
            return;
        }
        let bytes = self.receiver.payload(data.start, data.end);
        scope.stream.receive(data.data_sequence, bytes);
        self.receiver.next = data.end;
        if self.receiver.fin.is_some_and(|fin| data.end > fin) {
            self.receiver.has_fin = true;
            scope.stream.on_fin();
            self.acks.demand();
        }
    }

    /// Processes the ECN mark of a packet, and the sender's CWR flag, which confirms that it reduced its window.
    fn take_marks(&mut self, packet: &Packet, scope: &mut Scope<'_>) {
        if !self.ecn.is_on {
            return;
        }
        let is_marked = packet.ecn == Codepoint::Experienced;
        if self.ecn.is_exact {
            // Packets with and without a mark are acknowledged separately (RFC 8257 figure 1).
            if is_marked != self.ecn.must_echo {
                if self.receiver.next > self.acks.acked() {
                    self.send_ack(scope);
                }
                self.acks.demand();
            }
            self.ecn.must_echo = is_marked;
            return;
        }
        if packet.flags.has(Flags::CWR) {
            self.ecn.must_echo = false;
        }
        if is_marked {
            if !self.ecn.must_echo {
                self.hasten_acks(Some(2), scope);
            }
            self.ecn.must_echo = true;
        }
    }
}

/// The number of SACK blocks that an acknowledgment is expected to carry: before data changes the list beyond them, the
/// acknowledgment that is held back is sent (TCP_SACK_BLOCKS_EXPECTED, tcp_sack_new_ofo_skb).
const BLOCKS_EXPECTED: usize = 2;

/// The smallest payload of a segment that widens the receive window (tcp_grow_window).
const GROWS_FROM_BYTES: u32 = 128;

#[cfg(test)]
mod tests {
    use super::*;

    fn held(start: u64, end: u64) -> Held {
        Held { start, end, data_sequence: start - 1 }
    }

    /// Only the segments of a GRO packet that were not held before are held: the second of three arrived earlier.
    #[test]
    fn what_is_new_in_a_joined_packet_is_held() {
        let mut receiver = Receiver::default();
        receiver.begin(1);
        assert!(receiver.hold(held(2001, 3001)));
        let segments = held(1001, 4001).segments(1000);
        assert_eq!(segments.map(|segment| receiver.hold(segment)).collect::<Vec<_>>(), [true, false, true]);
        assert_eq!((receiver.held.len(), receiver.held_bytes), (1, 3000));
        assert_eq!(receiver.recent[0], (1001, 4001));
    }

    #[test]
    fn a_joined_packet_is_its_segments_and_a_last_one_that_may_be_short() {
        let spans =
            |bytes| held(1, 2501).segments(bytes).map(|each| (each.start, each.end)).collect::<Vec<_>>();
        assert_eq!(spans(1000), [(1, 1001), (1001, 2001), (2001, 2501)]);
        assert_eq!(spans(0), [(1, 2501)], "as it was sent");
    }
}
