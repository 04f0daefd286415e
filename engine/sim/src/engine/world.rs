//! The event loop: handles events in order of time, and moves packets from link to link and to their endpoints.

mod reading_ahead;

use crate::capture::Captures;
use crate::engine::calendar::Calendar;
use crate::engine::event::{Event, Packed};
use crate::engine::events::Events;
use crate::network::Network;
use crate::network::fate::Outcome;
use crate::network::link::Verdict;
use crate::network::processor::{Next, Processors};
use crate::packets::arena::{Arena, Load, Travel};
use crate::packets::trace::{Trace, Way};
use crate::{Codepoint, Connection, Endpoint, Io, Notice, Packet, SackBlocks, Time};
use nettrial_wlan::{Category, Outcome as OnAir, Packet as OfAir};
use std::collections::VecDeque;
use std::ops::AddAssign;

/// The endpoints at which packets arrive: connections and applications.
pub trait Endpoints {
    /// Handles a packet that arrived at the end of its path.
    fn on_packet(&mut self, packet: &Packet, io: &mut impl Io);

    /// Handles a wake-up at the time that was given to [`Io::wake`] for this endpoint.
    fn on_timer(&mut self, endpoint: Endpoint, io: &mut impl Io);

    /// Handles the departure of a packet of this endpoint, if [`Io::send`] could not tell its departure time.
    fn on_left(&mut self, _: Endpoint, _: &mut impl Io) {}

    /// Returns the connection of that number, whose memory is prefetched; `None` if nothing is to be prefetched.
    fn connection(&self, _number: u32) -> Option<&Connection> {
        None
    }

    /// Returns the approximate memory in bytes of all endpoints.
    fn size_bytes(&self) -> usize {
        0
    }

    /// Handles a notice that an endpoint sent in the current event.
    fn on_notice(&mut self, notice: Notice, io: &mut impl Io);

    /// Returns whether the simulation can stop after the current event.
    fn is_over(&self) -> bool {
        false
    }
}

/// The numbers of all packets. At any time, the sum of `sent_pkts` and `duplicated_pkts` is the sum of
/// `delivered_pkts`, `dropped_pkts` and `in_flight_pkts`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Balance {
    /// Packets that endpoints sent.
    pub sent_pkts: u64,
    /// Copies of packets that links made.
    pub duplicated_pkts: u64,
    /// Packets that arrived at the end of their path, including each one that was coalesced with another.
    pub delivered_pkts: u64,
    /// Packets that were dropped by queues, because of their size, or on links.
    pub dropped_pkts: u64,
    /// Packets on their way.
    pub in_flight_pkts: u64,
    /// The number of times that a packet was accepted or refused by a link: the amount of work done.
    pub hops: u64,
}

impl AddAssign for Balance {
    fn add_assign(&mut self, other: Self) {
        self.sent_pkts += other.sent_pkts;
        self.duplicated_pkts += other.duplicated_pkts;
        self.delivered_pkts += other.delivered_pkts;
        self.dropped_pkts += other.dropped_pkts;
        self.in_flight_pkts += other.in_flight_pkts;
        self.hops += other.hops;
    }
}

/// The network while the simulation runs, with all events or those of a part.
#[derive(Debug)]
pub struct Engine<C = Events<Packed>> {
    pub(crate) network: Network,
    pub(crate) events: C,
    pub(crate) arena: Arena,
    notices: VecDeque<Notice>,
    pub(crate) balance: Balance,
    captures: Option<Box<Captures>>,
    trace: Option<Box<Trace>>,
    /// True if packets are captured or traced.
    is_watched: bool,
}

impl Engine {
    fn new(network: Network) -> Self {
        assert!(network.links.len() <= Packed::DIRECTIONS, "too many interfaces");
        let channels = network.air.len();
        let mut new = Self::with(network, Events::default());
        // Access points send beacons even if there are no packets.
        (0..channels).for_each(|channel| new.schedule(channel));
        new
    }

    /// Captures packets from now on.
    pub(crate) fn capture(&mut self, captures: Option<Captures>) {
        let channels = captures.iter().flat_map(Captures::of_channels);
        channels.for_each(|channel| self.network.air.keep_sent(channel));
        self.is_watched |= captures.is_some();
        self.captures = captures.map(Box::new);
    }

    /// Traces datagrams from now on.
    pub(crate) fn trace(&mut self, trace: Option<Trace>) {
        self.is_watched |= trace.is_some();
        self.trace = trace.map(Box::new);
    }

    /// Completes the captures.
    pub(crate) fn captured(&mut self) -> crate::Result<()> {
        self.captures.take().map_or(Ok(()), |captures| captures.finish())
    }
}

impl<C: Calendar> Engine<C> {
    /// Returns a network without packets, with these events.
    pub(crate) fn with(network: Network, events: C) -> Self {
        Self {
            network,
            events,
            arena: Arena::default(),
            notices: VecDeque::new(),
            balance: Balance::default(),
            captures: None,
            trace: None,
            is_watched: false,
        }
    }

    /// Takes over a packet that was taken out of another arena, and returns the event of its arrival where its path
    /// continues. A packet that has SACK blocks takes the next ones.
    pub(crate) fn receive<'a>(
        &mut self,
        travel: Travel,
        load: Load,
        blocks: &mut impl Iterator<Item = &'a SackBlocks>,
    ) -> Packed {
        let number = self.arena.put(travel, load, blocks);
        self.at_next(number).into()
    }

    /// Adds an event.
    fn push(&mut self, at: Time, event: Event) {
        self.events.push(at, event.into());
    }

    /// Returns the links and paths.
    pub fn network(&mut self) -> &mut Network {
        &mut self.network
    }

    /// Returns the numbers of packets sent, delivered, dropped and in flight so far.
    pub fn balance(&self) -> Balance {
        let coalesced_pkts = self.network.coalesced_pkts();
        Balance {
            in_flight_pkts: self.arena.len() as u64,
            delivered_pkts: self.balance.delivered_pkts + coalesced_pkts,
            ..self.balance
        }
    }

    /// Passes packet `number` to the link direction `direction`. Returns the time at which its last bit leaves, or
    /// `None` if the packet is dropped.
    fn enter(&mut self, number: u32, direction: u32) -> Option<Time> {
        self.balance.hops += 1;
        let link = &mut self.network.links[direction as usize];
        if !link.is_plain() || self.is_watched {
            return self.enter_special(number, direction);
        }
        let Some(leaves) = link.pass(self.events.now(), self.arena.travel(number).ip_bytes) else {
            self.drop(number);
            return None;
        };
        let (arrives, far) = (leaves + link.delay(), link.far());
        self.forward(number, far, arrives);
        Some(leaves)
    }

    /// Passes packet `number` to a link direction that does more than carry packets in order, or whose packets may
    /// be captured or traced. Returns the same as [`Engine::enter`], which is small without it.
    #[inline(never)]
    fn enter_special(&mut self, number: u32, direction: u32) -> Option<Time> {
        let (now, link) = (self.events.now(), &mut self.network.links[direction as usize]);
        if link.is_on_air() {
            return self.enter_air(number, direction);
        }
        if link.is_away(now) {
            return self.go_around(number);
        }
        if let Some(trace) = &mut self.trace {
            trace.queued(&self.arena.packet(number), now);
        }
        let could_take = link.next_take();
        match link.offer(now, number, &mut self.arena) {
            Verdict::Sent(leaves) => {
                if let Some(trace) = &mut self.trace {
                    let packet = self.arena.packet(number);
                    trace.left(&packet, link.began(leaves, packet.ip_bytes).max(now));
                }
                self.carry(number, direction, leaves);
                Some(leaves)
            }
            Verdict::Waits { leaves, dropped_pkts } => {
                self.balance.dropped_pkts += dropped_pkts;
                if let Some(at) = link.next_take().filter(|_| could_take.is_none()) {
                    self.push(at, Event::Take(direction));
                }
                Some(leaves)
            }
            Verdict::Dropped => {
                self.balance.dropped_pkts += 1;
                self.arena.discard(number);
                None
            }
        }
    }

    /// Sends packet `number`, whose next link has failed, over another link, or drops it. Returns the time at
    /// which its last bit leaves, or `None` if the packet is dropped.
    fn go_around(&mut self, number: u32) -> Option<Time> {
        let (now, place, path) = (self.events.now(), self.arena.travel(number).next, self.arena.path(number));
        let Network { detours, paths, .. } = &self.network;
        let other =
            detours.around(now, path, place, paths).and_then(|other| Some((other, paths.link(other)?)));
        let Some((other, direction)) = other else {
            self.drop(number);
            return None;
        };
        self.arena.travel(number).next = other;
        self.enter(number, direction)
    }

    /// Moves packet `number`, whose last bit leaves at `leaves`, to the other end of the link, unless the link
    /// loses it.
    fn carry(&mut self, number: u32, direction: u32, leaves: Time) {
        let now = self.events.now();
        let link = &mut self.network.links[direction as usize];
        let (outcome, far) = (link.carry(now, leaves), link.far());
        if self.captures.is_some() {
            self.take_down(number, direction, leaves, outcome);
        }
        match outcome {
            Outcome::Arrives(at) => self.forward(number, far, at),
            Outcome::ArrivesTwice(at) => {
                self.balance.duplicated_pkts += 1;
                let copy = self.arena.copy(number);
                self.forward(number, far, at);
                self.forward(copy, far, at);
            }
            Outcome::Lost => {
                self.balance.dropped_pkts += 1;
                self.arena.discard(number);
            }
        }
    }

    /// Passes packet `number` to the radio channel of interface `direction`. Returns [`Time::NEVER`], because the
    /// departure time is not known, or `None` if the packet is dropped.
    fn enter_air(&mut self, number: u32, direction: u32) -> Option<Time> {
        let (now, network) = (self.events.now(), &mut self.network);
        let &mut Travel { next, ip_bytes, ecn } = self.arena.travel(number);
        let is_too_big = ip_bytes > network.links[direction as usize].mtu_bytes();
        let between = network.between(next).filter(|_| !is_too_big);
        let category = Category::of_dscp(network.paths.dscp(self.arena.path(number)));
        let packet = OfAir {
            category,
            flow: self.arena.flow(number),
            can_be_marked: ecn != Codepoint::NotCapable,
            tag: number,
            bytes: ip_bytes,
        };
        let is_of_host = next == network.paths.start(self.arena.path(number));
        let sender = self.arena.accountant(number).filter(|_| is_of_host);
        if !between.is_some_and(|between| network.air.offer(now, between, packet, sender)) {
            // The sender of a packet that a CPU delayed expects a report of its departure.
            let came_later = network.processors.as_ref().is_some_and(|all| all.delays(direction));
            if let Some(sender) = sender.filter(|_| came_later) {
                self.push(now, Event::Left(sender));
            }
            self.drop(number);
            return None;
        }
        self.take_down_on_air(number, next, 0);
        if let Some(channel) = self.network.air.channel(direction) {
            self.schedule(channel);
        }
        Some(Time::NEVER)
    }

    /// Captures packet `number`, which is at that place of its path: where it enters its radio channel, before the
    /// queue, as a real station's capture does (`side` 0), or where it leaves the channel (1).
    fn take_down_on_air(&mut self, number: u32, place: u32, side: usize) {
        let now = self.events.now();
        let Some(captures) = &mut self.captures else { return };
        let Some(between) = self.network.between(place) else { return };
        let between = between.map(|interface| interface as usize);
        captures.take(between[side], between, &self.arena.packet(number), now, now);
    }

    /// Captures the frames that the stations of a radio channel sent, before the outcomes of its packets are
    /// processed.
    fn take_down_channel(&mut self, channel: usize) {
        let Some(captures) = &mut self.captures else { return };
        let sent = self.network.air.take_sent(channel);
        let (arena, network) = (&mut self.arena, &self.network);
        captures.on_air(channel, &sent, self.events.now(), |number| {
            let between = network.between(arena.travel(number).next)?;
            Some((arena.packet(number), between.map(|interface| interface as usize)))
        });
    }

    /// Moves packet `number` over a link of its path to interface `far`, where it arrives at `at`.
    fn forward(&mut self, number: u32, far: u32, at: Time) {
        let event = self.advance(number);
        match self.events.elsewhere(far) {
            None => self.push(at, event),
            Some(part) => {
                let packet = self.arena.take(number);
                self.events.send(part, at, packet);
            }
        }
    }

    /// Moves packet `number` beyond a link of its path, and returns the event of its arrival there.
    fn advance(&mut self, number: u32) -> Event {
        self.arena.travel(number).next += 1;
        self.at_next(number)
    }

    /// Returns the event of the arrival of packet `number` where its path continues.
    fn at_next(&mut self, number: u32) -> Event {
        let next = self.network.paths.link(self.arena.travel(number).next);
        next.map_or(Event::Arrive(number), |direction| Event::Enter { number, direction })
    }

    /// Drops packet `number`.
    fn drop(&mut self, number: u32) {
        self.balance.dropped_pkts += 1;
        self.arena.discard(number);
    }

    /// Schedules the next event of a radio channel.
    fn schedule(&mut self, channel: usize) {
        if let Some(at) = self.network.air.schedule(channel) {
            self.push(at, Event::Air(channel as u32));
        }
    }

    /// Handles an event of a radio channel. Packets that crossed it continue on their paths.
    fn look_at_air(&mut self, channel: u32) {
        let now = self.events.now();
        let outcomes = self.network.air.look(now, channel as usize);
        for outcome in &outcomes {
            if let OnAir::Marked(number) = outcome {
                self.arena.travel(*number).ecn = Codepoint::Experienced;
            }
        }
        self.take_down_channel(channel as usize);
        for outcome in outcomes {
            match outcome {
                OnAir::Marked(_) => {}
                OnAir::Dropped(number) => self.drop(number),
                OnAir::Delivered(number) => {
                    let place = self.arena.travel(number).next;
                    self.take_down_on_air(number, place, 1);
                    let event = self.advance(number);
                    self.push(now, event);
                }
            }
        }
        for sender in self.network.air.take_left(channel as usize) {
            self.push(now, Event::Left(sender));
        }
        self.schedule(channel as usize);
    }

    /// Captures packet `number` where it leaves an interface and where it arrives.
    fn take_down(&mut self, number: u32, direction: u32, leaves: Time, outcome: Outcome) {
        let (packet, now) = (self.arena.packet(number), self.events.now());
        let Some(captures) = &mut self.captures else { return };
        let link = &self.network.links[direction as usize];
        let between @ [near, far] = [direction, link.far()].map(|interface| interface as usize);
        let begins = link.began(leaves, packet.ip_bytes);
        captures.take(near, between, &packet, begins, now);
        let arrivals = match outcome {
            Outcome::Lost => [None, None],
            Outcome::Arrives(at) => [Some(at), None],
            Outcome::ArrivesTwice(at) => [Some(at), Some(at)],
        };
        for at in arrivals.into_iter().flatten() {
            captures.take(far, between, &packet, at, now);
        }
    }

    /// Sends the packet at the head of a link's queue, and schedules the next one.
    fn take(&mut self, direction: u32) {
        let link = &mut self.network.links[direction as usize];
        let (sent, dropped_pkts) = link.take(self.events.now(), &mut self.arena);
        self.balance.dropped_pkts += dropped_pkts;
        if let Some(at) = link.next_take() {
            self.push(at, Event::Take(direction));
        }
        if let Some((number, leaves)) = sent {
            if let Some(trace) = &mut self.trace {
                trace.left(&self.arena.packet(number), self.events.now());
            }
            self.carry(number, direction, leaves);
        }
    }

    /// Handles the arrival of packet `number` at the end of its path. Returns the packet if its host processes it
    /// in no time.
    fn arrive(&mut self, number: u32) -> Option<Packet> {
        let now = self.events.now();
        if let Some(trace) = &mut self.trace {
            trace.arrived(number, self.arena.to(number), now);
        }
        if let Some((processors, processor)) = self.receiver(number) {
            if let Some(at) = processors.arrive(processor, number, now) {
                self.push(at, Event::Look(processor));
            }
            return None;
        }
        Some(self.deliver(number))
    }

    /// Returns the CPUs, and the CPU of the host at which packet `number` arrived, if processing it takes time.
    fn receiver(&mut self, number: u32) -> Option<(&mut Processors, u32)> {
        let processors = self.network.processors.as_mut()?;
        let processor = processors.at(self.network.paths.arrival(self.arena.travel(number).next)?)?;
        Some((processors, processor))
    }

    /// Handles a CPU's turn to look for packets that arrived.
    fn look(&mut self, processor: u32) {
        let (now, arena) = (self.events.now(), &mut self.arena);
        let Some(processors) = &mut self.network.processors else { return };
        match processors.look(processor, now, arena) {
            Some(Next::Look(at)) => self.push(at, Event::Look(processor)),
            Some(Next::Finish(number, at)) => self.push(at, Event::Finish(number)),
            None => {}
        }
    }

    /// Handles the end of a CPU's work on packet `number`, and returns the packet.
    fn finish(&mut self, number: u32) -> Packet {
        let now = self.events.now();
        let next = self
            .receiver(number)
            .and_then(|(processors, processor)| processors.finish(processor, now).map(|at| (at, processor)));
        if let Some((at, processor)) = next {
            self.push(at, Event::Look(processor));
        }
        self.deliver(number)
    }

    /// Removes packet `number` from the network and returns it.
    fn deliver(&mut self, number: u32) -> Packet {
        self.balance.delivered_pkts += 1;
        let packet = self.arena.remove(number);
        if let Some(trace) = &mut self.trace {
            trace.delivered(number, &packet);
        }
        packet
    }

    /// Schedules packet `number` to reach its first link when its host's CPU has processed it, if that takes time.
    /// Returns the time at which its last bit leaves if the link's state does not change until then. The packet
    /// may be in one burst with the packet before it.
    fn send_later(&mut self, number: u32, direction: u32, goes_with_last: bool) -> Option<Time> {
        let now = self.events.now();
        let ip_bytes = self.arena.travel(number).ip_bytes;
        let processors = self.network.processors.as_mut()?;
        let done = processors.send(processors.at(direction)?, ip_bytes, goes_with_last, now)?;
        self.push(done, Event::Enter { number, direction });
        let link = &self.network.links[direction as usize];
        Some(if link.is_on_air() { Time::NEVER } else { link.leaves_at_best(done, ip_bytes) })
    }

    /// Sends a packet, which may be in one burst with the packet before it. Returns the time at which its transmission
    /// begins.
    fn start(&mut self, packet: &Packet, goes_with_last: bool) -> Option<Time> {
        self.balance.sent_pkts += 1;
        let start = self.network.paths.start(packet.path);
        let number = self.arena.insert(packet, start);
        match self.network.paths.link(start) {
            Some(link) => {
                let last_bit =
                    self.send_later(number, link, goes_with_last).or_else(|| self.enter(number, link))?;
                let link = &self.network.links[link as usize];
                Some(if last_bit == Time::NEVER { last_bit } else { link.began(last_bit, packet.ip_bytes) })
            }
            None => {
                let now = self.now();
                self.push(now, Event::Arrive(number));
                Some(now)
            }
        }
    }
}

impl<C: Calendar> Io for Engine<C> {
    fn now(&self) -> Time {
        self.events.now()
    }

    fn send(&mut self, packet: &Packet) -> Option<Time> {
        self.start(packet, false)
    }

    fn send_cut(&mut self, packet: &Packet) -> Option<Time> {
        self.start(packet, true)
    }

    fn wake(&mut self, endpoint: Endpoint, at: Time) {
        self.push(at, Event::Timer(endpoint));
    }

    fn opens(&mut self, connection: u32, flow: u32, turn: usize) {
        if let Some(captures) = &mut self.captures {
            captures.opened(connection, flow, turn);
        }
    }

    fn way(&mut self) -> Option<Way> {
        self.trace.as_mut()?.way()
    }

    fn tell(&mut self, notice: Notice) {
        self.notices.push_back(notice);
    }
}

/// A network and the endpoints at which packets arrive.
#[derive(Debug)]
pub struct World<E, C = Events<Packed>> {
    /// The network.
    pub engine: Engine<C>,
    /// The endpoints at which packets arrive.
    pub endpoints: E,
    /// True if the memory that upcoming events need is prefetched.
    pub(crate) reads_ahead: bool,
    /// The endpoints of the upcoming events, and the place in the list of paths at which their answers begin; kept
    /// so that the list is allocated once.
    pub(crate) ahead: Vec<(Endpoint, Option<u32>)>,
}

impl<E: Endpoints> World<E> {
    /// Returns a world at time zero with no events.
    pub fn new(network: Network, endpoints: E) -> Self {
        let reads_ahead = reading_ahead::pays(&network, endpoints.size_bytes());
        Self { engine: Engine::new(network), endpoints, reads_ahead, ahead: Vec::new() }
    }
}

impl<E: Endpoints, C: Calendar> World<E, C> {
    /// Lets endpoints act now, for example to begin.
    pub fn act<R>(&mut self, act: impl FnOnce(&mut E, &mut Engine<C>) -> R) -> R {
        let result = act(&mut self.endpoints, &mut self.engine);
        self.notify();
        result
    }

    /// Runs until no event is left, the next event is after `end`, or the endpoints are done. Returns the time of
    /// the last event.
    pub fn run(&mut self, end: Time) -> Time {
        loop {
            if self.engine.events.turn() && self.reads_ahead {
                self.read_ahead();
            }
            let Some(event) = self.engine.events.pop(end) else { break };
            match Event::from(event) {
                Event::Enter { number, direction } => {
                    self.engine.enter(number, direction);
                    continue;
                }
                Event::Arrive(number) => match self.engine.arrive(number) {
                    Some(packet) => self.endpoints.on_packet(&packet, &mut self.engine),
                    None => continue,
                },
                Event::Timer(endpoint) => self.endpoints.on_timer(endpoint, &mut self.engine),
                Event::Left(endpoint) => self.endpoints.on_left(endpoint, &mut self.engine),
                Event::Finish(number) => {
                    let packet = self.engine.finish(number);
                    self.endpoints.on_packet(&packet, &mut self.engine);
                }
                Event::Take(direction) => {
                    self.engine.take(direction);
                    continue;
                }
                Event::Look(processor) => {
                    self.engine.look(processor);
                    continue;
                }
                Event::Air(channel) => {
                    self.engine.look_at_air(channel);
                    continue;
                }
            }
            self.notify();
            if self.endpoints.is_over() {
                break;
            }
        }
        self.engine.now()
    }

    /// Passes all pending notices to the endpoints.
    fn notify(&mut self) {
        while let Some(notice) = self.engine.notices.pop_front() {
            self.endpoints.on_notice(notice, &mut self.engine);
        }
    }
}
