//! Pairs of addresses that have a path of their own in both directions.

use crate::Paths;
use crate::graph::{Attachment, Hop};
use crate::yen::{Map, RouterPath, Search, shortest_paths};
use nettrial_scenario::{IpVersion, NodeKind, RoutingPolicy};
use std::net::IpAddr;
use std::rc::Rc;

impl Paths<'_> {
    /// Returns the next hops of packets from `source` to `destination`: that of the host, and that of every router
    /// but the last. `None` if the pair has no path of its own.
    pub(crate) fn pinned(&self, source: IpAddr, destination: IpAddr) -> Option<Vec<Hop>> {
        let RoutingPolicy::KShortestPaths { paths } = self.graph.scenario.routing else { return None };
        let attachment = |address| self.graph.attachments.get(&address).copied();
        let (near, far) = (attachment(source)?, attachment(destination)?);
        let owners = [near, far].map(|attachment| self.graph.owner[attachment.interface]);
        let paths = usize::try_from(paths).unwrap_or(usize::MAX);
        // The search always starts at the host named first, so that the two directions agree.
        if owners[0] < owners[1] {
            self.pair_path(near, far, paths, false)
        } else {
            self.pair_path(far, near, paths, true)
        }
    }

    /// Returns the next hops from `near` to `far`, or those of the reverse path.
    fn pair_path(&self, near: Attachment, far: Attachment, paths: usize, reverse: bool) -> Option<Vec<Hop>> {
        let graph = &self.graph;
        let version = IpVersion::of(near.network.addr());
        let [from, to] = [near, far].map(|attachment| graph.owner[attachment.interface]);
        if !self.exchanges(from, to, version) || graph.is_in(near.interface, far.network) {
            return None;
        }
        let pairs = [from, to].map(|node| graph.addresses(node, version).count());
        let number = near.position.max(far.position) % paths;
        let routers_next_to = |attachment: Attachment| -> Vec<Hop> {
            let next_to =
                |hop: &&Hop| hop.out == attachment.interface && graph.is_in(hop.into, attachment.network);
            graph.hops[graph.owner[attachment.interface]].iter().filter(next_to).copied().collect()
        };
        let (first, last) = (routers_next_to(near), routers_next_to(far));
        let search = Search {
            starts: first.iter().map(|hop| (hop.to, hop.links)).collect(),
            targets: last.iter().map(|hop| hop.to).collect(),
            version,
        };
        let paths_between = self.shortest_paths(search, pairs.into_iter().max()?.min(paths));
        let path = paths_between.get(number % paths_between.len().max(1))?;
        let end = path.hops.last().map_or(path.start, |hop| hop.to);
        if !reverse {
            let mut there = vec![*first.iter().find(|hop| hop.to == path.start)?];
            there.extend(&path.hops);
            return Some(there);
        }
        let mut back = vec![*last.iter().find(|hop| hop.to == end)?];
        for hop in path.hops.iter().rev() {
            let mut hops = graph.hops[hop.to].iter();
            back.push(*hops.find(|other| (other.out, other.into) == (hop.into, hop.out))?);
        }
        Some(back)
    }

    fn shortest_paths(&self, search: Search, count: usize) -> Rc<[RouterPath]> {
        let mut known = self.shortest.borrow_mut();
        let paths = known.entry((search, count)).or_insert_with_key(|(search, count)| {
            let ahead = self.distances(search.version, search.targets.clone());
            let map = Map { graph: &self.graph, neighbours: self.neighbours(search.version), ahead: &ahead };
            shortest_paths(&map, search, *count).into()
        });
        Rc::clone(paths)
    }

    /// Returns true if the two nodes are hosts with a flow of this IP version between them.
    fn exchanges(&self, one: usize, other: usize, version: IpVersion) -> bool {
        let [one, other] = [one.min(other), one.max(other)];
        self.graph.kind(one) == NodeKind::Host && self.exchanging.contains(&(one, other, version))
    }
}
