//! The spanning tree of routers, which remains if every router blocks the links that would close a loop.

use crate::distance::{Neighbours, UNREACHABLE};
use crate::graph::{Graph, Hop};
use nettrial_scenario::NodeKind;
use std::collections::HashSet;

/// Removes every next hop between routers that is not in the tree. The rules are those of
/// [`crate::graph::layer2::blocked`] for switches: the root is the router named first, and each router keeps its shortest
/// path to the root. Of equal paths it keeps the one over the router named first, and then the one over the link
/// named first.
pub fn prune(graph: &mut Graph) {
    let routers: Vec<usize> =
        (0..graph.hops.len()).filter(|&node| graph.kind(node) == NodeKind::Router).collect();
    let neighbours = Neighbours::new(graph, |_| true);
    let mut parents = HashSet::new();
    let mut reached = vec![false; graph.hops.len()];
    for &root in &routers {
        if reached[root] {
            continue;
        }
        let distance = neighbours.distances(&[root], &[]);
        for &router in routers.iter().filter(|&&router| distance.of(router) != UNREACHABLE) {
            reached[router] = true;
            let closer = |hop: &&Hop| distance.of(hop.to).checked_add(hop.links) == Some(distance.of(router));
            let parent = graph.hops[router].iter().filter(closer).min_by_key(|hop| (hop.to, hop.into));
            parents.extend(parent.map(|hop| (hop.out, hop.into)));
        }
    }
    for router in routers {
        let kept =
            |hop: &Hop| parents.contains(&(hop.out, hop.into)) || parents.contains(&(hop.into, hop.out));
        graph.hops[router].retain(kept);
    }
}
