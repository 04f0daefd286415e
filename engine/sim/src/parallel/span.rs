//! The part of a trial that several threads can run.

use super::partition::partition;
use crate::transport::wiring::Wiring;
use crate::{Network, Time};
use nettrial_routing::Interfaces;
use nettrial_scenario::{Discipline, Flow, Scenario, Traffic, Transport};
use std::collections::HashMap;
use std::sync::Arc;

/// The frames of a window and a part below which several threads are no faster than one.
const FRAMES: f64 = 200.0;
/// The largest number of parts, whose numbers take a byte.
const MOST: usize = 128;

/// The time in which a network can be divided, and its parts.
#[derive(Debug)]
pub struct Span {
    /// The time at which the last flow has begun.
    pub begin: Time,
    /// The length of a window.
    pub lookahead: Time,
    /// The number of parts.
    pub count: usize,
    /// The part of each interface's node.
    pub interfaces: Arc<[u8]>,
    /// The parts of each flow's hosts.
    pub flows: Vec<[u8; 2]>,
}

impl Span {
    /// Returns the span of a trial in that many threads; `None` if it must run in one thread, or would not be faster
    /// in several.
    pub fn new(
        scenario: &Scenario,
        network: &Network,
        wirings: &[Wiring<'_>],
        threads: usize,
    ) -> Option<Self> {
        if threads < 2 || !network.is_divisible() || !scenario.links.iter().all(is_divisible) {
            return None;
        }
        if !wirings.iter().all(|wiring| is_transfer(wiring.flow)) {
            return None;
        }
        let begin = wirings.iter().map(|wiring| wiring.start).max()?;
        let traffic = traffic(network, wirings);
        let frames_of = |division: &Division| frames(network, &traffic, division.lookahead);
        let mut division = Division::new(scenario, network, &traffic, threads.min(MOST))?;
        let worthwhile = (frames_of(&division) / FRAMES) as usize;
        if worthwhile < division.count {
            division = Division::new(scenario, network, &traffic, worthwhile)?;
        }
        let pays = frames_of(&division) >= FRAMES * division.count as f64;
        let Division { count, lookahead, interfaces, nodes } = division;
        let part = |host: &str| nodes.get(host).copied().unwrap_or_default();
        let of_flow = |wiring: &Wiring<'_>| [&wiring.flow.from, &wiring.flow.to].map(|host| part(host));
        let flows = wirings.iter().map(of_flow).collect();
        pays.then_some(Self { begin, lookahead, count, interfaces, flows })
    }
}

/// A network in parts.
struct Division<'a> {
    count: usize,
    /// The shortest time in which a frame reaches another node.
    lookahead: Time,
    /// The part of each interface's node.
    interfaces: Arc<[u8]>,
    /// The part of each node, by name.
    nodes: HashMap<&'a str, u8>,
}

impl<'a> Division<'a> {
    /// Divides a network into that many parts, or fewer if it has too few nodes; `None` for less than two.
    fn new(scenario: &'a Scenario, network: &Network, traffic: &[u32], parts: usize) -> Option<Self> {
        let names = scenario.nodes.iter().map(|node| node.name.as_str());
        let nodes: HashMap<&str, u8> = names.zip(partition(scenario, parts, traffic)).collect();
        let interfaces = Interfaces::new(scenario);
        let interfaces: Arc<[u8]> = interfaces.all().iter().map(|end| nodes[end.node.as_str()]).collect();
        let count = usize::from(*interfaces.iter().max()?) + 1;
        let lookahead = network.lookahead();
        (count > 1).then_some(Self { count, lookahead, interfaces, nodes })
    }
}

/// Returns whether a link's state names no packets by their numbers, which change when the network is divided.
fn is_divisible(link: &nettrial_scenario::Link) -> bool {
    let names_packets = |direction: &nettrial_scenario::Link| {
        matches!(direction.discipline, Discipline::CoDel { .. } | Discipline::FqCodel { .. })
    };
    link.cable().is_some() && !link.directions().any(|direction| names_packets(&direction))
}

/// Returns whether a flow is one transfer, whose two sides learn of each other from packets alone. Several transfers
/// in succession open connections, which have both sides.
fn is_transfer(flow: &Flow) -> bool {
    let is_stream = matches!(flow.transport, Transport::Tcp | Transport::Mptcp);
    let Traffic::Transfer(transfer) = &flow.traffic else { return false };
    is_stream && transfer.size.is_some() != transfer.duration.is_some()
}

/// Returns the number of paths that lead through each interface, in its direction.
fn traffic(network: &Network, wirings: &[Wiring<'_>]) -> Vec<u32> {
    let mut traffic = vec![0; network.links.len()];
    let subflows = wirings.iter().flat_map(|wiring| wiring.subflows.iter().flatten());
    for &direction in subflows.flat_map(|subflow| subflow.paths).flat_map(|path| network.links_of(path)) {
        traffic[direction as usize] += 1;
    }
    traffic
}

/// Returns the number of full frames that links with traffic can send in that time.
fn frames(network: &Network, traffic: &[u32], time: Time) -> f64 {
    let used = network.links.iter().zip(traffic).filter(|&(_, &traffic)| traffic > 0);
    used.map(|(link, _)| time.0 as f64 / link.frame_time(link.mtu_bytes()).0.max(1) as f64).sum()
}
