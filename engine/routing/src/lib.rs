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
mod pins;
mod round_trip;
mod routes;
mod segment;
mod sockets;
mod step;
mod tree;
mod yen;

use distance::{Distances, Neighbours};
pub use ecmp::{FiveTuple, choose, node_seed};
pub use graph::Crossing;
use graph::{Attachment, Graph, Hop, layer2};
pub use interfaces::Interfaces;
use ipnet::IpNet;
use nettrial_scenario::{Flow, Interface, IpVersion, RoutingPolicy, Scenario};
pub use routes::{NextHop, Route};
pub use segment::{Segment, segment_headers};
pub use sockets::{EPHEMERAL_PORTS, Sockets, late_ps};
use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeSet, HashMap, HashSet};
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
    /// The path MTUs that hosts find on paths that are not their own.
    mtus: RefCell<HashMap<Between, Option<u64>>>,
}

/// A host, the interface by which packets leave it, and the interface and the network at which they arrive.
type Between = (usize, Option<usize>, usize, IpNet);

/// The endpoints of a packet's path.
struct Endpoints {
    /// The sender.
    start: usize,
    /// The source address, if the sender has one.
    source: Option<IpAddr>,
    /// The interface of the source address.
    by: Option<usize>,
    /// The destination.
    attachment: Attachment,
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
            mtus: RefCell::default(),
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

    /// Returns the pairs of addresses between which the scenario has flows, in order and each once.
    pub fn flow_pairs(&self) -> BTreeSet<(IpAddr, IpAddr)> {
        let flows = self.graph.scenario.workload.iter();
        flows.flat_map(|flow| self.pairs(&flow.from, &flow.to, flow.ip)).collect()
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
        let endpoints = self.endpoints(from, address)?;
        if let Some(pinned) = self.pinned_between(&endpoints, address) {
            return self.mtu_known_to_sender(&endpoints, pinned);
        }
        let key =
            (endpoints.start, endpoints.by, endpoints.attachment.interface, endpoints.attachment.network);
        let known = self.mtus.borrow().get(&key).copied();
        known.unwrap_or_else(|| {
            let mtu = self.mtu_known_to_sender(&endpoints, Vec::new());
            self.mtus.borrow_mut().insert(key, mtu);
            mtu
        })
    }

    /// Returns the smallest MTU on a path of which its sender is told, in bytes.
    fn mtu_known_to_sender(&self, endpoints: &Endpoints, pinned: Vec<Hop>) -> Option<u64> {
        let Graph { scenario, index, .. } = &self.graph;
        let is_told = |interface: &&&Interface| {
            let node = index[interface.node.as_str()];
            node == endpoints.start || !scenario.nodes[node].filters_icmp
        };
        let passed = self.walk_between(endpoints, pinned, usize::MAX)?;
        passed.iter().filter(is_told).map(|interface| interface.mtu.0).min()
    }

    /// Returns the smallest MTU, in bytes, of the interfaces that a packet from `from` to `address` passes on any
    /// of several equal paths.
    pub fn path_mtu(&self, from: &str, address: IpAddr) -> Option<u64> {
        self.walk(from, address, usize::MAX)?.iter().map(|interface| interface.mtu.0).min()
    }

    /// Returns the interfaces as [`Paths::path`] does, along at most `branches` of the equal next hops of each
    /// node.
    fn walk(&self, from: &str, address: IpAddr, branches: usize) -> Option<Vec<&'a Interface>> {
        let endpoints = self.endpoints(from, address)?;
        let pinned = self.pinned_between(&endpoints, address).unwrap_or_default();
        self.walk_between(&endpoints, pinned, branches)
    }

    /// Returns the endpoints of the path of a packet from node `from` to `address`, whose source is the address that
    /// `from` pairs with `address`.
    fn endpoints(&self, from: &str, address: IpAddr) -> Option<Endpoints> {
        let graph = &self.graph;
        let (start, attachment) = (*graph.index.get(from)?, *graph.attachments.get(&address)?);
        let sources: Vec<IpAddr> = graph.addresses(start, IpVersion::of(address)).collect();
        let source = sources.get(attachment.position % sources.len().max(1)).copied();
        Some(Endpoints {
            start,
            source,
            by: source.map(|source| graph.attachments[&source].interface),
            attachment,
        })
    }

    /// Returns the next hops of a path of the two addresses' own, if they have one.
    fn pinned_between(&self, endpoints: &Endpoints, address: IpAddr) -> Option<Vec<Hop>> {
        self.pinned(endpoints.source?, address)
    }

    /// Returns the interfaces as [`Paths::walk`] does; `pinned` are the first next hops.
    fn walk_between(
        &self,
        endpoints: &Endpoints,
        pinned: Vec<Hop>,
        branches: usize,
    ) -> Option<Vec<&'a Interface>> {
        let graph = &self.graph;
        let &Endpoints { start, by, attachment, .. } = endpoints;
        let destination = graph.owner[attachment.interface];
        let target = self.towards(attachment.network);
        let mut pinned = pinned.into_iter();
        let mut crossings = Vec::new();
        let mut seen = vec![false; graph.hops.len()];
        let mut waiting = vec![start];
        while let Some(node) = waiting.pop() {
            if node == destination || std::mem::replace(&mut seen[node], true) {
                continue;
            }
            let step = match pinned.next() {
                Some(hop) => Step::Forward(vec![hop]),
                None => self.step(node, by.filter(|_| node == start), &target)?,
            };
            match step {
                Step::Deliver(out) => crossings.extend(layer2::between(graph, out, attachment.interface)?),
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

/// Returns the pairs of hosts with a flow between them, and its IP version. Hosts are given by number, the smaller
/// first.
fn exchanging(graph: &Graph) -> HashSet<(usize, usize, IpVersion)> {
    let numbers = |flow: &Flow| {
        let (from, to) = (*graph.index.get(flow.from.as_str())?, *graph.index.get(flow.to.as_str())?);
        Some((from.min(to), from.max(to), flow.ip))
    };
    graph.scenario.workload.iter().filter_map(numbers).collect()
}
