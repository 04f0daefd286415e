//! Computes paths over a scenario's graph, for all backends.
//!
//! A network is the set of interfaces that share a prefix. A host or router reaches a network to which it is not
//! attached through a neighbouring router that the scenario's policy chooses. By default this is the router from
//! which the fewest links remain, and of equals the one over the link named first. Hosts do not forward. Switches
//! forward frames along a spanning tree, so a next hop is always a router, possibly behind switches.
//!
//! A host with addresses on several interfaces sends a packet by the interface that has its source address, if a
//! router there knows a path. Two such hosts use their addresses in pairs: the first with the first, the second
//! with the second ([`Paths::pairs`]).

#![forbid(unsafe_code)]

mod distance;
mod ecmp;
mod flow_path;
mod graph;
mod interfaces;
mod layer2;
mod pins;
mod routes;
mod segment;
mod sockets;
mod step;
mod tree;
mod yen;

use distance::{Distances, Neighbours};
pub use ecmp::{FiveTuple, choose, node_seed};
pub use flow_path::Crossing;
use graph::Graph;
pub use interfaces::Interfaces;
use nettrial_scenario::{Flow, Interface, IpVersion, RoutingPolicy, Scenario};
pub use routes::{NextHop, Route};
pub use segment::{Segment, segment_headers};
pub use sockets::{EPHEMERAL_PORTS, Sockets};
use std::cell::{OnceCell, RefCell};
use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::rc::Rc;
use step::Step;
use yen::{RouterPath, Search};

/// Answers that have been computed, by their question.
type Known<K, V> = RefCell<HashMap<K, Rc<V>>>;

/// Answers questions about paths over a scenario's graph, and keeps the answers.
pub struct Paths<'a> {
    graph: Graph<'a>,
    /// The pairs of hosts that [`exchanging`] returns.
    exchanging: HashSet<(usize, usize, IpVersion)>,
    /// The next hops of each IP version.
    neighbours: [OnceCell<Neighbours>; 2],
    /// The distance of each router from the nearest of the targets.
    distances: Known<(IpVersion, Vec<usize>), Distances>,
    /// The shortest paths that were found for a search and a number of paths.
    shortest: Known<(Search, usize), [RouterPath]>,
}

impl<'a> Paths<'a> {
    /// Creates the graph of `scenario`, which has passed [`nettrial_scenario::check`].
    pub fn new(scenario: &'a Scenario) -> Self {
        let mut graph = Graph::new(scenario);
        if scenario.routing == (RoutingPolicy::SpanningTree {}) {
            tree::prune(&mut graph);
        }
        let exchanging = exchanging(&graph);
        Self {
            graph,
            exchanging,
            neighbours: Default::default(),
            distances: RefCell::default(),
            shortest: RefCell::default(),
        }
    }

    /// Returns the next hops of that IP version.
    fn neighbours(&self, version: IpVersion) -> &Neighbours {
        let known = &self.neighbours[usize::from(version == IpVersion::V6)];
        known.get_or_init(|| Neighbours::new(&self.graph, |hop| hop.gateway(version).is_some()))
    }

    /// Returns the numbers of the scenario's interfaces.
    pub fn interfaces(&self) -> &Interfaces<'a> {
        &self.graph.interfaces
    }

    /// Returns true if the switch of the interface with this number neither sends nor receives by it, because that
    /// would close a loop.
    pub fn is_blocked(&self, interface: usize) -> bool {
        self.graph.blocked[interface]
    }

    /// Returns the pairs of addresses that `from` and `to` use with each other over IP version `version`, the
    /// address of `from` first. Each address of `to` is in one pair. If `from` has fewer addresses, they are used
    /// again from the first on.
    pub fn pairs(&self, from: &str, to: &str, version: IpVersion) -> Vec<(IpAddr, IpAddr)> {
        let addresses = |name: &str| -> Vec<IpAddr> {
            let node = self.graph.index.get(name);
            node.map_or_else(Vec::new, |&node| self.graph.addresses(node, version).collect())
        };
        let near = addresses(from);
        near.iter().cycle().copied().zip(addresses(to)).collect()
    }

    /// Returns the interfaces by which a packet from node `from` to `address` leaves each node on its path, or
    /// `None` if there is no path. Of several equal paths, it is the one over the links named first. The packet's
    /// source is the address that `from` pairs with `address`.
    pub fn path(&self, from: &str, address: IpAddr) -> Option<Vec<&'a Interface>> {
        self.walk(from, address, 1)
    }

    /// Returns the path MTU to `address`, in bytes, that `from` finds by ICMP alone (RFC 1191). It is above
    /// [`Paths::path_mtu`] if a router drops larger packets without an ICMP error.
    pub fn known_mtu(&self, from: &str, address: IpAddr) -> Option<u64> {
        let nodes = &self.graph.scenario.nodes;
        let is_told = |interface: &&&Interface| {
            interface.node == from || !nodes[self.graph.index[interface.node.as_str()]].filters_icmp
        };
        self.walk(from, address, usize::MAX)?.iter().filter(is_told).map(|interface| interface.mtu.0).min()
    }

    /// Returns the smallest MTU, in bytes, of the interfaces that a packet from `from` to `address` passes on any
    /// of several equal paths.
    pub fn path_mtu(&self, from: &str, address: IpAddr) -> Option<u64> {
        self.walk(from, address, usize::MAX)?.iter().map(|interface| interface.mtu.0).min()
    }

    /// Returns the interfaces as [`Paths::path`] does, along at most `branches` of the equal next hops of each
    /// node.
    fn walk(&self, from: &str, address: IpAddr, branches: usize) -> Option<Vec<&'a Interface>> {
        let graph = &self.graph;
        let (start, place) = (*graph.index.get(from)?, *graph.places.get(&address)?);
        let (destination, version) = (graph.owner[place.interface], IpVersion::of(address));
        let sources: Vec<IpAddr> = graph.addresses(start, version).collect();
        let source = sources.get(place.position % sources.len().max(1)).copied();
        let mut pinned =
            source.and_then(|source| self.pinned(source, address)).unwrap_or_default().into_iter();
        let target = self.towards(place.network);
        let mut crossings = Vec::new();
        let mut seen = vec![false; graph.hops.len()];
        let mut waiting = vec![start];
        while let Some(node) = waiting.pop() {
            if node == destination || std::mem::replace(&mut seen[node], true) {
                continue;
            }
            let by = source.filter(|_| node == start).map(|source| graph.places[&source].interface);
            let step = match pinned.next() {
                Some(hop) => Step::Forward(vec![hop]),
                None => self.step(node, by, &target)?,
            };
            match step {
                Step::Deliver(out) => crossings.extend(layer2::between(graph, out, place.interface)?),
                Step::Forward(hops) => {
                    for hop in hops.iter().take(branches) {
                        crossings.extend(layer2::between(graph, hop.out, hop.into)?);
                        waiting.push(hop.to);
                    }
                }
            }
        }
        Some(crossings.into_iter().map(|crossing| graph.interfaces.get(crossing.out)).collect())
    }
}

/// Returns the first address of IP version `version` of `node`, in the order of the links.
pub fn address_of(scenario: &Scenario, node: &str, version: IpVersion) -> Option<IpAddr> {
    let interfaces =
        scenario.links.iter().flat_map(|link| &link.interfaces).filter(|interface| interface.node == node);
    interfaces
        .flat_map(|interface| &interface.addresses)
        .map(nettrial_scenario::InterfaceAddress::address)
        .find(|&address| IpVersion::of(address) == version)
}

/// Returns the pairs of hosts with a flow between them, and its IP version. Hosts are given by number, the smaller
/// first.
fn exchanging(graph: &Graph) -> HashSet<(usize, usize, IpVersion)> {
    let numbers = |flow: &Flow| {
        let (from, to) = (*graph.index.get(flow.from.as_str())?, *graph.index.get(flow.to.as_str())?);
        Some((from.min(to), from.max(to), flow.ip))
    };
    graph.scenario.workload.iter().filter_map(numbers).collect()
}
