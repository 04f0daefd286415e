//! Opens the flows of a trial at their receivers, inspects them, and starts them together.

use crate::agents::QUICK;
use crate::error::{Context, Error, Result};
use crate::{Agents, Findings, Pending, impossible};
use nettrial_scenario::{Directory, Flow, FlowRecord, IpVersion, Scenario, Traffic, Transport, nanoseconds};
use nettrial_traffic::{Command, Connection, Reply, Side, is_download};
use std::collections::HashSet;
use std::net::{IpAddr, SocketAddr};
use std::time::Instant;

/// A flow before one of its hosts listens.
pub struct Planned {
    /// The flow as its sender sees it.
    pub from: Side,
    /// The flow as its receiver sees it.
    pub to: Side,
    /// The address under which the host that listens is reached.
    pub reached: IpAddr,
}

impl Planned {
    /// Plans a flow whose hosts reach each other under their own addresses.
    pub fn new(from: Side, to: Side) -> Self {
        let reached = if is_download(&from.flow) { from.address.ip } else { to.address.ip };
        Self { from, to, reached }
    }

    /// Returns the host that listens, and its side of the flow: the receiver, or a download's sender.
    fn listening(&self) -> (&str, &Side) {
        match is_download(&self.from.flow) {
            true => (&self.from.flow.from, &self.from),
            false => (&self.to.flow.to, &self.to),
        }
    }

    /// Returns the side of the host that begins.
    fn beginning(self) -> Side {
        if is_download(&self.from.flow) { self.to } else { self.from }
    }
}

/// A flow one of whose hosts listens.
pub struct Ready {
    /// The flow as the host that begins sees it.
    pub side: Side,
    /// Address and port at which the other host listens.
    pub destination: SocketAddr,
}

impl Ready {
    /// Returns the host that begins: the sender, or a download's receiver.
    fn host(&self) -> &str {
        let flow = &self.side.flow;
        if is_download(flow) { &flow.to } else { &flow.from }
    }
}

/// The flows of a trial as their hosts see them, which depends on the network between the hosts.
pub trait Plan {
    /// The error of a network that lacks an address or a stack.
    type Error: From<Error>;

    /// Returns `flow` as `host` sees it.
    ///
    /// # Errors
    /// Fails if the host has no address or no stack.
    fn side(&self, flow: &Flow, host: &str) -> Result<Side, Self::Error>;

    /// Returns the address under which the other host of `flow` reaches `host`, which listens at `own`. It is that address
    /// unless a device between them translates addresses.
    ///
    /// # Errors
    /// Fails if the host has no address.
    fn reached(&self, _flow: &Flow, _host: &str, own: IpAddr) -> Result<IpAddr, Self::Error> {
        Ok(own)
    }

    /// Returns the largest segment of a connection of `flow`, in bytes, that the network's MTUs imply; `None` if they
    /// imply none.
    ///
    /// # Errors
    /// Fails if a host has no address.
    fn expected_mss(&self, flow: &Flow) -> Result<Option<u64>, Self::Error>;
}

/// Opens the receiver of each flow of the scenario, and checks a connection of each against `plan`.
///
/// # Errors
/// Fails if an agent fails or does not answer, or if the plan can't be made.
pub fn prepare<P: Plan>(
    agents: &mut Agents,
    directory: &Directory,
    plan: &P,
    findings: &mut Findings,
) -> Result<Vec<Ready>, P::Error> {
    let planned = |flow: &Flow| -> Result<Planned, P::Error> {
        let planned = Planned::new(plan.side(flow, &flow.from)?, plan.side(flow, &flow.to)?);
        let reached = plan.reached(flow, planned.listening().0, planned.reached)?;
        Ok(Planned { reached, ..planned })
    };
    let planned = directory.scenario.workload.iter().map(planned).collect::<Result<_, P::Error>>()?;
    let ready = open(agents, planned)?;
    for (number, connection) in inspect(agents, &ready)? {
        let side = &ready[number].side;
        findings.connection(directory, side, plan.expected_mss(&side.flow)?, connection);
    }
    Ok(ready)
}

/// Makes one host of each flow listen, and returns the ready flows in the same order.
///
/// # Errors
/// Fails if an agent fails or does not answer.
pub fn open(agents: &mut Agents, planned: Vec<Planned>) -> Result<Vec<Ready>> {
    let listen = |planned: &Planned| {
        let (host, side) = planned.listening();
        (host.to_owned(), Command::Listen(side.clone()))
    };
    let orders: Vec<(String, Command)> = planned.iter().map(listen).collect();
    let orders = orders.iter().map(|(host, order)| (host.as_str(), order.clone())).collect();
    let ports = agents.ask_all(orders, QUICK)?;
    let ready = |(planned, reply): (Planned, Reply)| match reply {
        Reply::Listening { port } => {
            Ok(Ready { destination: SocketAddr::new(planned.reached, port), side: planned.beginning() })
        }
        _ => {
            let (host, side) = planned.listening();
            Err(Error::Answer(format!("the agent of {host} opened no port for flow {:?}", side.flow.name)))
        }
    };
    planned.into_iter().zip(ports).map(ready).collect()
}

/// Opens a connection of each flow whose connections the agents can inspect, and returns its settings with the
/// flow's number.
///
/// # Errors
/// Fails if an agent fails or does not answer.
fn inspect(agents: &mut Agents, ready: &[Ready]) -> Result<Vec<(usize, Connection)>> {
    let looked_at: Vec<(usize, &Ready)> =
        ready.iter().enumerate().filter(|(_, ready)| has_connection(&ready.side.flow)).collect();
    let order = |(_, ready): &(usize, &Ready)| {
        let command = Command::Inspect { side: ready.side.clone(), destination: ready.destination };
        (ready.side.flow.from.clone(), command)
    };
    let orders: Vec<(String, Command)> = looked_at.iter().map(order).collect();
    let patience = looked_at.iter().map(|(_, ready)| ready.side.patience()).max().unwrap_or_default();
    let orders = orders.iter().map(|(host, order)| (host.as_str(), order.clone())).collect();
    let replies = agents.ask_all(orders, QUICK + patience)?;
    let connection = |((number, ready), reply): ((usize, &Ready), Reply)| match reply {
        Reply::Inspected(connection) => Ok((number, connection)),
        _ => Err(Error::Answer(format!(
            "the agent of {} did not say how the connection was set up",
            ready.side.flow.from
        ))),
    };
    looked_at.into_iter().zip(replies).map(connection).collect()
}

/// Returns true if the agents open TCP connections of `flow` that can be inspected before the traffic.
fn has_connection(flow: &Flow) -> bool {
    matches!(flow.transport, Transport::Tcp | Transport::Mptcp) && !matches!(flow.traffic, Traffic::Tool(_))
}

/// Starts all flows at once and waits for the last to end. Their transport state is read every `sample_ns`.
/// Warnings of the agents are added to `findings`.
///
/// # Errors
/// Fails if a flow does, if an agent ends, or if its record can't be right.
pub fn drive(
    agents: &mut Agents,
    ready: &[Ready],
    sample_ns: u64,
    findings: &mut Findings,
) -> Result<Vec<FlowRecord>> {
    let start = |flow: &Ready| {
        let command = Command::Start { side: flow.side.clone(), destination: flow.destination, sample_ns };
        agents.order(flow.host(), command)
    };
    let begin = Instant::now();
    let pending = ready.iter().map(start).collect::<Result<Vec<Pending>>>()?;
    let mut flows = Vec::new();
    for (pending, ready) in pending.iter().zip(ready) {
        let name = &ready.side.flow.name;
        match agents.collect(pending, None).with_context(|| format!("flow {name:?}"))? {
            Reply::Finished(flow, warnings) => {
                if let Some(why) = impossible(name, &flow, nanoseconds(begin.elapsed())) {
                    return Err(Error::Implausible { flow: name.clone(), why });
                }
                findings.window_seen(&ready.side.flow, &flow);
                flows.push(*flow);
                findings.warnings.extend(warnings);
            }
            other => return Err(Error::Answer(format!("flow {name:?} ended with {other:?}"))),
        }
    }
    Ok(flows)
}

/// Returns both directions between the hosts of every flow, each direction once: the two hosts, and the IP version
/// of the addresses.
pub fn directions(scenario: &Scenario) -> Vec<(&str, &str, IpVersion)> {
    let mut seen = HashSet::new();
    let mut directions = Vec::new();
    for flow in &scenario.workload {
        for (from, to) in [(&flow.from, &flow.to), (&flow.to, &flow.from)] {
            let direction = (from.as_str(), to.as_str(), flow.ip);
            if seen.insert(direction) {
                directions.push(direction);
            }
        }
    }
    directions
}
