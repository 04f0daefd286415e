//! A link's transmit queue: its limit, and its decisions about packets.
//! The queue behaves as in the lab, where HTB passes a packet on once its predecessors have had their time at the
//! link's rate: the packet in transmission is not in the queue and does not count against its limit, and bytes are
//! those that frames occupy on the wire. With a limit in bytes that is smaller than a frame, such frames never
//! pass, even on an idle link (net/sched/sch_fifo.c, bfifo_enqueue). A packet that arrives at the moment at which
//! another one's transmission begins does not find that one in the queue.

mod red;

pub use red::{Red, RedSettings};

use crate::Time;
use nettrial_scenario::random::Random;
use nettrial_scenario::{Discipline, Link, QueueLimit, ethernet};
use std::collections::VecDeque;

/// Returns the bytes on the wire of an IP packet.
pub fn wire_bytes(ip_bytes: u32) -> u32 {
    ethernet::wire_bytes(ip_bytes.into()) as u32
}

/// The length of a queue: the packets that wait for their transmission to begin.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Length {
    /// The number of packets.
    pub packets: u32,
    /// The bytes that they will occupy on the wire.
    pub bytes: u64,
}

impl Length {
    /// Returns whether it is above `limit`.
    pub fn exceeds(self, limit: QueueLimit) -> bool {
        match limit {
            QueueLimit::Packets(most) => self.packets > most,
            QueueLimit::Bytes(most) => self.bytes > most.0,
        }
    }

    /// Returns the length with one more frame.
    #[must_use]
    pub fn with(self, wire_bytes: u32) -> Self {
        Self { packets: self.packets + 1, bytes: self.bytes + u64::from(wire_bytes) }
    }
}

/// A queue's decision about an arriving packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// The packet is accepted.
    Take,
    /// The packet is accepted, and marked if it is ECN-capable.
    MarkOrTake,
    /// The packet is marked and accepted, or dropped if it is not ECN-capable.
    MarkOrDrop,
    /// The packet is dropped.
    Drop,
}

/// The decisions about arriving packets within the limit.
#[derive(Debug)]
pub enum Arrivals {
    /// Packets are dropped only because of the limit.
    DropTail,
    /// Packets that find a longer queue than this are marked (RFC 8257 section 3.1).
    Mark(QueueLimit),
    /// Random early detection.
    Red(Box<Red>),
}

impl Arrivals {
    /// Creates the decisions for `link`, whose full frame has that transmission time; `random` is for RED.
    pub fn new(link: &Link, frame_time: Time, random: Random) -> Self {
        match link.discipline {
            Discipline::Mark { threshold } => Self::Mark(threshold),
            Discipline::Red { minimum, maximum, probability, weight, gentle, ecn } => {
                let (minimum_bytes, maximum_bytes) = (minimum.0 as f64, maximum.0 as f64);
                let settings = RedSettings {
                    minimum_bytes,
                    maximum_bytes,
                    probability,
                    weight,
                    gentle,
                    ecn,
                    frame_time,
                };
                Self::Red(Box::new(Red::new(settings, random)))
            }
            // CoDel and FQ-CoDel decide at the head; the others are refused by capability.
            _ => Self::DropTail,
        }
    }

    /// Returns the decision about a packet that finds that queue, on a link that was idle for that time.
    pub fn decide(&mut self, queue: Length, idle: Time) -> Decision {
        match self {
            Self::DropTail => Decision::Take,
            Self::Mark(threshold) if queue.exceeds(*threshold) => Decision::MarkOrTake,
            Self::Mark(_) => Decision::Take,
            Self::Red(red) => red.decide(queue.bytes, idle),
        }
    }
}

/// The frames that wait on a link that sends them in the order of arrival. The beginning of each transmission is
/// known on arrival, so that no event is needed for it. Each frame's transmission begins when that of the frame
/// before it ends, so only the first one's beginning is kept.
#[derive(Debug, Default)]
pub struct Waiting {
    /// The size of the IP packet of each frame in bytes.
    frames: VecDeque<u32>,
    /// The time at which the transmission of the first frame begins.
    begins: Time,
    /// The bytes that all frames will occupy on the wire.
    bytes: u64,
}

impl Waiting {
    /// Returns the length of the queue at that time, which must not be before that of an earlier call. `end` returns the
    /// end of a transmission from its beginning and its bytes on the wire.
    pub fn length(&mut self, now: Time, end: impl Fn(Time, u32) -> Time) -> Length {
        while self.begins <= now
            && let Some(ip_bytes) = self.frames.pop_front()
        {
            let wire_bytes = wire_bytes(ip_bytes);
            self.bytes -= u64::from(wire_bytes);
            self.begins = end(self.begins, wire_bytes);
            if self.frames.is_empty() {
                // Restarts at the beginning of the ring, which is likely to be in the CPU's cache.
                self.frames.clear();
            }
        }
        Length { packets: self.frames.len() as u32, bytes: self.bytes }
    }

    /// Returns the size of the IP packet of its first frame in bytes, as of the last call of [`Waiting::length`].
    pub fn head(&self) -> Option<u32> {
        self.frames.front().copied()
    }

    /// Adds a frame whose transmission begins at that time, which is the end of the one before it.
    pub fn push(&mut self, begins: Time, ip_bytes: u32) {
        if self.frames.is_empty() {
            self.begins = begins;
        }
        self.frames.push_back(ip_bytes);
        self.bytes += u64::from(wire_bytes(ip_bytes));
    }

    /// Returns the sizes of the waiting IP packets in bytes, as of the last call of [`Waiting::length`].
    pub fn ip_bytes(&self) -> impl Iterator<Item = u32> {
        self.frames.iter().copied()
    }
}
