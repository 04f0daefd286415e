//! One direction of a link: a transmit queue, a rate and a delay.
//!
//! Where a frame's fate follows from the queue it finds, its departure is known at once, and so one event carries
//! it to the next node: nothing happens when its transmission begins or ends.

use crate::Time;
use crate::arena::Travel;
use crate::queue::{Length, Waiting, wire_bytes};
use nettrial_scenario::{QueueLimit, Rate};

/// What a link direction has done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LinkCounters {
    /// Frames whose transmission has begun.
    pub frames_pkts: u64,
    /// Bytes they occupy on the wire.
    pub wire_bytes: u64,
    /// Frames that the queue dropped.
    pub drops_pkts: u64,
    /// Frames that the queue marked.
    pub marks_pkts: u64,
    /// Packets dropped because they were larger than the interface's MTU.
    pub too_big_pkts: u64,
    /// Frames lost on the way.
    pub lost_pkts: u64,
    /// Frames that arrive twice.
    pub duplicated_pkts: u64,
}

/// What becomes of a packet at a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Its last bit leaves then.
    Sent(Time),
    /// It is dropped.
    Dropped,
}

/// Bits as picoseconds, for a rate of one bit a second.
const BIT_PS: u64 = 1_000_000_000_000;

/// One direction of a link.
#[derive(Debug)]
pub struct Link {
    rate_bps: Option<u64>,
    /// Picoseconds of a byte where they are a whole number, else 0.
    byte_ps: u64,
    delay: Time,
    mtu_bytes: u32,
    limit: Option<QueueLimit>,
    /// When the last bit of all that was taken so far leaves.
    free_at: Time,
    waiting: Waiting,
    counters: LinkCounters,
}

impl Link {
    /// The direction of `link` that begins at its end `end`, 0 or 1.
    pub fn new(link: &nettrial_scenario::Link, end: usize) -> Self {
        let rate_bps = link.rate.map(|Rate(rate)| rate);
        let byte_ps =
            rate_bps.filter(|rate| (8 * BIT_PS).is_multiple_of(*rate)).map_or(0, |rate| 8 * BIT_PS / rate);
        Self {
            rate_bps,
            byte_ps,
            delay: Time::from_ns(link.delay.0),
            mtu_bytes: link.ends[end].mtu.0.try_into().unwrap_or(u32::MAX),
            limit: link.queue,
            free_at: Time::ZERO,
            waiting: Waiting::default(),
            counters: LinkCounters::default(),
        }
    }

    /// The propagation delay.
    pub fn delay(&self) -> Time {
        self.delay
    }

    /// The largest IP packet it carries.
    pub fn mtu_bytes(&self) -> u32 {
        self.mtu_bytes
    }

    /// The line rate, bits per second; `None` where frames take no time.
    pub fn rate_bps(&self) -> Option<u64> {
        self.rate_bps
    }

    /// What its queue holds at the most.
    pub fn limit(&self) -> Option<QueueLimit> {
        self.limit
    }

    /// How long its queue is. Times must not go back from call to call.
    pub fn queue(&mut self, now: Time) -> Length {
        self.waiting.length(now)
    }

    /// What it has done until now: frames that still wait are not counted as sent.
    pub fn counters(&mut self, now: Time) -> LinkCounters {
        let waiting = self.queue(now);
        let mut counters = self.counters;
        counters.frames_pkts -= u64::from(waiting.packets);
        counters.wire_bytes -= waiting.bytes;
        counters
    }

    /// Takes a packet that arrives now, or drops it.
    pub fn offer(&mut self, now: Time, travel: &mut Travel) -> Verdict {
        if travel.ip_bytes > self.mtu_bytes {
            self.counters.too_big_pkts += 1;
            return Verdict::Dropped;
        }
        let wire_bytes = wire_bytes(travel.ip_bytes);
        let queue = self.waiting.length(now);
        if self.limit.is_some_and(|limit| queue.with(wire_bytes).exceeds(limit)) {
            self.counters.drops_pkts += 1;
            return Verdict::Dropped;
        }
        let begins = self.free_at.max(now);
        self.free_at = begins + self.transmission(wire_bytes);
        if begins > now {
            self.waiting.push(begins, wire_bytes);
        }
        self.counters.frames_pkts += 1;
        self.counters.wire_bytes += u64::from(wire_bytes);
        Verdict::Sent(self.free_at)
    }

    /// How long that many bytes take, rounded up.
    fn transmission(&self, wire_bytes: u32) -> Time {
        let bytes = u64::from(wire_bytes);
        match self.rate_bps {
            _ if self.byte_ps > 0 => Time(bytes * self.byte_ps),
            Some(rate) => Time((bytes * 8 * BIT_PS).div_ceil(rate)),
            None => Time::ZERO,
        }
    }
}
