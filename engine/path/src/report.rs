//! The findings of an examination.

use nettrial_scenario::{Absence, IpVersion, Offloads};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The findings about the paths to a host: one for each IP version.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PathReport {
    /// The document's version: 1.
    pub format: u32,
    /// The engine's version.
    pub engine_version: String,
    /// The beginning of the examination, nanoseconds since 1970-01-01 UTC.
    pub started_unix_ns: u64,
    /// The host as it was given.
    pub host: String,
    /// One for each IP version that could be examined.
    pub paths: Vec<PathRecord>,
    /// IP versions that could not, and why.
    pub absent: Vec<Absence>,
}

/// One path. Sizes are of whole IP packets, in bytes, unless they say otherwise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PathRecord {
    /// The IP version.
    pub ip: IpVersion,
    /// The far host's address.
    pub address: String,
    /// The address that packets to it are sent from.
    pub local_address: String,
    /// The interface they leave by.
    pub interface: Interface,
    /// The path MTU that the kernel held before the examination: the route's, or one it learned. Absent where it does not
    /// tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_mtu_bytes: Option<u64>,
    /// The largest packet that was tried.
    pub largest_tried_bytes: u64,
    /// The kinds of probe that the far host answers.
    pub answers: Vec<Means>,
    /// Round-trip time of small packets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt: Option<BaseRtt>,
    /// Towards the far host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forward: Option<Direction>,
    /// From the far host back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverse: Option<Direction>,
    /// Towards the far host as a sender sees it that relies on ICMP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trusting: Option<Trusting>,
    /// The routers on the path, and last the far host.
    pub hops: Vec<Hop>,
    /// The places where large packets end, towards the far host: each where the path gets narrower, in order.
    pub limits: Vec<Limit>,
    /// The segment size of a TCP connection to the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mss: Option<Mss>,
    /// The bandwidth-delay product and the buffers in force here.
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

/// The interface that packets leave by.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// Its MTU.
    pub mtu_bytes: u64,
    /// Its offloads, where its driver says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offloads: Option<Offloads>,
    /// The speed of its link, where its driver says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed_bps: Option<u64>,
}

/// Round-trip time of small packets, one in flight.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BaseRtt {
    /// The means by which it was measured.
    pub means: Means,
    /// Probes sent.
    pub sent_pkts: u32,
    /// Probes answered.
    pub received_pkts: u32,
    /// The smallest time, microseconds.
    pub minimum_us: f64,
    /// The median, microseconds.
    pub median_us: f64,
}

/// The path MTU in one direction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Direction {
    /// The largest packet that is known to arrive whole.
    pub mtu_bytes: u64,
    /// True if a packet one byte larger was seen not to. If not, the path MTU may be larger.
    pub limited: bool,
    /// The way in which it was found.
    pub how: String,
}

/// Path MTU discovery as RFC 1191 and RFC 8201 have it: the size follows ICMP messages alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Trusting {
    /// The size such a sender ends with.
    pub mtu_bytes: u64,
    /// True if packets of that size arrive. If not it has met a black hole, and its connections stall.
    pub arrives: bool,
    /// The messages it got, in order.
    pub messages: Vec<TooBig>,
}

/// An ICMP "fragmentation needed" (RFC 1191) or "packet too big" (RFC 4443 section 3.2).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TooBig {
    /// Its sender.
    pub by: String,
    /// The MTU it claims.
    pub mtu_bytes: u64,
    /// The size of the packet it is about.
    pub size_bytes: u64,
}

/// A router on the path, or the far host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Hop {
    /// Links from this host: 1 is the first router.
    pub number: u8,
    /// Its address; absent where it is silent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// Round-trip time of one small packet, microseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt_us: Option<f64>,
    /// The largest packet that is known to have come to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reached_bytes: Option<u64>,
    /// The smallest packet that is known not to come to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_reached_bytes: Option<u64>,
    /// The MTU it claimed in an ICMP message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claimed_mtu_bytes: Option<u64>,
    /// The part of that claim that is not so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lie: Option<String>,
}

/// A place where the path gets narrower: behind one hop and before another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Limit {
    /// The largest packet that is known to pass.
    pub mtu_bytes: u64,
    /// The smallest that is known not to; sizes between the two were not tried there.
    pub below_bytes: u64,
    /// The last hop that larger packets came to; 0 is this host.
    pub after_hop: u8,
    /// The first hop that answers and that they did not come to. Hops between the two are silent.
    pub before_hop: u8,
    /// The address that said in an ICMP message that it is the limit, if any did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub announced_by: Option<String>,
    /// The hop at fault in words.
    pub at_fault: String,
}

/// The segment size in force on a TCP connection, before any data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mss {
    /// The port of the far host.
    pub port: u16,
    /// Payload of a full segment that this host would send.
    pub segment_bytes: u64,
    /// Bytes of TCP options in each segment.
    pub option_bytes: u64,
    /// The MSS option this host sent.
    pub announced_bytes: u64,
    /// The MSS that the path MTU towards the host implies: less IP and TCP headers (RFC 9293 section 3.7.1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub implied_bytes: Option<u64>,
    /// True if both sides scale their windows.
    pub window_scaling: bool,
    /// True if segments carry timestamps.
    pub timestamps: bool,
    /// The comparison of the two.
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

/// The bandwidth-delay product against the buffers of this host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Buffers {
    /// The rate taken for the path's slowest link, bits per second.
    pub rate_bps: u64,
    /// The source of the rate: `given`, or `interface`.
    pub rate_from: String,
    /// Rate times the smallest round-trip time.
    pub bdp_bytes: u64,
    /// The window that this host's receive buffer lets a sender fill.
    pub receive_window_bytes: u64,
    /// The same of its send buffer.
    pub send_window_bytes: u64,
    /// The settings these follow from, by sysctl name.
    pub sysctls: BTreeMap<String, String>,
    /// Lines for sysctl.conf that let one connection fill the path; none if it can.
    pub fixes: Vec<String>,
}

/// The goodput that TCP could reach at most.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Goodput {
    /// The MTU.
    pub mtu_bytes: u64,
    /// True if packets of that size are known to pass in both directions; absent where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passes: Option<bool>,
    /// Payload over what its frame occupies on Ethernet: MTU and 38 bytes.
    pub efficiency: f64,
    /// The goodput as that share of the rate, bits per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line_bps: Option<f64>,
    /// Window over round-trip time with the buffers in force, bits per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_bps: Option<f64>,
    /// The goodput that loss leaves to a Reno-like sender (Mathis et al. 1997: MSS / RTT × sqrt(3/2p)), bits per
    /// second. Only where probes were lost; a handful of probes makes a coarse estimate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss_bps: Option<f64>,
}

/// The verdict on a path: clean for jumbo frames or not, with the reasons.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Verdict {
    /// The answer.
    pub jumbo: Jumbo,
    /// The node or host at fault, in words; absent where none is, or where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_fault: Option<String>,
    /// True if a sender that relies on ICMP stalls on this path; absent where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub black_hole: Option<bool>,
    /// The reasons, and what else to know, a sentence each.
    pub reasons: Vec<String>,
}

/// The answer to whether packets of 9000 bytes pass in both directions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Jumbo {
    /// They do.
    Clean,
    /// They don't.
    NotClean,
    /// It can't be told from here.
    CannotTell,
}
