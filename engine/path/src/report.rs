//! The findings of an examination.

use nettrial_scenario::{Absence, IpVersion, Offloads};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The findings about the paths to a host, one path for each IP version.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PathReport {
    /// The document's version: 1.
    pub format: u32,
    /// The engine's version.
    pub engine_version: String,
    /// The time at which the examination began, in nanoseconds since 1970-01-01 UTC.
    pub started_unix_ns: u64,
    /// The host as it was given.
    pub host: String,
    /// The paths that were examined, one for each IP version.
    pub paths: Vec<PathRecord>,
    /// The IP versions whose path could not be examined, each with the reason.
    pub absent: Vec<Absence>,
}

/// The findings about one path. Sizes are those of whole IP packets, in bytes, unless stated otherwise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PathRecord {
    /// The IP version.
    pub ip: IpVersion,
    /// The far host's address.
    pub address: String,
    /// The source address of packets to the far host.
    pub local_address: String,
    /// The interface through which packets to the far host leave.
    pub interface: Interface,
    /// The path MTU that the kernel held before the examination: the MTU of the route, or one that it learned.
    /// Absent if the system does not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_mtu_bytes: Option<u64>,
    /// The largest packet that was tried.
    pub largest_tried_bytes: u64,
    /// The kinds of probe that the far host answers.
    pub answers: Vec<Means>,
    /// Round-trip time of small packets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt: Option<BaseRtt>,
    /// The path MTU towards the far host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forward: Option<Direction>,
    /// The path MTU from the far host back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverse: Option<Direction>,
    /// The path MTU towards the far host as found by a sender that relies on ICMP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trusting: Option<Trusting>,
    /// The routers on the path, and as the last hop the far host.
    pub hops: Vec<Hop>,
    /// The places where the path towards the far host gets narrower, in order, so that larger packets are lost
    /// there.
    pub limits: Vec<Limit>,
    /// The segment size of a TCP connection to the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mss: Option<Mss>,
    /// The bandwidth-delay product, and the buffers in force on this host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffers: Option<Buffers>,
    /// The goodput that TCP could reach at most, by MTU.
    pub theory: Vec<Goodput>,
    /// The verdict on jumbo frames.
    pub verdict: Verdict,
    /// The figures that could not be measured, each with the reason.
    pub absent: Vec<Absence>,
}

/// A kind of probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Means {
    /// ICMP echo, answered by a reply as large as the request (RFC 792, RFC 4443 section 4).
    Echo,
    /// UDP to a closed port, answered by a small ICMP error (RFC 1122 section 3.2.2.1).
    Udp,
}

/// The interface through which packets leave.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Interface {
    /// The interface's name.
    pub name: String,
    /// The interface's MTU.
    pub mtu_bytes: u64,
    /// The interface's offloads, if its driver reports them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offloads: Option<Offloads>,
    /// The speed of the interface's link in bits per second, if its driver reports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed_bps: Option<u64>,
}

/// The round-trip time of small packets, one at a time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BaseRtt {
    /// The kind of probe with which it was measured.
    pub means: Means,
    /// The number of probes sent.
    pub sent_pkts: u32,
    /// The number of probes answered.
    pub received_pkts: u32,
    /// The smallest round-trip time, in microseconds.
    pub minimum_us: f64,
    /// The median of the round-trip times, in microseconds.
    pub median_us: f64,
}

/// The path MTU in one direction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Direction {
    /// The largest packet that is known to arrive whole.
    pub mtu_bytes: u64,
    /// True if a packet that was one byte larger did not arrive. If false, the path MTU may be larger.
    pub limited: bool,
    /// The way in which the path MTU was found.
    pub how: String,
}

/// Path MTU discovery according to RFC 1191 and RFC 8201, which relies on ICMP messages alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Trusting {
    /// The size that a sender that relies on ICMP arrives at.
    pub mtu_bytes: u64,
    /// True if packets of that size arrive. If false, the sender has met a black hole, and its connections stall.
    pub arrives: bool,
    /// The messages that the sender received, in order.
    pub messages: Vec<TooBig>,
}

/// An ICMP message "fragmentation needed" (RFC 1191) or "packet too big" (RFC 4443 section 3.2).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TooBig {
    /// The message's sender.
    pub by: String,
    /// The MTU that the message claims.
    pub mtu_bytes: u64,
    /// The size of the packet that caused the message.
    pub size_bytes: u64,
}

/// A router on the path, or the far host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Hop {
    /// The number of links between this host and the hop: 1 is the first router.
    pub number: u8,
    /// The hop's address; absent if it is silent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// The round-trip time of one small packet, in microseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt_us: Option<f64>,
    /// The largest packet that is known to have reached the hop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reached_bytes: Option<u64>,
    /// The smallest packet that is known not to reach the hop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_reached_bytes: Option<u64>,
    /// The MTU that the hop claimed in an ICMP message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claimed_mtu_bytes: Option<u64>,
    /// The part of that claim that the measurements contradict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lie: Option<String>,
}

/// A place where the path gets narrower, between two hops.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Limit {
    /// The largest packet that is known to pass.
    pub mtu_bytes: u64,
    /// The smallest packet that is known not to pass; sizes between the two were not tried there.
    pub below_bytes: u64,
    /// The last hop that larger packets reached; 0 is this host.
    pub after_hop: u8,
    /// The first hop that answers and that larger packets did not reach. Hops between the two are silent.
    pub before_hop: u8,
    /// The address that announced this limit in an ICMP message, if any did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub announced_by: Option<String>,
    /// The hop or link at fault, in words.
    pub at_fault: String,
}

/// The segment size in force on a TCP connection, before any data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mss {
    /// The port of the far host.
    pub port: u16,
    /// The payload of a full segment that this host would send.
    pub segment_bytes: u64,
    /// The number of bytes of TCP options in each segment.
    pub option_bytes: u64,
    /// The MSS option that this host sent.
    pub announced_bytes: u64,
    /// The MSS that the path MTU towards the host implies: the path MTU less the IP and TCP headers (RFC 9293
    /// section 3.7.1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub implied_bytes: Option<u64>,
    /// True if both sides scale their windows.
    pub window_scaling: bool,
    /// True if segments carry timestamps.
    pub timestamps: bool,
    /// The comparison of the MSS in force with the implied one.
    pub finding: MssFinding,
}

/// The comparison of the MSS in force with the path MTU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MssFinding {
    /// Full segments are as large as the path allows.
    Fits,
    /// Segments are smaller than the path allows: the far host, or a device on the path that rewrites the
    /// option (MSS clamping), asked for it, or this host holds a smaller path MTU.
    Clamped,
    /// Segments are larger than the path allows: the connection relies on ICMP, or on TCP's own probing.
    TooLarge,
    /// The path MTU is not known.
    Unknown,
}

/// The bandwidth-delay product of the path, compared with the buffers of this host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Buffers {
    /// The rate assumed for the path's slowest link, in bits per second.
    pub rate_bps: u64,
    /// The source of the rate: `given`, or `interface`.
    pub rate_from: String,
    /// The bandwidth-delay product: the rate times the smallest round-trip time.
    pub bdp_bytes: u64,
    /// The largest window that this host's receive buffer allows.
    pub receive_window_bytes: u64,
    /// The largest window that this host's send buffer allows.
    pub send_window_bytes: u64,
    /// The settings that determine these windows, by sysctl name.
    pub sysctls: BTreeMap<String, String>,
    /// The lines for sysctl.conf that let one connection fill the path; empty if it can already.
    pub fixes: Vec<String>,
}

/// The goodput that TCP could reach at most.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Goodput {
    /// The MTU.
    pub mtu_bytes: u64,
    /// True if packets of that size are known to pass in both directions; absent if that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passes: Option<bool>,
    /// The ratio of the payload to the bytes that its frame occupies on Ethernet, which are the MTU and 38 bytes.
    pub efficiency: f64,
    /// The efficiency times the rate, in bits per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line_bps: Option<f64>,
    /// The window that the buffers in force allow, divided by the round-trip time, in bits per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_bps: Option<f64>,
    /// The goodput that a Reno-like sender reaches with the measured loss (Mathis et al. 1997: MSS / RTT ×
    /// sqrt(3/2p)), in bits per second. Present only if probes were lost; a handful of probes gives a coarse
    /// estimate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss_bps: Option<f64>,
}

/// The verdict on a path: clean for jumbo frames or not, with the reasons.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Verdict {
    /// The answer.
    pub jumbo: Jumbo,
    /// The node or host at fault, in words; absent if none is, or if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_fault: Option<String>,
    /// True if a sender that relies on ICMP stalls on this path; absent if that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub black_hole: Option<bool>,
    /// The reasons for the verdict and further remarks, one sentence each.
    pub reasons: Vec<String>,
}

/// The answer to the question whether packets of 9000 bytes pass in both directions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Jumbo {
    /// Packets of 9000 bytes pass in both directions.
    Clean,
    /// Packets of 9000 bytes do not pass in at least one direction.
    NotClean,
    /// The measurements don't give an answer.
    CannotTell,
}
