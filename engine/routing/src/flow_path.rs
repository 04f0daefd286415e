//! Finds the path of a flow's packets.

use crate::step::Step;
use crate::{FiveTuple, Paths, choose, layer2, node_seed};
use nettrial_scenario::RoutingPolicy;

/// The crossing of one link, from interface to interface ([`crate::Interfaces`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Crossing {
    /// The interface by which the packet leaves.
    pub out: usize,
    /// The interface at which it arrives.
    pub into: usize,
}

impl Paths<'_> {
    /// Returns the links that a packet of `flow` crosses; `None` if no path leads to its destination. If a node
    /// has several equal next hops, [`choose`] takes one by the node's own hash ([`node_seed`]).
    pub fn flow_path(&self, flow: &FiveTuple) -> Option<Vec<Crossing>> {
        let graph = &self.graph;
        let (near, far) = (*graph.places.get(&flow.source)?, *graph.places.get(&flow.destination)?);
        let (start, destination) = (graph.owner[near.interface], graph.owner[far.interface]);
        let seed = match graph.scenario.routing {
            RoutingPolicy::Ecmp { seed } => seed,
            _ => 0,
        };
        let mut pinned = self.pinned(flow.source, flow.destination).unwrap_or_default().into_iter();
        let target = self.towards(far.network);
        let mut crossings = Vec::new();
        let mut node = start;
        while node != destination {
            let by = (node == start).then_some(near.interface);
            let step = match pinned.next() {
                Some(hop) => Step::Forward(vec![hop]),
                None => self.step(node, by, &target)?,
            };
            match step {
                Step::Deliver(out) => {
                    crossings.extend(layer2::between(graph, out, far.interface)?);
                    node = destination;
                }
                Step::Forward(hops) => {
                    let hop = hops[choose(flow, node_seed(seed, node), hops.len())];
                    crossings.extend(layer2::between(graph, hop.out, hop.into)?);
                    node = hop.to;
                }
            }
        }
        Some(crossings)
    }
}
