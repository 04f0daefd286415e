//! The addresses and ports of flows' packets, which determine their paths.

use crate::error::{Error, Result};
use crate::{Network, PathId, SubflowSettings, Time};
use nettrial_flows::waits::Waits;
use nettrial_routing::{FiveTuple, Paths, Sockets};
use nettrial_scenario::{Directory, Flow, Offloads, Scenario, SocketOptions, Stack, Transport};
use std::net::{IpAddr, SocketAddr};

/// A flow with its paths through the network.
pub struct Wiring<'a> {
    /// The flow.
    pub flow: &'a Flow,
    /// The flow's number in the scenario.
    pub number: u32,
    /// The stacks of its two hosts.
    pub stacks: [&'a Stack; 2],
    /// The offloads of its two hosts.
    pub offloads: [Offloads; 2],
    /// The start time: that of the flow plus a random part of a millisecond.
    pub start: Time,
    /// The times for which its hosts wait for packets.
    pub waits: Waits,
    /// The subflows of each of its connections; successive connections use the lists in turn. Datagrams take the
    /// first subflow of the first connection.
    pub subflows: Vec<Vec<SubflowSettings>>,
    /// The addresses and ports of each subflow: those at the flow's first host, and those at its second host.
    pub sockets: Vec<Vec<(SocketAddr, SocketAddr)>>,
}

/// Returns the wirings of all flows of `scenario`, which has passed its checks. The random quantities of a flow
/// depend only on the scenario's seed and the flow's number. Fails if a host has no stack, or no path leads to it.
pub fn wire<'a>(
    scenario: &'a Scenario,
    routing: &Paths<'_>,
    network: &mut Network,
) -> Result<Vec<Wiring<'a>>> {
    let directory = Directory::new(scenario);
    let flows = scenario.workload.iter().zip(0..);
    flows.map(|(flow, number)| Wiring::new(&directory, routing, network, flow, number)).collect()
}

impl<'a> Wiring<'a> {
    fn new(
        directory: &Directory<'a>,
        routing: &Paths<'_>,
        network: &mut Network,
        flow: &'a Flow,
        number: u32,
    ) -> Result<Self> {
        let Sockets { late_ps, connections: sockets } = Sockets::of(routing, flow, number);
        let start = Time::from_ns(flow.start.0) + Time(late_ps);
        let mut subflows = Vec::with_capacity(sockets.len());
        for connection in &sockets {
            let of_connection =
                connection.iter().map(|&(near, far)| subflow(routing, network, flow, near, far));
            subflows.push(of_connection.collect::<Result<_>>()?);
        }
        let stack = |host: &str| directory.stack(host).ok_or_else(|| Error::NoStack(host.to_owned()));
        let offloads = |host: &str| directory.node(host).map_or_else(Offloads::default, |node| node.offloads);
        Ok(Self {
            flow,
            number,
            stacks: [stack(&flow.from)?, stack(&flow.to)?],
            offloads: [offloads(&flow.from), offloads(&flow.to)],
            start,
            // Connections have timers of their own.
            waits: Waits::on(
                (flow.transport == Transport::Udp).then(|| routing.round_trip_of(flow)).flatten(),
            ),
            subflows,
            sockets,
        })
    }

    /// Returns the path of a datagram from a side, and the size in bytes of the largest IP packet that fits the
    /// path.
    pub fn datagrams(&self, side: u8) -> (PathId, u64) {
        let path = &self.subflows[0][0];
        (path.paths[usize::from(side)], path.path_mtu_bytes[usize::from(side)])
    }

    /// Returns the options of the flow's sockets.
    pub fn socket(&self) -> SocketOptions {
        self.flow.socket
    }
}

/// Returns the paths of a subflow and their path MTUs, both in each direction.
fn subflow(
    routing: &Paths<'_>,
    network: &mut Network,
    flow: &Flow,
    near: SocketAddr,
    far: SocketAddr,
) -> Result<SubflowSettings> {
    let mut path = |host: &str, from: SocketAddr, to: SocketAddr| -> Result<(PathId, u64)> {
        let tuple = FiveTuple::between(flow, from, to);
        let nothing = || Error::NoPath { from: from.ip(), to: to.ip() };
        let path = network.path(routing, &tuple, flow.socket.dscp).ok_or_else(nothing)?;
        Ok((path, known_mtu(routing, host, to.ip()).ok_or_else(nothing)?))
    };
    let (there, back) = (path(&flow.from, near, far)?, path(&flow.to, far, near)?);
    Ok(SubflowSettings { paths: [there.0, back.0], path_mtu_bytes: [there.1, back.1] })
}

/// Returns the path MTU in bytes that a host learns: where a router does not report it, more than actually fits.
fn known_mtu(routing: &Paths<'_>, host: &str, to: IpAddr) -> Option<u64> {
    routing.known_mtu(host, to)
}
