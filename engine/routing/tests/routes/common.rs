//! Scenarios on small and random graphs, and what their forwarding tables do with a packet.

use ipnet::IpNet;
use nettrial_routing::Route;
use nettrial_scenario::Scenario;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::net::IpAddr;

fn stack() -> Value {
    let buffer = json!({"minimum": "4 KiB", "initial": "16 KiB", "maximum": "4 MiB"});
    json!({"name": "s", "congestion_control": "reno", "receive_buffer": buffer, "send_buffer": buffer,
           "window_scaling": true, "sack": true, "timestamps": true})
}

pub fn node(name: &str, kind: &str) -> Value {
    match kind {
        "host" => json!({"name": name, "kind": kind, "stack": stack()}),
        _ => json!({"name": name, "kind": kind}),
    }
}

pub fn interface(node: &str, interface: &str, mtu: u32, addresses: &[&str]) -> Value {
    json!({"node": node, "interface": interface, "mtu": format!("{mtu} B"), "addresses": addresses})
}

pub fn flow(from: &str, to: &str, ip: u8) -> Value {
    json!({"name": format!("{from}-{to}-{ip}"), "from": from, "to": to, "transport": "tcp", "ip": ip,
           "traffic": {"kind": "transfer", "size": "1 MB"}})
}

pub fn scenario(nodes: Vec<Value>, links: Vec<[Value; 2]>, routing: Value, flows: Vec<Value>) -> Scenario {
    let links: Vec<Value> = links.into_iter().map(|interfaces| json!({"ends": interfaces})).collect();
    Scenario::try_from(json!({
        "format": 1, "nodes": nodes, "links": links, "routing": routing, "workload": flows,
        "measurement": {"interval": "100 ms", "cpu": [], "queue_drops": "allowed"},
    }))
    .unwrap()
}

pub fn address(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// A connected graph; several edges may join the same two nodes.
#[derive(Debug, Clone)]
pub struct Edges {
    pub nodes: usize,
    pub edges: Vec<(usize, usize)>,
}

impl Edges {
    /// Edges on the shortest path from each node to `target`.
    pub fn distances(&self, target: usize) -> Vec<usize> {
        let mut distance = vec![usize::MAX; self.nodes];
        distance[target] = 0;
        let mut queue = VecDeque::from([target]);
        while let Some(node) = queue.pop_front() {
            for &(a, b) in &self.edges {
                for (near, far) in [(a, b), (b, a)] {
                    if near == node && distance[far] == usize::MAX {
                        distance[far] = distance[node] + 1;
                        queue.push_back(far);
                    }
                }
            }
        }
        distance
    }

    /// The lengths of all paths without a loop, by exhaustive search, the shortest first.
    pub fn path_lengths(&self, from: usize, to: usize) -> Vec<usize> {
        fn go(edges: &Edges, at: usize, to: usize, visited: &mut Vec<usize>, found: &mut Vec<usize>) {
            if at == to {
                found.push(visited.len() - 1);
                return;
            }
            for &(a, b) in &edges.edges {
                for (near, far) in [(a, b), (b, a)] {
                    if near == at && !visited.contains(&far) {
                        visited.push(far);
                        go(edges, far, to, visited, found);
                        visited.pop();
                    }
                }
            }
        }
        let mut found = Vec::new();
        go(self, from, to, &mut vec![from], &mut found);
        found.sort_unstable();
        found
    }
}

/// Connected graphs of 2 to `most` nodes: a random tree, and some edges more.
pub fn graphs(most: usize, more: usize) -> impl Strategy<Value = Edges> {
    let index = any::<prop::sample::Index>;
    let tree = prop::collection::vec(index(), 1..most);
    let extra = prop::collection::vec((index(), index()), 0..=more);
    (tree, extra).prop_map(|(parents, extra)| {
        let nodes = parents.len() + 1;
        let tree = parents.iter().enumerate().map(|(node, parent)| (parent.index(node + 1), node + 1));
        let more = extra.iter().map(|(a, b)| (a.index(nodes), b.index(nodes)));
        Edges { nodes, edges: tree.chain(more.filter(|(a, b)| a != b)).collect() }
    })
}

/// Devices of a kind, `d0`, `d1`, …, joined as `edges` says, each with a host, `h0`, `h1`, …, by `interfaces`
/// links; every two hosts exchange flows over IPv4 and IPv6. The hosts' links come first. Interfaces are
/// called after their link.
pub fn fabric(edges: &Edges, kind: &str, interfaces: usize, routing: Value) -> Scenario {
    let name = |prefix: &str, number: usize| format!("{prefix}{number}");
    let mut nodes: Vec<Value> = (0..edges.nodes).map(|number| node(&name("h", number), "host")).collect();
    nodes.extend((0..edges.nodes).map(|number| node(&name("d", number), kind)));
    let host_links = (0..edges.nodes)
        .flat_map(|number| std::iter::repeat_n((name("h", number), name("d", number)), interfaces));
    let others = edges.edges.iter().map(|&(a, b)| (name("d", a), name("d", b)));
    let links = host_links.chain(others).enumerate().map(|(number, interfaces)| {
        // Switches make one network of it all.
        let [a, b, network] = if kind == "switch" { [number + 1, 0, 0] } else { [1, 2, number] };
        [(&interfaces.0, a), (&interfaces.1, b)].map(|(name, last)| {
            let (old, new) = if kind == "switch" {
                (format!("10.0.0.{last}/16"), format!("fd00::{last:x}/64"))
            } else {
                (
                    format!("10.{}.{}.{last}/24", network / 250, network % 250),
                    format!("fd00:{network:x}::{last}/64"),
                )
            };
            let speaks = kind != "switch" || name.starts_with('h');
            let addresses: Vec<&str> = if speaks { vec![&old, &new] } else { vec![] };
            interface(name, &format!("l{number}"), 1500, &addresses)
        })
    });
    let links = links.collect();
    let pairs = (0..edges.nodes).flat_map(|a| (a + 1..edges.nodes).map(move |b| (a, b)));
    let flows = pairs.flat_map(|(a, b)| [4, 6].map(|ip| flow(&name("h", a), &name("h", b), ip))).collect();
    scenario(nodes, links, routing, flows)
}

/// The forwarding tables of a scenario, as a kernel would use them.
pub struct Tables<'a> {
    pub scenario: &'a Scenario,
    pub routes: Vec<Route<'a>>,
}

/// The link that a packet takes, and the node it then is at.
pub type Move<'a> = (&'a str, &'a str);

impl<'a> Tables<'a> {
    /// Returns where `node` may send a packet: the interface and the next node of each path.
    pub fn next(&self, node: &str, source: IpAddr, destination: IpAddr) -> Vec<Move<'a>> {
        let own = |route: &&Route| route.node == node && route.destination.contains(&destination);
        let longest = |wanted: Option<IpAddr>| {
            let routes = self.routes.iter().filter(own).filter(|route| route.source == wanted);
            routes.max_by_key(|route| route.destination.prefix_len())
        };
        let connected = self.interfaces(node).find(|interface| {
            interface.addresses.iter().any(|address| address.network().contains(&destination))
        });
        let network = |interface: &str| -> Option<IpNet> {
            let found = self.interfaces(node).find(|found| found.name == interface)?;
            Some(found.addresses.iter().find(|address| address.0.contains(&destination))?.network())
        };
        let main = longest(None).filter(|route| {
            let connected = connected.and_then(|interface| network(&interface.name));
            connected.is_none_or(|network| route.destination.prefix_len() >= network.prefix_len())
        });
        if let Some(route) = longest(Some(source)).or(main) {
            let hop = |hop: &nettrial_routing::NextHop<'a>| {
                self.across(node, hop.interface, hop.gateway.unwrap_or(destination))
            };
            return route.next_hops.iter().map(hop).collect();
        }
        connected.map(|interface| self.across(node, &interface.name, destination)).into_iter().collect()
    }

    fn interfaces(&self, node: &str) -> impl Iterator<Item = &'a nettrial_scenario::Interface> {
        self.scenario
            .links
            .iter()
            .flat_map(|link| &link.interfaces)
            .filter(move |interface| interface.node == node)
    }

    /// Over the cable at `interface`, whose other end must have the address `to`.
    fn across(&self, node: &str, interface: &str, to: IpAddr) -> Move<'a> {
        for link in &self.scenario.links {
            let [a, b] = link.cable().unwrap();
            for (near, far) in [(a, b), (b, a)] {
                if near.node == node && near.name == interface {
                    assert!(far.addresses.iter().any(|address| address.address() == to), "{to} is not there");
                    return (&near.name, &far.node);
                }
            }
        }
        panic!("{node} has no {interface}");
    }

    /// Returns every path of a packet: the nodes and interfaces it leaves by. Fails on a loop or a dead end.
    pub fn paths(&self, from: &'a str, source: IpAddr, destination: IpAddr) -> Vec<Vec<Move<'a>>> {
        let mut finished = Vec::new();
        let mut open: Vec<Vec<Move>> = vec![vec![]];
        while let Some(path) = open.pop() {
            let at = path.last().map_or(from, |(_, node)| *node);
            if self
                .interfaces(at)
                .any(|interface| interface.addresses.iter().any(|own| own.address() == destination))
            {
                finished.push(path);
                continue;
            }
            let next = self.next(at, source, destination);
            assert!(!next.is_empty(), "{at} knows no path to {destination} for {source}");
            for (interface, node) in next {
                assert!(
                    node != from && path.iter().all(|(_, seen)| *seen != node),
                    "a loop at {node}: {path:?}"
                );
                let mut longer = path.clone();
                longer.push((interface, node));
                open.push(longer);
            }
        }
        finished
    }
}
