//! The data that one side of a connection sends and receives: that of the single subflow of TCP, or of all
//! subflows of MPTCP (RFC 8684 section 3.3). Offsets count bytes of data from 0.

use super::window::{ReceiveWindow, Segments, buffer_of};
use crate::ahead::read_ahead;
use crate::{Io, Notice, Packet, Time};
use nettrial_scenario::{Size, Stack};
use std::collections::VecDeque;

/// The memory of a segment for which a send buffer makes room, beyond its payload: MAX_TCP_HEADER and skb_shared_info,
/// rounded up to a power of two, and sk_buff (tcp_sndbuf_expand on x86-64 in the kernel in virtual time). In kernels that are
/// configured for radios or Hyper-V, too, MAX_TCP_HEADER is 320, so that with an MTU of 1500 bytes a buffer has twice the
/// room.
const HEADROOM_BYTES: u64 = 256 + 320;
const SK_BUFF_BYTES: u64 = 256;

/// The pieces in which a send buffer holds data, and which its size counts (sk_wmem_queued).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pieces {
    /// The most payload of one.
    pub(crate) most_bytes: u64,
    /// Its memory in addition to its payload.
    pub(crate) overhead_bytes: u64,
}

impl Default for Pieces {
    fn default() -> Self {
        Self { most_bytes: 1, overhead_bytes: 0 }
    }
}

/// A piece of data to send.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chunk {
    /// The data sequence number of its first byte.
    pub(crate) data_sequence: u64,
    /// Its bytes.
    pub(crate) bytes: u32,
    /// True if FIN can be sent with it.
    pub(crate) is_last: bool,
    /// True if it ends a write, which its segment tells by PSH.
    pub(crate) is_pushed: bool,
}

/// The data of one side.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct Stream {
    is_mptcp: bool,
    written: u64,
    /// The first offset that was never sent, the first that is not acknowledged, and the end of the other side's
    /// window.
    next: u64,
    una: u64,
    window_end: u64,
    buffer_bytes: u64,
    buffer_maximum_bytes: u64,
    is_full: bool,
    /// True if the last write ran out of room.
    is_within_write: bool,
    is_closing: bool,
    /// The ends of unsent segments that are pushed, the last of all pushed ones (pushed_seq), and the largest window of
    /// the other side (max_window).
    pushes: VecDeque<u64>,
    pushed: u64,
    /// The segments of data that were sent and are not acknowledged.
    sent_pieces: u64,
    largest_window_bytes: u64,
    /// The next offset expected, the ranges held above it (start and end, in order), and their total size.
    received: u64,
    held: VecDeque<(u64, u64)>,
    held_bytes: u64,
    /// The bytes that each subflow holds out of its own order.
    subflows_hold: [u64; 8],
    window: ReceiveWindow,
    mss_bytes: u32,
    pieces: Pieces,
    /// The memory for a segment (see [`Self::expand_buffer`]).
    segment_memory_bytes: u64,
    /// The bytes of which the application was notified.
    notified: u64,
    /// The time until which received data counts in `counted`.
    counts_until: Time,
    uncounted: u64,
    counted: u64,
    /// The largest window that each subflow may announce, if they do not share it (rcv_ssthresh).
    thresholds: Option<Box<[u64; 8]>>,
    /// True if the application is notified of new data.
    is_watched: bool,
    has_fin: bool,
    told_closed: bool,
}

read_ahead!(
    Stream: una,
    is_closing,
    received,
    subflows_hold,
    window.buffer_bytes,
    window.segment_bytes,
    window.edge,
    window.round_trips,
    window.window_began_at,
    window.last_echo,
    mss_bytes,
    notified,
);

impl Stream {
    /// Creates the data of a side before anything is sent.
    pub(crate) fn new(
        is_mptcp: bool,
        stack: &Stack,
        window: Option<Size>,
        has_scaling: bool,
        mss_bytes: u32,
        segments: Segments,
        pieces: Pieces,
    ) -> Self {
        let (buffer_bytes, buffer_maximum_bytes) = match window {
            Some(window) => (buffer_of(window.0), buffer_of(window.0)),
            None => (stack.send_buffer.initial.0, stack.send_buffer.maximum.0),
        };
        Self {
            is_mptcp,
            written: 0,
            next: 0,
            una: 0,
            window_end: 0,
            buffer_bytes,
            buffer_maximum_bytes,
            is_full: false,
            is_within_write: false,
            is_closing: false,
            pushes: VecDeque::new(),
            pushed: 0,
            sent_pieces: 0,
            largest_window_bytes: 0,
            received: 0,
            held: VecDeque::new(),
            held_bytes: 0,
            subflows_hold: [0; 8],
            window: ReceiveWindow::new(stack, window, has_scaling, segments),
            mss_bytes,
            pieces,
            segment_memory_bytes: (segments.announced_bytes + HEADROOM_BYTES).next_power_of_two()
                + SK_BUFF_BYTES,
            notified: 0,
            counts_until: Time::ZERO,
            uncounted: 0,
            counted: 0,
            thresholds: None,
            is_watched: true,
            has_fin: false,
            told_closed: false,
        }
    }

    /// Adds data written by the application; returns the number of bytes that the buffer accepted.
    pub(crate) fn write(&mut self, bytes: u64) -> u64 {
        let taken = bytes.min(self.room());
        self.mark_pushes(taken);
        self.written += taken;
        self.is_full = taken < bytes;
        self.is_within_write = self.is_full;
        taken
    }

    /// Returns whether the buffer has any room.
    pub(crate) fn has_room(&self) -> bool {
        self.memory_bytes() < self.buffer_bytes
    }

    /// Adds that much data written by the application.
    pub(crate) fn append(&mut self, bytes: u64) {
        self.written += bytes;
    }

    /// Notes whether the application has more to write than there was room for.
    pub(crate) fn end_write(&mut self, is_full: bool) {
        self.is_full = is_full;
        self.is_within_write = is_full;
    }

    /// Returns the end of the data that the application has written.
    pub(crate) fn written(&self) -> u64 {
        self.written
    }

    /// Returns the first offset that was never assigned or sent, and the end of the other side's window.
    pub(crate) fn next_and_window_end(&self) -> (u64, u64) {
        (self.next, self.window_end)
    }

    /// Notes that all data before `end` was assigned to subflows.
    pub(crate) fn assign_until(&mut self, end: u64) {
        self.next = self.next.max(end);
    }

    /// Returns the buffer for that many segments of a subflow (tcp_sndbuf_expand).
    pub(crate) fn buffer_for(&self, segments: u64) -> u64 {
        (segments * self.segment_memory_bytes).min(self.buffer_maximum_bytes)
    }

    /// Sets the size of the buffer.
    pub(crate) fn set_buffer(&mut self, bytes: u64) {
        self.buffer_bytes = bytes;
    }

    /// Returns the bytes for which the buffer has room: the last unsent piece is filled, and others are begun as long as
    /// there is any room (sk_stream_memory_free).
    fn room(&self) -> u64 {
        let Pieces { most_bytes, overhead_bytes } = self.pieces;
        let unsent = self.unsent_bytes();
        let tail = unsent.next_multiple_of(most_bytes) - unsent;
        let free = self.buffer_bytes.saturating_sub(self.memory_bytes() + tail);
        tail + free.div_ceil(most_bytes + overhead_bytes) * most_bytes
    }

    /// Returns the memory of all that is not acknowledged (sk_wmem_queued).
    fn memory_bytes(&self) -> u64 {
        let pieces = self.sent_pieces + self.unsent_bytes().div_ceil(self.pieces.most_bytes);
        self.written - self.una + pieces * self.pieces.overhead_bytes
    }

    /// Notes that a segment of data was acknowledged.
    pub(crate) fn release_piece(&mut self) {
        self.sent_pieces = self.sent_pieces.saturating_sub(1);
    }

    /// Notes that segments of data that were sent were divided into `added` more.
    pub(crate) fn add_pieces(&mut self, added: u32) {
        self.sent_pieces += u64::from(added);
    }

    /// Gives new segments another size.
    pub(crate) fn resize_segments(&mut self, mss_bytes: u32, pieces: Pieces) {
        self.mss_bytes = mss_bytes;
        self.pieces = pieces;
    }

    /// Marks the ends of segments that are pushed while `taken` bytes are written: after each half of the other side's
    /// largest window (forced_push), and at the end, unless a later write adds to the last segment before it is sent
    /// (tcp_push). Segments of bursts are not pushed, and those of MPTCP not by this.
    fn mark_pushes(&mut self, taken: u64) {
        if self.pieces.overhead_bytes == 0 || taken == 0 {
            return;
        }
        let (end, piece) = (self.written + taken, self.pieces.most_bytes);
        if self
            .pushes
            .back()
            .is_some_and(|&last| last > self.next && !(last - self.next).is_multiple_of(piece))
        {
            self.pushes.pop_back();
        }
        let half = if self.largest_window_bytes > 0 { self.largest_window_bytes / 2 } else { taken };
        loop {
            let after = (self.pushed + half + 1).saturating_sub(self.next);
            let forced = self.next + after.next_multiple_of(piece);
            if forced >= end {
                break;
            }
            self.pushes.push_back(forced);
            self.pushed = forced;
        }
        self.pushes.push_back(end);
        self.pushed = end;
    }

    /// Notes that the application has written all of its data.
    pub(crate) fn close(&mut self) {
        self.is_closing = true;
    }

    /// Returns whether the application was told that the other side has closed.
    pub(crate) fn is_closed(&self) -> bool {
        self.told_closed
    }

    /// Returns whether the next write goes on with one that ran out of room: one call of Linux's `sendmsg`.
    pub(crate) fn is_within_write(&self) -> bool {
        self.is_within_write
    }

    /// Returns whether the application is waiting for room.
    pub(crate) fn is_full(&self) -> bool {
        self.is_full
    }

    /// Makes room for that many segments of all subflows (tcp_sndbuf_expand).
    pub(crate) fn expand_buffer(&mut self, segments: u64) {
        let wanted = (segments * self.segment_memory_bytes).min(self.buffer_maximum_bytes);
        self.buffer_bytes = self.buffer_bytes.max(wanted);
    }

    /// Returns whether the application, which ran out of room, is to be notified that a third of the buffer is
    /// free (sk_stream_is_writeable).
    pub(crate) fn becomes_writable(&mut self) -> bool {
        if !self.is_full {
            return false;
        }
        let queued = self.memory_bytes();
        let is_writable = self.buffer_bytes.saturating_sub(queued) >= queued / 2;
        self.is_full = !is_writable;
        is_writable
    }

    /// Returns the next new data, up to `most` bytes, if the window has room for all of it.
    pub(crate) fn peek(&self, most: u32) -> Option<Chunk> {
        let bytes = (self.written - self.next).min(u64::from(self.bounded(most)));
        let fits = bytes > 0 && self.next + bytes <= self.window_end;
        fits.then(|| self.ahead(bytes as u32))
    }

    /// Returns that many bytes of the next new data, of which there are as many.
    pub(crate) fn ahead(&self, bytes: u32) -> Chunk {
        let end = self.next + u64::from(bytes);
        Chunk {
            data_sequence: self.next,
            bytes,
            is_last: !self.is_mptcp && self.is_closing && end == self.written,
            is_pushed: self.is_pushed(end),
        }
    }

    /// Returns the data that fits into a window too small for a segment, once nothing is in flight
    /// (tcp_write_wakeup).
    pub(crate) fn peek_probe(&self) -> Option<Chunk> {
        let bytes = (self.written - self.next).min(self.window_end.saturating_sub(self.next));
        let most = u32::try_from(bytes).unwrap_or(u32::MAX).min(self.mss_bytes);
        self.peek(most)
    }

    /// Limits a segment to half of the window (tcp_bound_to_half_wnd).
    fn bounded(&self, most: u32) -> u32 {
        let window = self.window_end.saturating_sub(self.una);
        let half = if window > 536 { window / 2 } else { window };
        most.min(u32::try_from(half.max(48)).unwrap_or(u32::MAX))
    }

    /// Returns whether a segment that ends there is pushed: it has the end of a write.
    fn is_pushed(&self, end: u64) -> bool {
        self.pushes.front().is_some_and(|&push| push <= end)
    }

    /// Notes that the data of [`Self::peek`] was sent.
    pub(crate) fn take(&mut self, bytes: u32) {
        self.next += u64::from(bytes);
        self.sent_pieces += 1;
        while self.is_pushed(self.next) {
            self.pushes.pop_front();
        }
    }

    /// Returns whether there is new data for which the window has room.
    pub(crate) fn has_sendable(&self) -> bool {
        self.peek(1).is_some()
    }

    /// Returns whether there is unsent data.
    pub(crate) fn has_unsent(&self) -> bool {
        self.written > self.next
    }

    /// Returns the amount of unsent data.
    pub(crate) fn unsent_bytes(&self) -> u64 {
        self.written - self.next
    }

    /// Returns the remaining room in the other side's window.
    pub(crate) fn window_left(&self) -> u64 {
        self.window_end.saturating_sub(self.next)
    }

    /// Returns the size of the other side's window (snd_wnd).
    pub(crate) fn send_window(&self) -> u64 {
        self.window_end.saturating_sub(self.una)
    }

    /// Returns whether the application has written all of its data.
    pub(crate) fn is_closing(&self) -> bool {
        self.is_closing
    }

    /// Returns whether FIN can be sent: all data is sent and, with MPTCP, acknowledged, so that no other subflow
    /// has to retransmit it.
    pub(crate) fn is_fin_due(&self) -> bool {
        self.is_closing && self.written == if self.is_mptcp { self.una } else { self.next }
    }

    /// Returns the first offset that is not acknowledged.
    pub(crate) fn una(&self) -> u64 {
        self.una
    }

    /// Sets the other side's initial window.
    pub(crate) fn open_window(&mut self, bytes: u64) {
        self.window_end = bytes;
        self.largest_window_bytes = bytes;
    }

    /// Handles an acknowledgment of data with its window; returns whether only the end of the window moved.
    pub(crate) fn on_data_ack(&mut self, acked: u64, window_bytes: u64) -> bool {
        let is_new = acked > self.una;
        self.una = self.una.max(acked.min(self.next));
        self.largest_window_bytes = self.largest_window_bytes.max(window_bytes);
        let has_moved = acked.saturating_add(window_bytes) > self.window_end;
        self.window_end = self.window_end.max(acked.saturating_add(window_bytes));
        has_moved && !is_new
    }

    /// Returns the next offset expected.
    pub(crate) fn received(&self) -> u64 {
        self.received
    }

    /// Returns the window to announce.
    pub(crate) fn advertise(&mut self, subflow: u8) -> u64 {
        let (held, received) = (self.held(), self.received);
        self.of_subflow(subflow, |window| window.announce(received, held))
    }

    /// Gives each subflow its own limit of the window.
    pub(crate) fn divide_threshold(&mut self) {
        self.thresholds = Some(Box::new([self.window.threshold_bytes; 8]));
    }

    /// Does something with the window of a subflow.
    fn of_subflow<R>(&mut self, subflow: u8, what: impl FnOnce(&mut ReceiveWindow) -> R) -> R {
        let Some(thresholds) = &mut self.thresholds else { return what(&mut self.window) };
        let threshold = &mut thresholds[usize::from(subflow)];
        self.window.threshold_bytes = *threshold;
        let result = what(&mut self.window);
        *threshold = self.window.threshold_bytes;
        result
    }

    /// Returns the bytes that are out of order, of the data and of all subflows.
    fn held(&self) -> u64 {
        self.held_bytes + self.subflows_hold.iter().sum::<u64>()
    }

    /// Returns the window to announce in a SYN or its answer.
    pub(crate) fn advertise_first(&mut self) -> u64 {
        self.window.announce_first()
    }

    /// Notes that the connection is open.
    pub(crate) fn begin(&mut self, now: Time) {
        self.window.begin(now);
        if let Some(thresholds) = &mut self.thresholds {
            thresholds.fill(self.window.threshold_bytes);
        }
    }

    /// Returns the last announced window.
    pub(crate) fn window_bytes(&self) -> u64 {
        self.window.announced(self.received)
    }

    /// Sets the number of bytes that a subflow holds.
    pub(crate) fn set_held(&mut self, subflow: u8, bytes: u64) {
        self.subflows_hold[usize::from(subflow)] = bytes;
    }

    /// Notes the size of a packet of data, in order or not.
    pub(crate) fn note_segment(&mut self, packet: &Packet) {
        self.window.note_segment(packet.segment());
    }

    /// Lets the window grow when a packet's data has arrived in order on its subflow.
    /// Returns whether it may grow.
    pub(crate) fn grow_window(&mut self, packet: &Packet, subflow: u8) -> bool {
        let held = self.held();
        self.of_subflow(subflow, |window| window.grow(packet, held))
    }

    /// Returns the round-trip time that a subflow's receiver has measured; zero before the first sample.
    pub(crate) fn measured_round_trip(&self, subflow: usize) -> Time {
        self.window.round_trips[if self.is_mptcp { subflow.min(7) } else { 0 }]
    }

    /// Takes samples of the round-trip time from a packet of data.
    pub(crate) fn measure_round_trip(&mut self, packet: &Packet, now: Time, subflow: usize) {
        let subflow = self.is_mptcp.then_some(subflow);
        self.window.measure(packet, now, subflow, self.received);
    }

    /// Receives data that is in order on its subflow.
    pub(crate) fn receive(&mut self, data_sequence: u64, bytes: u64) {
        let end = data_sequence + bytes;
        if end <= self.received {
            return;
        }
        if data_sequence > self.received {
            self.hold(data_sequence, end);
            return;
        }
        self.received = end;
        while let Some(&(start, end)) = self.held.front()
            && start <= self.received
        {
            self.held.pop_front();
            self.held_bytes -= end - start;
            self.received = self.received.max(end);
        }
    }

    /// Holds data above the expected offset, merged with adjacent ranges.
    fn hold(&mut self, mut start: u64, mut end: u64) {
        let first = self.held.partition_point(|held| held.1 < start);
        while let Some(&held) = self.held.get(first).filter(|held| held.0 <= end) {
            start = start.min(held.0);
            end = end.max(held.1);
            self.held_bytes -= held.1 - held.0;
            self.held.remove(first);
        }
        self.held.insert(first, (start, end));
        self.held_bytes += end - start;
    }

    /// Stops notices of new data.
    pub(crate) fn unwatch(&mut self) {
        self.is_watched = false;
    }

    /// Lets data that is received until that time count in [`Self::counted`], except its first `uncounted` bytes.
    pub(crate) fn count_until(&mut self, until: Time, uncounted: u64) {
        self.counts_until = until;
        self.uncounted = uncounted;
    }

    /// Returns the number of bytes that were received until the time of [`Self::count_until`].
    pub(crate) fn counted(&self) -> u64 {
        self.counted
    }

    /// Notes that the other side has closed, after all of its data has arrived.
    pub(crate) fn on_fin(&mut self) {
        self.has_fin = true;
    }

    /// Notifies the application of new data, and sizes the buffer by the amount that it has read.
    pub(crate) fn tell(&mut self, connection: u32, side: u8, io: &mut dyn Io) {
        if self.received > self.notified {
            self.notified = self.received;
            if io.now() <= self.counts_until {
                self.counted = self.received.saturating_sub(self.uncounted);
            }
            self.window.adjust(self.received, io.now());
            if self.is_watched {
                io.tell(Notice::Readable { connection, side, total_bytes: self.received });
            }
        }
        if self.has_fin && !self.told_closed {
            self.told_closed = true;
            io.tell(Notice::Closed { connection, side });
        }
        if self.becomes_writable() {
            io.tell(Notice::Writable { connection, side });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(pieces: Pieces) -> Stream {
        let stack = crate::transport::connection::tests::stack("reno");
        let segments = Segments { announced_bytes: 1460, open_bytes: 1448, quantum_bytes: 1448 };
        let mut stream = Stream::new(false, &stack, None, true, 1448, segments, pieces);
        stream.open_window(1 << 30);
        stream
    }

    /// A segment of 1448 bytes counts 2344 in a buffer of 16,384: six fit, and the seventh is begun as long as there is
    /// any room. Three of them have to be acknowledged until a third is free, because half of what is queued decides
    /// (sk_stream_is_writeable).
    #[test]
    fn a_send_buffer_counts_memory_and_wakes_at_a_third() {
        let mut stream = stream(Pieces { most_bytes: 1448, overhead_bytes: 896 });
        assert_eq!(stream.write(1 << 20), 7 * 1448);
        (0..7).for_each(|_| stream.take(1448));
        stream.release_piece();
        for (acked, is_writable) in [(2, false), (3, true)] {
            stream.release_piece();
            stream.on_data_ack(acked * 1448, 1 << 30);
            assert_eq!(stream.becomes_writable(), is_writable, "{acked}");
        }
    }

    /// A short segment takes 896 bytes, too, and whole ones follow it, as in a capture of Linux: 17 bytes leave, and 20
    /// segments are written, because 913 and 20 times 2344 are the first to fill 46,080.
    #[test]
    fn a_send_buffer_counts_short_segments_and_ends_with_a_whole_one() {
        let mut stream = stream(Pieces { most_bytes: 1448, overhead_bytes: 896 });
        stream.expand_buffer(20);
        assert_eq!(stream.write(17), 17);
        stream.take(17);
        assert_eq!(stream.write(1 << 20), 20 * 1448);
    }

    /// PSH is where a write ends, unless a later one adds to the segment before it leaves, and after each half of the other
    /// side's largest window.
    #[test]
    fn segments_are_pushed_at_the_end_of_a_write_and_of_half_a_window() {
        let mut stream = stream(Pieces { most_bytes: 1448, overhead_bytes: 896 });
        stream.expand_buffer(60);
        stream.open_window(31_856);
        let pushed = |stream: &mut Stream, count: usize| -> Vec<usize> {
            let mut found = Vec::new();
            for number in 1..=count {
                let chunk = stream.peek(1448).expect("there is room");
                found.extend(chunk.is_pushed.then_some(number));
                stream.take(chunk.bytes);
                stream.on_data_ack(stream.next, 31_856);
                stream.release_piece();
            }
            found
        };
        assert_eq!(stream.write(17), 17);
        assert_eq!(pushed(&mut stream, 1), [1]);
        assert_eq!(stream.write(700) + stream.write(25 * 1448 - 700), 25 * 1448);
        assert_eq!(pushed(&mut stream, 25), [12, 24, 25]);
    }

    /// Data that leaves in bursts counts its payload.
    #[test]
    fn a_send_buffer_of_bursts_counts_payload() {
        assert_eq!(stream(Pieces::default()).write(1 << 20), 16_384);
    }

    /// 1460 bytes and 576 of headers and skb_shared_info take 2048, and sk_buff 256 more (tcp_sndbuf_expand).
    #[test]
    fn a_send_buffer_grows_by_the_memory_of_heads() {
        let mut stream = stream(Pieces::default());
        stream.expand_buffer(20);
        assert_eq!(stream.write(1 << 20), 20 * (2048 + 256));
    }
}
