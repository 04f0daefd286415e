//! Finds the path of a flow's packets.

use crate::graph::{Crossing, layer2};
use crate::step::Step;
use crate::{FiveTuple, Paths, choose, node_seed};
use nettrial_scenario::RoutingPolicy;

impl Paths<'_> {
    /// [`Paths::flow_path`] where the links of the interfaces for which `is_away` is true have failed. Routes are static:
    /// a router leaves out the next hops over links of its own that are away (Linux's `ignore_routes_with_linkdown`),
    /// and knows nothing of others'. `None` where a node on the way has no next hop left.
    pub fn flow_path_around(
        &self,
        flow: &FiveTuple,
        is_away: &dyn Fn(usize) -> bool,
    ) -> Option<Vec<Crossing>> {
        self.flow_path_where(flow, &|interface| !is_away(interface))
    }

    /// Returns the links that a packet of `flow` crosses; `None` if no path leads to its destination. If a node
    /// has several equal next hops, [`choose`] takes one by the node's own hash ([`node_seed`]).
    pub fn flow_path(&self, flow: &FiveTuple) -> Option<Vec<Crossing>> {
        self.flow_path_where(flow, &|_| true)
    }

    /// The path that a packet takes if nodes use the interfaces alone for which `is_there` is true. A node that can't use
    /// the hop of a path that is the packet's own sends it as others to the same destination.
    fn flow_path_where(&self, flow: &FiveTuple, is_there: &dyn Fn(usize) -> bool) -> Option<Vec<Crossing>> {
        let graph = &self.graph;
        let (near, far) = (*graph.attachments.get(&flow.source)?, *graph.attachments.get(&flow.destination)?);
        let (start, destination) = (graph.owner[near.interface], graph.owner[far.interface]);
        let seed = match graph.scenario.routing {
            RoutingPolicy::Ecmp { seed } => seed,
            _ => 0,
        };
        let own = self.pinned(flow.source, flow.destination).unwrap_or_default();
        let own = |node: usize| own.iter().find(|hop| graph.owner[hop.out] == node && is_there(hop.out));
        let target = self.towards(far.network);
        let mut crossings = Vec::new();
        let mut node = start;
        let mut passed = 0;
        while node != destination {
            passed += 1;
            if passed > graph.hops.len() {
                return None;
            }
            let by = (node == start).then_some(near.interface);
            let step = match own(node) {
                Some(hop) => Step::Forward(vec![*hop]),
                None => self.step(node, by, &target)?,
            };
            match step {
                Step::Deliver(out) if !is_there(out) => return None,
                Step::Deliver(out) => {
                    crossings.extend(layer2::between(graph, out, far.interface)?);
                    node = destination;
                }
                Step::Forward(mut hops) => {
                    hops.retain(|hop| is_there(hop.out));
                    if hops.is_empty() {
                        return None;
                    }
                    let hop = hops[choose(flow, node_seed(seed, node), hops.len())];
                    crossings.extend(layer2::between(graph, hop.out, hop.into)?);
                    node = hop.to;
                }
            }
        }
        Some(crossings)
    }
}
