//! The k shortest paths without a loop (Yen 1971, "Finding the K Shortest Loopless Paths in a Network", with
//! the rule of Lawler 1972 that a path may deviate no earlier than it deviated from the path that it was made
//! from, so that no path is found twice).

use crate::distance::{UNREACHABLE, distances};
use crate::graph::{Graph, Hop};
use nettrial_scenario::IpVersion;
use std::collections::BTreeMap;

/// A path from a router to the first router that is attached to the destination.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouterPath {
    /// The first router.
    pub start: usize,
    /// The step from each router to the next.
    pub hops: Vec<Hop>,
    /// The number of links to the first router, and from each router to the next.
    pub links: u32,
}

impl RouterPath {
    /// Returns the routers on the path.
    fn routers(&self) -> impl Iterator<Item = usize> {
        std::iter::once(self.start).chain(self.hops.iter().map(|hop| hop.to))
    }

    fn add(&mut self, hop: Hop) {
        self.links += hop.links;
        self.hops.push(hop);
    }
}

/// The bounds of a search for paths.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Search {
    /// The routers with which a path may begin, each with the number of links that lead to it.
    pub starts: Vec<(usize, u32)>,
    /// The routers at which a path ends.
    pub targets: Vec<usize>,
    /// The IP version that every next hop must have.
    pub version: IpVersion,
}

/// Returns the `count` shortest paths, or all paths if there are fewer, the shortest first. Of equal paths, those
/// over the links named first come first.
pub fn shortest_paths(graph: &Graph, search: &Search, count: usize) -> Vec<RouterPath> {
    let mut found: Vec<RouterPath> = Vec::new();
    // The candidates by length and the order in which they were found, each with the number of routers that it
    // shares with the path it was made from.
    let mut candidates: BTreeMap<(u32, usize), (RouterPath, usize)> = BTreeMap::new();
    let mut number = 0;
    let mut offer = |candidates: &mut BTreeMap<_, _>, kept: usize, path: Option<RouterPath>| {
        if let Some(path) = path {
            candidates.insert((path.links, number), (path, kept));
            number += 1;
        }
    };
    offer(&mut candidates, 0, begin(graph, search, &found));
    while found.len() < count {
        let Some((_, (path, first))) = candidates.pop_first() else { break };
        found.push(path.clone());
        for kept in first..=path.hops.len() {
            let other = match kept {
                0 => begin(graph, search, &found),
                _ => leave(graph, search, &path, kept, &found),
            };
            offer(&mut candidates, kept, other);
        }
    }
    found
}

/// Returns the shortest path that begins with another router than the paths in `found`.
fn begin(graph: &Graph, search: &Search, found: &[RouterPath]) -> Option<RouterPath> {
    let distance = distances_of(graph, search, &vec![false; graph.hops.len()]);
    let fresh = |start: &&(usize, u32)| {
        distance[start.0] != UNREACHABLE && found.iter().all(|path| path.start != start.0)
    };
    let starts = search.starts.iter().filter(fresh);
    let &(start, links) = starts.min_by_key(|(start, links)| distance[*start] + links)?;
    Some(descend(graph, search, &distance, RouterPath { start, hops: Vec::new(), links }))
}

/// Returns the shortest path that begins with the first `kept` routers of `path` and then deviates from the paths
/// in `found`.
fn leave(
    graph: &Graph,
    search: &Search,
    path: &RouterPath,
    kept: usize,
    found: &[RouterPath],
) -> Option<RouterPath> {
    let mut barred = vec![false; graph.hops.len()];
    let mut at = path.start;
    for router in path.routers().take(kept) {
        barred[router] = true;
        at = router;
    }
    let root = &path.hops[..kept - 1];
    let same_root = |other: &&RouterPath| other.start == path.start && other.hops.starts_with(root);
    let taken: Vec<Hop> =
        found.iter().filter(same_root).filter_map(|other| other.hops.get(kept - 1).copied()).collect();
    let distance = distances_of(graph, search, &barred);
    let fresh = |hop: &&Hop| {
        distance[hop.to] != UNREACHABLE && hop.gateway(search.version).is_some() && !taken.contains(hop)
    };
    let hops = graph.hops[at].iter().filter(fresh);
    let spur = *hops.min_by_key(|hop| distance[hop.to] + hop.links)?;
    let after: u32 = path.hops[kept - 1..].iter().map(|hop| hop.links).sum();
    let mut other = RouterPath { start: path.start, hops: root.to_vec(), links: path.links - after };
    other.add(spur);
    Some(descend(graph, search, &distance, other))
}

fn distances_of(graph: &Graph, search: &Search, barred: &[bool]) -> Vec<u32> {
    distances(graph, &search.targets, barred, |hop| hop.gateway(search.version).is_some())
}

/// Returns `path` continued by the shortest path from its last router.
fn descend(graph: &Graph, search: &Search, distance: &[u32], mut path: RouterPath) -> RouterPath {
    let mut at = path.hops.last().map_or(path.start, |hop| hop.to);
    let closer = |at: usize, hop: &&Hop| {
        hop.gateway(search.version).is_some() && distance[hop.to].checked_add(hop.links) == Some(distance[at])
    };
    while let Some(hop) = graph.hops[at].iter().find(|hop| closer(at, hop)) {
        path.add(*hop);
        at = hop.to;
    }
    path
}
