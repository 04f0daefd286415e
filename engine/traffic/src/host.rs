//! The host of the agent and its interfaces, on systems other than Linux.

use std::net::IpAddr;

pub use crate::platform::host::{describe, interfaces, set_mtu};

/// A description of the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Description {
    /// The operating system and its version, as the system names itself.
    pub system: String,
    /// The kernel's name, release and version.
    pub kernel: String,
    /// The CPU's model.
    pub processor: String,
    /// The identifier of the running kernel.
    pub boot: String,
    /// The name of the monotonic clock.
    pub clock_source: &'static str,
    /// True if this process may change settings of the machine's interfaces.
    pub may_change: bool,
}

/// An interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    /// The interface's name.
    pub name: String,
    /// The interface's addresses.
    pub addresses: Vec<IpAddr>,
    /// True if the interface carries packets.
    pub is_up: bool,
    /// The interface's MTU, bytes.
    pub mtu_bytes: u64,
    /// True unless IPv4 and IPv6 have different MTUs, of which `mtu_bytes` is that of IPv4.
    pub has_one_mtu: bool,
    /// The largest MTU that the interface can be given, if the system reports it.
    pub largest_mtu_bytes: Option<u64>,
    /// The speed of the interface's link, bits per second, if the system reports it.
    pub speed_bps: Option<u64>,
    /// The interface's counts of packets, if the system reports them.
    pub counts: Option<Counts>,
}

/// The packets that an interface has sent and received since it was created, with Ethernet's headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Packets sent.
    pub sent_pkts: u64,
    /// Bytes received.
    pub received_bytes: u64,
    /// Packets received.
    pub received_pkts: u64,
}
