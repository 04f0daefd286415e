//! The round-trip time of an idle path, as the scenario implies it.

use crate::graph::Hop;
use crate::graph::layer2;
use crate::step::{Step, Target};
use crate::{Crossing, Endpoints, Paths};
use nettrial_scenario::{Duration, Flow, Link, ethernet};
use std::collections::HashMap;
use std::net::IpAddr;

impl Paths<'_> {
    /// Returns the longest round-trip time between two hosts, each given by its name and its address, while no
    /// packet waits in a queue: the largest propagation delays, the largest jitter and reordering, and the transmission
    /// times of packets as large as the MTU, on the slowest of several equal paths. `None` if there is no path in
    /// one of the directions. Radio channels count as no time.
    pub fn round_trip(&self, near: (&str, IpAddr), far: (&str, IpAddr)) -> Option<Duration> {
        let there = self.one_way_ns(near.0, far.1)?;
        Some(Duration(there.saturating_add(self.one_way_ns(far.0, near.1)?)))
    }

    /// Returns the same for the addresses that `flow` uses, of several subflows those of the first.
    pub fn round_trip_of(&self, flow: &Flow) -> Option<Duration> {
        let (near, far) = self.subflow_pairs(flow).into_iter().next()?;
        self.round_trip((&flow.from, near), (&flow.to, far))
    }

    /// Returns the longest time of a packet from node `from` to `address`, in nanoseconds.
    fn one_way_ns(&self, from: &str, address: IpAddr) -> Option<u64> {
        let endpoints = self.endpoints(from, address)?;
        let mut pinned = self.pinned_between(&endpoints, address).unwrap_or_default().into_iter();
        let (mut node, mut time_ns) = (endpoints.start, 0_u64);
        let target = self.towards(endpoints.attachment.network);
        for Hop { out, into, to, .. } in pinned.by_ref() {
            time_ns = time_ns.saturating_add(self.crossed_ns(out, into)?);
            node = to;
        }
        let mut known = HashMap::new();
        let rest = self.longest_ns(node, &endpoints, &target, &mut known)?;
        Some(time_ns.saturating_add(rest))
    }

    /// Returns the longest time of a packet from `node` to its destination, in nanoseconds. Each step of a path
    /// comes nearer to the destination, so no node is on its own path.
    fn longest_ns(
        &self,
        node: usize,
        endpoints: &Endpoints,
        target: &Target,
        known: &mut HashMap<usize, u64>,
    ) -> Option<u64> {
        if node == self.graph.owner[endpoints.attachment.interface] {
            return Some(0);
        }
        if let Some(&time_ns) = known.get(&node) {
            return Some(time_ns);
        }
        let longest = match self.step(node, endpoints.by.filter(|_| node == endpoints.start), target)? {
            Step::Deliver(out) => self.crossed_ns(out, endpoints.attachment.interface)?,
            Step::Forward(hops) => {
                let mut longest = 0;
                for hop in hops {
                    let rest = self.longest_ns(hop.to, endpoints, target, known)?;
                    longest = longest.max(self.crossed_ns(hop.out, hop.into)?.saturating_add(rest));
                }
                longest
            }
        };
        known.insert(node, longest);
        Some(longest)
    }

    /// Returns the time of a packet from interface `out` to interface `into` of a neighbour, through the switches
    /// between them, in nanoseconds.
    fn crossed_ns(&self, out: usize, into: usize) -> Option<u64> {
        let crossings = layer2::between(&self.graph, out, into)?;
        let times = crossings.iter().map(|&Crossing { out, .. }| {
            let number = self.graph.interfaces.link(out);
            let end = out - self.graph.interfaces.of_link(number).start;
            let link = self.graph.scenario.links[number].from_end(end);
            link_ns(&link, link.largest_packet(self.graph.interfaces.get(out)))
        });
        Some(times.fold(0, u64::saturating_add))
    }
}

/// Returns the longest time of a packet of `bytes` on `link`, in nanoseconds.
fn link_ns(link: &Link, bytes: u64) -> u64 {
    let transmission_ns = link.rate.map_or(0, |rate| {
        let bits = u128::from(ethernet::wire_bytes(bytes)) * 8;
        u64::try_from((bits * 1_000_000_000).div_ceil(u128::from(rate.0.max(1)))).unwrap_or(u64::MAX)
    });
    let impairment = &link.impairment;
    let held_ns = if impairment.reordering > 0.0 { impairment.reordering_delay.0 } else { 0 };
    [transmission_ns, link.largest_delay().0, impairment.jitter.0, held_ns]
        .into_iter()
        .fold(0, u64::saturating_add)
}
