//! The settings that a connection is opened with.

use crate::PathId;
use nettrial_scenario::{IpVersion, Offloads, SocketOptions, Stack};

/// The settings that a connection is opened with. Lists of two have the side that opens it first.
#[derive(Debug, Clone)]
pub struct ConnectionSettings<'a> {
    /// Its number in the world.
    pub number: u32,
    /// True if it is MPTCP.
    pub is_mptcp: bool,
    /// The IP version of all its subflows.
    pub ip: IpVersion,
    /// Both hosts' stacks.
    pub stacks: [&'a Stack; 2],
    /// The offloads of both hosts' interfaces.
    pub offloads: [Offloads; 2],
    /// The options of its sockets.
    pub socket: SocketOptions,
    /// Its subflows: one for TCP, one to eight for MPTCP. The first opens the connection.
    pub subflows: Vec<SubflowSettings>,
}

/// The paths of a subflow.
#[derive(Debug, Clone, Copy)]
pub struct SubflowSettings {
    /// The path of what side 0 sends, and of what side 1 does.
    pub paths: [PathId; 2],
    /// The largest IP packet that each of them takes, as path MTU discovery would find.
    pub path_mtu_bytes: [u64; 2],
}
