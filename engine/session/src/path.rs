//! Measures the path MTU between hosts by their agents.

use crate::Agents;
use anyhow::{Result, bail};
use nettrial_traffic::{Command, Cookie, PathMtu, Reply};
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};

/// A direction between two hosts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Direction<'a> {
    /// The name and the address of the host that sends probes.
    pub from: (&'a str, IpAddr),
    /// The name and the address of the host that answers them.
    pub to: (&'a str, IpAddr),
    /// The address at which `from` reaches `to`. It is the address of `to` itself, unless a device on the path
    /// translates addresses.
    pub reached: IpAddr,
    /// The path MTU that the direction should have, bytes.
    pub expected: u64,
}

/// Probes each direction with packets that may not be fragmented, and returns the results in the same order.
/// Probes carry `cookie`.
///
/// # Errors
/// Fails if an agent does, or does not answer.
pub fn path_mtus(agents: &mut Agents, directions: &[Direction], cookie: Cookie) -> Result<Vec<PathMtu>> {
    let ports = respond(agents, directions, cookie)?;
    let probe = |direction: &Direction| {
        let destination = SocketAddr::new(direction.reached, ports[&direction.to]);
        let (address, expected) = (direction.from.1, direction.expected);
        Command::ProbePathMtu { cookie, address, destination, expected }
    };
    let orders = directions.iter().map(|direction| (direction.from.0, probe(direction))).collect();
    let found = |(direction, reply): (&Direction, Reply)| match reply {
        Reply::PathMtu(found) => Ok(found),
        other => bail!("the agent of {} answered a path MTU probe with {other:?}", direction.from.0),
    };
    directions.iter().zip(agents.ask_all(orders)?).map(found).collect()
}

/// Makes the receiving host of every direction answer probes, and returns the ports at which they do.
fn respond<'a>(
    agents: &mut Agents,
    directions: &[Direction<'a>],
    cookie: Cookie,
) -> Result<HashMap<(&'a str, IpAddr), u16>> {
    let mut hosts: Vec<(&str, IpAddr)> = Vec::new();
    let mut known = std::collections::HashSet::new();
    hosts.extend(directions.iter().map(|direction| direction.to).filter(|host| known.insert(*host)));
    let orders = hosts.iter().map(|&(host, address)| (host, Command::Respond { cookie, address })).collect();
    let port = |(host, reply): ((&'a str, IpAddr), Reply)| match reply {
        Reply::Listening { port } => Ok((host, port)),
        _ => bail!("the agent of {} opened no port for path MTU probes", host.0),
    };
    hosts.into_iter().zip(agents.ask_all(orders)?).map(port).collect()
}
