//! The settings with which a connection is opened.

use crate::PathId;
use nettrial_scenario::{IpVersion, Offloads, SocketOptions, Stack};

/// The settings with which a connection is opened. In lists of two, the opening side comes first.
#[derive(Debug, Clone)]
pub struct ConnectionSettings<'a> {
    /// The connection's number in the world.
    pub number: u32,
    /// True for MPTCP.
    pub is_mptcp: bool,
    /// The IP version of all subflows.
    pub ip: IpVersion,
    /// The stacks of both hosts.
    pub stacks: [&'a Stack; 2],
    /// The offloads of both hosts' interfaces.
    pub offloads: [Offloads; 2],
    /// The socket options.
    pub socket: SocketOptions,
    /// The subflows: one for TCP, one to eight for MPTCP. The first one opens the connection.
    pub subflows: Vec<SubflowSettings>,
}

/// The paths of a subflow.
#[derive(Debug, Clone, Copy)]
pub struct SubflowSettings {
    /// The paths of the packets from side 0, and of those from side 1.
    pub paths: [PathId; 2],
    /// The path MTU of each path in bytes, as path MTU discovery would find it.
    pub path_mtu_bytes: [u64; 2],
}
