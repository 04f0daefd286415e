//! Reads the counters of a network's interfaces and nodes.

use super::lines::Lines;
use super::{BuiltNode, Network};
use crate::error::Result;
use crate::host_counters::HostCounters;
use crate::namespace::Home;
use crate::queue;
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{LinkAttribute, LinkMessage};
use nettrial_scenario::{Node, NodeKind, Scenario, ethernet};
use std::collections::HashMap;

/// The packets that one interface's queue has passed and dropped.
pub struct InterfaceCounters {
    /// The node that sends.
    pub node: String,
    /// The interface that sends.
    pub interface: String,
    /// The counts since the interface was created.
    pub counters: queue::Counters,
    /// The number of bytes that its shaper holds as credit.
    pub burst_bytes: u64,
    /// The interface's index, which is unique in the network.
    index: i32,
}

impl InterfaceCounters {
    /// Returns the differences of the counters of `after` from those of `before`.
    pub fn difference(before: &[Self], mut after: Vec<Self>) -> Vec<Self> {
        let earlier: HashMap<i32, queue::Counters> =
            before.iter().map(|interface| (interface.index, interface.counters)).collect();
        for interface in &mut after {
            if let Some(then) = earlier.get(&interface.index) {
                let now = &mut interface.counters;
                now.wire_bytes = now.wire_bytes.saturating_sub(then.wire_bytes);
                now.packets = now.packets.saturating_sub(then.packets);
                now.drops = now.drops.saturating_sub(then.drops);
            }
        }
        after
    }
}

/// The frames that an interface sent and that its far end could not accept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// The node that sent.
    pub node: String,
    /// The interface that sends.
    pub interface: String,
    /// The number of frames since the interface was created.
    pub frames_pkts: u64,
}

impl Network {
    /// Returns the counters of every interface of `scenario` that has a queue.
    pub fn counters(&mut self, scenario: &Scenario) -> Result<Vec<InterfaceCounters>> {
        let mut all = Vec::new();
        for node in &mut self.nodes {
            for queue::Reading { index, counters, .. } in queue::read(&mut node.netlink)? {
                if let Some(shaped) = node.shaped.iter().find(|shaped| shaped.index == index) {
                    let (node, interface) = (node.name.clone(), shaped.interface.clone());
                    let burst_bytes = shaped.bucket.bytes;
                    all.push(InterfaceCounters { node, interface, counters, burst_bytes, index });
                }
            }
        }
        for (link, end, counters) in self.lines.iter().flat_map(Lines::counters) {
            let (interface, link) = (&scenario.links[link].interfaces[end], &scenario.links[link]);
            all.push(InterfaceCounters {
                node: interface.node.clone(),
                interface: interface.name.clone(),
                counters,
                burst_bytes: link.largest_packet(interface) + ethernet::FRAMING_BYTES,
                index: self.node(&interface.node)?.index_of(&interface.name)?,
            });
        }
        Ok(all)
    }

    /// Returns the number of frames that every interface sent and that its far end could not accept, because its
    /// kernel's receive queue was full. A veth counts them as dropped by the sender (drivers/net/veth.c,
    /// veth_xmit). Drops of a qdisc are not included.
    pub fn refused(&mut self) -> Result<Vec<Refused>> {
        let mut all = Vec::new();
        for node in &mut self.nodes {
            for answer in node.netlink.dump(RouteNetlinkMessage::GetLink(LinkMessage::default()))? {
                let RouteNetlinkMessage::NewLink(message) = answer else { continue };
                let index = i32::try_from(message.header.index)?;
                let known = node.interfaces.iter().find(|(_, known)| *known == index);
                let dropped = message.attributes.iter().find_map(|attribute| match attribute {
                    LinkAttribute::Stats64(statistics) => Some(statistics.tx_dropped),
                    _ => None,
                });
                if let (Some((interface, _)), Some(frames_pkts)) = (known, dropped) {
                    let (node, interface) = (node.name.clone(), interface.clone());
                    all.push(Refused { node, interface, frames_pkts });
                }
            }
        }
        Ok(all)
    }

    /// Returns the counters of each host's and router's kernel, by the node's name.
    pub fn host_counters(&self, home: &Home, scenario: &Scenario) -> Result<Vec<(String, HostCounters)>> {
        let counts = |built: &BuiltNode, node: &Node| node.kind != NodeKind::Switch && !built.is_bare;
        let nodes = self.nodes.iter().zip(&scenario.nodes).filter(|(built, node)| counts(built, node));
        nodes
            .map(|(built, _)| Ok((built.name.clone(), home.visit(&built.namespace, HostCounters::read)?)))
            .collect()
    }
}
