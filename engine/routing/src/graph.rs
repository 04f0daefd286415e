//! The scenario's graph as arrays: nodes, interfaces and next hops by number.

pub mod layer2;

use crate::Interfaces;
use ipnet::IpNet;
use nettrial_scenario::{IpVersion, NodeKind, Scenario};
use std::collections::HashMap;
use std::net::IpAddr;

/// A step from an interface of a host or router to that of a router in the same segment, across any switches
/// between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hop {
    /// The interface by which the packet leaves.
    pub out: usize,
    /// The router's interface.
    pub into: usize,
    /// The router.
    pub to: usize,
    /// The links on the step: one, and one more for each switch.
    pub links: u32,
    gateways: [Option<IpAddr>; 2],
}

impl Hop {
    /// Returns the router's address, if the two interfaces share a network of that IP version.
    pub fn gateway(&self, version: IpVersion) -> Option<IpAddr> {
        match version {
            IpVersion::V4 => self.gateways[0],
            IpVersion::V6 => self.gateways[1],
        }
    }
}

/// The attachment of an address to a network: its interface there.
#[derive(Debug, Clone, Copy)]
pub struct Attachment {
    /// The interface that has the address.
    pub interface: usize,
    /// The position of the address among its node's addresses of the same IP version, in the order of the links.
    pub position: usize,
    /// The network of the address.
    pub network: IpNet,
}

/// The crossing of one link, from interface to interface ([`crate::Interfaces`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Crossing {
    /// The interface by which the packet leaves.
    pub out: usize,
    /// The interface at which it arrives.
    pub into: usize,
}

/// The graph of a scenario. Nodes and links have the scenario's numbers.
pub struct Graph<'a> {
    /// The scenario.
    pub scenario: &'a Scenario,
    /// Each node's number by its name.
    pub index: HashMap<&'a str, usize>,
    /// The numbers of the interfaces.
    pub interfaces: Interfaces<'a>,
    /// The node of each interface.
    pub owner: Vec<usize>,
    /// The interfaces of each node, in the order of the links.
    pub of_node: Vec<Vec<usize>>,
    /// The routers that have an interface in each network.
    pub routers: HashMap<IpNet, Vec<usize>>,
    /// The attachment of each address.
    pub attachments: HashMap<IpAddr, Attachment>,
    /// True for each interface by which its switch neither sends nor receives, because that would close a loop.
    pub blocked: Vec<bool>,
    /// The steps from each host and router, in the order of the links.
    pub hops: Vec<Vec<Hop>>,
}

impl<'a> Graph<'a> {
    /// Creates the graph of `scenario`, which has passed [`nettrial_scenario::check`].
    pub fn new(scenario: &'a Scenario) -> Self {
        let index: HashMap<&str, usize> =
            scenario.nodes.iter().enumerate().map(|(number, node)| (node.name.as_str(), number)).collect();
        let interfaces = Interfaces::new(scenario);
        let owner: Vec<usize> =
            interfaces.all().iter().map(|interface| index[interface.node.as_str()]).collect();
        let mut of_node = vec![Vec::new(); scenario.nodes.len()];
        for (interface, &node) in owner.iter().enumerate() {
            of_node[node].push(interface);
        }
        let mut graph = Self {
            scenario,
            index,
            interfaces,
            owner,
            of_node,
            routers: HashMap::new(),
            attachments: HashMap::new(),
            blocked: Vec::new(),
            hops: vec![Vec::new(); scenario.nodes.len()],
        };
        graph.note_addresses();
        graph.blocked = layer2::blocked(&graph);
        graph.note_hops();
        graph
    }

    /// Returns the kind of a node.
    pub fn kind(&self, node: usize) -> NodeKind {
        self.scenario.nodes[node].kind
    }

    /// Returns true if `interface` has an address in `network`.
    pub fn is_in(&self, interface: usize, network: IpNet) -> bool {
        self.interfaces.get(interface).addresses.iter().any(|address| address.network() == network)
    }

    /// Returns the first interface of `node` in `network`.
    pub fn attached(&self, node: usize, network: IpNet) -> Option<usize> {
        self.of_node[node].iter().copied().find(|&interface| self.is_in(interface, network))
    }

    /// Returns the addresses of `node` of IP version `version`, in the order of the links.
    pub fn addresses(&self, node: usize, version: IpVersion) -> impl Iterator<Item = IpAddr> {
        let all = self.of_node[node].iter().flat_map(|&interface| &self.interfaces.get(interface).addresses);
        all.map(|address| address.address()).filter(move |&address| IpVersion::of(address) == version)
    }

    /// Returns true if `node` is a host with addresses of IP version `version` on several interfaces.
    pub fn is_multihomed(&self, node: usize, version: IpVersion) -> bool {
        let has = |interface: &&usize| {
            let mut addresses = self.interfaces.get(**interface).addresses.iter();
            addresses.any(|address| IpVersion::of(address.address()) == version)
        };
        self.kind(node) == NodeKind::Host && self.of_node[node].iter().filter(has).count() > 1
    }

    fn note_addresses(&mut self) {
        for (node, interfaces) in self.of_node.iter().enumerate() {
            let mut positions = [0, 0];
            for &interface in interfaces {
                for address in &self.interfaces.get(interface).addresses {
                    let position = &mut positions[usize::from(address.address().is_ipv6())];
                    let network = address.network();
                    self.attachments
                        .insert(address.address(), Attachment { interface, position: *position, network });
                    *position += 1;
                    let routers = self.routers.entry(network).or_default();
                    if self.scenario.nodes[node].kind == NodeKind::Router && routers.last() != Some(&node) {
                        routers.push(node);
                    }
                }
            }
        }
    }

    fn note_hops(&mut self) {
        for into in 0..self.owner.len() {
            let to = self.owner[into];
            if self.kind(to) != NodeKind::Router {
                continue;
            }
            for arrival in layer2::across(self, into) {
                let out = arrival.crossing.into;
                let from = self.owner[out];
                let gateways = [IpVersion::V4, IpVersion::V6].map(|version| self.shared(out, into, version));
                if self.kind(from) != NodeKind::Switch && from != to && gateways != [None, None] {
                    self.hops[from].push(Hop { out, into, to, links: arrival.links, gateways });
                }
            }
        }
        for hops in &mut self.hops {
            hops.sort_unstable_by_key(|hop| (hop.out, hop.into));
        }
    }

    /// Returns the first address of `into` of that IP version whose network contains an address of `out`.
    fn shared(&self, out: usize, into: usize, version: IpVersion) -> Option<IpAddr> {
        let mut addresses = self.interfaces.get(into).addresses.iter();
        let address = addresses.find(|address| {
            IpVersion::of(address.address()) == version && self.is_in(out, address.network())
        });
        address.map(|address| address.address())
    }
}
