//! Whether packets go as the scenario says, and of what size.

use super::Findings;
use crate::agents::Agents;
use crate::network::Network;
use anyhow::{Result, bail};
use nettrial_routing::{Paths, address_of};
use nettrial_scenario::{IpVersion, Scenario};
use nettrial_traffic::{Command, Cookie, PathMtu, Reply};
use std::collections::HashSet;
use std::net::{IpAddr, SocketAddr};

impl Findings {
    /// Verifies the offloads of every interface.
    pub fn offloads(&mut self, network: &Network, scenario: &Scenario) -> Result<()> {
        let text = |on: bool| if on { "on" } else { "off" };
        for (node, interface, found) in network.offloads()? {
            let Some(wanted) = scenario.node(&node) else { continue };
            for (name, wanted, found) in [
                ("tso", wanted.offloads.tso, found.tso),
                ("gso", wanted.offloads.gso, found.gso),
                ("gro", wanted.offloads.gro, found.gro),
            ] {
                self.compare(
                    &format!("offload_{name}"),
                    &format!("{interface} of {node}"),
                    text(wanted).into(),
                    text(found).into(),
                    "packets on the link are not of the size that the MTU says",
                );
            }
        }
        Ok(())
    }

    /// Verifies the path MTU of every pair of hosts with a flow, in both directions.
    pub fn path_mtus(&mut self, agents: &mut Agents, scenario: &Scenario, cookie: Cookie) -> Result<()> {
        let paths = Paths::new(scenario);
        let mut seen = HashSet::new();
        for flow in &scenario.workload {
            for (from, to) in [(&flow.from, &flow.to), (&flow.to, &flow.from)] {
                if !seen.insert((from, to, flow.ip)) {
                    continue;
                }
                let (source, target) = (address(scenario, from, flow.ip)?, address(scenario, to, flow.ip)?);
                let expected = paths.path_mtu(from, target).unwrap_or(0);
                let found = probe(agents, (from, source), (to, target), cookie, expected)?;
                let found = match found {
                    PathMtu { largest: 0, .. } => "nothing passes".to_owned(),
                    PathMtu { largest, exceeded: true } => format!("above {largest} B"),
                    PathMtu { largest, exceeded: false } => format!("{largest} B"),
                };
                self.compare(
                    "path_mtu",
                    &format!("{from} to {to}, IPv{}", u8::from(flow.ip)),
                    format!("{expected} B"),
                    found,
                    "the trial does not measure the MTU it is named after",
                );
            }
        }
        Ok(())
    }
}

/// The address that `host` uses for IP version `version`.
pub fn address(scenario: &Scenario, host: &str, version: IpVersion) -> Result<IpAddr> {
    match address_of(scenario, host, version) {
        Some(address) => Ok(address),
        None => bail!("{host} has no IPv{} address", u8::from(version)),
    }
}

fn probe(
    agents: &mut Agents,
    (from, source): (&str, IpAddr),
    (to, target): (&str, IpAddr),
    cookie: Cookie,
    expected: u64,
) -> Result<PathMtu> {
    let Reply::Listening { port } = agents.ask(to, Command::Respond { cookie, address: target })? else {
        bail!("the agent of {to} opened no port for path MTU probes");
    };
    let destination = SocketAddr::new(target, port);
    let command = Command::ProbePathMtu { cookie, address: source, destination, expected };
    match agents.ask(from, command)? {
        Reply::PathMtu(found) => Ok(found),
        other => bail!("the agent of {from} answered a path MTU probe with {other:?}"),
    }
}
