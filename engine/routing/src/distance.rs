//! Computes distances between routers.

use crate::graph::{Graph, Hop};
use nettrial_scenario::NodeKind;

/// The distance of a node without a path to the targets.
pub const UNREACHABLE: u32 = u32::MAX;

/// The number of links from each router to the nearest of some routers.
#[derive(Debug, Clone)]
pub struct Distances {
    /// The first router of the scenario: the hosts of a fabric come before it and need no memory.
    begin: usize,
    links: Box<[u32]>,
}

impl Distances {
    /// Returns the distance of `node`. It is [`UNREACHABLE`] for hosts, for switches, and for routers without a path.
    pub fn of(&self, node: usize) -> u32 {
        node.checked_sub(self.begin).and_then(|place| self.links.get(place)).copied().unwrap_or(UNREACHABLE)
    }
}

/// A next hop of a router or host.
#[derive(Debug, Clone, Copy)]
pub struct Ahead {
    /// The router to which it leads.
    pub to: u32,
    /// The links on the step.
    pub links: u32,
    /// Its place among all next hops of the node.
    pub hop: u32,
}

/// The next hops of all nodes that can be used, in the order of [`Graph::hops`], with no more of each than a search needs:
/// those of large fabrics don't fit a CPU's cache otherwise.
#[derive(Debug, Clone)]
pub struct Neighbours {
    begin: usize,
    /// The first next hop of each node, and after the last node the number of all.
    first: Vec<u32>,
    all: Vec<Ahead>,
}

impl Neighbours {
    /// Takes the next hops for which `usable` is true. It must be true in both directions or in none.
    pub fn new(graph: &Graph, usable: impl Fn(&Hop) -> bool) -> Self {
        let is_router = |&node: &usize| graph.kind(node) == NodeKind::Router;
        let begin = (0..graph.hops.len()).find(is_router).unwrap_or(graph.hops.len());
        let mut new = Self { begin, first: vec![0], all: Vec::new() };
        for hops in &graph.hops {
            let usable = hops.iter().enumerate().filter(|(_, hop)| usable(hop));
            let ahead = |(place, hop): (usize, &Hop)| Ahead {
                to: hop.to as u32,
                links: hop.links,
                hop: place as u32,
            };
            new.all.extend(usable.map(ahead));
            new.first.push(new.all.len() as u32);
        }
        new
    }

    /// Returns the next hops of `node`.
    pub fn of(&self, node: usize) -> &[Ahead] {
        &self.all[self.first[node] as usize..self.first[node + 1] as usize]
    }

    /// Returns the distances from the routers `targets`, over routers that are not `barred`.
    ///
    /// This is a breadth-first search in whole links (Dial 1969, Algorithm 360), whose time and memory are linear in
    /// the next hops and the longest distance.
    pub fn distances(&self, targets: &[usize], barred: &[usize]) -> Distances {
        let mut distances = Distances {
            begin: self.begin,
            links: vec![UNREACHABLE; self.first.len() - 1 - self.begin].into(),
        };
        let links = &mut distances.links;
        let mut is_barred = vec![false; links.len()];
        barred.iter().for_each(|router| is_barred[router - self.begin] = true);
        let open: Vec<usize> =
            targets.iter().map(|target| target - self.begin).filter(|&target| !is_barred[target]).collect();
        for &target in &open {
            links[target] = 0;
        }
        // The routers at each distance. A router is listed once for every shorter path that was found.
        let mut levels = vec![open];
        let mut level = 0;
        while level < levels.len() {
            for router in std::mem::take(&mut levels[level]) {
                if links[router] as usize != level {
                    continue;
                }
                for ahead in self.of(router + self.begin) {
                    let (to, distance) = (ahead.to as usize - self.begin, level as u32 + ahead.links);
                    if distance < links[to] && !is_barred[to] {
                        links[to] = distance;
                        let at = distance as usize;
                        levels.resize_with(levels.len().max(at + 1), Vec::new);
                        levels[at].push(to);
                    }
                }
            }
            level += 1;
        }
        distances
    }
}
