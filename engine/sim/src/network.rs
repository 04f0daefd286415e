//! The links of a scenario, and the paths over them.

pub mod air;
pub mod coalescing;
pub mod detours;
pub mod fate;
pub mod link;
pub mod paths;
pub mod processor;
pub mod queue;

use crate::{PathId, Time};
use air::Air;
use detours::{Detours, numbers};
use link::Link;
use nettrial_routing::{FiveTuple, Interfaces, Paths};
use nettrial_scenario::Scenario;
use paths::PathTable;
use processor::Processors;

/// Links and paths.
#[derive(Debug)]
pub struct Network {
    /// The directions of all links, by the number of the interface at which each begins ([`Interfaces`]).
    pub(crate) links: Vec<Link>,
    /// The paths of all packets.
    pub(crate) paths: PathTable,
    /// The detours around failed links.
    pub(crate) detours: Detours,
    /// The radio channels.
    pub(crate) air: Air,
    /// The CPUs; `None` if work costs nothing and nothing is coalesced.
    pub(crate) processors: Option<Processors>,
}

impl Network {
    /// Creates the network of `scenario`, which has passed the simulator's check.
    pub fn new(scenario: &Scenario) -> Self {
        let interfaces = Interfaces::new(scenario);
        let mut links = Vec::with_capacity(interfaces.all().len());
        for (number, link) in scenario.links.iter().enumerate() {
            let numbers = interfaces.of_link(number).map(|interface| interface as u32);
            let Some(pair) = link.cable() else {
                let of_radio = link.interfaces.iter().zip(numbers);
                links.extend(
                    of_radio
                        .map(|(near, number)| Link::new(scenario, link, near, [number, Link::ON_AIR], &[])),
                );
                continue;
            };
            let outages = scenario.outages_of(number);
            let ends = pair.into_iter().enumerate();
            for (((end, near), number), far) in ends.zip(numbers.clone()).zip(numbers.rev()) {
                links.push(Link::new(scenario, &link.from_end(end), near, [number, far], &outages));
            }
        }
        let (air, processors) = (Air::new(scenario, &interfaces), Processors::new(scenario, &interfaces));
        Self { links, paths: PathTable::default(), detours: Detours::new(scenario), air, processors }
    }

    /// Returns whether its parts can be on different threads: no CPU, no radio channel and no failing link.
    pub(crate) fn is_divisible(&self) -> bool {
        self.processors.is_none() && self.air.len() == 0 && self.detours.is_empty()
    }

    /// Returns the shortest time in which a frame reaches another node.
    pub(crate) fn lookahead(&self) -> Time {
        let times = self.links.iter().map(|link| link.frame_time(0) + link.delay());
        times.min().unwrap_or(Time::NEVER)
    }

    /// Divides it into `count` parts, of which each has the links that begin at its interfaces. The list has the
    /// part of each interface.
    pub(crate) fn divide(self, parts: &[u8], count: usize) -> Vec<Self> {
        let part = |_| Self {
            links: Vec::with_capacity(self.links.len()),
            paths: self.paths.of_part(),
            detours: Detours::default(),
            air: Air::default(),
            processors: None,
        };
        let mut divided: Vec<Self> = (0..count).map(part).collect();
        for (link, &part) in self.links.into_iter().zip(parts) {
            let mut link = Some(link);
            for (number, of) in divided.iter_mut().enumerate() {
                let own = if number == usize::from(part) { link.take() } else { None };
                of.links.push(own.unwrap_or_default());
            }
        }
        divided
    }

    /// Restores the network that was divided into these parts.
    pub(crate) fn join(mut divided: Vec<Self>, parts: &[u8]) -> Self {
        let links = parts.iter().enumerate();
        let links: Vec<Link> = links
            .map(|(direction, &part)| std::mem::take(&mut divided[usize::from(part)].links[direction]))
            .collect();
        let mut whole = divided.swap_remove(0);
        whole.links = links;
        whole
    }

    /// Returns the path of a flow's packets with that differentiated services codepoint, by the scenario's
    /// routing; `None` if there is none.
    pub fn path(&mut self, routing: &Paths<'_>, flow: &FiveTuple, dscp: u8) -> Option<PathId> {
        let crossings = routing.flow_path(flow)?;
        let (links, arrival) = numbers(&crossings);
        if self.detours.is_empty() {
            return Some(self.paths.number(&links, arrival, dscp));
        }
        let path = self.paths.apart(&links, arrival, dscp);
        self.detours.add(routing, (flow, path, dscp), &mut self.paths);
        Some(path)
    }

    /// Returns the links of a path, each by the number of the interface at which its direction begins.
    pub fn links_of(&self, path: PathId) -> &[u32] {
        self.paths.links(path)
    }

    /// Returns the interfaces of a radio channel between which a packet at that position in the list of paths
    /// travels.
    pub(crate) fn between(&self, place: u32) -> Option<[u32; 2]> {
        let from = self.paths.link(place)?;
        let at = self.paths.link(place + 1).or_else(|| self.paths.arrival(place + 1))?;
        Some([from, self.air.receiver([from, at])?])
    }

    /// Returns whether the first link of a path takes time to transmit.
    pub fn has_rate(&self, path: PathId) -> bool {
        let first = self.links_of(path).first();
        first.is_some_and(|&direction| self.links[direction as usize].rate_bps().is_some())
    }

    /// Returns a link direction.
    pub fn link(&mut self, direction: u32) -> &mut Link {
        &mut self.links[direction as usize]
    }

    /// Returns the busy time of the CPU of node `node` up to `now`; `None` if its work costs nothing.
    pub fn busy(&self, node: usize, now: Time) -> Option<Time> {
        self.processors.as_ref()?.busy(node, now)
    }

    /// Returns the number of segments that hosts' interfaces have coalesced with others.
    pub fn coalesced_pkts(&self) -> u64 {
        self.processors.as_ref().map_or(0, Processors::coalesced_pkts)
    }

    /// Returns the same number for node `node`; `None` if its interfaces do not coalesce segments.
    pub fn coalesced_by(&self, node: usize) -> Option<u64> {
        self.processors.as_ref()?.coalesced_by(node)
    }

    /// Returns the smallest MTU on the path in bytes.
    pub fn path_mtu(&self, path: PathId) -> u32 {
        let mtus = self.paths.links(path).iter().map(|&link| self.links[link as usize].mtu_bytes());
        mtus.min().unwrap_or(u32::MAX)
    }
}
