//! The messages between the engine and the process of a node in a guest.

use nettrial_scenario::{Offloads, Scenario};
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// The first line of the input of a node's process.
#[derive(Serialize, Deserialize)]
pub struct NodeOrder {
    /// The scenario.
    pub scenario: Scenario,
    /// The node's name.
    pub node: String,
    /// The name and Ethernet address of each of the node's interfaces, in the order of the guest's network
    /// devices.
    pub interfaces: Vec<(String, Vec<u8>)>,
    /// The node's neighbours.
    pub neighbours: Vec<Neighbour>,
}

/// The identity of a node on its links.
pub struct Introduction {
    /// The interfaces of a [`NodeOrder`].
    pub interfaces: Vec<(String, Vec<u8>)>,
    /// The neighbours of a [`NodeOrder`].
    pub neighbours: Vec<Neighbour>,
}

/// A neighbour on a link.
#[derive(Serialize, Deserialize)]
pub struct Neighbour {
    /// The node's interface.
    pub interface: String,
    /// The neighbour's address.
    pub address: IpAddr,
    /// The neighbour's Ethernet address.
    pub ethernet: Vec<u8>,
}

/// The first line of the output of a node's process.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The node is built, with these offloads in force on each of its interfaces.
    Built(Vec<(String, Offloads)>),
    /// The node can't be built, for this reason.
    Failed(String),
}
