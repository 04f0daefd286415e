//! A link's transmit queue: its limit, and the packets that it does not take.
//!
//! The queue is that of the lab, where HTB hands a packet on once the ones before it have had their time at the
//! link's rate: the packet in transmission is not in the queue and does not count against its limit, and bytes are
//! those that frames occupy on the wire. A limit in bytes smaller than a frame passes no such frame, even on an
//! idle link (net/sched/sch_fifo.c, bfifo_enqueue). A packet that arrives at the moment at which another's
//! transmission begins does not find that one in the queue.

mod red;

pub use red::{Red, RedSettings};

use crate::Time;
use nettrial_scenario::random::Random;
use nettrial_scenario::{Discipline, Link, QueueLimit, ethernet};
use std::collections::VecDeque;

/// Bytes on the wire of an IP packet.
pub fn wire_bytes(ip_bytes: u32) -> u32 {
    ethernet::wire_bytes(ip_bytes.into()) as u32
}

/// The length of a queue: packets that wait for their transmission to begin.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Length {
    /// Packets.
    pub packets: u32,
    /// Bytes, as they will occupy the wire.
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

    /// With one frame more.
    #[must_use]
    pub fn with(self, wire_bytes: u32) -> Self {
        Self { packets: self.packets + 1, bytes: self.bytes + u64::from(wire_bytes) }
    }

    /// With one frame less.
    #[must_use]
    pub fn without(self, wire_bytes: u32) -> Self {
        Self { packets: self.packets - 1, bytes: self.bytes - u64::from(wire_bytes) }
    }
}

/// The decision of a queue about a packet that arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Takes it.
    Take,
    /// Takes it, marked if it can be.
    MarkOrTake,
    /// Takes it marked, or drops it if it can't be.
    MarkOrDrop,
    /// Drops it.
    Drop,
}

/// Decides on packets that the limit would let in, as they arrive.
#[derive(Debug)]
pub enum Arrivals {
    /// The limit alone drops.
    DropTail,
    /// Packets that find a queue above this are marked (RFC 8257 section 3.1).
    Mark(QueueLimit),
    /// Random early detection.
    Red(Box<Red>),
}

impl Arrivals {
    /// Makes the queue of `link`, whose full frame takes that long; RED draws those numbers.
    pub fn new(link: &Link, frame_time: Time, random: Random) -> Self {
        match link.discipline {
            Discipline::DropTail {} | Discipline::CoDel { .. } => Self::DropTail,
            Discipline::Mark { threshold } => Self::Mark(threshold),
            Discipline::Red { minimum, maximum, probability, weight, ecn } => {
                let (minimum_bytes, maximum_bytes) = (minimum.0 as f64, maximum.0 as f64);
                let settings =
                    RedSettings { minimum_bytes, maximum_bytes, probability, weight, ecn, frame_time };
                Self::Red(Box::new(Red::new(settings, random)))
            }
        }
    }

    /// Returns what to do with a packet that finds that queue on a link that was idle for that long.
    pub fn decide(&mut self, queue: Length, idle: Time) -> Decision {
        match self {
            Self::DropTail => Decision::Take,
            Self::Mark(threshold) if queue.exceeds(*threshold) => Decision::MarkOrTake,
            Self::Mark(_) => Decision::Take,
            Self::Red(red) => red.decide(queue.bytes, idle),
        }
    }
}

/// The frames that wait on a link that sends them in the order of their arrival: when each begins its transmission
/// is known as it arrives, so that nothing needs to be done at that time.
#[derive(Debug, Default)]
pub struct Waiting {
    /// The time when each begins its transmission, and the bytes of its IP packet.
    frames: VecDeque<(Time, u32)>,
    length: Length,
}

impl Waiting {
    /// Returns how long the queue is at that time, which is not before that of an earlier call.
    pub fn length(&mut self, now: Time) -> Length {
        while let Some(&(begins, ip_bytes)) = self.frames.front() {
            if begins > now {
                break;
            }
            self.frames.pop_front();
            self.length = self.length.without(wire_bytes(ip_bytes));
        }
        if self.frames.is_empty() {
            // Begins anew at the ring's start, which is then still in the CPU's cache.
            self.frames.clear();
        }
        self.length
    }

    /// Returns when its first frame begins its transmission, as of the last call of [`Waiting::length`].
    pub fn head(&self) -> Option<Time> {
        self.frames.front().map(|&(begins, _)| begins)
    }

    /// Adds a frame whose transmission begins then.
    pub fn push(&mut self, begins: Time, ip_bytes: u32) {
        self.frames.push_back((begins, ip_bytes));
        self.length = self.length.with(wire_bytes(ip_bytes));
    }

    /// Bytes of the IP packets that wait, as of the last call of [`Waiting::length`].
    pub fn ip_bytes(&self) -> impl Iterator<Item = u32> {
        self.frames.iter().map(|(_, ip_bytes)| *ip_bytes)
    }
}
