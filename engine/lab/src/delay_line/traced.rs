//! The queue and the transmitter of a link's direction whose rate follows a trace.
//!
//! No shaper of the kernel follows a trace: HTB can't have a rate of 0, and does not look again at a class that waits when
//! its rate changes. Therefore such a link has none, and the line has the queue, too. A frame's transmission follows from
//! the time of its arrival and from the trace, whenever the thread takes the frame, as in the simulator.

use super::transmitter::{Transmitter, wire_bytes};
use nettrial_links::Trace;
use nettrial_scenario::QueueLimit;
use std::collections::VecDeque;

/// A nanosecond in picoseconds.
const NS: u64 = 1000;

/// The queue and the transmitter of one direction. Times in picoseconds count from the beginning of the trace.
pub struct TracedTransmitter {
    trace: Trace,
    limit: QueueLimit,
    /// The transmitter until the trace begins.
    before: Transmitter,
    /// The beginning of the transmission of each frame that waits, and its bytes on the wire.
    waiting: VecDeque<(u64, u64)>,
    waiting_bytes: u64,
    /// The end of the last transmission.
    free_ps: u64,
}

impl TracedTransmitter {
    /// Creates a transmitter that is free. Until the trace begins, it is `before`.
    pub fn new(trace: Trace, limit: QueueLimit, before: Transmitter) -> Self {
        Self { trace, limit, before, waiting: VecDeque::new(), waiting_bytes: 0, free_ps: 0 }
    }

    /// Transmits a frame, which follows an offload header and arrived at `arrived_ns`; the trace begins at
    /// `begins_ns`. Returns the time of its last bit; `None` if the queue is full, and drops it.
    pub fn transmit(&mut self, begins_ns: u64, arrived_ns: u64, frame: &[u8]) -> Option<u64> {
        let Some(arrived_ns) = arrived_ns.checked_sub(begins_ns) else {
            return Some(self.before.transmit(arrived_ns, frame));
        };
        let (arrived_ps, bytes) = (arrived_ns * NS, wire_bytes(frame));
        while let Some(&(begins_ps, bytes)) = self.waiting.front()
            && begins_ps <= arrived_ps
        {
            self.waiting.pop_front();
            self.waiting_bytes -= bytes;
        }
        let is_full = match self.limit {
            QueueLimit::Packets(most) => self.waiting.len() >= most as usize,
            QueueLimit::Bytes(most) => self.waiting_bytes + bytes > most.0,
        };
        if is_full {
            return None;
        }
        let begins_ps = self.free_ps.max(arrived_ps);
        if begins_ps > arrived_ps {
            self.waiting.push_back((begins_ps, bytes));
            self.waiting_bytes += bytes;
        }
        self.free_ps = self.trace.end_ps(begins_ps, u32::try_from(bytes).unwrap_or(u32::MAX));
        Some(begins_ns + self.free_ps / NS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet_socket::OFFLOAD_HEADER_BYTES;
    use nettrial_scenario::{Rate, RateTrace, Size};

    const MS: u64 = 1_000_000;
    const BEGINS_NS: u64 = 7 * MS;

    /// Returns a transmitter whose frames of 1000 bytes on the wire take 8 ms, between pauses from 10 to 20 ms.
    fn transmitter(limit: QueueLimit) -> TracedTransmitter {
        let trace = RateTrace {
            from_ns: vec![0, 10 * MS, 20 * MS],
            rates_bps: vec![1_000_000, 0, 1_000_000],
            repeats_after_ns: None,
        };
        TracedTransmitter::new(Trace::new(&trace), limit, Transmitter::new(Some(Rate(8_000_000)), 0))
    }

    fn sent_ms(transmitter: &mut TracedTransmitter, arrived_ms: u64) -> Option<u64> {
        let frame = [0; OFFLOAD_HEADER_BYTES + 976];
        let sent_ns = transmitter.transmit(BEGINS_NS, BEGINS_NS + arrived_ms * MS, &frame)?;
        Some((sent_ns - BEGINS_NS) / MS)
    }

    #[test]
    fn frames_follow_the_trace_from_its_beginning_on() {
        let mut transmitter = transmitter(QueueLimit::Packets(9));
        let early = transmitter.transmit(BEGINS_NS, BEGINS_NS - 2 * MS, &[0; OFFLOAD_HEADER_BYTES + 976]);
        assert_eq!(early, Some(BEGINS_NS - MS));
        assert_eq!([0, 1, 25].map(|arrived| sent_ms(&mut transmitter, arrived)), [8, 26, 34].map(Some));
        assert_eq!(sent_ms(&mut transmitter, 90), Some(98));
    }

    #[test]
    fn a_full_queue_drops_frames_and_does_not_count_the_one_in_transmission() {
        for limit in [QueueLimit::Packets(1), QueueLimit::Bytes(Size(1999))] {
            let mut transmitter = transmitter(limit);
            let sent = [0, 0, 0, 7, 8, 9].map(|arrived| sent_ms(&mut transmitter, arrived));
            assert_eq!(sent, [Some(8), Some(26), None, None, Some(34), None]);
        }
    }
}
