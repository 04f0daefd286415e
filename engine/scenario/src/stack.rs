//! A host's TCP/IP settings.

use crate::{Duration, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A socket buffer's automatic sizing, as the kernel's `tcp_rmem` and `tcp_wmem`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Buffer {
    /// The size that each socket keeps even under memory pressure.
    pub minimum: Size,
    /// The size with which a socket starts.
    pub initial: Size,
    /// The largest size that automatic sizing may reach.
    pub maximum: Size,
}

/// A host's TCP settings: a profile such as `linux-cubic`, resolved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Stack {
    /// The profile's name, for tables.
    pub name: String,
    /// The program whose TCP/IP the host has instead of its kernel's, by its name, such as `gvisor`; if absent, the
    /// host has its kernel's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// The congestion control's name in the kernel, the program or the simulator.
    pub congestion_control: String,
    /// The receive buffer.
    pub receive_buffer: Buffer,
    /// The send buffer.
    pub send_buffer: Buffer,
    /// Window scaling (RFC 7323 section 2).
    pub window_scaling: bool,
    /// Selective acknowledgments (RFC 2018).
    pub sack: bool,
    /// Timestamps (RFC 7323 section 3), which take 12 bytes of every segment.
    pub timestamps: bool,
    /// Search for the path MTU with the host's own segments once a connection stalls (RFC 4821;
    /// net.ipv4.tcp_mtu_probing 1).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub mtu_probing: bool,
    /// Request ECN on connections, by which packets are marked instead of dropped (RFC 3168; net.ipv4.tcp_ecn 1).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ecn: bool,
    /// The smallest retransmission timeout (net.ipv4.tcp_rto_min_us); Linux's 200 ms if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minimum_rto: Option<Duration>,
    /// TCP small queues: a connection keeps about a millisecond of its own data in its interface's queue, and sends
    /// on when some has left (net.ipv4.tcp_limit_output_bytes; Linux since 3.6). Without them, the congestion window
    /// alone limits what is there, and the queue's limit drops the rest.
    #[serde(default = "yes", skip_serializing_if = "Clone::clone")]
    pub small_queues: bool,
    /// The scheduler of MPTCP connections.
    #[serde(default, skip_serializing_if = "Scheduler::is_default")]
    pub scheduler: Scheduler,
}

fn yes() -> bool {
    true
}

/// The scheduler of an MPTCP connection, which chooses the subflow for the next data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scheduler {
    /// The scheduler of Linux's own MPTCP (mptcp_subflow_get_send in net/mptcp/protocol.c): it assigns data, at most 64
    /// KiB at a time, to the subflow that needs the shortest time to send what it has, as long as that subflow's send
    /// buffer has room. Assigned data stays on its subflow.
    #[default]
    Linux,
    /// The scheduler of the out-of-tree Linux MPTCP chooses the subflow with the smallest smoothed round-trip time, among
    /// those whose congestion window has room, for each segment when it leaves.
    LowestRtt,
    /// The scheduler chooses each subflow in turn, among those whose congestion window has room, for each segment when it
    /// leaves.
    RoundRobin,
}

impl Scheduler {
    /// Returns true if this is the default.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the bytes of MPTCP's option in a data segment, for which its sender makes room: the data sequence signal
    /// (RFC 8684 section 3.3) with a 32-bit acknowledgment and a mapping of 64 bits in Linux (24 bytes, padding included),
    /// and of 32 bits in the out-of-tree Linux MPTCP (20).
    pub fn data_signal_bytes(&self) -> u32 {
        if *self == Self::Linux { 24 } else { 20 }
    }
}

/// The offloads of interfaces, which handle larger units than a packet. All are off by default, so that the MTU is
/// in force (with them, a virtual link passes "packets" of 64 KiB).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Offloads {
    /// TCP segmentation offload: the interface segments GSO packets.
    #[serde(default)]
    pub tso: bool,
    /// Generic segmentation offload: the kernel segments GSO packets just before the interface.
    #[serde(default)]
    pub gso: bool,
    /// Generic receive offload: received segments are coalesced before the stack sees them.
    #[serde(default)]
    pub gro: bool,
}
