//! Builds a scenario's network: namespaces, links, addresses, routes, offloads, queues.

mod counters;
mod lines;
mod messages;
mod routes;

use crate::checks::HostCounters;
use crate::delay_line::Carried;
use crate::namespace::{Home, Namespace};
use crate::netlink::Netlink;
use crate::processors::Placement;
use crate::wire::Wire;
use crate::{delay_line, icmp_filter, mptcp, queue, settings};
use anyhow::{Context, Result, ensure};
pub use counters::{EndCounters, Refused};
use lines::Lines;
use messages::{new_address, new_bridge, without_ipv6_address};
pub use messages::{up, veth};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{LinkAttribute, LinkMessage, State};
use nettrial_ethtool::Ethtool;
use nettrial_routing::Paths;
use nettrial_scenario::{End, Link, Node, NodeKind, Offloads, Scenario};
pub use routes::{HASH_POLICIES, HASH_SEED};
use std::collections::HashSet;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

/// The index of the network's first interface. Below it lie those a kernel may put into every namespace.
/// No two interfaces of a network have the same: where a veth's ends do, the kernel takes them for one
/// interface and tells of the carrier up to a second late (net/core/link_watch.c, linkwatch_urgent_event).
const FIRST_INTERFACE: i32 = 100;
/// How long the links may take to have their carrier.
const CARRIER_PATIENCE: Duration = Duration::from_secs(5);
/// The index and name of a switch's bridge.
const BRIDGE_INDEX: i32 = FIRST_INTERFACE - 1;
const BRIDGE_NAME: &str = "bridge";
const LOOPBACK_INDEX: i32 = 1;

/// A scenario's network, alive as long as this value.
pub struct Network {
    nodes: Vec<BuiltNode>,
    lines: Option<Lines>,
}

/// A node's namespace and the sockets into it.
pub struct BuiltNode {
    /// The node's name.
    pub name: String,
    /// Its namespace.
    pub namespace: Namespace,
    netlink: Netlink,
    ethtool: Ethtool,
    interfaces: Vec<(String, i32)>,
}

impl BuiltNode {
    fn index_of(&self, interface: &str) -> Result<i32> {
        let found = self.interfaces.iter().find(|(name, _)| name == interface);
        Ok(found.with_context(|| format!("{} has no interface {interface}", self.name))?.1)
    }

    /// Whether every interface is in the operational state "up" (RFC 2863).
    fn has_carrier(&mut self) -> Result<bool> {
        let answers = self.netlink.dump(RouteNetlinkMessage::GetLink(LinkMessage::default()))?;
        let is_up = |message: &LinkMessage| message.attributes.contains(&LinkAttribute::OperState(State::Up));
        let mut waiting: HashSet<u32> =
            self.interfaces.iter().map(|(_, index)| index.unsigned_abs()).collect();
        for answer in answers {
            if let RouteNetlinkMessage::NewLink(message) = answer
                && is_up(&message)
            {
                waiting.remove(&message.header.index);
            }
        }
        Ok(waiting.is_empty())
    }

    /// Name and index of each of its interfaces.
    pub fn interfaces(&self) -> &[(String, i32)] {
        &self.interfaces
    }

    fn names(&self) -> impl Iterator<Item = &String> {
        self.interfaces.iter().map(|(name, _)| name)
    }
}

impl Network {
    /// Builds the network of `scenario`; the receive work of each node goes to its processor in
    /// `placement`, if there is one.
    pub fn build(home: &Home, scenario: &Scenario, placement: Option<&Placement>) -> Result<Self> {
        let nodes = scenario.nodes.iter().map(|node| create_node(home, node)).collect::<Result<Vec<_>>>()?;
        let mut network = Self { nodes, lines: Lines::create(home, scenario)? };
        let paths = Paths::new(scenario);
        network.create_links(scenario, &paths)?;
        network.bring_up(scenario)?;
        network.await_carrier()?;
        if let Some(lines) = &mut network.lines {
            lines.start(home, scenario, placement)?;
        }
        network.address(scenario)?;
        network.route(home, scenario, &paths.routes())?;
        for node in scenario.nodes.iter().filter(|node| node.filters_icmp) {
            icmp_filter::apply(&mut network.node_mut(&node.name)?.netlink, &node.name)?;
        }
        network.shape(scenario)?;
        mptcp::prepare(home, &network, scenario)?;
        if let Some(placement) = placement {
            for node in &network.nodes {
                placement.steer(home, &node.namespace, &node.name, node.names())?;
            }
        }
        Ok(network)
    }

    /// Every node, in the scenario's order.
    pub fn nodes(&self) -> impl Iterator<Item = &BuiltNode> {
        self.nodes.iter()
    }

    /// The node called `name`.
    pub fn node(&self, name: &str) -> Result<&BuiltNode> {
        self.nodes.iter().find(|node| node.name == name).with_context(|| format!("no node {name:?}"))
    }

    fn node_mut(&mut self, name: &str) -> Result<&mut BuiltNode> {
        self.nodes.iter_mut().find(|node| node.name == name).with_context(|| format!("no node {name:?}"))
    }

    fn create_links(&mut self, scenario: &Scenario, paths: &Paths) -> Result<()> {
        let mut netlink = Netlink::open()?;
        let mut indexes = FIRST_INTERFACE..;
        let mut next = || indexes.next().context("too many interfaces");
        let mut blocked = HashSet::new();
        for (number, link) in scenario.links.iter().enumerate() {
            let [near, far] = &link.ends;
            let ends =
                [self.new_end(scenario, link, near, next()?)?, self.new_end(scenario, link, far, next()?)?];
            if paths.is_blocked(number) {
                blocked.extend(ends.iter().map(|end| end.header.index));
            }
            let object = format!("making link {} - {}", near.node, far.node);
            let pairs = match &mut self.lines {
                Some(lines) if delay_line::is_needed(link) => {
                    lines.between(number, ends, [next()?, next()?]).to_vec()
                }
                _ => vec![ends],
            };
            for pair in pairs {
                netlink.create(RouteNetlinkMessage::NewLink(veth(pair)), object.clone())?;
            }
        }
        netlink.flush()?;
        drop(netlink);
        for node in &self.nodes {
            let offloads = find_node(scenario, &node.name)?.offloads;
            node.names().try_for_each(|interface| node.ethtool.set(interface, offloads))?;
        }
        for node in scenario.nodes.iter().filter(|node| node.kind == NodeKind::Switch) {
            self.create_bridge(&node.name, &blocked)?;
        }
        Ok(())
    }

    /// Notes the interface of `end`, with its `index`, and describes it.
    fn new_end(&mut self, scenario: &Scenario, link: &Link, end: &End, index: i32) -> Result<LinkMessage> {
        let node = self.node_mut(&end.node)?;
        node.interfaces.push((end.interface.clone(), index));
        let mut message = LinkMessage::default();
        message.header.index = u32::try_from(index)?;
        message.attributes = vec![
            LinkAttribute::IfName(end.interface.clone()),
            LinkAttribute::NetNsFd(node.namespace.file().as_raw_fd()),
            LinkAttribute::Mtu(u32::try_from(end.mtu.0)?),
        ];
        let wire = Wire::new(scenario, find_node(scenario, &end.node)?, end.mtu.0, link.rate);
        message.attributes.extend(wire.bundle_segments().map(LinkAttribute::GsoMaxSegs));
        Ok(message)
    }

    /// Joins the interfaces of the switch `name`, but for those with an index in `blocked`: these take part in
    /// nothing, as ports that a spanning tree blocks.
    fn create_bridge(&mut self, name: &str, blocked: &HashSet<u32>) -> Result<()> {
        let node = self.node_mut(name)?;
        let message = new_bridge(BRIDGE_INDEX, BRIDGE_NAME);
        node.netlink.create(RouteNetlinkMessage::NewLink(message), format!("making the bridge of {name}"))?;
        for (interface, index) in node.interfaces.clone() {
            let mut port = LinkMessage::default();
            port.header.index = u32::try_from(index)?;
            if blocked.contains(&port.header.index) {
                continue;
            }
            port.attributes = vec![LinkAttribute::Controller(u32::try_from(BRIDGE_INDEX)?)];
            node.netlink.change(
                RouteNetlinkMessage::SetLink(port),
                format!("joining {interface} to the bridge of {name}"),
            )?;
        }
        node.netlink.change(
            RouteNetlinkMessage::SetLink(up(BRIDGE_INDEX)),
            format!("starting the bridge of {name}"),
        )?;
        node.netlink.flush()
    }

    fn bring_up(&mut self, scenario: &Scenario) -> Result<()> {
        for node in &mut self.nodes {
            let switch = find_node(scenario, &node.name)?.kind == NodeKind::Switch;
            let indexes: Vec<i32> = node.interfaces.iter().map(|(_, index)| *index).collect();
            for index in std::iter::once(LOOPBACK_INDEX).chain(indexes) {
                let mut message = up(index);
                if switch && index != LOOPBACK_INDEX {
                    // A switch's ports speak no IP of their own.
                    message.attributes.push(without_ipv6_address());
                }
                let purpose = format!("starting the interfaces of {}", node.name);
                node.netlink.change(RouteNetlinkMessage::SetLink(message), purpose)?;
            }
            node.netlink.flush()?;
        }
        self.lines.as_mut().map_or(Ok(()), Lines::bring_up)
    }

    /// Waits until every interface has a carrier: until then the kernel drops what is sent over it.
    fn await_carrier(&mut self) -> Result<()> {
        let deadline = Instant::now() + CARRIER_PATIENCE;
        for node in &mut self.nodes {
            while !node.has_carrier()? {
                ensure!(Instant::now() < deadline, "the links of {} have no carrier", node.name);
                std::thread::sleep(Duration::from_micros(200));
            }
        }
        Ok(())
    }

    fn address(&mut self, scenario: &Scenario) -> Result<()> {
        for end in scenario.links.iter().flat_map(|link| &link.ends) {
            let node = self.node_mut(&end.node)?;
            let index = node.index_of(&end.interface)?;
            for address in &end.addresses {
                let purpose = format!("giving {} of {} the address {}", end.interface, end.node, address.0);
                node.netlink
                    .create(RouteNetlinkMessage::NewAddress(new_address(index, *address)?), purpose)?;
            }
        }
        self.nodes.iter_mut().try_for_each(|node| node.netlink.flush())
    }

    fn shape(&mut self, scenario: &Scenario) -> Result<()> {
        for link in &scenario.links {
            if let Link { rate: Some(rate), queue: Some(limit), ends, .. } = link {
                for end in ends {
                    let node = self.node_mut(&end.node)?;
                    let index = node.index_of(&end.interface)?;
                    let object = format!("{} of {}", end.interface, end.node);
                    let wire = Wire::new(scenario, find_node(scenario, &end.node)?, end.mtu.0, Some(*rate));
                    queue::shape(&mut node.netlink, (index, &object), *rate, *limit, &wire)?;
                }
            }
        }
        self.nodes.iter_mut().try_for_each(|node| node.netlink.flush())
    }

    /// What each host's and router's kernel has counted, by the node's name.
    pub fn host_counters(&self, home: &Home, scenario: &Scenario) -> Result<Vec<(String, HostCounters)>> {
        let ip =
            |node: &&BuiltNode| scenario.node(&node.name).is_some_and(|found| found.kind != NodeKind::Switch);
        let read =
            |node: &BuiltNode| Ok((node.name.clone(), home.visit(&node.namespace, HostCounters::read)?));
        self.nodes.iter().filter(ip).map(read).collect()
    }

    /// Begins with what the links do to frames beside carrying and delaying them.
    pub fn arm(&self) -> Result<()> {
        self.lines.as_ref().map_or(Ok(()), Lines::arm)
    }

    /// What each delay line has done since then, by its link in words; asked for once.
    pub fn carried(&self) -> Result<Vec<(&str, Carried)>> {
        self.lines.as_ref().map_or(Ok(Vec::new()), Lines::carried)
    }

    /// The offloads in force on every interface: node, interface, offloads.
    pub fn offloads(&self) -> Result<Vec<(String, String, Offloads)>> {
        let each = self.nodes.iter().flat_map(|node| node.names().map(move |name| (node, name)));
        each.map(|(node, name)| Ok((node.name.clone(), name.clone(), node.ethtool.get(name)?))).collect()
    }
}

fn create_node(home: &Home, node: &Node) -> Result<BuiltNode> {
    let inside = || {
        settings::apply(node)?;
        Ok((Netlink::open()?, Ethtool::open()?))
    };
    let (namespace, (netlink, ethtool)) =
        home.create(inside).with_context(|| format!("making node {:?}", node.name))?;
    Ok(BuiltNode { name: node.name.clone(), namespace, netlink, ethtool, interfaces: Vec::new() })
}

fn find_node<'a>(scenario: &'a Scenario, name: &str) -> Result<&'a Node> {
    scenario.node(name).with_context(|| format!("no node {name:?}"))
}
