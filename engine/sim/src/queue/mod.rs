//! What a link's transmit queue holds, and which packets it does not take.
//!
//! As in the lab, where HTB hands a packet on once the ones before it have had their time at the link's rate: the
//! packet in transmission is not in the queue and does not count against its limit, and bytes are those that
//! frames occupy on the wire. A limit in bytes smaller than a frame passes no such frame, even on an idle link
//! (net/sched/sch_fifo.c, bfifo_enqueue).

use crate::Time;
use nettrial_scenario::QueueLimit;
use std::collections::VecDeque;

/// Bytes that a frame occupies on an Ethernet wire beside its IP packet: header 14, preamble 8, frame check
/// sequence 4, gap 12 (IEEE 802.3 clauses 3 and 4.2.7).
const FRAMING_BYTES: u32 = 38;
/// The smallest frame, with preamble and gap.
const MINIMUM_BYTES: u32 = 84;

/// Bytes on the wire of an IP packet.
pub fn wire_bytes(ip_bytes: u32) -> u32 {
    (ip_bytes + FRAMING_BYTES).max(MINIMUM_BYTES)
}

/// How long a queue is: packets that wait for their transmission to begin.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Length {
    /// Packets.
    pub packets: u32,
    /// Bytes, as they will occupy the wire.
    pub bytes: u64,
}

impl Length {
    /// Whether it is above `limit`.
    pub fn exceeds(self, limit: QueueLimit) -> bool {
        match limit {
            QueueLimit::Packets(most) => self.packets > most,
            QueueLimit::Bytes(most) => self.bytes > most.0,
        }
    }

    /// With one frame more.
    #[must_use]
    pub fn with(self, wire_bytes: u32) -> Self {
        Self { packets: self.packets + 1, bytes: self.bytes + u64::from(wire_bytes) }
    }
}

/// The frames that wait on a link that sends them in the order of their arrival: when each begins its transmission
/// is known as it arrives, so that nothing needs to be done at that time.
#[derive(Debug, Default)]
pub struct Waiting {
    frames: VecDeque<(Time, u32)>,
    length: Length,
}

impl Waiting {
    /// How long the queue is at that time, which is not before that of an earlier call.
    pub fn length(&mut self, now: Time) -> Length {
        while let Some(&(begins, wire_bytes)) = self.frames.front() {
            if begins > now {
                break;
            }
            self.frames.pop_front();
            self.length.packets -= 1;
            self.length.bytes -= u64::from(wire_bytes);
        }
        self.length
    }

    /// Adds a frame whose transmission begins then.
    pub fn push(&mut self, begins: Time, wire_bytes: u32) {
        self.frames.push_back((begins, wire_bytes));
        self.length = self.length.with(wire_bytes);
    }
}
