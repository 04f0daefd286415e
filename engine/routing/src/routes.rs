//! The forwarding tables.

use crate::Paths;
use crate::graph::Hop;
use crate::step::{Step, Target};
use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use nettrial_scenario::IpVersion;
use std::collections::HashSet;
use std::net::IpAddr;

/// An entry of a node's forwarding table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route<'a> {
    /// The node that has the entry.
    pub node: &'a str,
    /// The source address of the packets that the entry is for; `None` if it is for all packets. Entries with a
    /// source come first.
    pub source: Option<IpAddr>,
    /// The destination network.
    pub destination: IpNet,
    /// The source address that the node gives to packets without one.
    pub preferred_source: Option<IpAddr>,
    /// The next hops. If there are several, each flow takes one of them.
    pub next_hops: Vec<NextHop<'a>>,
}

/// The gateway or interface to which an entry sends packets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NextHop<'a> {
    /// The address of the next router; `None` if the next node is the destination.
    pub gateway: Option<IpAddr>,
    /// The node's interface towards the next node.
    pub interface: &'a str,
}

/// The entries that have been added.
struct Tables<'p, 'a> {
    paths: &'p Paths<'a>,
    known: HashSet<(usize, Option<IpAddr>, IpNet)>,
    routes: Vec<Route<'a>>,
}

impl<'a> Paths<'a> {
    /// Returns all entries that the packets of the workload need beyond a node's own networks, and those of the
    /// ICMP errors that routers on their paths may send back. Other packets have no entries, so the size of the
    /// tables of a large network follows from the hops of its flows and not from its routers and hosts.
    pub fn routes(&self) -> Vec<Route<'a>> {
        let mut tables = Tables { paths: self, known: HashSet::new(), routes: Vec::new() };
        let mut seen = HashSet::new();
        for flow in &self.graph.scenario.workload {
            for (near, far) in self.pairs(&flow.from, &flow.to, flow.ip) {
                tables.prefer(near, far);
                for (source, destination) in [(near, far), (far, near)] {
                    if seen.insert((source, destination)) {
                        tables.add_pair(source, destination);
                    }
                }
            }
        }
        tables.routes
    }
}

impl<'a> Tables<'_, 'a> {
    /// Adds the entries that packets from `source` to `destination` need. Both are addresses of hosts.
    fn add_pair(&mut self, source: IpAddr, destination: IpAddr) {
        let graph = &self.paths.graph;
        let (near, far) = (graph.attachments[&source], graph.attachments[&destination]);
        let host = graph.owner[near.interface];
        let target = self.paths.towards(far.network);
        self.add_host(host, near.interface, source, &target);
        let first = match self.paths.step(host, Some(near.interface), &target) {
            Some(Step::Forward(hops)) => hops.iter().map(|hop| hop.to).collect(),
            _ => Vec::new(),
        };
        let mut passed = self.add_routers(first, &target);
        let mut node = host;
        for hop in self.paths.pinned(source, destination).unwrap_or_default() {
            let by = (node == host).then_some(near.interface);
            if self.paths.step(node, by, &target) == Some(Step::Forward(vec![hop])) {
                let routers = if node == host { Vec::new() } else { vec![node] };
                self.add_routers(routers, &target);
            } else {
                self.add(node, Some(source), destination.into(), &[hop], target.version);
            }
            node = hop.to;
            passed.push(node);
        }
        self.add_routers(passed, &self.paths.towards(near.network));
    }

    /// Adds the entries of a host for packets from `source`, which is an address of `interface`, and for packets
    /// that have no source yet.
    fn add_host(&mut self, host: usize, interface: usize, source: IpAddr, target: &Target) {
        let graph = &self.paths.graph;
        if graph.is_multihomed(host, target.version) {
            let name = graph.interfaces.get(interface).name.as_str();
            for address in &graph.interfaces.get(interface).addresses {
                if IpVersion::of(address.address()) == target.version {
                    let next_hops = vec![NextHop { gateway: None, interface: name }];
                    self.add_entry(host, Some(source), address.network(), None, next_hops);
                }
            }
            if !graph.is_in(interface, target.network) {
                let destination = self.covering(host, Some(interface), target);
                let hops = self.paths.best(host, Some(interface), target);
                self.add(host, Some(source), destination, &hops, target.version);
            }
        }
        if graph.attached(host, target.network).is_none() {
            let destination = self.covering(host, None, target);
            let hops = self.paths.best(host, None, target);
            self.add(host, None, destination, &hops, target.version);
        }
    }

    /// Returns the destination of a host's entry for `target`, by interface `out` alone if one is given. It is the
    /// default route if all next hops of the host are interfaces of one router.
    fn covering(&self, host: usize, out: Option<usize>, target: &Target) -> IpNet {
        let usable =
            |hop: &&Hop| hop.gateway(target.version).is_some() && out.is_none_or(|out| hop.out == out);
        let mut routers = self.paths.graph.hops[host].iter().filter(usable).map(|hop| hop.to);
        let first = routers.next();
        if !routers.all(|router| Some(router) == first) {
            return target.network;
        }
        match target.version {
            IpVersion::V4 => Ipv4Net::default().into(),
            IpVersion::V6 => Ipv6Net::default().into(),
        }
    }

    /// Adds the entries for `target` of `routers` and of all routers behind them, and returns all these routers.
    fn add_routers(&mut self, mut routers: Vec<usize>, target: &Target) -> Vec<usize> {
        let (mut passed, mut seen) = (Vec::new(), HashSet::new());
        while let Some(router) = routers.pop() {
            if !seen.insert(router) {
                continue;
            }
            passed.push(router);
            if let Some(Step::Forward(hops)) = self.paths.step(router, None, target) {
                self.add(router, None, target.network, &hops, target.version);
                routers.extend(hops.iter().map(|hop| hop.to));
            }
        }
        passed
    }

    /// Adds the entry by which a host with several addresses gives the source `near` to packets to `far` that have no
    /// source yet. Without it the kernel takes the first address of the interface (net/ipv4/fib_semantics.c,
    /// fib_result_prefsrc), so that MPTCP's subflows to other addresses would not be those of their pairs.
    fn prefer(&mut self, near: IpAddr, far: IpAddr) {
        let graph = &self.paths.graph;
        let version = IpVersion::of(near);
        let (from, to) = (graph.attachments[&near], graph.attachments[&far]);
        let host = graph.owner[from.interface];
        if graph.addresses(host, version).nth(1).is_none() {
            return;
        }
        let step = match self.paths.pinned(near, far) {
            Some(hops) => hops.first().map(|hop| Step::Forward(vec![*hop])),
            None => self.paths.step(host, Some(from.interface), &self.paths.towards(to.network)),
        };
        let next_hops = match step {
            Some(Step::Forward(hops)) => self.next_hops(&hops, version),
            Some(Step::Deliver(interface)) => {
                vec![NextHop { gateway: None, interface: graph.interfaces.get(interface).name.as_str() }]
            }
            None => return,
        };
        self.add_entry(host, None, far.into(), Some(near), next_hops);
    }

    fn add(
        &mut self,
        node: usize,
        source: Option<IpAddr>,
        destination: IpNet,
        hops: &[Hop],
        version: IpVersion,
    ) {
        if !hops.is_empty() {
            self.add_entry(node, source, destination, None, self.next_hops(hops, version));
        }
    }

    fn next_hops(&self, hops: &[Hop], version: IpVersion) -> Vec<NextHop<'a>> {
        let interface = |hop: &Hop| &self.paths.graph.interfaces.get(hop.out).name;
        let next_hop = |hop: &Hop| NextHop { gateway: hop.gateway(version), interface: interface(hop) };
        hops.iter().map(next_hop).collect()
    }

    fn add_entry(
        &mut self,
        node: usize,
        source: Option<IpAddr>,
        destination: IpNet,
        preferred_source: Option<IpAddr>,
        next_hops: Vec<NextHop<'a>>,
    ) {
        if self.known.insert((node, source, destination)) {
            let node = self.paths.graph.scenario.nodes[node].name.as_str();
            self.routes.push(Route { node, source, destination, preferred_source, next_hops });
        }
    }
}
