//! The argument of the program: the host's place in the network and its settings (`engine/lab/src/host_order.rs`).

use crate::Context;
use ipnet::IpNet;
use nettrial_scenario::{InterfaceAddress, Stack};
use nettrial_traffic::{Error, Result};
use serde::Deserialize;
use std::net::IpAddr;

/// A host.
#[derive(Debug, Deserialize)]
pub struct HostOrder {
    /// The host's interfaces.
    pub interfaces: Vec<InterfaceOrder>,
    /// The entries of its forwarding table beside those of its own networks.
    pub routes: Vec<RouteOrder>,
    /// Its TCP settings.
    pub stack: Stack,
}

/// An interface.
#[derive(Debug, Deserialize)]
pub struct InterfaceOrder {
    /// The interface's name in this process's namespace.
    pub name: String,
    /// The MTU in bytes.
    pub mtu_bytes: u64,
    /// The addresses, each with the length of its network's prefix.
    pub addresses: Vec<InterfaceAddress>,
}

/// An entry of a forwarding table.
#[derive(Debug, Deserialize)]
pub struct RouteOrder {
    /// The network.
    pub destination: IpNet,
    /// The next router; `None` if the network is on the link.
    pub gateway: Option<IpAddr>,
}

/// Reads an order.
pub fn read(document: &str) -> Result<HostOrder> {
    serde_json::from_str(document).context("reading the host's order")
}

impl HostOrder {
    /// Returns the host's interface.
    ///
    /// # Errors
    /// Fails unless there is one.
    pub fn interface(&self) -> Result<&InterfaceOrder> {
        match self.interfaces.as_slice() {
            [one] => Ok(one),
            others => Err(Error::Unsupported(format!("a host with {} interfaces", others.len()))),
        }
    }
}
