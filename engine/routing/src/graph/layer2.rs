//! Forwarding by switches. Switches forward along one spanning tree: that of IEEE 802.1D-2004 clause 17 if every
//! link costs the same and the switch named first has the best priority.

use super::{Crossing, Graph};
use nettrial_scenario::NodeKind;
use std::collections::VecDeque;

/// A frame's arrival over one link.
#[derive(Debug, Clone, Copy)]
pub struct Arrival {
    /// The link crossed last.
    pub crossing: Crossing,
    /// The number of links that the frame has crossed since it was sent.
    pub links: u32,
    /// The number of the previous arrival.
    previous: Option<usize>,
}

/// Returns all arrivals of a broadcast frame that the host or router with interface `out` sends.
pub fn across(graph: &Graph, out: usize) -> Vec<Arrival> {
    let onto = |out: usize, links: u32, previous: Option<usize>| {
        let others = graph.interfaces.others(out);
        others.map(move |into| Arrival { crossing: Crossing { out, into }, links, previous })
    };
    let mut arrivals: Vec<Arrival> = onto(out, 1, None).collect();
    let mut number = 0;
    while let Some(&Arrival { crossing: Crossing { into, .. }, links, .. }) = arrivals.get(number) {
        let node = graph.owner[into];
        if graph.kind(node) == NodeKind::Switch && !graph.blocked[into] {
            let ports = graph.of_node[node].iter().copied();
            let open = ports.filter(|&port| port != into && !graph.blocked[port]);
            arrivals.extend(open.flat_map(|out| onto(out, links + 1, Some(number))));
        }
        number += 1;
    }
    arrivals
}

/// Returns the links that a frame crosses from interface `out` to interface `into`; `None` if they are in
/// different segments.
pub fn between(graph: &Graph, out: usize, into: usize) -> Option<Vec<Crossing>> {
    if into != out && graph.interfaces.link(into) == graph.interfaces.link(out) {
        return Some(vec![Crossing { out, into }]);
    }
    let arrivals = across(graph, out);
    let mut at = arrivals.iter().find(|arrival| arrival.crossing.into == into);
    at?;
    let mut crossings = Vec::new();
    while let Some(arrival) = at {
        crossings.push(arrival.crossing);
        at = arrival.previous.map(|number| &arrivals[number]);
    }
    crossings.reverse();
    Some(crossings)
}

/// Returns true for the number of each blocked interface. A switch keeps the port with the fewest links to the
/// root; of equal ports it keeps the one to the switch named first, and then the one of the link named first. The
/// switch at the other end keeps its port of the same link. If a link joins switches with other nodes, one switch
/// serves these nodes: the one with the fewest links to the root, and of equals the one named first.
pub fn blocked(graph: &Graph) -> Vec<bool> {
    let is_switch = |node: usize| graph.kind(node) == NodeKind::Switch;
    // The other switches to which a port leads, each with its own port.
    let neighbours = |port: usize| {
        let others = graph.interfaces.others(port).map(|other| (graph.owner[other], other));
        others.filter(|&(node, _)| is_switch(node))
    };
    let joins_switches = |port: usize| is_switch(graph.owner[port]) && neighbours(port).next().is_some();
    let mut blocked: Vec<bool> = (0..graph.owner.len()).map(joins_switches).collect();
    let mut distance: Vec<Option<u32>> = vec![None; graph.of_node.len()];
    for root in (0..graph.of_node.len()).filter(|&node| is_switch(node)) {
        if distance[root].is_some() {
            continue;
        }
        let mut queue = VecDeque::from([(root, 0)]);
        distance[root] = Some(0);
        while let Some((node, links)) = queue.pop_front() {
            let ports = &graph.of_node[node];
            let adjacent =
                ports.iter().flat_map(|&port| neighbours(port).map(move |(to, far)| (to, port, far)));
            let closer = adjacent.clone().filter(|&(to, ..)| links > 0 && distance[to] == Some(links - 1));
            let first = closer.min_by_key(|&(to, port, _)| (to, graph.interfaces.link(port)));
            if let Some((_, near, far)) = first {
                (blocked[near], blocked[far]) = (false, false);
            }
            for (to, ..) in adjacent {
                if distance[to].is_none() {
                    distance[to] = Some(links + 1);
                    queue.push_back((to, links + 1));
                }
            }
        }
    }
    for link in 0..graph.scenario.links.len() {
        let all = graph.interfaces.of_link(link);
        if all.clone().any(|interface| !is_switch(graph.owner[interface])) {
            let switches = all.filter(|&interface| is_switch(graph.owner[interface]));
            let rank = |&port: &usize| (distance[graph.owner[port]], graph.owner[port]);
            if let Some(port) = switches.min_by_key(rank) {
                blocked[port] = false;
            }
        }
    }
    blocked
}
