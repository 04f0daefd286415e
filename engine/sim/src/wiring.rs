//! Wires flows: the addresses and ports of their packets, and so their paths.

use crate::{Network, PathId, SubflowSettings, Time};
use anyhow::{Context, Result};
use nettrial_routing::{FiveTuple, Paths};
use nettrial_scenario::{
    Directory, Flow, Offloads, RoutingPolicy, Scenario, SocketOptions, Stack, Transport,
};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;

/// Ports that hosts choose for themselves (net.ipv4.ip_local_port_range).
pub const EPHEMERAL_PORTS: RangeInclusive<u16> = 32_768..=60_999;
/// A flow starts up to so long after its time, so that flows that start together don't run in step.
const LATEST_START: Time = Time::from_ms(1);
/// Source ports that the connections of a flow use in turn where the path depends on the port.
const SOURCE_PORTS: usize = 64;
/// The largest number of subflows of a connection.
const SUBFLOWS: usize = 8;

/// A flow with its paths through the network.
pub struct Wiring<'a> {
    /// The flow.
    pub flow: &'a Flow,
    /// Its number in the scenario.
    pub number: u32,
    /// The stacks of its two hosts.
    pub stacks: [&'a Stack; 2],
    /// The offloads of its two hosts.
    pub offloads: [Offloads; 2],
    /// The time when it starts: its time and a random part of a millisecond.
    pub start: Time,
    /// The subflows of its connections, one list a connection; each is used in turn. Datagrams go by the first
    /// subflow of the first.
    pub subflows: Vec<Vec<SubflowSettings>>,
    /// The addresses and ports of each of those subflows: those of the flow's first host, and of its second.
    pub sockets: Vec<Vec<(SocketAddr, SocketAddr)>>,
}

/// The wirings of all flows of `scenario`, which has passed its check. What is random of a flow follows from
/// the scenario's seed and the flow's number alone.
pub fn wire<'a>(
    scenario: &'a Scenario,
    routing: &Paths<'_>,
    network: &mut Network,
) -> Result<Vec<Wiring<'a>>> {
    let directory = Directory::new(scenario);
    let flows = scenario.workload.iter().zip(0..);
    flows.map(|(flow, number)| Wiring::new(scenario, &directory, routing, network, flow, number)).collect()
}

/// The pairs of addresses that the connections of `flow` use, one a subflow, those of its first host first.
pub fn pairs(routing: &Paths<'_>, flow: &Flow) -> Vec<(IpAddr, IpAddr)> {
    let mut pairs = routing.pairs(&flow.from, &flow.to, flow.ip);
    let first = flow.pair as usize % pairs.len().max(1);
    pairs.rotate_left(first);
    pairs.truncate(if flow.transport == Transport::Mptcp { SUBFLOWS } else { 1 });
    pairs
}

impl<'a> Wiring<'a> {
    fn new(
        scenario: &'a Scenario,
        directory: &Directory<'a>,
        routing: &Paths<'_>,
        network: &mut Network,
        flow: &'a Flow,
        number: u32,
    ) -> Result<Self> {
        let mut random = ChaCha8Rng::seed_from_u64(scenario.seed);
        random.set_stream(u64::from(number));
        let start = Time::from_ns(flow.start.0) + Time(random.random_range(0..LATEST_START.0));
        let destination_port = random.random_range(EPHEMERAL_PORTS);
        let pairs = pairs(routing, flow);
        let depends_on_port = matches!(scenario.routing, RoutingPolicy::Ecmp { .. });
        let connections = if depends_on_port && opens_many(flow) { SOURCE_PORTS } else { 1 };
        let mut subflows = Vec::with_capacity(connections);
        let mut sockets = Vec::with_capacity(connections);
        for _ in 0..connections {
            let mut of_connection = Vec::with_capacity(pairs.len());
            let mut of_subflows = Vec::with_capacity(pairs.len());
            for &(near, far) in &pairs {
                let near = SocketAddr::new(near, random.random_range(EPHEMERAL_PORTS));
                let far = SocketAddr::new(far, destination_port);
                of_connection.push(subflow(routing, network, flow, near, far)?);
                of_subflows.push((near, far));
            }
            subflows.push(of_connection);
            sockets.push(of_subflows);
        }
        let stack = |host: &str| directory.stack(host).with_context(|| format!("{host} has no stack"));
        let offloads = |host: &str| directory.node(host).map_or_else(Offloads::default, |node| node.offloads);
        Ok(Self {
            flow,
            number,
            stacks: [stack(&flow.from)?, stack(&flow.to)?],
            offloads: [offloads(&flow.from), offloads(&flow.to)],
            start,
            subflows,
            sockets,
        })
    }

    /// Returns the path of a datagram from that side, and the largest IP packet that the path takes.
    pub fn datagrams(&self, side: u8) -> (PathId, u64) {
        let path = &self.subflows[0][0];
        (path.paths[usize::from(side)], path.path_mtu_bytes[usize::from(side)])
    }

    /// Returns how the flow's sockets are set up.
    pub fn socket(&self) -> SocketOptions {
        self.flow.socket
    }
}

/// Returns whether a flow opens a connection after another.
fn opens_many(flow: &Flow) -> bool {
    use nettrial_scenario::{Connecting, Traffic};
    match &flow.traffic {
        Traffic::Transfer(transfer) => transfer.size.is_some() && transfer.duration.is_some(),
        Traffic::RequestResponse(exchange) => exchange.connecting == Connecting::EachRequest,
        _ => false,
    }
}

fn subflow(
    routing: &Paths<'_>,
    network: &mut Network,
    flow: &Flow,
    near: SocketAddr,
    far: SocketAddr,
) -> Result<SubflowSettings> {
    let mut path = |host: &str, from: SocketAddr, to: SocketAddr| -> Result<(PathId, u64)> {
        let tuple = FiveTuple {
            source: from.ip(),
            destination: to.ip(),
            protocol: protocol(flow.transport),
            source_port: from.port(),
            destination_port: to.port(),
        };
        let nothing = || format!("no path leads from {} to {}", from.ip(), to.ip());
        let path = network.path(routing, &tuple, flow.socket.dscp).with_context(nothing)?;
        Ok((path, known_mtu(routing, host, to.ip()).with_context(nothing)?))
    };
    let (there, back) = (path(&flow.from, near, far)?, path(&flow.to, far, near)?);
    Ok(SubflowSettings { paths: [there.0, back.0], path_mtu_bytes: [there.1, back.1] })
}

/// The path MTU that a host learns of: where a router keeps it to itself, more than passes.
fn known_mtu(routing: &Paths<'_>, host: &str, to: IpAddr) -> Option<u64> {
    routing.known_mtu(host, to)
}

/// The number of a transport protocol (RFC 5237); MPTCP is TCP on the wire.
fn protocol(transport: Transport) -> u8 {
    match transport {
        Transport::Tcp | Transport::Mptcp => 6,
        Transport::Udp => 17,
        Transport::Icmp => 1,
    }
}
