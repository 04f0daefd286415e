//! Sizes of headers and packets.

use nettrial_scenario::IpVersion;

/// The size of a UDP header (RFC 768) and of the header of an ICMP echo (RFC 792, RFC 4443 section 4), in bytes.
pub const PROBE_HEADER_BYTES: u64 = 8;
/// The size of a TCP header without options (RFC 9293 section 3.1), in bytes.
pub const TCP_HEADER_BYTES: u64 = 20;
/// The size of the largest IP packet that is not a jumbogram, in bytes.
pub const LARGEST_PACKET: u64 = 65_535;
/// The payload of probes whose size does not matter, in bytes.
const SMALL_PAYLOAD: u64 = 16;

/// Returns the size of a packet that passes everywhere, with which times are measured and hops are found.
pub fn small(version: IpVersion) -> u64 {
    version.header_bytes() + PROBE_HEADER_BYTES + SMALL_PAYLOAD
}

/// Returns the size that should pass on any path: BASE_PLPMTU (RFC 8899 section 5.1.2), or 1280 over IPv6.
pub fn base(version: IpVersion) -> u64 {
    version.minimum_mtu().max(1200)
}
