//! The loop: events in order of time, packets from link to link, and what they arrive at.

use crate::arena::Arena;
use crate::events::Events;
use crate::link::Verdict;
use crate::network::Network;
use crate::{Endpoint, Io, Notice, Packet, Time};
use std::collections::VecDeque;

/// What packets arrive at: connections and applications.
pub trait Endpoints {
    /// A packet has come to its path's end.
    fn on_packet(&mut self, packet: &Packet, io: &mut impl Io);

    /// The time has come that [`Io::wake`] was given for this endpoint.
    fn on_timer(&mut self, endpoint: Endpoint, io: &mut impl Io);

    /// An endpoint has told something, in an event that is now handled.
    fn on_notice(&mut self, notice: Notice, io: &mut impl Io);

    /// Whether there is nothing more to see: the world then stops after the event it is at.
    fn is_over(&self) -> bool {
        false
    }
}

/// What happens.
#[derive(Debug, Clone, Copy)]
enum Event {
    /// A packet comes to where it is next: at a link, or at its path's end.
    Arrive(u32),
    /// A timer.
    Timer(Endpoint),
}

/// What became of all packets; at any time `sent_pkts` and `duplicated_pkts` are together `delivered_pkts`,
/// `dropped_pkts` and `in_flight_pkts`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Balance {
    /// Sent by endpoints.
    pub sent_pkts: u64,
    /// Copies made on links.
    pub duplicated_pkts: u64,
    /// Arrived at their path's end.
    pub delivered_pkts: u64,
    /// Dropped by queues, for their size, or on links.
    pub dropped_pkts: u64,
    /// On their way.
    pub in_flight_pkts: u64,
    /// Links that packets were taken or refused by, in all: the work done.
    pub hops: u64,
}

/// The network while it runs.
#[derive(Debug)]
pub struct Engine {
    network: Network,
    events: Events<Event>,
    arena: Arena,
    notices: VecDeque<Notice>,
    balance: Balance,
}

impl Engine {
    fn new(network: Network) -> Self {
        Self {
            network,
            events: Events::default(),
            arena: Arena::default(),
            notices: VecDeque::new(),
            balance: Balance::default(),
        }
    }

    /// The links and paths.
    pub fn network(&mut self) -> &mut Network {
        &mut self.network
    }

    /// What became of all packets.
    pub fn balance(&self) -> Balance {
        Balance { in_flight_pkts: self.arena.len() as u64, ..self.balance }
    }

    /// Has packet `number` taken by link direction `link`; gives when its last bit leaves, if it does.
    fn enter(&mut self, number: u32, link: u32) -> Option<Time> {
        self.balance.hops += 1;
        let link = &mut self.network.links[link as usize];
        let travel = self.arena.travel(number);
        match link.offer(self.events.now(), travel) {
            Verdict::Sent(leaves) => {
                travel.next += 1;
                self.events.push(leaves + link.delay(), Event::Arrive(number));
                Some(leaves)
            }
            Verdict::Dropped => {
                self.balance.dropped_pkts += 1;
                self.arena.discard(number);
                None
            }
        }
    }

    /// Packet `number` is where it is next: gives it if that is its path's end.
    fn arrive(&mut self, number: u32) -> Option<Packet> {
        if let Some(link) = self.network.paths.link(self.arena.travel(number).next) {
            self.enter(number, link);
            return None;
        }
        self.balance.delivered_pkts += 1;
        Some(self.arena.remove(number))
    }
}

impl Io for Engine {
    fn now(&self) -> Time {
        self.events.now()
    }

    fn send(&mut self, packet: Packet) -> Option<Time> {
        self.balance.sent_pkts += 1;
        let start = self.network.paths.start(packet.path);
        let number = self.arena.insert(packet, start);
        match self.network.paths.link(start) {
            Some(link) => self.enter(number, link),
            None => {
                let now = self.now();
                self.events.push(now, Event::Arrive(number));
                Some(now)
            }
        }
    }

    fn wake(&mut self, endpoint: Endpoint, at: Time) {
        self.events.push(at, Event::Timer(endpoint));
    }

    fn tell(&mut self, notice: Notice) {
        self.notices.push_back(notice);
    }
}

/// A network and what packets arrive at.
#[derive(Debug)]
pub struct World<E> {
    /// The network.
    pub engine: Engine,
    /// What packets arrive at.
    pub endpoints: E,
}

impl<E: Endpoints> World<E> {
    /// A world at time zero in which nothing happens yet.
    pub fn new(network: Network, endpoints: E) -> Self {
        Self { engine: Engine::new(network), endpoints }
    }

    /// Has endpoints do something now, such as to begin.
    pub fn act<R>(&mut self, act: impl FnOnce(&mut E, &mut Engine) -> R) -> R {
        let result = act(&mut self.endpoints, &mut self.engine);
        self.notify();
        result
    }

    /// Runs until nothing is left to happen, the next event is after `end`, or the endpoints are through; gives the
    /// time of the last event.
    pub fn run(&mut self, end: Time) -> Time {
        while let Some((_, event)) = self.engine.events.pop(end) {
            match event {
                Event::Arrive(number) => {
                    let Some(packet) = self.engine.arrive(number) else { continue };
                    self.endpoints.on_packet(&packet, &mut self.engine);
                }
                Event::Timer(endpoint) => self.endpoints.on_timer(endpoint, &mut self.engine),
            }
            self.notify();
            if self.endpoints.is_over() {
                break;
            }
        }
        self.engine.now()
    }

    fn notify(&mut self) {
        while let Some(notice) = self.engine.notices.pop_front() {
            self.endpoints.on_notice(notice, &mut self.engine);
        }
    }
}
