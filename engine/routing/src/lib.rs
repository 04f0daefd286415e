//! Paths over a scenario's graph, for every backend alike.
//!
//! A network is the set of interfaces that share a prefix. Each node reaches a network it is not
//! attached to through the neighbour from which the fewest links remain; among equals, over the link
//! named first in the scenario. Hosts do not forward. Switches forward frames, so a next hop is the
//! first router behind them.

#![forbid(unsafe_code)]

use ipnet::IpNet;
use nettrial_scenario::{End, NodeKind, Scenario};
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::net::IpAddr;

/// An entry of a node's forwarding table: packets to `destination` go to `gateway` over `interface`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// The node that has the entry.
    pub node: String,
    /// The network it is for.
    pub destination: IpNet,
    /// The next node's address.
    pub gateway: IpAddr,
    /// The node's interface towards it.
    pub interface: String,
}

/// A link from one of its ends: leave by `out`, arrive at `into`.
#[derive(Clone, Copy)]
struct Hop<'a> {
    out: &'a End,
    into: &'a End,
    to: usize,
}

/// The scenario's graph, ready to answer.
pub struct Paths<'a> {
    scenario: &'a Scenario,
    index: HashMap<&'a str, usize>,
    hops: Vec<Vec<Hop<'a>>>,
}

impl<'a> Paths<'a> {
    /// The graph of `scenario`, which has passed [`nettrial_scenario::check`].
    pub fn new(scenario: &'a Scenario) -> Self {
        let index: HashMap<&str, usize> =
            scenario.nodes.iter().enumerate().map(|(number, node)| (node.name.as_str(), number)).collect();
        let mut hops = vec![Vec::new(); scenario.nodes.len()];
        for link in &scenario.links {
            let [a, b] = &link.ends;
            let (from, to) = (index[a.node.as_str()], index[b.node.as_str()]);
            hops[from].push(Hop { out: a, into: b, to });
            hops[to].push(Hop { out: b, into: a, to: from });
        }
        Self { scenario, index, hops }
    }

    fn kind(&self, node: usize) -> NodeKind {
        self.scenario.nodes[node].kind
    }

    fn attached(&self, node: usize, network: IpNet) -> bool {
        self.hops[node].iter().any(|hop| has_network(hop.out, network))
    }

    /// All networks of the scenario, in order.
    pub fn networks(&self) -> BTreeSet<IpNet> {
        let ends = self.scenario.links.iter().flat_map(|link| &link.ends);
        ends.flat_map(|end| &end.addresses).map(|address| address.network()).collect()
    }

    /// Links left from each node until one attached to `network`; `None` where there is no way.
    fn distances(&self, network: IpNet) -> Vec<Option<u32>> {
        let attached: Vec<usize> =
            (0..self.hops.len()).filter(|&node| self.attached(node, network)).collect();
        self.spread(&attached, |node| self.kind(node) != NodeKind::Host)
    }

    /// Breadth-first distances from `sources` through nodes that pass `forwards`.
    fn spread(&self, sources: &[usize], forwards: impl Fn(usize) -> bool) -> Vec<Option<u32>> {
        let mut distance = vec![None; self.hops.len()];
        let mut queue = VecDeque::new();
        for &source in sources {
            distance[source] = Some(0);
            queue.push_back(source);
        }
        while let Some(node) = queue.pop_front() {
            if !forwards(node) {
                continue;
            }
            let next = distance[node].map(|links| links + 1);
            for hop in &self.hops[node] {
                if distance[hop.to].is_none() {
                    distance[hop.to] = next;
                    queue.push_back(hop.to);
                }
            }
        }
        distance
    }

    /// The links from `node` down the distances until a node that is no switch.
    fn descend(&self, node: usize, distance: &[Option<u32>]) -> Option<Vec<Hop<'a>>> {
        let mut hops: Vec<Hop<'a>> = Vec::new();
        let mut at = node;
        loop {
            let here = distance[at]?;
            let hop = self.hops[at].iter().find(|hop| {
                distance[hop.to].is_some_and(|there| there + 1 == here) && self.kind(hop.to) != NodeKind::Host
            })?;
            hops.push(*hop);
            at = hop.to;
            if self.kind(at) != NodeKind::Switch {
                return Some(hops);
            }
        }
    }

    /// Every entry that hosts and routers need beyond the networks they are attached to.
    pub fn routes(&self) -> Vec<Route> {
        let mut routes = Vec::new();
        for network in self.networks() {
            let distance = self.distances(network);
            for node in 0..self.hops.len() {
                if self.kind(node) == NodeKind::Switch || self.attached(node, network) {
                    continue;
                }
                let Some(hops) = self.descend(node, &distance) else { continue };
                let (first, last) = (hops[0], hops[hops.len() - 1]);
                let gateway = last.into.addresses.iter().find(|address| {
                    address.address().is_ipv4() == network.addr().is_ipv4()
                        && has_network(first.out, address.network())
                });
                if let Some(gateway) = gateway {
                    routes.push(Route {
                        node: self.scenario.nodes[node].name.clone(),
                        destination: network,
                        gateway: gateway.address(),
                        interface: first.out.interface.clone(),
                    });
                }
            }
        }
        routes
    }

    /// The interfaces by which a packet from node `from` to `address` leaves each node on its way, or
    /// `None` if there is no way.
    pub fn path(&self, from: &str, address: IpAddr) -> Option<Vec<&'a End>> {
        let owner = self
            .scenario
            .links
            .iter()
            .flat_map(|link| &link.ends)
            .find(|end| end.addresses.iter().any(|candidate| candidate.address() == address))?;
        let network = owner.addresses.iter().find(|candidate| candidate.address() == address)?.network();
        let distance = self.distances(network);
        let mut at = *self.index.get(from)?;
        let target = self.index[owner.node.as_str()];
        let mut ends = Vec::new();
        while !self.attached(at, network) {
            for hop in self.descend(at, &distance)? {
                ends.push(hop.out);
                at = hop.to;
            }
        }
        // In the last network only switches lie between.
        let inside = self.spread(&[target], |node| node == target || self.kind(node) == NodeKind::Switch);
        while at != target {
            let here = inside[at]?;
            let hop =
                self.hops[at].iter().find(|hop| inside[hop.to].is_some_and(|there| there + 1 == here))?;
            ends.push(hop.out);
            at = hop.to;
        }
        Some(ends)
    }

    /// The packet size, in bytes, that `from` holds for the path MTU to `address` if it learns of it by ICMP
    /// alone (RFC 1191): above [`Paths::path_mtu`] where a router drops larger packets and keeps it to
    /// itself, so that they vanish.
    pub fn known_mtu(&self, from: &str, address: IpAddr) -> Option<u64> {
        let path = self.path(from, address)?;
        let learned = |known: Option<u64>, end: &&End| match known {
            Some(known) if self.scenario.node(&end.node).is_some_and(|node| node.filters_icmp) => Some(known),
            _ => Some(known.map_or(end.mtu.0, |known| known.min(end.mtu.0))),
        };
        path.iter().fold(None, learned)
    }

    /// The smallest MTU, in bytes, of the interfaces a packet from `from` to `address` passes.
    pub fn path_mtu(&self, from: &str, address: IpAddr) -> Option<u64> {
        self.path(from, address)?.iter().map(|end| end.mtu.0).min()
    }
}

fn has_network(end: &End, network: IpNet) -> bool {
    end.addresses.iter().any(|address| address.network() == network)
}

/// The first address of IP version `version` that `node` has, in the order of the links.
pub fn address_of(scenario: &Scenario, node: &str, version: nettrial_scenario::IpVersion) -> Option<IpAddr> {
    let ends = scenario.links.iter().flat_map(|link| &link.ends).filter(|end| end.node == node);
    ends.flat_map(|end| &end.addresses)
        .map(nettrial_scenario::InterfaceAddress::address)
        .find(|&address| nettrial_scenario::IpVersion::of(address) == version)
}
