//! The delay lines of a network, in a namespace of their own.

use super::messages::{SINGLE_QUEUES, up};
use crate::delay_line::{self, Carried, DelayLine};
use crate::layout::Layout;
use crate::namespace::{Home, Namespace};
use crate::processors::Placement;
use crate::{affinity, settings};
use anyhow::{Context, Result};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{LinkAttribute, LinkMessage};
use nettrial_netlink::Netlink;
use nettrial_scenario::{Link, Scenario, ethernet};
use std::os::fd::AsRawFd;

/// A line's own interfaces take whatever a node's may send.
const LARGEST_MTU: u32 = 65_535;
/// More than a GSO packet has (GSO_LEGACY_MAX_SIZE, with headers).
const LARGEST_GSO_BYTES: u64 = 65_536 + 256;

/// The namespace with the inner ends of every link that has a delay line, and the lines.
pub struct Lines {
    // In this order: the lines end before their namespace goes.
    lines: Vec<DelayLine>,
    netlink: Netlink,
    namespace: Namespace,
    /// The scenario's number of each such link, and the indexes of its two inner ends.
    links: Vec<(usize, [i32; 2])>,
}

impl Lines {
    /// The namespace, if a link of `scenario` needs a line.
    pub fn create(home: &Home, scenario: &Scenario) -> Result<Option<Self>> {
        if !scenario.links.iter().any(delay_line::is_needed) {
            return Ok(None);
        }
        let inside = || {
            if std::fs::exists("/proc/sys/net/ipv6").unwrap_or(false) {
                // The lines' ends have no say of their own on the links.
                settings::write("net.ipv6.conf.default.disable_ipv6", "1")?;
            }
            Netlink::open()
        };
        let (namespace, netlink) = home.create(inside).context("making the namespace of the delay lines")?;
        Ok(Some(Self { lines: Vec::new(), netlink, namespace, links: Vec::new() }))
    }

    /// The two veth pairs of the scenario's link `number` between the nodes' `pair`, with inner ends of
    /// these indexes.
    pub fn between(
        &mut self,
        number: usize,
        pair: [LinkMessage; 2],
        indexes: [i32; 2],
    ) -> [[LinkMessage; 2]; 2] {
        self.links.push((number, indexes));
        let [near, far] = pair;
        [[near, self.inner(indexes[0])], [self.inner(indexes[1]), far]]
    }

    fn inner(&self, index: i32) -> LinkMessage {
        let mut message = LinkMessage::default();
        message.header.index = index.unsigned_abs();
        message.attributes = vec![
            LinkAttribute::IfName(name(index)),
            LinkAttribute::NetNsFd(self.namespace.file().as_raw_fd()),
            LinkAttribute::Mtu(LARGEST_MTU),
        ];
        message.attributes.extend(SINGLE_QUEUES);
        message
    }

    /// Starts the inner ends.
    pub fn bring_up(&mut self) -> Result<()> {
        for index in self.links.iter().flat_map(|(_, indexes)| indexes) {
            self.netlink.change(
                RouteNetlinkMessage::SetLink(up(*index)),
                "starting the interfaces of a delay line",
            )?;
        }
        self.netlink.flush()
    }

    /// Starts moving frames. Each line keeps to one processor, the engine's in `placement` if there is one:
    /// frames that reach the kernel's receive queues of several may overtake each other there.
    pub fn start(&mut self, home: &Home, layout: &Layout, placement: Option<&Placement>) -> Result<()> {
        let usable = affinity::usable();
        let processor_of = |number: usize| {
            let chosen = usable.get(number % usable.len().max(1)).copied().unwrap_or(0);
            placement.map_or(chosen, Placement::engine_processor)
        };
        if home.is_root {
            for (number, indexes) in &self.links {
                let names = indexes.map(name);
                Placement::steer_to(processor_of(*number), home, &self.namespace, names.iter())?;
            }
        }
        self.lines = home.visit(&self.namespace, || {
            let start = |(number, indexes): &(usize, [i32; 2])| {
                let link = &layout.scenario.links[*number];
                let largest = largest_frame(layout, link);
                let first = layout.paths.interfaces().of_link(*number).start;
                DelayLine::start(link, first, *indexes, largest, processor_of(*number))
            };
            self.links.iter().map(start).collect()
        })?;
        Ok(())
    }

    /// Begins with loss and the rest, and with counting, on every link that has them.
    pub fn arm(&self) -> Result<()> {
        self.lines.iter().try_for_each(DelayLine::arm)
    }

    /// Returns the work of each line since it was armed, by its link in words.
    pub fn carried(&self) -> Result<Vec<(&str, Carried)>> {
        self.lines.iter().map(|line| Ok((line.link.as_str(), line.carried()?))).collect()
    }
}

fn name(index: i32) -> String {
    format!("line{index}")
}

/// Bytes of the largest frame that either end of `link` may hand over: a GSO packet where
/// something may leave GSO packets uncut.
fn largest_frame(layout: &Layout, link: &Link) -> usize {
    let offloads =
        link.interfaces.iter().filter_map(|interface| Some(layout.directory.node(&interface.node)?.offloads));
    let gso_packets = offloads.into_iter().any(|offloads| offloads.tso || offloads.gso || offloads.gro)
        || layout.scenario.workload.iter().any(|flow| flow.socket.udp_gso);
    let mtu =
        link.interfaces.iter().map(|interface| interface.mtu.0).max().unwrap_or(0) + ethernet::HEADER_BYTES;
    usize::try_from(if gso_packets { mtu.max(LARGEST_GSO_BYTES) } else { mtu }).unwrap_or(usize::MAX)
}
