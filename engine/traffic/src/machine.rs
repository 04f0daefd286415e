//! The machine and its interfaces, on systems other than Linux.

use std::net::IpAddr;

pub use crate::platform::machine::{describe, interfaces, set_mtu};

/// A description of the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct About {
    /// The operating system and its version as it names itself.
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
    /// Its name.
    pub name: String,
    /// Its addresses.
    pub addresses: Vec<IpAddr>,
    /// True where it carries packets.
    pub is_up: bool,
    /// The largest IP packet that it sends, bytes.
    pub mtu_bytes: u64,
    /// True unless its versions of IP have different ones, of which `mtu_bytes` is that of IPv4.
    pub has_one_mtu: bool,
    /// The largest MTU that it can be given, where the system tells it.
    pub largest_mtu_bytes: Option<u64>,
    /// The speed of its link, bits per second, where the system tells it.
    pub speed_bps: Option<u64>,
    /// Its counts of packets, where the system tells them.
    pub counts: Option<Counts>,
}

/// The packets that an interface has sent and received since it is there, Ethernet's headers counted.
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
