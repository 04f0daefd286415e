//! Builds nodes that are guests: their parts around the guest, and their parts inside it.

use super::{BuiltNode, FIRST_INTERFACE, Network, with_ipv6};
use crate::error::{Error, Result};
use crate::layout::Layout;
use crate::messages::{ethernet_address, new_bridge, new_neighbour, up};
use crate::namespace::{Home, Namespace};
use crate::node_order::{Introduction, Neighbour, NodeOrder};
use crate::procfs::Procfs;
use crate::tap::Tap;
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{LinkAttribute, LinkMessage};
use nettrial_netlink::{Netlink, filter_icmp};
use nettrial_routing::Route;
use nettrial_scenario::{Interface, NodeKind, Scenario};
use nix::net::if_::if_nametoindex;
use std::fs::File;
use std::os::fd::AsRawFd;

/// The number of bytes of a guest's frames that may wait for its shaper, including the kernel's overhead, as
/// frames of a real interface wait in its ring: about 16 frames of 1500 bytes. QEMU is woken when half of them
/// have left, which gives it 5 ms at 20 Mbit/s.
const WAITING_BYTES: u64 = 40_000;
/// The least number of frames that may wait.
const WAITING_FRAMES: u64 = 4;
/// The number of bytes that the kernel charges for a frame in addition to its own.
const FRAME_COST_BYTES: u64 = 1024;

/// Returns the Ethernet address of the interface before a guest's. It differs from the guest's, because otherwise
/// a bridge would keep the guest's frames to itself.
pub fn outer_address(index: i32) -> Vec<u8> {
    [[0x06, 0].as_slice(), &index.to_be_bytes()].concat()
}

impl Network {
    /// Connects the TAP devices of a guest or a machine, which are in the engine's namespace, to the interfaces of its
    /// `node`, by a bridge for each.
    pub fn attach(&mut self, home: &Home, scenario: &Scenario, node: &str, taps: &[Tap]) -> Result<()> {
        let mut here = Netlink::open()?;
        let built = self.node_mut(node)?;
        for (number, tap) in taps.iter().enumerate() {
            let (interface, index) = built
                .interfaces
                .get(number)
                .ok_or_else(|| Error::Missing("a guest has more devices than its node".into()))?;
            let (interface, index) = (interface.clone(), *index);
            let mtu = interface_of(scenario, node, &interface)?.mtu.0;
            let purpose = format!("moving {} to {node}", tap.name());
            let moved = to_namespace(if_nametoindex(tap.name())?, built.namespace.file());
            here.change(RouteNetlinkMessage::SetLink(moved), purpose)?;
            here.flush()?;
            let own = home.visit(&built.namespace, || Ok(if_nametoindex(tap.name())?))?;
            let bridge = FIRST_INTERFACE - 1 - i32::try_from(number)?;
            let purpose = format!("connecting {} to {interface} of {node}", tap.name());
            let netlink = &mut built.netlink;
            let message = new_bridge(bridge, &format!("bridge{number}"));
            netlink.create(RouteNetlinkMessage::NewLink(message), purpose.clone())?;
            for (port, attribute) in [
                (own, LinkAttribute::Mtu(u32::try_from(mtu)?)),
                (own, LinkAttribute::Controller(bridge.unsigned_abs())),
                (index.unsigned_abs(), LinkAttribute::Controller(bridge.unsigned_abs())),
            ] {
                let mut message = LinkMessage::default();
                message.header.index = port;
                message.attributes = vec![attribute];
                netlink.change(RouteNetlinkMessage::SetLink(message), purpose.clone())?;
            }
            for index in [i32::try_from(own)?, bridge] {
                netlink.change(RouteNetlinkMessage::SetLink(up(index)), purpose.clone())?;
            }
            netlink.flush()?;
            let waiting = WAITING_BYTES.max(WAITING_FRAMES * (mtu + FRAME_COST_BYTES));
            tap.bound(i32::try_from(waiting)?)?;
        }
        Ok(())
    }

    /// Returns the identity of `node` on its links, for its guest or its program.
    pub fn introduction(&self, scenario: &Scenario, node: &str) -> Result<Introduction> {
        let address = |interface: &Interface| -> Result<Vec<u8>> {
            Ok(ethernet_address(self.node(&interface.node)?.index_of(&interface.name)?))
        };
        let own = self.node(node)?.interfaces();
        let interfaces = own.iter().map(|(name, index)| (name.clone(), ethernet_address(*index))).collect();
        let mut neighbours = Vec::new();
        for link in &scenario.links {
            let kind = |interface: &Interface| scenario.nodes[self.place(&interface.node).unwrap_or(0)].kind;
            if link.interfaces.iter().any(|interface| kind(interface) == NodeKind::Switch) {
                continue;
            }
            for here in link.interfaces.iter().filter(|interface| interface.node == node) {
                for there in link.interfaces.iter().filter(|interface| interface.node != node) {
                    for addressed in &there.addresses {
                        let (interface, ethernet) = (here.name.clone(), address(there)?);
                        neighbours.push(Neighbour { interface, address: addressed.address(), ethernet });
                    }
                }
            }
        }
        Ok(Introduction { interfaces, neighbours })
    }

    /// Builds the node of this guest from the devices with these indexes, which `outside` reaches.
    pub fn build_in_guest(
        home: &Home,
        layout: &Layout,
        order: &NodeOrder,
        outside: &mut Netlink,
        devices: &[u32],
    ) -> Result<Self> {
        let scenario = layout.scenario;
        let node = layout
            .directory
            .node(&order.node)
            .ok_or_else(|| Error::Missing(format!("no node {}", order.node)))?;
        let has_ipv6 = with_ipv6(scenario).contains(node.name.as_str());
        let mut built =
            BuiltNode::create(home, &mut Procfs::open()?, node, [has_ipv6, !scenario.events.is_empty()])?;
        for ((name, ethernet), device) in order.interfaces.iter().zip(devices) {
            let mut message = to_namespace(*device, built.namespace.file());
            message.attributes.push(LinkAttribute::IfName(name.clone()));
            outside.change(
                RouteNetlinkMessage::SetLink(message),
                format!("moving the device {name} to the node"),
            )?;
            outside.flush()?;
            let index = home.visit(&built.namespace, || Ok(if_nametoindex(name.as_str())?))?;
            let interface = interface_of(scenario, &node.name, name)?;
            let mut message = LinkMessage::default();
            message.header.index = index;
            let mtu = LinkAttribute::Mtu(u32::try_from(interface.mtu.0)?);
            message.attributes = vec![LinkAttribute::Address(ethernet.clone()), mtu];
            let purpose = format!("setting the MTU of {name} to {} bytes", interface.mtu.0);
            built.netlink.change(RouteNetlinkMessage::SetLink(message), purpose)?;
            built.netlink.flush()?;
            built.interfaces.push((name.clone(), i32::try_from(index)?));
        }
        built.set_offloads(home, node.offloads)?;
        built.bring_up()?;
        built.await_carrier()?;
        let by_name = std::iter::once((node.name.clone(), 0)).collect();
        let mut network = Self {
            nodes: vec![built],
            by_name,
            lines: None,
            channels: None,
            fabric: None,
            translators: Vec::new(),
        };
        network.address(scenario)?;
        let built = &mut network.nodes[0];
        for Neighbour { interface, address, ethernet } in &order.neighbours {
            let message = new_neighbour(built.index_of(interface)?, *address, ethernet.clone());
            let purpose = format!("adding the neighbour {address} of {}", node.name);
            built.netlink.create(RouteNetlinkMessage::NewNeighbour(message), purpose)?;
        }
        built.netlink.flush()?;
        let routes = layout.paths.routes();
        let own: Vec<Route> = routes.into_iter().filter(|route| route.node == node.name).collect();
        network.route(home, scenario, &own)?;
        if node.filters_icmp {
            filter_icmp(&mut network.nodes[0].netlink, &node.name)?;
        }
        Ok(network)
    }

    /// Moves all interfaces of the nodes to `outside`, whose devices they were.
    pub fn return_devices(&mut self, outside: &Namespace) -> Result<()> {
        for node in &mut self.nodes {
            for (name, index) in node.interfaces.clone() {
                node.move_to(outside.file(), &name, u32::try_from(index)?)?;
            }
            node.netlink.flush()?;
        }
        Ok(())
    }
}

impl BuiltNode {
    /// Moves the TAP devices of a guest or a machine back to the engine's namespace.
    pub fn detach(&mut self, home: &Home, taps: &[Tap]) -> Result<()> {
        for tap in taps {
            let index = home.visit(&self.namespace, || Ok(if_nametoindex(tap.name())?))?;
            self.move_to(home.network().file(), tap.name(), index)?;
        }
        Ok(self.netlink.flush()?)
    }

    /// Requests that a device of this node, with that name and index, moves to another namespace.
    fn move_to(&mut self, namespace: &File, name: &str, index: u32) -> Result<()> {
        let purpose = format!("moving {name} from {}", self.name);
        Ok(self.netlink.change(RouteNetlinkMessage::SetLink(to_namespace(index, namespace)), purpose)?)
    }
}

/// Returns the interface called `name` of a node.
fn interface_of<'a>(scenario: &'a Scenario, node: &str, name: &str) -> Result<&'a Interface> {
    let mut interfaces = scenario.links.iter().flat_map(|link| &link.interfaces);
    let interface = interfaces.find(|interface| interface.node == node && interface.name == name);
    interface.ok_or_else(|| Error::Missing(format!("{node} has no interface {name}")))
}

/// Returns a request that moves the interface with this index to another namespace.
fn to_namespace(index: u32, namespace: &File) -> LinkMessage {
    let mut message = LinkMessage::default();
    message.header.index = index;
    message.attributes = vec![LinkAttribute::NetNsFd(namespace.as_raw_fd())];
    message
}
