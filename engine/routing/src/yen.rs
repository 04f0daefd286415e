//! The k shortest paths without a loop (Yen 1971, "Finding the K Shortest Loopless Paths in a Network", with
//! the rule of Lawler 1972 that a path may deviate no earlier than it deviated from the path that it was made
//! from, so that no path is found twice).
//!
//! Yen's algorithm needs the distances from the destination anew for each set of routers that a path may not pass again. Most
//! of its detours are hardly longer than the shortest path, and those are found with the distances of the whole graph, which
//! are computed once for a destination: they bound the length of what is left of a path from below.

use crate::distance::{Distances, Neighbours, UNREACHABLE};
use crate::graph::{Graph, Hop};
use nettrial_scenario::IpVersion;
use std::collections::{BTreeMap, HashSet};

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

/// The detours that are tried with the distances of the whole graph: up to so many links longer than the shortest path
/// would be without barred routers.
const DETOUR_LINKS: u32 = 2;

/// A graph with the distances from the routers at which paths end.
pub struct Map<'a> {
    /// The graph.
    pub graph: &'a Graph<'a>,
    /// Its next hops of the search's IP version.
    pub neighbours: &'a Neighbours,
    /// The distances from the search's targets.
    pub ahead: &'a Distances,
}

/// Returns the `count` shortest paths, or all paths if there are fewer, the shortest first. Of equal paths, those
/// over the links named first come first.
pub fn shortest_paths(map: &Map, search: &Search, count: usize) -> Vec<RouterPath> {
    let mut shortest: Vec<RouterPath> = Vec::new();
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
    offer(&mut candidates, 0, begin(map, search, &shortest));
    while shortest.len() < count {
        let Some((_, (path, first))) = candidates.pop_first() else { break };
        shortest.push(path.clone());
        if shortest.len() == count {
            break;
        }
        for kept in first..=path.hops.len() {
            let other = match kept {
                0 => begin(map, search, &shortest),
                _ => leave(map, search, &path, kept, &shortest),
            };
            offer(&mut candidates, kept, other);
        }
    }
    shortest
}

/// Returns the shortest path that begins with another router than the paths in `shortest`.
fn begin(map: &Map, search: &Search, shortest: &[RouterPath]) -> Option<RouterPath> {
    let fresh = |start: &&(usize, u32)| {
        map.ahead.of(start.0) != UNREACHABLE && shortest.iter().all(|path| path.start != start.0)
    };
    let starts = search.starts.iter().filter(fresh);
    let &(start, links) = starts.min_by_key(|(start, links)| map.ahead.of(*start) + links)?;
    Some(map.descend(map.ahead, RouterPath { start, hops: Vec::new(), links }))
}

/// Returns the shortest path that begins with the first `kept` routers of `path` and then deviates from the paths
/// in `shortest`.
fn leave(
    map: &Map,
    search: &Search,
    path: &RouterPath,
    kept: usize,
    shortest: &[RouterPath],
) -> Option<RouterPath> {
    let barred: Vec<usize> = path.routers().take(kept).collect();
    let &at = barred.last()?;
    let root = &path.hops[..kept - 1];
    let same_root = |other: &&RouterPath| other.start == path.start && other.hops.starts_with(root);
    let taken: Vec<Hop> =
        shortest.iter().filter(same_root).filter_map(|other| other.hops.get(kept - 1).copied()).collect();
    let after: u32 = path.hops[kept - 1..].iter().map(|hop| hop.links).sum();
    let mut other = RouterPath { start: path.start, hops: root.to_vec(), links: path.links - after };
    let neighbours = map.neighbours.of(at).iter();
    let fresh: Vec<(Hop, u32)> = neighbours
        .filter(|ahead| map.ahead.of(ahead.to as usize) != UNREACHABLE)
        .map(|ahead| (map.graph.hops[at][ahead.hop as usize], map.ahead.of(ahead.to as usize) + ahead.links))
        .filter(|(hop, _)| !taken.contains(hop) && !barred.contains(&hop.to))
        .collect();
    let least = fresh.iter().map(|(_, links)| *links).min()?;
    for links in least..=least + DETOUR_LINKS {
        let mut detour = Detour { map, barred: &barred, failed: HashSet::new() };
        for (hop, _) in fresh.iter().filter(|(_, at_least)| *at_least <= links) {
            if let Some(mut backwards) = detour.find(hop.to, links - hop.links) {
                backwards.push(*hop);
                backwards.into_iter().rev().for_each(|hop| other.add(hop));
                return Some(other);
            }
        }
    }
    let distance = map.neighbours.distances(&search.targets, &barred);
    let reaches = fresh.iter().map(|(hop, _)| hop).filter(|hop| distance.of(hop.to) != UNREACHABLE);
    other.add(*reaches.min_by_key(|hop| distance.of(hop.to) + hop.links)?);
    Some(map.descend(&distance, other))
}

impl Map<'_> {
    /// Returns `path` continued by the shortest path from its last router, given the distances of all routers.
    fn descend(&self, distance: &Distances, mut path: RouterPath) -> RouterPath {
        let mut at = path.hops.last().map_or(path.start, |hop| hop.to);
        let closer = |at: usize, to: u32, links: u32| {
            distance.of(to as usize).checked_add(links) == Some(distance.of(at))
        };
        while let Some(ahead) = self.neighbours.of(at).iter().find(|ahead| closer(at, ahead.to, ahead.links))
        {
            path.add(self.graph.hops[at][ahead.hop as usize]);
            at = ahead.to as usize;
        }
        path
    }
}

/// A search for paths of a given length that do not pass some routers.
struct Detour<'a> {
    map: &'a Map<'a>,
    barred: &'a [usize],
    /// The routers from which no path of that many links leads to a target.
    failed: HashSet<(usize, u32)>,
}

impl Detour<'_> {
    /// Returns the hops of the first path of exactly `links` links from `at` to a target, the last hop first. If there is no
    /// shorter one, it passes no router twice.
    fn find(&mut self, at: usize, links: u32) -> Option<Vec<Hop>> {
        let map = self.map;
        if links == 0 {
            return Some(Vec::new());
        }
        if self.failed.contains(&(at, links)) {
            return None;
        }
        for ahead in map.neighbours.of(at) {
            let (to, Some(left)) = (ahead.to as usize, links.checked_sub(ahead.links)) else { continue };
            if map.ahead.of(to) <= left
                && !self.barred.contains(&to)
                && let Some(mut backwards) = self.find(to, left)
            {
                backwards.push(map.graph.hops[at][ahead.hop as usize]);
                return Some(backwards);
            }
        }
        self.failed.insert((at, links));
        None
    }
}
