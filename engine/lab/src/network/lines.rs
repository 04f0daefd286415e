//! The delay lines of a network, in a separate namespace.

use super::inside::{Inside, processor_of};
use crate::bucket;
use crate::carrier::{Carrier, Carriers};
use crate::delay_line::{self, Carried, DelayLine, Settings, Switch};
use crate::error::{Error, Result};
use crate::layout::Layout;
use crate::messages::{down, up};
use crate::namespace::Home;
use crate::processors::Placement;
use crate::queue::Counters;
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::LinkMessage;
use nettrial_netlink::Netlink;
use nettrial_scenario::{Interface, Link, NodeKind, Scenario, ethernet};
use std::collections::HashMap;
use std::sync::Arc;

/// A number of bytes that exceeds that of any GSO packet (GSO_LEGACY_MAX_SIZE, with headers).
const LARGEST_GSO_BYTES: u64 = 65_536 + 256;

/// The namespace with the inner ends of every link that has a delay line, and the lines.
pub struct Lines {
    // The order of these fields matters: the lines end before their namespace is removed.
    lines: Vec<DelayLine>,
    inside: Inside,
    /// The number of each such link in the scenario, and the indexes of its two inner ends.
    links: Vec<(usize, [i32; 2])>,
}

impl Lines {
    /// Creates the namespace, if a link of `scenario` needs a line.
    pub fn create(home: &Home, scenario: &Scenario) -> Result<Option<Self>> {
        if !delay_line::is_needed_by_any(scenario, home.clock) {
            return Ok(None);
        }
        Ok(Some(Self { lines: Vec::new(), inside: Inside::create(home, "delay lines")?, links: Vec::new() }))
    }

    /// Returns requests for the two veth pairs of the scenario's link `number` between the nodes' `pair`, with
    /// inner ends of these indexes.
    pub fn between(
        &mut self,
        number: usize,
        pair: [LinkMessage; 2],
        indexes: [i32; 2],
    ) -> [[LinkMessage; 2]; 2] {
        self.links.push((number, indexes));
        let [near, far] = pair;
        [[near, self.inside.end(indexes[0])], [self.inside.end(indexes[1]), far]]
    }

    /// Brings up the inner ends.
    pub fn bring_up(&mut self) -> Result<()> {
        self.inside.bring_up(self.links.iter().flat_map(|(_, indexes)| indexes))
    }

    /// Starts to move frames. Each line stays on one CPU.
    pub fn start(&mut self, home: &Home, layout: &Layout, placement: Option<&Placement>) -> Result<()> {
        for (number, indexes) in &self.links {
            self.inside.steer(home, processor_of(*number, placement), indexes)?;
        }
        let settings = |(number, indexes): &(usize, [i32; 2])| {
            let link = &layout.scenario.links[*number];
            Settings {
                first: layout.paths.interfaces().of_link(*number).start,
                indexes: *indexes,
                largest_frame: largest_frame(layout, link),
                longest_waits_ns: longest_waits_ns(layout, link),
                processor: processor_of(*number, placement),
                clock: home.clock,
                separates_udp: delay_line::separates_udp(layout.scenario, home.clock),
                link,
            }
        };
        let settings: Vec<Settings> = self.links.iter().map(settings).collect();
        self.lines =
            home.visit(&self.inside.namespace, || settings.into_iter().map(DelayLine::start).collect())?;
        Ok(())
    }

    /// Returns a breaker of the links that have lines, with the interfaces of guests that are on each link.
    pub fn breaker(&self, home: &Home, carriers: Carriers) -> Result<Breaker> {
        let line = |((number, indexes), line): (&(usize, [i32; 2]), &DelayLine)| {
            (*number, (*indexes, line.switch(), line.link.clone()))
        };
        Ok(Breaker {
            netlink: home.visit(&self.inside.namespace, || Ok(Netlink::open()?))?,
            links: self.links.iter().zip(&self.lines).map(line).collect(),
            carriers,
        })
    }

    /// Begins with loss and the other impairments, and with counting, on every link that has a line.
    pub fn arm(&self) -> Result<()> {
        self.lines.iter().try_for_each(DelayLine::arm)
    }

    /// Lets the traces of links begin at that time of the monotonic clock, in nanoseconds.
    pub fn begin_traces(&self, begins_ns: u64) {
        self.lines.iter().for_each(|line| line.switch().begin_trace(begins_ns));
    }

    /// Returns the counters of the queues in lines, each direction's with the number of its link and of its interface there.
    pub fn counters(&self) -> impl Iterator<Item = (usize, usize, Counters)> {
        let lines = self.links.iter().zip(&self.lines);
        lines.flat_map(|((number, _), line)| {
            line.counters().into_iter().map(|(end, counters)| (*number, end, counters))
        })
    }

    /// Returns the work of each line since it was armed, by its link in words.
    pub fn carried(&self) -> Result<Vec<(&str, Carried)>> {
        self.lines.iter().map(|line| Ok((line.link.as_str(), line.carried()?))).collect()
    }
}

/// Returns the longest time, in nanoseconds, that a frame from each end of `link` waits for those before it, which
/// is the time of its shaper's burst.
fn longest_waits_ns(layout: &Layout, link: &Link) -> [u64; 2] {
    let wait_ns = |(end, interface): (usize, &Interface)| {
        let node = layout.directory.node(&interface.node);
        let forwards = node.is_some_and(|node| node.kind != NodeKind::Host);
        let frame = link.largest_packet(interface) + ethernet::FRAMING_BYTES;
        link.from_end(end).rate.map_or(0, |rate| bucket::at_once_ns(rate, frame, forwards))
    };
    let mut waits = link.interfaces.iter().enumerate().map(wait_ns);
    [waits.next().unwrap_or(0), waits.next().unwrap_or(0)]
}

/// A breaker, which cuts and restores links that have delay lines.
pub struct Breaker {
    netlink: Netlink,
    /// The indexes of a link's inner ends, its line's switch, and the link in words, by its number.
    links: HashMap<usize, ([i32; 2], Arc<Switch>, String)>,
    /// The interfaces of guests on each link, which learn of its carrier from QEMU alone.
    carriers: Carriers,
}

impl Breaker {
    /// Cuts link number `link`: its nodes lose the carrier.
    pub fn cut(&mut self, link: usize) -> Result<()> {
        let (indexes, switch, _) = self.line(link)?;
        switch.cut(true);
        self.set(link, indexes.map(down))?;
        self.carriers_of(link).try_for_each(|carrier| carrier.set(false))
    }

    /// Restores link number `link`.
    pub fn mend(&mut self, link: usize) -> Result<()> {
        let (indexes, switch, _) = self.line(link)?;
        self.set(link, indexes.map(up))?;
        switch.cut(false);
        self.carriers_of(link).try_for_each(|carrier| carrier.set(true))
    }

    fn carriers_of(&self, link: usize) -> impl Iterator<Item = &Box<dyn Carrier>> {
        self.carriers.get(&link).into_iter().flatten()
    }

    fn line(&self, link: usize) -> Result<([i32; 2], Arc<Switch>, String)> {
        self.links.get(&link).cloned().ok_or_else(|| Error::Missing(format!("link {link} has no delay line")))
    }

    fn set(&mut self, link: usize, requests: [LinkMessage; 2]) -> Result<()> {
        let (_, _, words) = self.line(link)?;
        for request in requests {
            self.netlink
                .change(RouteNetlinkMessage::SetLink(request), format!("cutting or restoring {words}"))?;
        }
        Ok(self.netlink.flush()?)
    }
}

/// Returns the size of the largest frame that either end of `link` may hand over, in bytes: that of a GSO packet
/// if GSO packets may arrive unsegmented.
fn largest_frame(layout: &Layout, link: &Link) -> usize {
    let offloads =
        link.interfaces.iter().filter_map(|interface| Some(layout.directory.node(&interface.node)?.offloads));
    let gso_packets = offloads.into_iter().any(|offloads| offloads.tso || offloads.gso || offloads.gro)
        || layout.scenario.workload.iter().any(|flow| flow.socket.udp_gso);
    let mtu = link.interfaces.iter().map(|interface| link.largest_packet(interface)).max().unwrap_or(0)
        + ethernet::HEADER_BYTES;
    usize::try_from(if gso_packets { mtu.max(LARGEST_GSO_BYTES) } else { mtu }).unwrap_or(usize::MAX)
}
