//! The argument of a program that is a host: the host's place in the network, and its TCP settings.

use crate::error::{Error, Result};
use crate::layout::Layout;
use crate::network::Network;
use crate::node_order::{Introduction, Neighbour};
use crate::programs;
use nettrial_scenario::{InterfaceAddress, Stack};
use serde::Serialize;
use std::net::IpAddr;
use std::process::Command;

/// The argument of a program that is a host.
#[derive(Serialize)]
struct HostOrder<'a> {
    interfaces: Vec<InterfaceOrder<'a>>,
    neighbours: Vec<Neighbour>,
    routes: Vec<RouteOrder<'a>>,
    stack: &'a Stack,
}

/// An interface of the host.
#[derive(Serialize)]
struct InterfaceOrder<'a> {
    name: &'a str,
    mtu_bytes: u64,
    addresses: &'a [InterfaceAddress],
}

/// An entry of the host's forwarding table beside those of its own networks.
#[derive(Serialize)]
struct RouteOrder<'a> {
    destination: String,
    gateway: Option<IpAddr>,
    interface: &'a str,
}

/// Returns the command that is the host `node` in its namespace.
///
/// # Errors
/// Fails if the program is not there, or the network lacks a part of the host.
pub fn command(name: &str, network: &Network, layout: &Layout, node: &str) -> Result<Command> {
    let Introduction { neighbours, .. } = network.introduction(layout.scenario, node)?;
    let stack = layout.directory.stack(node).ok_or_else(|| Error::Missing(format!("{node} has no stack")))?;
    let all = layout.scenario.links.iter().flat_map(|link| &link.interfaces);
    let interfaces = all.filter(|interface| interface.node == node).map(|interface| InterfaceOrder {
        name: &interface.name,
        mtu_bytes: interface.mtu.0,
        addresses: &interface.addresses,
    });
    let routes = layout.paths.routes();
    let routes = routes.iter().filter(|route| route.node == node);
    let routes = routes.flat_map(|route| {
        route.next_hops.iter().map(|hop| RouteOrder {
            destination: route.destination.to_string(),
            gateway: hop.gateway,
            interface: hop.interface,
        })
    });
    let order = HostOrder { interfaces: interfaces.collect(), neighbours, routes: routes.collect(), stack };
    let mut command = Command::new(programs::path(name)?);
    command.arg("--host").arg(serde_json::to_string(&order)?);
    Ok(command)
}
