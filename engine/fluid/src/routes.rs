//! The paths of all flows' connections as lists of links.

use nettrial_routing::{FiveTuple, Paths, Segment, Sockets};
use nettrial_scenario::{Directory, Flow, Scenario, ethernet};
use std::net::SocketAddr;

/// The reason why a flow has no rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoRate {
    /// No path leads to its destination.
    Unreachable,
    /// No link on a path has a rate.
    Unlimited,
    /// The MTU of a path leaves no room for payload.
    Narrow,
}

/// One subflow of a connection.
#[derive(Debug, Clone, Copy)]
pub struct SubflowPath {
    /// The range of its links in the list of all.
    links: [u32; 2],
    /// The payload of a full segment in bytes.
    pub payload: u64,
    /// The bytes of the same segment on the wire.
    pub wire: u64,
    /// The bytes of the same segment as an IP packet.
    pub ip: u64,
    /// The addresses and ports of its two ends.
    pub sockets: [SocketAddr; 2],
}

/// The connections of a flow that take different paths.
#[derive(Debug, Clone, Copy)]
struct Connections {
    /// The index of the first subflow of the first connection.
    first: usize,
    /// The number of subflows of each connection.
    subflows: usize,
    /// The number of connections.
    count: usize,
}

/// The paths of all flows' connections. A link is identified by the interface from which packets enter it
/// ([`nettrial_routing::Interfaces`]). Links without a rate are left out of paths, because they limit nothing.
#[derive(Debug)]
pub struct FlowPaths {
    /// The rate of each interface's direction of its link in bits per second; infinite for a link without a rate.
    capacities: Vec<f64>,
    links: Vec<u32>,
    subflow_paths: Vec<SubflowPath>,
    flows: Vec<Connections>,
}

impl FlowPaths {
    /// Returns the links of `scenario`, without any flow.
    pub fn new(scenario: &Scenario) -> Self {
        let ends =
            scenario.links.iter().flat_map(|link| (0..link.interfaces.len()).map(move |end| (link, end)));
        let rate = |(link, end): (&nettrial_scenario::Link, usize)| link.from_end(end).rate;
        let capacities = ends.map(|at| rate(at).map_or(f64::INFINITY, |rate| rate.0 as f64)).collect();
        Self { capacities, links: Vec::new(), subflow_paths: Vec::new(), flows: Vec::new() }
    }

    /// Adds the connections of `flow`, which has the number `number` in the scenario.
    ///
    /// # Errors
    /// Fails with the reason why the flow has no rate.
    pub fn add(
        &mut self,
        paths: &Paths<'_>,
        directory: &Directory<'_>,
        flow: &Flow,
        number: u32,
    ) -> Result<(), NoRate> {
        let drawn = Sockets::of(paths, flow, number);
        let subflows = drawn.connections.first().map_or(0, Vec::len);
        if subflows == 0 {
            return Err(NoRate::Unreachable);
        }
        let first = self.subflow_paths.len();
        for &(near, far) in drawn.connections.iter().flatten() {
            let crossings =
                paths.flow_path(&FiveTuple::between(flow, near, far)).ok_or(NoRate::Unreachable)?;
            let interfaces = paths.interfaces();
            let out = crossings.iter().map(|crossing| interfaces.get(crossing.out).mtu.0);
            let receives = crossings.last().map(|crossing| interfaces.get(crossing.into).mtu.0);
            let mtu = out.chain(receives).min().unwrap_or(u64::MAX);
            let segment = Segment::of(directory, flow, mtu).ok_or(NoRate::Narrow)?;
            let start = self.links.len() as u32;
            let limited = crossings.iter().map(|crossing| crossing.out as u32);
            self.links.extend(limited.filter(|&link| self.capacities[link as usize].is_finite()));
            let end = self.links.len() as u32;
            if start == end {
                return Err(NoRate::Unlimited);
            }
            let ip = segment.payload + segment.headers;
            self.subflow_paths.push(SubflowPath {
                links: [start, end],
                payload: segment.payload,
                wire: ethernet::wire_bytes(ip),
                ip,
                sockets: [near, far],
            });
        }
        self.flows.push(Connections { first, subflows, count: drawn.connections.len() });
        Ok(())
    }

    /// Returns the rates of all links in bits per second.
    pub fn capacities(&self) -> &[f64] {
        &self.capacities
    }

    /// Returns the subflows of the connection that flow `flow` opens after `before` other connections.
    pub fn of(&self, flow: usize, before: u64) -> &[SubflowPath] {
        let Connections { first, subflows, count } = self.flows[flow];
        let start = first + (before % count as u64) as usize * subflows;
        &self.subflow_paths[start..start + subflows]
    }

    /// Returns the links of a subflow that have a rate.
    pub fn links(&self, path: &SubflowPath) -> &[u32] {
        &self.links[path.links[0] as usize..path.links[1] as usize]
    }
}
