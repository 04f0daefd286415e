//! The bytes that Ethernet adds to an IP packet (IEEE 802.3 clauses 3 and 4.2.7).

/// Bytes of an Ethernet header without a VLAN tag.
pub const HEADER_BYTES: u64 = 14;
/// The bytes that a frame occupies on the wire beside its header and its packet: preamble 8, frame check sequence
/// 4, inter-frame gap 12.
pub const OUTSIDE_BYTES: u64 = 24;
/// The bytes that a frame occupies on the wire beside its packet.
pub const FRAMING_BYTES: u64 = HEADER_BYTES + OUTSIDE_BYTES;
/// The bytes that the smallest frame occupies on the wire: 64, and those of preamble and gap.
pub const MINIMUM_BYTES: u64 = 84;

/// Returns the bytes that an IP packet of `ip_bytes` occupies on the wire.
#[inline]
pub const fn wire_bytes(ip_bytes: u64) -> u64 {
    let bytes = ip_bytes + FRAMING_BYTES;
    if bytes < MINIMUM_BYTES { MINIMUM_BYTES } else { bytes }
}
