//! One direction of a link: a transmit queue, a rate and a delay.
//!
//! A frame whose fate follows from the queue it finds has a departure that is known at once, and so one event
//! carries it to the next node: nothing happens when its transmission begins or ends. Only CoDel, which decides at
//! the queue's head, needs an event for each frame that waited.

use crate::ahead::read_ahead;
use crate::arena::{Arena, Travel};
use crate::fate::{Outcome, Outcomes};
use crate::queue::{Arrivals, Decision, Length, Waiting, wire_bytes};
use crate::{Codepoint, Time};
use nettrial_queueing::{CoDel, CoDelSettings, Taken};
use nettrial_scenario::random::Random;
use nettrial_scenario::{Discipline, Interface, Link as Cable, PacketSize, QueueLimit, Rate, Scenario};
use std::collections::BTreeMap;
use std::hint::black_box;

/// The counters of a link direction.
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

/// The decision of a link about a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Its last bit leaves then.
    Sent(Time),
    /// It waits, and leaves then at the latest; [`Link::take`] will give it.
    Waits(Time),
    /// It is dropped.
    Dropped,
}

/// Bits as picoseconds, for a rate of one bit a second.
const BIT_PS: u64 = 1_000_000_000_000;
/// The purpose of RED's random numbers.
const RED_PURPOSE: u64 = 0x7265_6400_0000_0000;

/// One direction of a link. What every hop needs comes first, in two lines of the CPU's cache.
#[derive(Debug)]
#[repr(C, align(128))]
pub struct Link {
    /// The time when the last bit of all that was given a departure leaves.
    free_at: Time,
    /// Picoseconds of a byte where they are a whole number, else 0.
    byte_ps: u64,
    waiting: Waiting,
    delay: Time,
    limit: Option<QueueLimit>,
    /// The parts that a plain link does not have.
    special: Option<Box<Special>>,
    mtu_bytes: u32,
    /// The number of the interface at which frames arrive.
    far: u32,
    counters: LinkCounters,
    rate_bps: Option<u64>,
}

read_ahead!(Link: free_at, mtu_bytes, rate_bps);

/// The parts of a link that does more than to carry packets in their order until its queue is full.
#[derive(Debug)]
struct Special {
    arrivals: Arrivals,
    /// The packets that wait, where the discipline decides at the head.
    heads: Option<Heads>,
    outcomes: Option<Outcomes>,
    /// Packets by size, where they are counted.
    sizes: Option<BTreeMap<u32, u64>>,
    /// The times between which the link is away, in order.
    outages: Vec<(Time, Time)>,
    /// The number of those that have begun.
    failed: usize,
}

/// A queue whose discipline decides at the head, of packets by number.
#[derive(Debug)]
struct Heads {
    queue: CoDel<u32>,
    /// True if packets that can be marked are.
    ecn: bool,
}

impl Heads {
    fn length(&self) -> Length {
        Length { packets: self.queue.packets() as u32, bytes: self.queue.bytes() }
    }
}

impl Link {
    /// The direction of `cable` that begins at its interface `near`, whose number is the direction's, and leads to the
    /// interface with the number `far`; it is away between these times, nanoseconds.
    pub fn new(
        scenario: &Scenario,
        cable: &Cable,
        near: &Interface,
        [number, far]: [u32; 2],
        outages: &[(u64, u64)],
    ) -> Self {
        let rate_bps = cable.rate.map(|Rate(rate)| rate);
        let whole = rate_bps.filter(|rate| (8 * BIT_PS).is_multiple_of(*rate));
        let mut new = Self {
            free_at: Time::ZERO,
            byte_ps: whole.map_or(0, |rate| 8 * BIT_PS / rate),
            waiting: Waiting::default(),
            delay: Time::from_ns(cable.delay.0),
            limit: cable.queue,
            special: None,
            mtu_bytes: near.mtu.0.try_into().unwrap_or(u32::MAX),
            far,
            counters: LinkCounters::default(),
            rate_bps,
        };
        let frame_bytes = wire_bytes(new.mtu_bytes);
        let outages = outages.iter().map(|&(down, up)| (Time::from_ns(down), time_or_never(up))).collect();
        new.special =
            Special::new(scenario, cable, number, frame_bytes, new.transmission(frame_bytes), outages);
        new
    }

    /// In place of an interface, that of a radio channel, which carries what it takes ([`crate::air`]).
    pub(crate) const ON_AIR: u32 = u32::MAX;

    /// The number of the interface at which what it carries arrives.
    pub fn far(&self) -> u32 {
        self.far
    }

    /// Returns whether it is an interface of a radio channel.
    pub(crate) fn is_on_air(&self) -> bool {
        self.far == Self::ON_AIR
    }

    /// The propagation delay.
    pub fn delay(&self) -> Time {
        self.delay
    }

    /// The largest IP packet it carries.
    pub fn mtu_bytes(&self) -> u32 {
        self.mtu_bytes
    }

    /// Reads ahead the head of its queue.
    pub(crate) fn read_queue_ahead(&self) {
        black_box(self.waiting.head());
    }

    /// The line rate, bits per second; `None` where frames take no time.
    pub fn rate_bps(&self) -> Option<u64> {
        self.rate_bps
    }

    /// Returns the capacity of its queue.
    pub fn limit(&self) -> Option<QueueLimit> {
        self.limit
    }

    /// Returns how long its queue is. Times must not go back from call to call.
    pub fn queue(&mut self, now: Time) -> Length {
        self.settle(now);
        let heads = self.special.as_ref().and_then(|special| special.heads.as_ref());
        heads.map_or_else(|| self.waiting.length(now), Heads::length)
    }

    /// Returns what it has done until now: frames that still wait are not counted as sent.
    pub fn counters(&mut self, now: Time) -> LinkCounters {
        let waiting = self.waiting.length(now);
        let mut counters = self.counters;
        counters.frames_pkts -= u64::from(waiting.packets);
        counters.wire_bytes -= waiting.bytes;
        counters
    }

    /// The IP packets it has sent until now, by size; `None` if the scenario does not ask for them.
    pub fn packet_sizes(&mut self, now: Time) -> Option<Vec<PacketSize>> {
        let mut sizes = self.special.as_ref()?.sizes.clone()?;
        self.waiting.length(now);
        for ip_bytes in self.waiting.ip_bytes() {
            sizes.entry(ip_bytes).and_modify(|packets| *packets -= 1);
        }
        let sent = sizes.into_iter().filter(|(_, packets)| *packets > 0);
        Some(sent.map(|(size_bytes, packets)| PacketSize { size_bytes, packets }).collect())
    }

    /// Returns whether it is away now, because it or a node has failed.
    pub(crate) fn is_away(&self, now: Time) -> bool {
        let outages = self.special.as_ref().map_or([].as_slice(), |special| &special.outages);
        outages.iter().any(|&(down, up)| down <= now && now < up)
    }

    /// Empties its queue if it has failed since: an interface without a carrier sends nothing of what it holds.
    fn settle(&mut self, now: Time) {
        let Some(special) = &mut self.special else { return };
        while let Some(&(down, _)) = special.outages.get(special.failed).filter(|(down, _)| *down <= now) {
            special.failed += 1;
            let left = self.waiting.length(down);
            self.counters.frames_pkts -= u64::from(left.packets);
            self.counters.wire_bytes -= left.bytes;
            // As frames that were lost on the way they are counted already.
            if let Some(sizes) = &mut special.sizes {
                for ip_bytes in self.waiting.ip_bytes() {
                    sizes.entry(ip_bytes).and_modify(|packets| *packets -= 1);
                }
            }
            self.waiting = Waiting::default();
            self.free_at = self.free_at.min(down);
        }
    }

    /// Takes packet `number` as it arrives now, or drops it.
    pub(crate) fn offer(&mut self, now: Time, number: u32, travel: &mut Travel) -> Verdict {
        if travel.ip_bytes > self.mtu_bytes {
            self.counters.too_big_pkts += 1;
            return Verdict::Dropped;
        }
        let wire_bytes = wire_bytes(travel.ip_bytes);
        let queue = self.queue(now);
        let (is_busy, idle) = (self.free_at > now, now.since(self.free_at));
        let decision =
            self.special.as_mut().map_or(Decision::Take, |special| special.arrivals.decide(queue, idle));
        let is_full = self.limit.is_some_and(|limit| queue.with(wire_bytes).exceeds(limit));
        if is_full || !self.admit(decision, travel) {
            self.counters.drops_pkts += 1;
            return Verdict::Dropped;
        }
        if let Some(heads) = self.heads().filter(|_| is_busy || queue.packets > 0) {
            heads.queue.push(now.0, number, wire_bytes);
            let all = u32::try_from(queue.bytes).unwrap_or(u32::MAX).saturating_add(wire_bytes);
            return Verdict::Waits(self.free_at.max(now) + self.transmission(all));
        }
        let begins = self.free_at.max(now);
        if begins > now {
            self.waiting.push(begins, travel.ip_bytes);
        }
        Verdict::Sent(self.transmit(begins, travel.ip_bytes))
    }

    /// Returns whether a packet may come in by that decision, for which it may be marked.
    fn admit(&mut self, decision: Decision, travel: &mut Travel) -> bool {
        let can_bear = travel.ecn != Codepoint::NotCapable;
        let is_marked = match decision {
            Decision::Take => false,
            Decision::MarkOrTake => can_bear,
            Decision::MarkOrDrop if can_bear => true,
            Decision::MarkOrDrop | Decision::Drop => return false,
        };
        if is_marked {
            travel.ecn = Codepoint::Experienced;
            self.counters.marks_pkts += 1;
        }
        true
    }

    /// Sends a frame whose transmission begins then; gives when its last bit leaves.
    fn transmit(&mut self, begins: Time, ip_bytes: u32) -> Time {
        let wire_bytes = wire_bytes(ip_bytes);
        self.free_at = begins + self.transmission(wire_bytes);
        self.counters.frames_pkts += 1;
        self.counters.wire_bytes += u64::from(wire_bytes);
        if let Some(sizes) = self.special.as_mut().and_then(|special| special.sizes.as_mut()) {
            *sizes.entry(ip_bytes).or_default() += 1;
        }
        self.free_at
    }

    /// Returns when the next packet that waits for [`Link::take`] can be taken; `None` if there is none.
    pub(crate) fn next_take(&self) -> Option<Time> {
        let heads = self.special.as_ref()?.heads.as_ref()?;
        (heads.length().packets > 0).then_some(self.free_at)
    }

    /// Takes the queue's head now that the link is free: gives the packet sent, when its last bit leaves, and how many
    /// were dropped before it.
    pub(crate) fn take(&mut self, now: Time, arena: &mut Arena) -> (Option<(u32, Time)>, u64) {
        if self.is_away(now) {
            return (None, self.lose_all(arena));
        }
        let Some(heads) = self.heads() else { return (None, 0) };
        let ecn = heads.ecn;
        let Taken { packet, dropped, marked_pkts } = heads.queue.pop(now.0, |number| {
            let codepoint = &mut arena.travel(*number).ecn;
            let is_marked = ecn && *codepoint != Codepoint::NotCapable;
            if is_marked {
                *codepoint = Codepoint::Experienced;
            }
            is_marked
        });
        let dropped_pkts = dropped.len() as u64;
        dropped.into_iter().for_each(|number| arena.discard(number));
        self.counters.drops_pkts += dropped_pkts;
        self.counters.marks_pkts += marked_pkts;
        let sent = packet.map(|number| (number, self.transmit(now, arena.travel(number).ip_bytes)));
        (sent, dropped_pkts)
    }

    /// Loses all that waits for [`Link::take`]; gives how much.
    fn lose_all(&mut self, arena: &mut Arena) -> u64 {
        let Some(heads) = self.heads() else { return 0 };
        let mut lost_pkts = 0;
        while let Some(number) = heads.queue.pop(0, |_| false).packet {
            arena.discard(number);
            lost_pkts += 1;
        }
        self.counters.lost_pkts += lost_pkts;
        lost_pkts
    }

    /// Returns when the last bit of a packet leaves that comes then, if none comes before it and it is not dropped.
    pub(crate) fn leaves_at_best(&self, comes: Time, ip_bytes: u32) -> Time {
        self.free_at.max(comes) + self.transmission(wire_bytes(ip_bytes))
    }

    /// Returns what becomes of a frame that is taken now and whose last bit leaves then, on its way to the other end.
    pub(crate) fn carry(&mut self, now: Time, leaves: Time) -> Outcome {
        let at = leaves + self.delay;
        let fails = |special: &Special| special.outages.iter().any(|&(down, _)| now < down && down <= at);
        if self.special.as_deref().is_some_and(fails) {
            self.counters.lost_pkts += 1;
            return Outcome::Lost;
        }
        let outcomes = self.special.as_mut().and_then(|special| special.outcomes.as_mut());
        let Some(outcome) = outcomes.map(|outcomes| outcomes.next(at)) else { return Outcome::Arrives(at) };
        match outcome {
            Outcome::Lost => self.counters.lost_pkts += 1,
            Outcome::Arrives(_) => {}
            Outcome::ArrivesTwice(_) => self.counters.duplicated_pkts += 1,
        }
        outcome
    }

    /// Returns how long an IP packet of that many bytes takes on the wire.
    pub(crate) fn frame_time(&self, ip_bytes: u32) -> Time {
        self.transmission(wire_bytes(ip_bytes))
    }

    /// Returns how long that many bytes take, rounded up.
    fn transmission(&self, wire_bytes: u32) -> Time {
        match self.rate_bps {
            _ if self.byte_ps > 0 => Time(u64::from(wire_bytes) * self.byte_ps),
            Some(rate) => Time::of_bytes(wire_bytes.into(), rate),
            None => Time::ZERO,
        }
    }

    fn heads(&mut self) -> Option<&mut Heads> {
        self.special.as_mut()?.heads.as_mut()
    }
}

/// The time of that many nanoseconds; the last of all for `u64::MAX`.
fn time_or_never(ns: u64) -> Time {
    if ns == u64::MAX { Time(u64::MAX) } else { Time::from_ns(ns) }
}

impl Special {
    /// Makes the special parts of direction `number` of `cable`, whose full frame has so many bytes on the wire
    /// and takes that long, if it has any.
    fn new(
        scenario: &Scenario,
        cable: &Cable,
        number: u32,
        frame_bytes: u32,
        frame_time: Time,
        outages: Vec<(Time, Time)>,
    ) -> Option<Box<Self>> {
        let counts_sizes = scenario.measurement.packet_sizes;
        if cable.discipline.is_drop_tail()
            && cable.impairment.is_none()
            && !counts_sizes
            && outages.is_empty()
        {
            return None;
        }
        let heads = match cable.discipline {
            Discipline::CoDel { target, interval, ecn } => {
                let [target_ps, interval_ps] = [target, interval].map(|time| Time::from_ns(time.0).0);
                let settings = CoDelSettings { target_ps, interval_ps, frame_bytes: frame_bytes.into() };
                Some(Heads { queue: CoDel::new(settings), ecn })
            }
            _ => None,
        };
        let random = Random::new(scenario.seed, RED_PURPOSE | u64::from(number));
        Some(Box::new(Self {
            arrivals: Arrivals::new(cable, frame_time, random),
            heads,
            outcomes: Outcomes::new(cable.impairment, number.into()),
            sizes: counts_sizes.then(BTreeMap::new),
            outages,
            failed: 0,
        }))
    }
}
