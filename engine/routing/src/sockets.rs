//! The addresses and ports of a flow's connections, the same for every backend whose hosts are models.

use crate::{FiveTuple, Paths};
use nettrial_scenario::{Connecting, Flow, RoutingPolicy, Scenario, Traffic, Transport};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;

/// Ports that hosts choose for themselves (net.ipv4.ip_local_port_range).
pub const EPHEMERAL_PORTS: RangeInclusive<u16> = 32_768..=60_999;
/// The largest delay of a flow's start in picoseconds, by which flows that start together do not run in step: 1
/// ms.
const LATEST_START_PS: u64 = 1_000_000_000;
/// The number of source ports that the connections of a flow use in turn if the path depends on the port.
const SOURCE_PORTS: usize = 64;
/// Subflows of a connection at most.
const SUBFLOWS: usize = 8;

/// Returns the picoseconds by which flow number `number` of `scenario` starts after its time, less than a millisecond:
/// [`Sockets::late_ps`] without the rest.
pub fn late_ps(scenario: &Scenario, number: u32) -> u64 {
    draw_late_ps(&mut random_of(scenario, number))
}

/// Returns the random numbers of flow number `number` of `scenario`.
fn random_of(scenario: &Scenario, number: u32) -> ChaCha8Rng {
    let mut random = ChaCha8Rng::seed_from_u64(scenario.seed);
    random.set_stream(u64::from(number));
    random
}

fn draw_late_ps(random: &mut ChaCha8Rng) -> u64 {
    random.random_range(0..LATEST_START_PS)
}

/// The random choices of a flow before it starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sockets {
    /// The picoseconds by which the flow starts after its time: less than a millisecond.
    pub late_ps: u64,
    /// The addresses and ports of the subflows of each connection, those of the flow's first host first. There are as
    /// many connections as use different paths; the flow uses them in turn.
    pub connections: Vec<Vec<(SocketAddr, SocketAddr)>>,
}

impl Sockets {
    /// Draws those of `flow`, number `number` of the scenario over whose paths it goes: they follow from the scenario's
    /// seed and that number alone.
    pub fn of(paths: &Paths<'_>, flow: &Flow, number: u32) -> Self {
        let scenario = paths.graph.scenario;
        let mut random = random_of(scenario, number);
        let late_ps = draw_late_ps(&mut random);
        let destination_port = random.random_range(EPHEMERAL_PORTS);
        let pairs = paths.subflow_pairs(flow);
        let depends_on_port = matches!(scenario.routing, RoutingPolicy::Ecmp { .. });
        let connections = if depends_on_port && opens_many(flow) { SOURCE_PORTS } else { 1 };
        let mut subflow = |&(near, far): &(IpAddr, IpAddr)| {
            let near = SocketAddr::new(near, random.random_range(EPHEMERAL_PORTS));
            (near, SocketAddr::new(far, destination_port))
        };
        let mut connection = |_| pairs.iter().map(&mut subflow).collect();
        Self { late_ps, connections: (0..connections).map(&mut connection).collect() }
    }
}

impl Paths<'_> {
    /// Returns the pairs of addresses that the connections of `flow` use, one a subflow, those of its first host first.
    pub fn subflow_pairs(&self, flow: &Flow) -> Vec<(IpAddr, IpAddr)> {
        let mut pairs = self.pairs(&flow.from, &flow.to, flow.ip);
        let first = flow.pair as usize % pairs.len().max(1);
        pairs.rotate_left(first);
        pairs.truncate(if flow.transport == Transport::Mptcp { SUBFLOWS } else { 1 });
        pairs
    }
}

impl FiveTuple {
    /// Returns that of the packets of `flow` from one socket to another.
    pub fn between(flow: &Flow, from: SocketAddr, to: SocketAddr) -> Self {
        Self {
            source: from.ip(),
            destination: to.ip(),
            protocol: protocol(flow.transport),
            source_port: from.port(),
            destination_port: to.port(),
        }
    }
}

/// Returns whether a flow opens a connection after another.
fn opens_many(flow: &Flow) -> bool {
    match &flow.traffic {
        Traffic::Transfer(transfer) => transfer.size.is_some() && transfer.duration.is_some(),
        Traffic::RequestResponse(exchange) => exchange.connecting == Connecting::EachRequest,
        _ => false,
    }
}

/// The number of a transport protocol (RFC 5237); MPTCP is TCP on the wire.
fn protocol(transport: Transport) -> u8 {
    match transport {
        Transport::Tcp | Transport::Mptcp => 6,
        Transport::Udp => 17,
        Transport::Icmp => 1,
    }
}
