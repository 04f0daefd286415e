//! Sizes of headers and packets.

use nettrial_scenario::IpVersion;

/// Bytes of a UDP header (RFC 768), and of an ICMP echo's (RFC 792, RFC 4443 section 4).
pub const PROBE_HEADER_BYTES: u64 = 8;
/// Bytes of a TCP header without options (RFC 9293 section 3.1).
pub const TCP_HEADER_BYTES: u64 = 20;
/// The largest IP packet without jumbograms.
pub const LARGEST_PACKET: u64 = 65_535;
/// Payload of probes whose size does not matter.
const SMALL_PAYLOAD: u64 = 16;

/// A packet that passes everywhere, to measure times and find hops with.
pub fn small(version: IpVersion) -> u64 {
    version.header_bytes() + PROBE_HEADER_BYTES + SMALL_PAYLOAD
}

/// The size that should pass on any path: BASE_PLPMTU (RFC 8899 section 5.1.2), and 1280 over IPv6.
pub fn base(version: IpVersion) -> u64 {
    version.minimum_mtu().max(1200)
}
