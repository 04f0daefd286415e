//! The division of a network into parts with little traffic between them and similar amounts of work.

use nettrial_scenario::{NodeKind, Scenario};
use std::collections::{BTreeMap, HashMap};

/// The work of a packet at a host in times that at a switch: TCP takes most of the time.
const HOST_WORK: u64 = 10;
/// A half may have a 50th more or less than its share of the work.
const TOLERANCE: u64 = 50;
/// The largest number of times that all nodes are considered for the other half.
const ROUNDS: usize = 12;

/// The nodes to divide: switches and routers, each with its hosts, and hosts that have no switch.
struct Graph {
    /// The neighbours of each node with the traffic to and from them.
    neighbours: Vec<BTreeMap<usize, i64>>,
    work: Vec<u64>,
}

/// Returns the part of each node of `scenario`, in its order, for that many parts. A host is in the part of its first
/// switch. `traffic` is a number for each interface in proportion to the packets that it sends.
pub fn partition(scenario: &Scenario, parts: usize, traffic: &[u32]) -> Vec<u8> {
    let numbers: HashMap<&str, usize> =
        scenario.nodes.iter().enumerate().map(|(number, node)| (node.name.as_str(), number)).collect();
    let is_host: Vec<bool> = scenario.nodes.iter().map(|node| node.kind == NodeKind::Host).collect();
    let ends: Vec<usize> = scenario
        .links
        .iter()
        .flat_map(|link| &link.interfaces)
        .map(|end| numbers[end.node.as_str()])
        .collect();
    let pairs = || ends.chunks_exact(2).map(|pair| [pair[0], pair[1]]).zip(traffic.chunks_exact(2));
    // A host stands for itself until a switch is found.
    let mut stands_for: Vec<usize> = (0..is_host.len()).collect();
    for [one, other] in pairs().flat_map(|([one, other], _)| [[one, other], [other, one]]) {
        if is_host[one] && !is_host[other] && stands_for[one] == one {
            stands_for[one] = other;
        }
    }
    let mut graph = Graph { neighbours: vec![BTreeMap::new(); is_host.len()], work: vec![0; is_host.len()] };
    for (pair, sent) in pairs() {
        for (node, [sends, receives]) in pair.into_iter().zip([[sent[0], sent[1]], [sent[1], sent[0]]]) {
            let arriving = if is_host[node] { HOST_WORK * u64::from(receives) } else { 0 };
            graph.work[stands_for[node]] += u64::from(sends) + arriving;
        }
        let [one, other] = pair.map(|node| stands_for[node]);
        if one != other {
            let both = i64::from(sent[0]) + i64::from(sent[1]);
            *graph.neighbours[one].entry(other).or_default() += both;
            *graph.neighbours[other].entry(one).or_default() += both;
        }
    }
    let mut part_of = vec![0; is_host.len()];
    let all = (0..is_host.len()).filter(|&node| stands_for[node] == node).collect();
    graph.divide(all, 0, parts, &mut part_of);
    stands_for.iter().map(|&of| part_of[of]).collect()
}

impl Graph {
    /// Divides nodes into parts whose numbers begin with `first`.
    fn divide(&self, nodes: Vec<usize>, first: u8, parts: usize, part_of: &mut [u8]) {
        if parts < 2 {
            nodes.into_iter().for_each(|node| part_of[node] = first);
            return;
        }
        let left = parts / 2;
        let [one, other] = self.halve(nodes, left, parts);
        self.divide(one, first, left, part_of);
        self.divide(other, first + left as u8, parts - left, part_of);
    }

    /// Divides nodes into two groups, of which the first gets `left` of `parts` of the work, and improves the result
    /// by moving single nodes, as Fiduccia and Mattheyses (1982) do: the best move is made even if it is a bad one,
    /// each node moves once in a round, and the best state of the round is kept.
    fn halve(&self, nodes: Vec<usize>, left: usize, parts: usize) -> [Vec<usize>; 2] {
        let all: u64 = nodes.iter().map(|&node| self.work[node]).sum();
        let share = all * left as u64 / parts as u64;
        let slack = (all / TOLERANCE).max(nodes.iter().map(|&node| self.work[node]).max().unwrap_or(0));
        let mut in_first = vec![None; self.work.len()];
        let mut work = 0;
        for node in self.near_to_far(&nodes) {
            let goes = work + self.work[node] / 2 <= share && work < share;
            in_first[node] = Some(goes);
            work += if goes { self.work[node] } else { 0 };
        }
        for _ in 0..ROUNDS {
            let Some(better) = self.improve(&nodes, &in_first, work, [share, slack]) else { break };
            for &node in &better {
                let is_first = in_first[node] == Some(true);
                work = if is_first { work - self.work[node] } else { work + self.work[node] };
                in_first[node] = Some(!is_first);
            }
        }
        let (one, other) = nodes.into_iter().partition(|&node| in_first[node] == Some(true));
        [one, other]
    }

    /// Returns the nodes in the order of a search in breadth.
    fn near_to_far(&self, nodes: &[usize]) -> Vec<usize> {
        let mut is_left = vec![false; self.work.len()];
        nodes.iter().for_each(|&node| is_left[node] = true);
        let mut order = Vec::with_capacity(nodes.len());
        for &start in nodes {
            if !std::mem::replace(&mut is_left[start], false) {
                continue;
            }
            let mut next = order.len();
            order.push(start);
            while let Some(&node) = order.get(next) {
                next += 1;
                for &neighbour in self.neighbours[node].keys() {
                    if std::mem::replace(&mut is_left[neighbour], false) {
                        order.push(neighbour);
                    }
                }
            }
        }
        order
    }

    /// Returns the moves of a round up to its best state; `None` if no state has less traffic between the groups.
    fn improve(
        &self,
        nodes: &[usize],
        in_first: &[Option<bool>],
        mut work: u64,
        [share, slack]: [u64; 2],
    ) -> Option<Vec<usize>> {
        let mut in_first = in_first.to_vec();
        // The traffic by which a move of a node makes the cut smaller.
        let mut gains: Vec<i64> = vec![0; self.work.len()];
        for &node in nodes {
            gains[node] = self
                .links_of(node, &in_first)
                .map(|(_, traffic, is_cut)| if is_cut { traffic } else { -traffic })
                .sum();
        }
        let mut left = nodes.to_vec();
        let (mut moves, mut gained, mut best) = (Vec::new(), 0, (0, 0));
        loop {
            let can_move = |node: usize| {
                let of = self.work[node];
                let after = if in_first[node] == Some(true) { work - of } else { work + of };
                after.abs_diff(share) <= slack.max(1) || after.abs_diff(share) < work.abs_diff(share)
            };
            let candidates = left.iter().enumerate().filter(|&(_, &node)| can_move(node));
            let Some((place, _)) =
                candidates.max_by_key(|&(place, &node)| (gains[node], std::cmp::Reverse(place)))
            else {
                break;
            };
            let node = left.swap_remove(place);
            gained += gains[node];
            for (neighbour, traffic, is_cut) in self.links_of(node, &in_first).collect::<Vec<_>>() {
                gains[neighbour] += if is_cut { -2 * traffic } else { 2 * traffic };
            }
            let was_first = in_first[node] == Some(true);
            work = if was_first { work - self.work[node] } else { work + self.work[node] };
            in_first[node] = Some(!was_first);
            moves.push(node);
            if gained > best.0 {
                best = (gained, moves.len());
            }
        }
        moves.truncate(best.1);
        (best.0 > 0).then_some(moves)
    }

    /// Returns the neighbours of a node in either group, the traffic with each, and whether it is between the groups.
    fn links_of<'a>(
        &'a self,
        node: usize,
        in_first: &'a [Option<bool>],
    ) -> impl Iterator<Item = (usize, i64, bool)> + 'a {
        let own = in_first[node];
        self.neighbours[node]
            .iter()
            .filter(|&(&neighbour, _)| in_first[neighbour].is_some())
            .map(move |(&neighbour, &traffic)| (neighbour, traffic, in_first[neighbour] != own))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Returns routers in a ring of cliques, each with a host: `cliques` of four routers that are all joined, and one
    /// link from each clique to the next.
    fn ring(cliques: usize) -> Scenario {
        let buffer = json!({"minimum": "4 KiB", "initial": "128 KiB", "maximum": "6 MiB"});
        let stack = json!({
            "name": "linux", "congestion_control": "reno", "receive_buffer": buffer, "send_buffer": buffer,
            "window_scaling": true, "sack": true, "timestamps": true,
        });
        let (mut nodes, mut links) = (Vec::new(), Vec::new());
        let mut join = |one: String, other: String| {
            let interface = format!("l{}", links.len());
            let ends =
                [one, other].map(|node| json!({"node": node, "interface": interface, "mtu": "1500 B"}));
            links.push(json!({"ends": ends, "rate": "1 Gbit/s", "delay": "1 ms", "queue": "9 packets"}));
        };
        // Hosts come first, so that they have no router's part yet.
        for router in 0..4 * cliques {
            nodes.push(json!({"name": format!("h{router}"), "kind": "host", "stack": stack}));
            join(format!("h{router}"), format!("r{router}"));
        }
        for router in 0..4 * cliques {
            nodes.push(json!({"name": format!("r{router}"), "kind": "router"}));
            for other in router + 1..(router / 4 + 1) * 4 {
                join(format!("r{router}"), format!("r{other}"));
            }
            if router % 4 == 0 {
                join(format!("r{router}"), format!("r{}", (router + 7) % (4 * cliques)));
            }
        }
        serde_json::from_value(json!({
            "format": 1, "nodes": nodes, "links": links, "routing": {"policy": "shortest_path"}, "workload": [],
            "measurement": {"interval": "1 s", "queue_drops": "allowed"},
        }))
        .unwrap()
    }

    /// Returns the number of nodes of each part, and the number of links between parts.
    fn divided(scenario: &Scenario, parts: usize) -> (Vec<usize>, usize) {
        let found = partition(scenario, parts, &vec![1; 2 * scenario.links.len()]);
        let of = |name: &str| found[scenario.nodes.iter().position(|node| node.name == name).unwrap()];
        let cut =
            scenario.links.iter().filter(|link| of(&link.interfaces[0].node) != of(&link.interfaces[1].node));
        let count = |part: usize| found.iter().filter(|&&of| usize::from(of) == part).count();
        ((0..parts).map(count).collect(), cut.count())
    }

    #[test]
    fn a_ring_of_cliques_is_cut_between_them() {
        assert_eq!(divided(&ring(8), 2), (vec![32, 32], 2));
        assert_eq!(divided(&ring(8), 4), (vec![16, 16, 16, 16], 4));
    }

    #[test]
    fn parts_have_their_shares_of_the_work() {
        let (nodes, _) = divided(&ring(9), 3);
        assert_eq!(nodes.iter().sum::<usize>(), 72);
        assert!(nodes.iter().all(|nodes| (20..=28).contains(nodes)), "{nodes:?}");
    }

    #[test]
    fn a_host_is_in_the_part_of_its_router() {
        let scenario = ring(8);
        let found = partition(&scenario, 4, &vec![1; 2 * scenario.links.len()]);
        assert_eq!(found[..32], found[32..]);
    }

    #[test]
    fn one_part_has_everything() {
        assert_eq!(divided(&ring(2), 1), (vec![16], 0));
    }
}
