//! One direction of a link: a transmit queue, a rate and a delay.
//! If the fate of a frame depends only on the queue that it finds, its departure time is known immediately, so that
//! a single event carries it to the next node, without events for the beginning and end of its transmission. Only
//! CoDel and FQ-CoDel, which decide at the head of the queue, need an event for each frame that waited.

use crate::ahead::read_ahead;
use crate::network::fate::{Outcome, Outcomes};
use crate::network::queue::{Arrivals, Decision, Length, Waiting, wire_bytes};
use crate::packets::arena::{Arena, Travel};
use crate::{Codepoint, Time};
use nettrial_links::{Backlog, CoDel, CoDelSettings, Delays, FqCoDel, Taken, Trace};
use nettrial_scenario::random::Random;
use nettrial_scenario::{Discipline, Interface, Link as Cable, PacketSize, QueueLimit, Rate, Scenario};
use std::collections::BTreeMap;
use std::hint::black_box;

/// The counters of a link direction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LinkCounters {
    /// The number of frames whose transmission has begun.
    pub frames_pkts: u64,
    /// The bytes that these frames occupy on the wire.
    pub wire_bytes: u64,
    /// The number of frames dropped by the queue.
    pub drops_pkts: u64,
    /// The number of frames marked by the queue.
    pub marks_pkts: u64,
    /// The number of packets dropped because they were larger than the interface's MTU.
    pub too_big_pkts: u64,
    /// The number of frames lost on the link.
    pub lost_pkts: u64,
    /// The number of frames duplicated on the link.
    pub duplicated_pkts: u64,
}

/// A link's decision about a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The packet is sent, and its last bit leaves at this time.
    Sent(Time),
    /// The packet waits, and leaves at `leaves` at the latest; [`Link::take`] will return it. So many packets were
    /// dropped for it, which may include itself.
    Waits { leaves: Time, dropped_pkts: u64 },
    /// The packet is dropped.
    Dropped,
}

/// The duration of a bit in picoseconds at a rate of one bit per second.
const BIT_PS: u64 = 1_000_000_000_000;
/// The purpose of RED's random numbers.
const RED_PURPOSE: u64 = 0x7265_6400_0000_0000;

/// One direction of a link: what every hop needs, in two cache lines. The default carries nothing: it stands for a
/// link of another part of the network.
#[derive(Debug, Default)]
#[repr(C, align(128))]
pub struct Link {
    /// The time at which the last bit of all packets with a departure time leaves.
    free_at: Time,
    /// The duration of a byte in picoseconds if it is a whole number, otherwise 0.
    byte_ps: u64,
    waiting: Waiting,
    /// The propagation delay; with a trace the smallest.
    delay: Time,
    limit: Option<QueueLimit>,
    /// The MTU, which scenarios allow up to 65,535 bytes.
    mtu_bytes: u16,
    /// The bytes that the link's tunnel, if it has one, adds to each packet; fewer than none if it is translated to IPv4.
    tunnel_bytes: i16,
    /// The number of the interface at which frames arrive.
    far: u32,
    /// The number of frames whose transmission has begun or that wait, and the bytes that they occupy on the wire.
    frames_pkts: u64,
    wire_bytes: u64,
    /// The state that a plain link does not have.
    special: Option<Box<Special>>,
    rare: Box<Rare>,
}

read_ahead!(Link: free_at, delay);

/// The state of a link that few packets need.
#[derive(Debug, Default)]
struct Rare {
    /// The line rate; with a trace its mean.
    rate_bps: Option<u64>,
    trace: Option<Trace>,
    /// The counters except for those of frames and bytes.
    counters: LinkCounters,
}

impl Rare {
    /// Returns the time at which the last bit of that many bytes leaves whose transmission begins at that time, rounded
    /// up. It is apart from its callers, which are small without the long division.
    #[inline(never)]
    fn end(&self, begins: Time, wire_bytes: u32) -> Time {
        match &self.trace {
            Some(trace) => Time(trace.end_ps(begins.0, wire_bytes)),
            None => begins + self.mean_transmission(wire_bytes),
        }
    }

    /// Returns the transmission time of that many bytes at the link's rate, rounded up; with a trace at its mean.
    fn mean_transmission(&self, wire_bytes: u32) -> Time {
        self.rate_bps.map_or(Time::ZERO, |rate| Time::of_bytes(wire_bytes.into(), rate))
    }
}

/// The state of a link that does more than carry packets in order with a drop-tail queue.
#[derive(Debug)]
struct Special {
    arrivals: Arrivals,
    /// The waiting packets, if the discipline decides at the head of the queue.
    heads: Option<Heads>,
    outcomes: Option<Outcomes>,
    /// The delay, if it follows a trace.
    delays: Option<Delays>,
    /// The latest arrival of a frame so far, before which no other arrives.
    latest: Time,
    /// The number of packets by size, if they are counted.
    sizes: Option<BTreeMap<u32, u64>>,
    /// The times between which the link is down, in order.
    outages: Vec<(Time, Time)>,
    /// The number of outages that have begun.
    failed: usize,
}

/// The most packets that a full FQ-CoDel queue drops at once (fq_codel_enqueue of the kernel's
/// net/sched/sch_fq_codel.c).
const MOST_IN_BATCH: usize = 64;

/// A queue whose discipline decides at the head.
#[derive(Debug)]
struct Heads {
    queue: HeadsQueue,
    /// True if ECN-capable packets are marked instead of dropped.
    ecn: bool,
}

/// The waiting packets, by number.
#[derive(Debug)]
enum HeadsQueue {
    CoDel(CoDel<u32>),
    /// Each with its bytes on the wire.
    FqCoDel(FqCoDel<(u32, u32)>),
}

impl Heads {
    fn length(&self) -> Length {
        let (packets, bytes) = match &self.queue {
            HeadsQueue::CoDel(queue) => (queue.packets(), queue.bytes()),
            HeadsQueue::FqCoDel(queue) => (queue.packets(), queue.bytes()),
        };
        Length { packets: packets as u32, bytes }
    }

    /// Returns whether a full queue takes an arriving packet, and drops others for it.
    fn drops_others(&self) -> bool {
        matches!(self.queue, HeadsQueue::FqCoDel(_))
    }

    /// Adds a packet of a flow.
    fn push(&mut self, now: Time, flow: u32, number: u32, wire_bytes: u32) {
        match &mut self.queue {
            HeadsQueue::CoDel(queue) => queue.push(now.0, number, wire_bytes),
            HeadsQueue::FqCoDel(queue) => queue.push(now.0, flow, (number, wire_bytes), wire_bytes),
        }
    }

    /// Drops packets of the flows with the most bytes until the queue has that limit at most; returns their number.
    fn make_room(&mut self, limit: QueueLimit, arena: &mut Arena) -> u64 {
        let mut dropped_pkts = 0;
        while self.length().exceeds(limit) {
            let HeadsQueue::FqCoDel(queue) = &mut self.queue else { break };
            let dropped = queue.drop_batch(MOST_IN_BATCH);
            dropped_pkts += dropped.len() as u64;
            dropped.into_iter().for_each(|(number, _)| arena.discard(number));
        }
        dropped_pkts
    }

    /// Returns the next packet to be sent, and those dropped before it.
    fn pop(&mut self, now: Time, mut mark: impl FnMut(u32) -> bool) -> Taken<u32> {
        match &mut self.queue {
            HeadsQueue::CoDel(queue) => queue.pop(now.0, 0, |number| mark(*number)),
            HeadsQueue::FqCoDel(queue) => {
                let (mut dropped, mut marked_pkts) = (Vec::new(), 0);
                let marks = |(number, _): &mut (u32, u32)| {
                    let is_marked = mark(*number);
                    marked_pkts += u64::from(is_marked);
                    is_marked
                };
                let packet = queue.pop(now.0, |(_, wire_bytes)| *wire_bytes, marks, &mut dropped);
                let number = |(number, _)| number;
                Taken {
                    packet: packet.map(number),
                    dropped: dropped.into_iter().map(number).collect(),
                    marked_pkts,
                }
            }
        }
    }
}

impl Link {
    /// Creates the direction of a cable from its interface `near`, whose number is the direction's, to the
    /// interface with the number `far`; `cable` is the cable from that end, and is down between these times in nanoseconds.
    pub fn new(
        scenario: &Scenario,
        cable: &Cable,
        near: &Interface,
        [number, far]: [u32; 2],
        outages: &[(u64, u64)],
    ) -> Self {
        let rate_bps = cable.rate.map(|Rate(rate)| rate);
        let trace = cable.rate_trace.as_ref().map(Trace::new);
        let whole = rate_bps.filter(|rate| trace.is_none() && (8 * BIT_PS).is_multiple_of(*rate));
        let mut new = Self {
            free_at: Time::ZERO,
            byte_ps: whole.map_or(0, |rate| 8 * BIT_PS / rate),
            waiting: Waiting::default(),
            delay: Time::from_ns(cable.delay.0),
            limit: cable.queue,
            mtu_bytes: near.mtu.0.try_into().unwrap_or(u16::MAX),
            tunnel_bytes: i16::try_from(cable.tunnel_bytes()).unwrap_or(i16::MAX),
            far,
            frames_pkts: 0,
            wire_bytes: 0,
            special: None,
            rare: Box::new(Rare { rate_bps, trace, ..Rare::default() }),
        };
        let frame_bytes = wire_bytes(new.carried_bytes(u32::from(new.mtu_bytes)));
        let outages = outages.iter().map(|&(down, up)| (Time::from_ns(down), time_or_never(up))).collect();
        new.special = Special::new(
            scenario,
            cable,
            number,
            frame_bytes,
            new.rare.mean_transmission(frame_bytes),
            outages,
        );
        new
    }

    /// The value that stands for a radio channel instead of an interface ([`crate::network::air`]).
    pub(crate) const ON_AIR: u32 = u32::MAX;

    /// Returns the number of the interface at which its packets arrive.
    pub fn far(&self) -> u32 {
        self.far
    }

    /// Returns whether it only carries packets in order, with a drop-tail queue, so that [`Link::pass`] can take
    /// them.
    pub(crate) fn is_plain(&self) -> bool {
        self.special.is_none() && !self.is_on_air()
    }

    /// Returns whether it belongs to a radio channel.
    pub(crate) fn is_on_air(&self) -> bool {
        self.far == Self::ON_AIR
    }

    /// Returns the propagation delay; with a trace the smallest, which no frame falls below.
    pub fn delay(&self) -> Time {
        self.delay
    }

    /// Returns the size that a packet of `ip_bytes` has on the link.
    fn carried_bytes(&self, ip_bytes: u32) -> u32 {
        ip_bytes.saturating_add_signed(self.tunnel_bytes.into())
    }

    /// Returns the size of the largest IP packet that it carries, without the header of its tunnel.
    pub fn mtu_bytes(&self) -> u32 {
        self.mtu_bytes.into()
    }

    /// Prefetches the head of its queue.
    pub(crate) fn read_queue_ahead(&self) {
        black_box(self.waiting.head());
    }

    /// Returns the line rate in bits per second; `None` if frames take no time.
    pub fn rate_bps(&self) -> Option<u64> {
        self.rare.rate_bps
    }

    /// Returns the limit of its queue.
    pub fn limit(&self) -> Option<QueueLimit> {
        self.limit
    }

    /// Returns the length of its queue. Times must not decrease between calls.
    pub fn queue(&mut self, now: Time) -> Length {
        self.settle(now);
        let heads = self.special.as_ref().and_then(|special| special.heads.as_ref());
        match heads {
            Some(heads) => heads.length(),
            None => self.waiting(now),
        }
    }

    /// Returns the length of the queue of frames whose transmission time is known.
    fn waiting(&mut self, now: Time) -> Length {
        let Self { waiting, byte_ps, rare, .. } = self;
        waiting.length(now, |begins, wire_bytes| end(begins, wire_bytes, *byte_ps, rare))
    }

    /// Returns the length of its queue, and the bytes that it has sent up to now.
    pub(crate) fn sample(&mut self, now: Time) -> (Length, u64) {
        (self.queue(now), self.counters(now).wire_bytes)
    }

    /// Returns its counters up to now; waiting frames do not count as sent.
    pub fn counters(&mut self, now: Time) -> LinkCounters {
        let waiting = self.waiting(now);
        LinkCounters {
            frames_pkts: self.frames_pkts - u64::from(waiting.packets),
            wire_bytes: self.wire_bytes - waiting.bytes,
            ..self.rare.counters
        }
    }

    /// Returns the number of IP packets sent up to now, by size; `None` if the scenario does not ask for it.
    pub fn packet_sizes(&mut self, now: Time) -> Option<Vec<PacketSize>> {
        let mut sizes = self.special.as_ref()?.sizes.clone()?;
        self.waiting(now);
        for ip_bytes in self.waiting.ip_bytes() {
            sizes.entry(ip_bytes).and_modify(|packets| *packets -= 1);
        }
        let sent = sizes.into_iter().filter(|(_, packets)| *packets > 0);
        Some(sent.map(|(size_bytes, packets)| PacketSize { size_bytes, packets }).collect())
    }

    /// Returns whether the link is down now, because it or a node has failed.
    pub(crate) fn is_away(&self, now: Time) -> bool {
        let outages = self.special.as_ref().map_or([].as_slice(), |special| &special.outages);
        outages.iter().any(|&(down, up)| down <= now && now < up)
    }

    /// Empties its queue if it has failed since the last call: an interface without a carrier sends none of its
    /// queued packets.
    fn settle(&mut self, now: Time) {
        let Self { special, waiting, byte_ps, rare, .. } = self;
        let Some(special) = special else { return };
        while let Some(&(down, _)) = special.outages.get(special.failed).filter(|(down, _)| *down <= now) {
            special.failed += 1;
            let left = waiting.length(down, |begins, wire_bytes| end(begins, wire_bytes, *byte_ps, rare));
            self.frames_pkts -= u64::from(left.packets);
            self.wire_bytes -= left.bytes;
            // They are already counted as frames lost on the link.
            if let Some(sizes) = &mut special.sizes {
                for ip_bytes in waiting.ip_bytes() {
                    sizes.entry(ip_bytes).and_modify(|packets| *packets -= 1);
                }
            }
            *waiting = Waiting::default();
            self.free_at = self.free_at.min(down);
        }
    }

    /// Accepts or drops a packet that arrives now, on a plain link. Returns the time at which its last bit leaves,
    /// or `None` if the packet is dropped.
    pub(crate) fn pass(&mut self, now: Time, ip_bytes: u32) -> Option<Time> {
        if ip_bytes > u32::from(self.mtu_bytes) {
            self.rare.counters.too_big_pkts += 1;
            return None;
        }
        let ip_bytes = self.carried_bytes(ip_bytes);
        let wire_bytes = wire_bytes(ip_bytes);
        let queue = self.waiting(now);
        if self.is_full(queue, wire_bytes) {
            self.rare.counters.drops_pkts += 1;
            return None;
        }
        Some(self.accept(now, ip_bytes, wire_bytes))
    }

    /// Returns whether a queue of that length has no room for a frame of that many bytes.
    fn is_full(&self, queue: Length, wire_bytes: u32) -> bool {
        self.limit.is_some_and(|limit| queue.with(wire_bytes).exceeds(limit))
    }

    /// Accepts a frame, which waits until the link is free; returns the time at which its last bit leaves.
    fn accept(&mut self, now: Time, ip_bytes: u32, wire_bytes: u32) -> Time {
        let begins = self.free_at.max(now);
        if begins > now {
            self.waiting.push(begins, ip_bytes);
        }
        self.transmit(begins, wire_bytes)
    }

    /// Accepts or drops packet `number`, which arrives now.
    pub(crate) fn offer(&mut self, now: Time, number: u32, arena: &mut Arena) -> Verdict {
        let flow = arena.flow(number);
        let travel = arena.travel(number);
        if travel.ip_bytes > u32::from(self.mtu_bytes) {
            self.rare.counters.too_big_pkts += 1;
            return Verdict::Dropped;
        }
        let ip_bytes = self.carried_bytes(travel.ip_bytes);
        let wire_bytes = wire_bytes(ip_bytes);
        let queue = self.queue(now);
        let (is_busy, idle) = (self.free_at > now, now.since(self.free_at));
        let decision =
            self.special.as_mut().map_or(Decision::Take, |special| special.arrivals.decide(queue, idle));
        let is_full = self.is_full(queue, wire_bytes);
        let has_room =
            !is_full || (queue.packets > 0 && self.heads().is_some_and(|heads| heads.drops_others()));
        if !has_room || !self.admit(decision, travel) {
            self.rare.counters.drops_pkts += 1;
            return Verdict::Dropped;
        }
        let limit = self.limit;
        if let Some(heads) = self.heads().filter(|_| is_busy || queue.packets > 0) {
            heads.push(now, flow, number, wire_bytes);
            let dropped_pkts = limit.map_or(0, |limit| heads.make_room(limit, arena));
            self.rare.counters.drops_pkts += dropped_pkts;
            let all = u32::try_from(queue.bytes).unwrap_or(u32::MAX).saturating_add(wire_bytes);
            return Verdict::Waits { leaves: self.end(self.free_at.max(now), all), dropped_pkts };
        }
        self.count_size(ip_bytes);
        Verdict::Sent(self.accept(now, ip_bytes, wire_bytes))
    }

    /// Returns whether a packet is admitted by that decision, after marking it if necessary.
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
            self.rare.counters.marks_pkts += 1;
        }
        true
    }

    /// Sends a frame whose transmission begins at that time; returns the time at which its last bit leaves.
    fn transmit(&mut self, begins: Time, wire_bytes: u32) -> Time {
        self.free_at = self.end(begins, wire_bytes);
        self.frames_pkts += 1;
        self.wire_bytes += u64::from(wire_bytes);
        self.free_at
    }

    /// Counts a packet that is sent by its size, if the scenario asks for it.
    fn count_size(&mut self, ip_bytes: u32) {
        if let Some(sizes) = self.special.as_mut().and_then(|special| special.sizes.as_mut()) {
            *sizes.entry(ip_bytes).or_default() += 1;
        }
    }

    /// Returns the time at which the next packet can be taken by [`Link::take`]; `None` if there is none.
    pub(crate) fn next_take(&self) -> Option<Time> {
        let heads = self.special.as_ref()?.heads.as_ref()?;
        (heads.length().packets > 0).then_some(self.free_at)
    }

    /// Takes the head of the queue now that the link is free; returns the packet sent, the time at which its last
    /// bit leaves, and the number of packets dropped before it.
    pub(crate) fn take(&mut self, now: Time, arena: &mut Arena) -> (Option<(u32, Time)>, u64) {
        if self.is_away(now) {
            return (None, self.lose_all(arena));
        }
        let Some(heads) = self.heads() else { return (None, 0) };
        let ecn = heads.ecn;
        let Taken { packet, dropped, marked_pkts } = heads.pop(now, |number| {
            let codepoint = &mut arena.travel(number).ecn;
            let is_marked = ecn && *codepoint != Codepoint::NotCapable;
            if is_marked {
                *codepoint = Codepoint::Experienced;
            }
            is_marked
        });
        let dropped_pkts = dropped.len() as u64;
        dropped.into_iter().for_each(|number| arena.discard(number));
        self.rare.counters.drops_pkts += dropped_pkts;
        self.rare.counters.marks_pkts += marked_pkts;
        let sent = packet.map(|number| {
            let ip_bytes = self.carried_bytes(arena.travel(number).ip_bytes);
            self.count_size(ip_bytes);
            (number, self.transmit(now, wire_bytes(ip_bytes)))
        });
        (sent, dropped_pkts)
    }

    /// Drops all packets that wait for [`Link::take`], and returns their number.
    fn lose_all(&mut self, arena: &mut Arena) -> u64 {
        let Some(heads) = self.heads() else { return 0 };
        let mut lost_pkts = 0;
        while let Some(number) = heads.pop(Time::ZERO, |_| false).packet {
            arena.discard(number);
            lost_pkts += 1;
        }
        self.rare.counters.lost_pkts += lost_pkts;
        lost_pkts
    }

    /// Returns the time at which the last bit of a packet that arrives at that time leaves, if no other packet
    /// arrives before it and it is not dropped.
    pub(crate) fn leaves_at_best(&self, comes: Time, ip_bytes: u32) -> Time {
        self.end(self.free_at.max(comes), wire_bytes(self.carried_bytes(ip_bytes)))
    }

    /// Returns the outcome, on its way to the other end, of a frame that is accepted now and whose last bit leaves
    /// at that time.
    pub(crate) fn carry(&mut self, now: Time, leaves: Time) -> Outcome {
        let Some(special) = &mut self.special else { return Outcome::Arrives(leaves + self.delay) };
        let at = special.arrival(leaves, self.delay);
        if special.outages.iter().any(|&(down, _)| now < down && down <= at) {
            self.rare.counters.lost_pkts += 1;
            return Outcome::Lost;
        }
        let Some(outcomes) = &mut special.outcomes else {
            special.latest = at;
            return Outcome::Arrives(at);
        };
        let outcome = outcomes.next(at);
        match outcome {
            Outcome::Lost => self.rare.counters.lost_pkts += 1,
            Outcome::Arrives(_) => {}
            Outcome::ArrivesTwice(_) => self.rare.counters.duplicated_pkts += 1,
        }
        outcome
    }

    /// Returns the transmission time of an IP packet of that many bytes; with a trace the shortest that it may have.
    pub(crate) fn frame_time(&self, ip_bytes: u32) -> Time {
        let wire_bytes = wire_bytes(self.carried_bytes(ip_bytes));
        match &self.rare.trace {
            Some(trace) => Time::of_bytes(wire_bytes.into(), trace.highest_bps()),
            None => self.end(Time::ZERO, wire_bytes),
        }
    }

    /// Returns the time at which the transmission of an IP packet of that many bytes began whose last bit leaves at
    /// that time; with a trace the earliest.
    pub(crate) fn began(&self, leaves: Time, ip_bytes: u32) -> Time {
        match &self.rare.trace {
            Some(trace) => Time(trace.beginning_ps(leaves.0, wire_bytes(self.carried_bytes(ip_bytes)))),
            None => leaves - self.frame_time(ip_bytes),
        }
    }

    /// Returns the time at which the last bit of that many bytes leaves whose transmission begins at that time.
    fn end(&self, begins: Time, wire_bytes: u32) -> Time {
        end(begins, wire_bytes, self.byte_ps, &self.rare)
    }

    fn heads(&mut self) -> Option<&mut Heads> {
        self.special.as_mut()?.heads.as_mut()
    }
}

/// Returns the time at which the last bit of that many bytes leaves whose transmission begins at that time, rounded up,
/// on a link on which a byte always takes `byte_ps` picoseconds if they are a whole number, otherwise 0.
fn end(begins: Time, wire_bytes: u32, byte_ps: u64, rare: &Rare) -> Time {
    if byte_ps > 0 { begins + Time(u64::from(wire_bytes) * byte_ps) } else { rare.end(begins, wire_bytes) }
}

/// Converts nanoseconds to a time; `u64::MAX` becomes the largest time.
fn time_or_never(ns: u64) -> Time {
    if ns == u64::MAX { Time(u64::MAX) } else { Time::from_ns(ns) }
}

impl Special {
    /// Creates the special state of direction `number` of `cable`, if it needs any; its full frame has that many
    /// bytes on the wire and that transmission time.
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
            && cable.delay_trace.is_none()
            && !counts_sizes
            && outages.is_empty()
        {
            return None;
        }
        let heads = match cable.discipline {
            Discipline::CoDel { target, interval, ecn } | Discipline::FqCodel { target, interval, ecn } => {
                let [target_ps, interval_ps] = [target, interval].map(|time| Time::from_ns(time.0).0);
                let settings = CoDelSettings { target_ps, interval_ps, frame_bytes: frame_bytes.into() };
                let queue = match cable.discipline {
                    // A turn is a full frame (fq_codel_init of the kernel's net/sched/sch_fq_codel.c).
                    Discipline::FqCodel { .. } => {
                        HeadsQueue::FqCoDel(FqCoDel::new(settings, Backlog::All, frame_bytes))
                    }
                    _ => HeadsQueue::CoDel(CoDel::new(settings)),
                };
                Some(Heads { queue, ecn })
            }
            _ => None,
        };
        let random = Random::new(scenario.seed, RED_PURPOSE | u64::from(number));
        Some(Box::new(Self {
            arrivals: Arrivals::new(cable, frame_time, random),
            heads,
            outcomes: Outcomes::new(cable.impairment, number.into()),
            delays: cable.delay_trace.as_ref().map(Delays::new),
            latest: Time::ZERO,
            sizes: counts_sizes.then(BTreeMap::new),
            outages,
            failed: 0,
        }))
    }

    /// Returns the arrival of a frame whose last bit leaves at that time, on a link with that delay unless it follows a
    /// trace. Impairments keep the order of frames themselves, because some leave it.
    fn arrival(&self, leaves: Time, delay: Time) -> Time {
        let delays = self.delays.as_ref();
        let at = leaves + delays.map_or(delay, |delays| Time::from_ns(delays.at_ns(leaves.as_ns())));
        if self.outcomes.is_some() { at } else { at.max(self.latest) }
    }
}
