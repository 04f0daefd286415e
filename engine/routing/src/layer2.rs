//! What switches do: they flood along one spanning tree, the one that IEEE 802.1D-2004 clause 17 leads to
//! where every link costs the same and the switch named first has the best priority.

use crate::graph::Graph;
use nettrial_scenario::NodeKind;
use std::collections::VecDeque;

/// A frame's arrival over one link.
#[derive(Debug, Clone, Copy)]
pub struct Crossing {
    /// The interface it left by.
    out: usize,
    /// The interface it arrived at.
    pub into: usize,
    /// Links it has crossed since it was sent.
    pub links: u32,
    /// The crossing before, by its number.
    previous: Option<usize>,
}

/// Everything that a frame to all crosses when the host or router with interface `out` sends it.
pub fn across(graph: &Graph, out: usize) -> Vec<Crossing> {
    let mut crossings = vec![Crossing { out, into: out ^ 1, links: 1, previous: None }];
    let mut number = 0;
    while let Some(&Crossing { into, links, .. }) = crossings.get(number) {
        let node = graph.owner[into];
        if graph.kind(node) == NodeKind::Switch {
            let ports = graph.of_node[node].iter().copied();
            let open = ports.filter(|&port| port != into && !graph.blocked[port / 2]);
            let onward =
                open.map(|out| Crossing { out, into: out ^ 1, links: links + 1, previous: Some(number) });
            crossings.extend(onward);
        }
        number += 1;
    }
    crossings
}

/// The interfaces by which a frame from interface `out` to interface `into` leaves each node on its way;
/// `None` if the two are not in one segment.
pub fn between(graph: &Graph, out: usize, into: usize) -> Option<Vec<usize>> {
    if into == out ^ 1 {
        return Some(vec![out]);
    }
    let crossings = across(graph, out);
    let mut at = crossings.iter().find(|crossing| crossing.into == into);
    at?;
    let mut ends = Vec::new();
    while let Some(crossing) = at {
        ends.push(crossing.out);
        at = crossing.previous.map(|number| &crossings[number]);
    }
    ends.reverse();
    Some(ends)
}

/// Which links between switches are blocked: a switch keeps the port with the fewest links to the root, then
/// that to the switch named first, then that over the link named first.
pub fn blocked(graph: &Graph) -> Vec<bool> {
    let is_switch = |node: usize| graph.kind(node) == NodeKind::Switch;
    let mut blocked: Vec<bool> =
        graph.owner.chunks(2).map(|ends| is_switch(ends[0]) && is_switch(ends[1])).collect();
    let mut distance: Vec<Option<u32>> = vec![None; graph.of_node.len()];
    for root in (0..graph.of_node.len()).filter(|&node| is_switch(node)) {
        if distance[root].is_some() {
            continue;
        }
        let mut queue = VecDeque::from([(root, 0)]);
        distance[root] = Some(0);
        while let Some((node, links)) = queue.pop_front() {
            let ports = graph.of_node[node].iter().map(|&port| (graph.owner[port ^ 1], port / 2));
            let closer = ports
                .clone()
                .filter(|&(neighbour, _)| links > 0 && is_switch(neighbour))
                .filter(|&(neighbour, _)| distance[neighbour] == Some(links - 1));
            if let Some((_, link)) = closer.min() {
                blocked[link] = false;
            }
            for (neighbour, _) in ports {
                if is_switch(neighbour) && distance[neighbour].is_none() {
                    distance[neighbour] = Some(links + 1);
                    queue.push_back((neighbour, links + 1));
                }
            }
        }
    }
    blocked
}
