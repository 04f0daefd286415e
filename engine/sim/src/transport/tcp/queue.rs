//! The send queue of a subflow of Linux's own MPTCP, whose scheduler assigns data to a subflow before it leaves
//! (mptcp_sendmsg_frag in net/mptcp/protocol.c), and what the scheduler knows of the subflow.

use super::{Scope, Tcp};
use crate::Time;
use crate::transport::stream::Chunk;
use crate::transport::window::SEGMENT_BYTES;
use std::collections::VecDeque;

/// The part of the rate of a window in a round trip for which Linux sets a socket's pacing rate, in percent
/// (net.ipv4.tcp_pacing_ss_ratio, tcp_pacing_ca_ratio).
const SLOW_START_PERCENT: u128 = 200;
const AVOIDANCE_PERCENT: u128 = 120;

/// A segment that was assigned and has not left.
#[derive(Debug, Clone, Copy)]
struct Piece {
    data_sequence: u64,
    bytes: u32,
    is_pushed: bool,
}

/// The send queue of a subflow.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    pieces: VecDeque<Piece>,
    bytes: u64,
    /// The limit of the memory of what is queued or not acknowledged (sk_sndbuf).
    pub(crate) buffer_bytes: u64,
    /// The pacing rate in bytes per second after the last acknowledgment (sk_pacing_rate); 0 before the first.
    pub(crate) pacing_rate: u64,
    /// The scheduler's average of it (avg_pacing_rate); 0 before the first assignment.
    pub(crate) average_rate: u64,
    /// The time of the last acknowledgment in milliseconds (rcv_tstamp).
    pub(crate) acked_at_ms: u64,
    /// The number of MPTCP's timeouts without an acknowledgment since the time `stale_since_ms` (stale_count,
    /// stale_rcv_tstamp).
    pub(crate) stale_count: u32,
    pub(crate) stale_since_ms: u64,
    /// True if the scheduler avoids the subflow until it has another acknowledgment.
    pub(crate) is_stale: bool,
    /// True if the other side has acknowledged the third packet of the handshake (fully_established).
    pub(crate) is_joined: bool,
}

impl Queue {
    /// Assigns up to `most` bytes of data, to be sent in segments of `mss` bytes: to the last segment if the data
    /// follows its data, or as another one. Returns the bytes that were assigned, and whether a segment was begun.
    fn assign(&mut self, data_sequence: u64, most: u64, mss: u32) -> (u32, bool) {
        let fitting = |room: u32| most.min(room.into()) as u32;
        if let Some(last) = self.pieces.back_mut().filter(|last| last.bytes < mss) {
            if last.data_sequence + u64::from(last.bytes) == data_sequence {
                let bytes = fitting(mss - last.bytes);
                last.bytes += bytes;
                last.is_pushed = false;
                self.bytes += u64::from(bytes);
                return (bytes, false);
            }
            last.is_pushed = true;
        }
        let bytes = fitting(mss);
        self.pieces.push_back(Piece { data_sequence, bytes, is_pushed: false });
        self.bytes += u64::from(bytes);
        (bytes, true)
    }

    /// Lets the last segment end with PSH (tcp_mark_push).
    fn push(&mut self) {
        if let Some(last) = self.pieces.back_mut() {
            last.is_pushed = true;
        }
    }

    /// Returns the first `most` bytes of the next segment.
    fn peek(&self, most: u32) -> Option<Chunk> {
        self.pieces.front().map(|piece| Chunk {
            data_sequence: piece.data_sequence,
            bytes: piece.bytes.min(most),
            is_last: false,
            is_pushed: piece.is_pushed && piece.bytes <= most,
        })
    }

    /// Removes that many bytes of the next segment.
    fn take(&mut self, bytes: u32) {
        self.bytes -= u64::from(bytes);
        match self.pieces.front_mut() {
            Some(piece) if piece.bytes > bytes => {
                piece.data_sequence += u64::from(bytes);
                piece.bytes -= bytes;
            }
            _ => drop(self.pieces.pop_front()),
        }
    }
}

impl Tcp {
    /// Gives the subflow its own send queue.
    pub(crate) fn enable_queue(&mut self) {
        self.queue = Some(Box::default());
    }

    /// Returns the data to send that was not sent before: assigned to the subflow, or all of the side's.
    pub(super) fn unsent_bytes(&self, scope: &Scope<'_>) -> u64 {
        self.queue.as_ref().map_or_else(|| scope.stream.unsent_bytes(), |queue| queue.bytes)
    }

    /// Returns whether there is data to send that was not sent before.
    pub(crate) fn has_unsent(&self, scope: &Scope<'_>) -> bool {
        self.unsent_bytes(scope) > 0
    }

    /// Returns whether there is such data for which the other side's window has room; what is assigned has.
    pub(super) fn has_sendable(&self, scope: &Scope<'_>) -> bool {
        self.queue.as_ref().map_or_else(|| scope.stream.has_sendable(), |queue| queue.bytes > 0)
    }

    /// Returns the room in the other side's window for data that was not sent before.
    pub(super) fn window_left(&self, scope: &Scope<'_>) -> u64 {
        scope.stream.window_left() + self.queue.as_ref().map_or(0, |queue| queue.bytes)
    }

    /// Returns the next segment of new data, if the window has room for all of it.
    pub(crate) fn peek_new(&self, scope: &Scope<'_>) -> Option<Chunk> {
        let most = self.segment_bytes();
        self.queue.as_ref().map_or_else(|| scope.stream.peek(most), |queue| queue.peek(most))
    }

    /// Notes that such data was sent.
    pub(crate) fn take_new(&mut self, bytes: u32, scope: &mut Scope<'_>) {
        match &mut self.queue {
            Some(queue) => queue.take(bytes),
            None => scope.stream.take(bytes),
        }
    }

    /// Assigns data to the subflow; returns the bytes that were assigned.
    pub(crate) fn assign(&mut self, data_sequence: u64, most: u64, scope: &mut Scope<'_>) -> u32 {
        let mss = self.segment_bytes();
        let Some(queue) = &mut self.queue else { return 0 };
        let (bytes, is_begun) = queue.assign(data_sequence, most, mss);
        if is_begun {
            self.restart_if_idle(scope);
        }
        bytes
    }

    /// Ends an assignment (tcp_push). Returns whether its last segment waits, because it is not full.
    pub(crate) fn end_assignment(&mut self, scope: &mut Scope<'_>) -> bool {
        if let Some(queue) = &mut self.queue {
            queue.push();
        }
        self.corks(scope)
    }

    /// Returns the bytes of the last unsent segment, of what is unsent.
    pub(super) fn last_unsent_bytes(&self, scope: &Scope<'_>) -> u64 {
        self.queue.as_ref().map_or_else(
            || scope.stream.unsent_bytes(),
            |queue| queue.pieces.back().map_or(0, |last| last.bytes.into()),
        )
    }

    /// Returns the memory of what is queued or not acknowledged (sk_wmem_queued).
    pub(crate) fn queued_memory(&self) -> u64 {
        let (bytes, pieces) =
            self.queue.as_ref().map_or((0, 0), |queue| (queue.bytes, queue.pieces.len() as u64));
        let pieces = pieces + u64::from(self.board.len());
        let overhead = if self.options.cutter.is_some() { 0 } else { u64::from(SEGMENT_BYTES) };
        bytes + (self.next - self.una) + pieces * overhead
    }

    /// Returns whether nothing is queued or unacknowledged (tcp_rtx_and_write_queues_empty).
    pub(crate) fn is_drained(&self) -> bool {
        self.board.is_empty() && self.queue.as_ref().is_none_or(|queue| queue.bytes == 0)
    }

    /// Returns whether its congestion window has room.
    pub(crate) fn has_window(&self) -> bool {
        self.board.in_flight() < self.window.cwnd_pkts
    }

    /// Notes an acknowledgment for the scheduler (tcp_update_pacing_rate).
    pub(crate) fn note_rate(&mut self, now: Time) {
        let rate = self.window_rate();
        if let Some(queue) = &mut self.queue {
            queue.pacing_rate = rate;
            queue.acked_at_ms = now.as_timestamp();
        }
    }

    /// Returns the pacing rate that Linux sets, in bytes per second.
    fn window_rate(&self) -> u64 {
        if let Some(rate) = self.control.pacing_rate_bps() {
            return (rate / 8.0) as u64;
        }
        let percent = if self.window.cwnd_pkts < self.window.ssthresh_pkts / 2 {
            SLOW_START_PERCENT
        } else {
            AVOIDANCE_PERCENT
        };
        let packets = u128::from(self.window.cwnd_pkts.max(self.board.len()));
        let bytes = packets * u128::from(self.options.mss_bytes) * percent / 100;
        let rate = bytes * u128::from(Time::from_ms(1000).0) / u128::from(self.rtt.smoothed.0.max(1));
        u64::try_from(rate).unwrap_or(u64::MAX).min(u32::MAX.into())
    }

    /// Returns the time until its retransmission timer fires, if it is set.
    pub(crate) fn time_to_retransmission(&self, now: Time) -> Option<Time> {
        self.timers.due(super::timers::Timer::Retransmit).map(|at| at.since(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Data that follows the last segment's fills it. Otherwise that segment stays as short as it is, and is pushed.
    #[test]
    fn assigned_data_fills_the_last_segment_if_it_follows() {
        let mut queue = Queue::default();
        assert_eq!(queue.assign(0, 1000, 1424), (1000, true));
        queue.push();
        assert_eq!(queue.assign(1000, 2000, 1424), (424, false));
        assert_eq!(queue.assign(1424, 100, 1424), (100, true));
        assert_eq!(queue.assign(9000, 50, 1424), (50, true));
        let mut taken = Vec::new();
        while let Some(chunk) = queue.peek(1000) {
            taken.push((chunk.data_sequence, chunk.bytes, chunk.is_pushed));
            queue.take(chunk.bytes);
        }
        assert_eq!(taken, [(0, 1000, false), (1000, 424, false), (1424, 100, true), (9000, 50, false)]);
        assert_eq!(queue.bytes, 0);
    }
}
