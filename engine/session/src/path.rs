//! Measures the path MTU between hosts by their agents.

use crate::Agents;
use crate::agents::QUICK;
use crate::error::{Error, Result};
use nettrial_scenario::{Duration, HostAddress};
use nettrial_traffic::{Command, Cookie, PathMtu, Reply};
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};

/// The time that a search may take. Its probes wait for up to four seconds each, if their round-trip time was not known
/// before.
const SEARCH: std::time::Duration = std::time::Duration::from_secs(300);
/// The round-trip times that a search may take in addition: eight for each of up to 20 sizes.
const SEARCH_ROUND_TRIPS: u32 = 160;

/// A direction between two hosts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Direction<'a> {
    /// The name and the address of the host that sends probes.
    pub from: (&'a str, HostAddress),
    /// The name and the address of the host that answers them.
    pub to: (&'a str, HostAddress),
    /// The address at which `from` reaches `to`. It is the address of `to` itself, unless a device on the path
    /// translates addresses.
    pub reached: IpAddr,
    /// The path MTU that the direction should have, bytes.
    pub expected: u64,
    /// The round-trip time of the idle path, if it is known.
    pub round_trip: Option<Duration>,
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
        let (address, expected, round_trip) = (direction.from.1, direction.expected, direction.round_trip);
        Command::ProbePathMtu { cookie, address, destination, expected, round_trip }
    };
    let orders = directions.iter().map(|direction| (direction.from.0, probe(direction))).collect();
    let mtu = |(direction, reply): (&Direction, Reply)| match reply {
        Reply::PathMtu(mtu) => Ok(mtu),
        other => Err(Error::Answer(format!(
            "the agent of {} answered a path MTU probe with {other:?}",
            direction.from.0
        ))),
    };
    let longest = directions.iter().filter_map(|direction| direction.round_trip).max().unwrap_or_default();
    let patience = SEARCH + longest.as_std() * SEARCH_ROUND_TRIPS;
    directions.iter().zip(agents.ask_all(orders, patience)?).map(mtu).collect()
}

/// Makes the receiving host of every direction answer probes, and returns the ports at which they do.
fn respond<'a>(
    agents: &mut Agents,
    directions: &[Direction<'a>],
    cookie: Cookie,
) -> Result<HashMap<(&'a str, HostAddress), u16>> {
    let mut hosts: Vec<(&str, HostAddress)> = Vec::new();
    let mut known = std::collections::HashSet::new();
    hosts.extend(directions.iter().map(|direction| direction.to).filter(|host| known.insert(*host)));
    let orders = hosts.iter().map(|&(host, address)| (host, Command::Respond { cookie, address })).collect();
    let port = |(host, reply): ((&'a str, HostAddress), Reply)| match reply {
        Reply::Listening { port } => Ok((host, port)),
        _ => Err(Error::Answer(format!("the agent of {} opened no port for path MTU probes", host.0))),
    };
    hosts.into_iter().zip(agents.ask_all(orders, QUICK)?).map(port).collect()
}
