//! Decides where a node sends a packet.

use crate::Paths;
use crate::distance::{Distances, UNREACHABLE};
use crate::graph::Hop;
use ipnet::IpNet;
use nettrial_scenario::{IpVersion, NodeKind, RoutingPolicy};
use std::rc::Rc;

/// A network to which packets are sent.
pub struct Target {
    /// The network.
    pub network: IpNet,
    /// Its IP version.
    pub version: IpVersion,
    /// The number of links from each router to a router that is attached to the network.
    pub distance: Rc<Distances>,
}

/// The next step of a packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// The node sends the packet to its destination by this interface.
    Deliver(usize),
    /// The node sends the packet to one of these equal next hops.
    Forward(Vec<Hop>),
}

impl Paths<'_> {
    /// Returns `network` as a target.
    pub(crate) fn towards(&self, network: IpNet) -> Target {
        let version = IpVersion::of(network.addr());
        let attached = self.graph.routers.get(&network).cloned().unwrap_or_default();
        Target { network, version, distance: self.distances(version, attached) }
    }

    /// Returns the distances of all routers from the routers `targets`, over next hops of that IP version.
    pub(crate) fn distances(&self, version: IpVersion, targets: Vec<usize>) -> Rc<Distances> {
        let mut known = self.distances.borrow_mut();
        let distances = known
            .entry((version, targets))
            .or_insert_with_key(|(_, targets)| Rc::new(self.neighbours(version).distances(targets, &[])));
        Rc::clone(distances)
    }

    /// Returns the step of a packet to `target` at `node`; `None` if the node knows no path. If the node is a host
    /// with several interfaces, `source` is the interface that has the packet's source address.
    pub(crate) fn step(&self, node: usize, source: Option<usize>, target: &Target) -> Option<Step> {
        let graph = &self.graph;
        let forward = |hops: Vec<Hop>| (!hops.is_empty()).then_some(Step::Forward(hops));
        if graph.kind(node) == NodeKind::Host {
            if let Some(interface) = source.filter(|_| graph.is_multihomed(node, target.version)) {
                if graph.is_in(interface, target.network) {
                    return Some(Step::Deliver(interface));
                }
                if let Some(step) = forward(self.best(node, Some(interface), target)) {
                    return Some(step);
                }
            }
        } else if target.distance.of(node) != 0 {
            return forward(self.best(node, None, target));
        }
        match graph.attached(node, target.network) {
            Some(interface) => Some(Step::Deliver(interface)),
            None => forward(self.best(node, None, target)),
        }
    }

    /// Returns the next hops of `node` from which the fewest links remain to `target`, by interface `out` alone if
    /// one is given. With ECMP these are all such next hops, and otherwise the one over the link named first.
    pub(crate) fn best(&self, node: usize, out: Option<usize>, target: &Target) -> Vec<Hop> {
        let usable = |hop: &&Hop| {
            out.is_none_or(|out| hop.out == out)
                && hop.gateway(target.version).is_some()
                && target.distance.of(hop.to) != UNREACHABLE
        };
        let links = |hop: &Hop| hop.links + target.distance.of(hop.to);
        let hops = || self.graph.hops[node].iter().filter(usable);
        let Some(fewest) = hops().map(links).min() else { return Vec::new() };
        let equal = hops().filter(|hop| links(hop) == fewest).copied();
        match self.graph.scenario.routing {
            RoutingPolicy::Ecmp { .. } => equal.collect(),
            _ => equal.take(1).collect(),
        }
    }
}
