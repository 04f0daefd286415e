//! Computes distances between routers.

use crate::graph::{Graph, Hop};

/// The distance of a node without a path to the targets.
pub const UNREACHABLE: u32 = u32::MAX;

/// Returns the number of links from each router to the nearest of the routers `targets`, over routers that are not
/// `barred` and next hops for which `usable` is true. It is [`UNREACHABLE`] for hosts, for switches, and for
/// routers without a path.
///
/// This is a breadth-first search in whole links (Dial 1969, Algorithm 360), whose time and memory are linear in
/// the next hops and the longest distance. A next hop must be usable in both directions or in none.
pub fn distances(
    graph: &Graph,
    targets: &[usize],
    barred: &[bool],
    usable: impl Fn(&Hop) -> bool,
) -> Vec<u32> {
    let mut distance = vec![UNREACHABLE; graph.hops.len()];
    let open: Vec<usize> = targets.iter().copied().filter(|&target| !barred[target]).collect();
    for &target in &open {
        distance[target] = 0;
    }
    // The routers at each distance. A router is listed once for every shorter path that was found.
    let mut levels = vec![open];
    let mut links = 0;
    while links < levels.len() {
        for router in std::mem::take(&mut levels[links]) {
            if distance[router] as usize != links {
                continue;
            }
            for hop in &graph.hops[router] {
                let found = distance[router] + hop.links;
                if found < distance[hop.to] && !barred[hop.to] && usable(hop) {
                    distance[hop.to] = found;
                    let level = found as usize;
                    levels.resize_with(levels.len().max(level + 1), Vec::new);
                    levels[level].push(hop.to);
                }
            }
        }
        links += 1;
    }
    distance
}
