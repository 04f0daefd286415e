//! Builds a scenario's network: namespaces, links, addresses, routes, offloads, queues.
//!
//! Building takes time in proportion to the number of links and routes: all requests of a kind for a node go to
//! the kernel together, and nothing waits for the kernel's timers.

mod channels;
mod counters;
mod defaults;
mod guest;
mod inside;
mod lines;
mod node;
mod routes;
mod translation;
mod tunnels;

use crate::carrier::Carriers;
use crate::channel::Driven;
use crate::clock::Clock;
use crate::delay_line;
use crate::delay_line::Carried;
use crate::error::{Error, Result};
use crate::gso::AllGsoPackets;
use crate::layout::Layout;
use crate::messages::{SINGLE_QUEUES, ethernet_address, new_address, new_neighbour, veth};
use crate::namespace::Home;
use crate::openflow::{Attached, Fabric, Port};
use crate::processors::Placement;
use crate::procfs::Procfs;
use crate::programs;
use crate::queue::{Shaper, Shaping, Steps, TracedWire};
use crate::tunnel_addresses;
use crate::wire::Wire;
use channels::Channels;
pub use channels::try_holding;
pub use counters::{InterfaceCounters, Refused};
pub use lines::Breaker;
use lines::Lines;
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{LinkAttribute, LinkMessage};
use nettrial_netlink::{Netlink, filter_icmp};
use nettrial_scenario::{
    Capture, ChannelRecord, Discipline, Interface, IpVersion, Link, Node, NodeKind, QueueLimit, Rate,
    Scenario, Tunnel,
};
use node::device;
pub use node::{BuiltNode, Shaped};
pub use routes::{HASH_POLICIES, HASH_SEED};
use std::collections::{HashMap, HashSet};
use std::os::fd::AsRawFd;
use translation::Translator;
pub use translation::{Translated, limits as translation_limits};
pub use tunnels::problems as tunnel_problems;

/// The index of the network's first interface. Lower indexes belong to interfaces that a kernel may put into every
/// namespace. No two interfaces of a network have the same index: if the ends of a veth do, the kernel mistakes
/// them for one interface and reports the carrier up to a second late (net/core/link_watch.c,
/// linkwatch_urgent_event).
const FIRST_INTERFACE: i32 = 100;

/// A scenario's network, which lives as long as this value.
pub struct Network {
    nodes: Vec<BuiltNode>,
    by_name: HashMap<String, usize>,
    lines: Option<Lines>,
    channels: Option<Channels>,
    fabric: Option<Fabric>,
    translators: Vec<Translator>,
}

impl Network {
    /// Builds the network of a scenario. The receive work of each node is steered to its CPU in `placement`, if
    /// there is one.
    pub fn build(home: &Home, layout: &Layout, placement: Option<&Placement>) -> Result<Self> {
        let scenario = layout.scenario;
        let mut procfs = Procfs::open()?;
        let has_ipv6 = with_ipv6(scenario);
        let fails = !scenario.events.is_empty();
        let mut fabric = Fabric::start(home, scenario)?;
        let create = |node: &Node| {
            if let (NodeKind::Switch, Some(fabric)) = (node.kind, &fabric) {
                return BuiltNode::create_shared(home, fabric.namespace(), node);
            }
            if node.system.is_some() || node.machine.is_some() || programs::of(node).is_some() {
                return BuiltNode::create_bare(home, &mut procfs, node);
            }
            BuiltNode::create(home, &mut procfs, node, [has_ipv6.contains(node.name.as_str()), fails])
        };
        let nodes = scenario.nodes.iter().map(create).collect::<Result<Vec<_>>>()?;
        let by_name = scenario.nodes.iter().map(|node| node.name.clone()).zip(0..).collect();
        let (lines, channels) = (Lines::create(home, scenario)?, Channels::create(home, scenario)?);
        let mut network = Self { nodes, by_name, lines, channels, fabric: None, translators: Vec::new() };
        let gso_packets = AllGsoPackets::new(layout);
        network.create_links(home, layout, &gso_packets)?;
        network.shape(home, scenario, &gso_packets)?;
        network.bring_up()?;
        network.nodes.iter_mut().try_for_each(BuiltNode::await_carrier)?;
        if let Some(lines) = &mut network.lines {
            lines.start(home, layout, placement)?;
        }
        if let Some(channels) = &mut network.channels {
            channels.start(home, layout, placement)?;
        }
        network.address(scenario)?;
        network.introduce(scenario)?;
        network.route(home, scenario, &layout.paths.routes())?;
        network.route_translated(scenario)?;
        for node in scenario.nodes.iter().filter(|node| node.filters_icmp) {
            if let Some(built) = network.configured(&node.name) {
                filter_icmp(&mut built.netlink, &node.name)?;
            }
        }
        if let Some(placement) = placement {
            for node in &network.nodes {
                placement.steer(home, &node.namespace, &node.name, node.devices())?;
            }
        }
        if let Some(fabric) = &mut fabric {
            fabric.connect(home, layout, &network.ports(scenario), &network.attached(scenario)?)?;
        }
        network.fabric = fabric;
        Ok(network)
    }

    /// The controller and its switches, if there is one.
    pub fn fabric(&mut self) -> Option<&mut Fabric> {
        self.fabric.as_mut()
    }

    /// The interfaces of the switches, each switch's in the order of its interfaces.
    fn ports(&self, scenario: &Scenario) -> Vec<Port> {
        let switches = self.switches(scenario).enumerate();
        let of = |(switch, place): (usize, usize)| {
            self.nodes[place].devices().map(move |device| Port { switch, device })
        };
        switches.flat_map(of).collect()
    }

    /// The places of the switches among the nodes.
    fn switches(&self, scenario: &Scenario) -> impl Iterator<Item = usize> {
        let is_switch = |place: &usize| scenario.nodes[*place].kind == NodeKind::Switch;
        (0..self.nodes.len()).filter(is_switch)
    }

    /// The hosts and routers with a link to a switch, as the switch sees them.
    fn attached(&self, scenario: &Scenario) -> Result<Vec<Attached>> {
        let numbers: HashMap<usize, u64> = self.switches(scenario).zip(1..).collect();
        let mut attached = Vec::new();
        let mut addresses_of: HashMap<&str, usize> = HashMap::new();
        for link in scenario.links.iter().filter(|link| link.wlan.is_none()) {
            let [near, far] =
                link.cable().ok_or_else(|| Error::Missing(format!("{} is no cable", link.in_words())))?;
            for (own, other) in [(near, far), (far, near)] {
                let (place, switch) = (self.place(&own.node)?, self.place(&other.node)?);
                let known = addresses_of.entry(&own.node).or_default();
                let before = std::mem::replace(known, *known + own.addresses.len());
                let Some(&number) = numbers.get(&switch).filter(|_| !numbers.contains_key(&place)) else {
                    continue;
                };
                let port = self.nodes[switch].interfaces.iter().position(|(name, _)| *name == other.name);
                let port =
                    port.ok_or_else(|| Error::Missing(format!("{} has no {}", other.node, other.name)))?;
                let bytes = ethernet_address(self.nodes[place].index_of(&own.name)?);
                let mac: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
                attached.push(Attached {
                    mac: mac.join(":"),
                    switch: number,
                    port: u32::try_from(port + 1)?,
                    addresses: own.addresses.iter().map(|address| address.address().to_string()).collect(),
                    before,
                });
            }
        }
        Ok(attached)
    }

    /// Returns all nodes, in the scenario's order.
    pub fn nodes(&self) -> impl Iterator<Item = &BuiltNode> {
        self.nodes.iter()
    }

    fn place(&self, name: &str) -> Result<usize> {
        self.by_name.get(name).copied().ok_or_else(|| Error::Missing(format!("no node {name:?}")))
    }

    /// The node called `name`.
    pub fn node(&self, name: &str) -> Result<&BuiltNode> {
        Ok(&self.nodes[self.place(name)?])
    }

    fn node_mut(&mut self, name: &str) -> Result<&mut BuiltNode> {
        let place = self.place(name)?;
        Ok(&mut self.nodes[place])
    }

    /// Returns the node called `name`, if its addresses and routes are those of its namespace here, as they are
    /// not for a guest, a program, or a host behind NAT64.
    fn configured(&mut self, name: &str) -> Option<&mut BuiltNode> {
        self.node_mut(name).ok().filter(|node| !node.is_bare && !node.is_translated)
    }

    fn create_links(&mut self, home: &Home, layout: &Layout, gso_packets: &AllGsoPackets) -> Result<()> {
        let Layout { scenario, paths, .. } = layout;
        let mut netlink = Netlink::open()?;
        let mut indexes = FIRST_INTERFACE..;
        let mut next = || indexes.next().ok_or_else(|| Error::Missing("too many interfaces".into()));
        let mut blocked = HashSet::new();
        for (number, link) in scenario.links.iter().enumerate() {
            let own = link
                .interfaces
                .iter()
                .enumerate()
                .map(|(end, interface)| {
                    let link = link.from_end(end);
                    self.new_interface(home.clock, scenario, gso_packets, &link, interface, next()?)
                })
                .collect::<Result<Vec<_>>>()?;
            let interfaces = paths.interfaces().of_link(number).zip(&own);
            let shut = interfaces.filter(|(interface, _)| paths.is_blocked(*interface));
            blocked.extend(shut.map(|(_, message)| message.header.index));
            let object = format!("creating {}", link.in_words());
            let pairs = match (&mut self.lines, &mut self.channels) {
                (_, Some(channels)) if link.wlan.is_some() => {
                    let kind =
                        |interface: &Interface| layout.directory.node(&interface.node).map(|node| node.kind);
                    let mut pairs = Vec::new();
                    for (own, interface) in own.into_iter().zip(&link.interfaces) {
                        let address = ethernet_address(i32::try_from(own.header.index)?);
                        let is_host = kind(interface) == Some(NodeKind::Host);
                        let tap = is_host.then(&mut next).transpose()?;
                        pairs.push(channels.pair(number, (own, address), next()?, tap));
                    }
                    pairs
                }
                (Some(lines), _) if delay_line::is_needed(scenario, number, home.clock) => {
                    lines.between(number, cable(link, own)?, [next()?, next()?]).to_vec()
                }
                _ => vec![cable(link, own)?],
            };
            for pair in pairs {
                netlink.create(RouteNetlinkMessage::NewLink(veth(pair)), object.clone())?;
            }
        }
        netlink.flush()?;
        self.create_tunnels(home, scenario, &mut next)?;
        for (built, node) in self.nodes.iter_mut().zip(&scenario.nodes) {
            built.set_offloads(home, node.offloads)?;
            let reads_frames = scenario.controller.is_some() || programs::are_in(scenario);
            if reads_frames && node.kind != NodeKind::Switch {
                built.compute_checksums(home)?;
            }
            if node.kind == NodeKind::Switch && !built.is_shared {
                built.create_bridge(&blocked)?;
            }
        }
        Ok(())
    }

    /// Registers `interface`, whose frames meet `link`, with its `index`, and returns its description.
    fn new_interface(
        &mut self,
        clock: Clock,
        scenario: &Scenario,
        gso_packets: &AllGsoPackets,
        link: &Link,
        interface: &Interface,
        index: i32,
    ) -> Result<LinkMessage> {
        let place = self.place(&interface.node)?;
        let (built, node) = (&mut self.nodes[place], &scenario.nodes[place]);
        built.interfaces.push((interface.name.clone(), index));
        let mut message = LinkMessage::default();
        message.header.index = u32::try_from(index)?;
        message.attributes = vec![
            LinkAttribute::IfName(device(built.is_shared, &interface.name, index)),
            LinkAttribute::Address(match node.system.is_some() || node.machine.is_some() {
                true => guest::outer_address(index),
                false => ethernet_address(index),
            }),
            LinkAttribute::NetNsFd(built.namespace.file().as_raw_fd()),
            LinkAttribute::Mtu(u32::try_from(link.largest_packet(interface))?),
        ];
        message.attributes.extend(SINGLE_QUEUES);
        let wire = Wire::new(node, gso_packets.of(node), link.largest_packet(interface), link.rate, clock);
        // Each frame on air must reach the channel by itself, and the wire takes the segments of a GSO packet for those of
        // IPv6.
        let alone = link.wlan.is_some() || link.tunnel == Some(Tunnel::Nat64);
        let segments = if alone { Some(1) } else { wire.gso_max_segments() };
        message.attributes.extend(segments.map(LinkAttribute::GsoMaxSegs));
        Ok(message)
    }

    fn shape(&mut self, home: &Home, scenario: &Scenario, gso_packets: &AllGsoPackets) -> Result<()> {
        type Alike = Vec<(Discipline, Shaping)>;
        let mut known: HashMap<(Rate, QueueLimit, Wire, Shaper), Alike> = HashMap::new();
        for (number, link) in scenario.links.iter().enumerate() {
            for (end, interface) in link.interfaces.iter().enumerate() {
                let link = link.from_end(end);
                let Link { rate: Some(rate), queue: Some(limit), .. } = &*link else { continue };
                if delay_line::is_queue(&link, home.clock) {
                    continue;
                }
                let shaper = delay_line::shaper(scenario, number, end, home.clock);
                let place = self.place(&interface.node)?;
                let (built, node) = (&mut self.nodes[place], &scenario.nodes[place]);
                let mtu = link.largest_packet(interface);
                let wire = Wire::new(node, gso_packets.of(node), mtu, Some(*rate), home.clock);
                let alike = known.entry((*rate, *limit, wire, shaper)).or_default();
                let place = match alike.iter().position(|(one, _)| *one == link.discipline) {
                    Some(place) => place,
                    None => {
                        let shaping = Shaping::new(*rate, *limit, &link.discipline, &wire, shaper)?;
                        alike.push((link.discipline, shaping));
                        alike.len() - 1
                    }
                };
                let shaping = &alike[place].1;
                let index = built.index_of(&interface.name)?;
                let object = format!("{} of {}", interface.name, interface.node);
                shaping.apply(&mut built.netlink, (index, &object))?;
                if let Shaper::Wire { .. } = shaper {
                    // A delay line has the delay of a link that needs one.
                    let is_delayed = !delay_line::is_needed(scenario, number, home.clock);
                    let delays = link.delay_trace.as_ref().filter(|_| is_delayed);
                    let traces = [link.rate_trace.as_ref().map(Steps::of_rate), delays.map(Steps::of_delay)];
                    let (netlink, object) = (&mut built.netlink, (index, object.as_str()));
                    built.traced.extend(TracedWire::prepare(netlink, object, shaping, traces)?);
                }
                let interface = interface.name.clone();
                let rate = link.rate_trace.is_none().then_some(*rate);
                built.shaped.push(Shaped { interface, index, rate, bucket: shaping.bucket });
            }
        }
        Ok(self.nodes.iter_mut().try_for_each(|node| node.netlink.flush())?)
    }

    fn bring_up(&mut self) -> Result<()> {
        self.nodes.iter_mut().try_for_each(BuiltNode::bring_up)?;
        self.lines.as_mut().map_or(Ok(()), Lines::bring_up)?;
        self.channels.as_mut().map_or(Ok(()), Channels::bring_up)
    }

    fn address(&mut self, scenario: &Scenario) -> Result<()> {
        for interface in scenario.links.iter().flat_map(|link| &link.interfaces) {
            let Some(node) = self.configured(&interface.node) else { continue };
            let index = node.index_of_ip(&interface.name)?;
            for address in &interface.addresses {
                let purpose =
                    format!("giving {} of {} the address {}", interface.name, interface.node, address.0);
                node.netlink
                    .create(RouteNetlinkMessage::NewAddress(new_address(index, *address)?), purpose)?;
            }
        }
        Ok(self.nodes.iter_mut().try_for_each(|node| node.netlink.flush())?)
    }

    /// Adds permanent neighbour entries to every interface of a link between hosts and routers. Neighbours that
    /// the kernel resolves itself go into one table for all namespaces of the machine, which holds 1024 entries
    /// (net.ipv4.neigh.default.gc_thresh3); permanent entries do not count.
    fn introduce(&mut self, scenario: &Scenario) -> Result<()> {
        for link in scenario.links.iter().filter(|link| link.tunnel.is_none()) {
            let places = link
                .interfaces
                .iter()
                .map(|interface| self.place(&interface.node))
                .collect::<Result<Vec<_>>>()?;
            // The neighbours of a machine ask for its address on the link, which nettrial does not choose.
            let is_unknown = |node: &Node| node.kind == NodeKind::Switch || node.machine.is_some();
            if places.iter().any(|place| is_unknown(&scenario.nodes[*place])) {
                continue;
            }
            let index =
                |(interface, place): (&Interface, &usize)| self.nodes[*place].index_of(&interface.name);
            let indexes = link.interfaces.iter().zip(&places).map(index).collect::<Result<Vec<_>>>()?;
            for (here, interface) in link.interfaces.iter().enumerate() {
                if self.nodes[places[here]].is_bare {
                    continue;
                }
                let others = link.interfaces.iter().enumerate().filter(|(there, _)| *there != here);
                for (there, other) in others {
                    for address in &other.addresses {
                        let message =
                            new_neighbour(indexes[here], address.address(), ethernet_address(indexes[there]));
                        let purpose = format!("adding the neighbour {1} of {0}", interface.node, other.node);
                        let netlink = &mut self.nodes[places[here]].netlink;
                        netlink.create(RouteNetlinkMessage::NewNeighbour(message), purpose)?;
                    }
                }
            }
        }
        Ok(self.nodes.iter_mut().try_for_each(|node| node.netlink.flush())?)
    }

    /// Takes down everything except the hosts and the namespaces of guests, and returns these.
    pub fn into_hosts(self, scenario: &Scenario) -> Vec<BuiltNode> {
        drop((self.fabric, self.lines, self.channels, self.translators));
        let kinds = scenario.nodes.iter().map(|node| node.kind);
        self.nodes
            .into_iter()
            .zip(kinds)
            .filter(|(node, kind)| *kind == NodeKind::Host || node.is_bare)
            .map(|(node, _)| node)
            .collect()
    }

    /// Returns a breaker of the links that are to fail, with the interfaces of guests that are on each link.
    pub fn breaker(&self, home: &Home, carriers: Carriers) -> Result<Breaker> {
        self.lines
            .as_ref()
            .ok_or_else(|| Error::Missing("no link is to fail".into()))?
            .breaker(home, carriers)
    }

    /// Captures the radio channels that `settings` name as soon as they are armed.
    pub fn sniff(&self, settings: &Capture) -> Result<()> {
        self.channels.as_ref().map_or(Ok(()), |channels| channels.sniff(settings))
    }

    /// Begins with the impairments of links beside their delays, and with counting.
    pub fn arm(&self) -> Result<()> {
        self.lines.as_ref().map_or(Ok(()), Lines::arm)?;
        self.channels.as_ref().map_or(Ok(()), Channels::arm)
    }

    /// Lets the traces of links begin.
    pub fn begin_traces(&mut self) -> Result<()> {
        let begins_ns = delay_line::monotonic_ns();
        for BuiltNode { traced, netlink, .. } in &mut self.nodes {
            traced.iter().try_for_each(|wire| wire.begin(netlink, begins_ns))?;
            netlink.flush()?;
        }
        self.lines.iter().for_each(|lines| lines.begin_traces(begins_ns));
        Ok(())
    }

    /// Ends the radio channels; returns for each its link in words, its record since it was armed, and its work.
    pub fn finish_channels(&mut self) -> Result<Vec<(String, ChannelRecord, Driven)>> {
        self.channels.as_mut().map_or(Ok(Vec::new()), Channels::finish)
    }

    /// Returns the reason why senders on radio channels are not held back while their frames are at their
    /// stations, if there are channels and they are not.
    pub fn unheld(&self) -> Option<&str> {
        self.channels.as_ref()?.unheld()
    }

    /// Returns the work of each delay line since it was armed, by its link in words. It must be called only once.
    pub fn carried(&self) -> Result<Vec<(&str, Carried)>> {
        self.lines.as_ref().map_or(Ok(Vec::new()), Lines::carried)
    }
}

/// Returns the two ends of a cable.
fn cable(link: &Link, own: Vec<LinkMessage>) -> Result<[LinkMessage; 2]> {
    own.try_into().ok().ok_or_else(|| Error::Missing(format!("{} is not a cable", link.in_words())))
}

/// Returns the nodes that have an IPv6 address, or carry packets in IPv6.
fn with_ipv6(scenario: &Scenario) -> HashSet<&str> {
    let mut nodes = HashSet::new();
    for link in &scenario.links {
        let carries = link.tunnel.is_some_and(|tunnel| tunnel.outer() == IpVersion::V6);
        let translated = tunnel_addresses::ends(scenario, link).map(|[host, _]| host);
        let has_address = |interface: &Interface| {
            Some(interface) != translated
                && interface.addresses.iter().any(|address| address.address().is_ipv6())
        };
        let of_ipv6 = link.interfaces.iter().filter(|interface| carries || has_address(interface));
        nodes.extend(of_ipv6.map(|interface| interface.node.as_str()));
    }
    nodes
}
