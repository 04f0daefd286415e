//! What traffic weighs on its way: as IP packets, and as frames on Ethernet.

use nettrial_scenario::IpVersion;
use std::ops::AddAssign;

/// Bytes of a UDP header (RFC 768).
pub const UDP_HEADER_BYTES: u64 = 8;
/// Bytes of IPv6's fragment header (RFC 8200 section 4.5).
const FRAGMENT_HEADER_BYTES: u64 = 8;
/// What Ethernet adds to an IP packet: header 14, preamble 8, frame check sequence 4, gap 12.
const FRAME_OVERHEAD_BYTES: u64 = 38;
/// The smallest frame, 64, with preamble and gap (IEEE 802.3 clauses 3 and 4.2.7).
const FRAME_MINIMUM_BYTES: u64 = 84;

/// Bytes of traffic by layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Weight {
    /// IP packets, headers included.
    pub ip_bytes: u64,
    /// The frames that carry them, as they occupy an Ethernet wire.
    pub wire_bytes: u64,
}

impl Weight {
    /// Adds so many packets that have `bytes` together, all of about the same size.
    pub fn add_packets(&mut self, packets: u64, bytes: u64) {
        self.ip_bytes += bytes;
        self.wire_bytes += (bytes + packets * FRAME_OVERHEAD_BYTES).max(packets * FRAME_MINIMUM_BYTES);
    }

    /// Adds a datagram of `payload` bytes, in the fragments that a path MTU of `mtu` bytes makes of it.
    pub fn add_datagram(&mut self, payload: u64, mtu: u64, version: IpVersion) {
        let header = version.header_bytes();
        let length = payload + UDP_HEADER_BYTES;
        if header + length <= mtu {
            return self.add_packets(1, header + length);
        }
        let header = match version {
            IpVersion::V4 => header,
            IpVersion::V6 => header + FRAGMENT_HEADER_BYTES,
        };
        // All fragments but the last carry a multiple of 8 bytes (RFC 791, RFC 8200).
        let piece = (mtu.saturating_sub(header) / 8 * 8).max(8);
        let (full, rest) = (length / piece, length % piece);
        self.add_packets(full, full * (header + piece));
        if rest > 0 {
            self.add_packets(1, header + rest);
        }
    }

    /// The same so many times.
    pub fn times(self, count: u64) -> Self {
        Self { ip_bytes: self.ip_bytes * count, wire_bytes: self.wire_bytes * count }
    }
}

impl AddAssign for Weight {
    fn add_assign(&mut self, other: Self) {
        self.ip_bytes += other.ip_bytes;
        self.wire_bytes += other.wire_bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weight(payload: u64, mtu: u64, version: IpVersion) -> (u64, u64) {
        let mut weight = Weight::default();
        weight.add_datagram(payload, mtu, version);
        (weight.ip_bytes, weight.wire_bytes)
    }

    #[test]
    fn a_datagram_that_fits_is_one_frame() {
        assert_eq!(weight(1472, 1500, IpVersion::V4), (1500, 1538));
        assert_eq!(weight(1452, 1500, IpVersion::V6), (1500, 1538));
        assert_eq!(weight(10, 1500, IpVersion::V4), (38, 84));
    }

    #[test]
    fn a_larger_one_is_cut_at_multiples_of_eight() {
        // 1480 bytes a fragment: one full, and one of a single byte, which takes the smallest frame.
        assert_eq!(weight(1473, 1500, IpVersion::V4), (1500 + 21, 1538 + 84));
        // 1500 - 40 - 8 = 1452, of which 1448 are usable.
        assert_eq!(weight(1453, 1500, IpVersion::V6), (1461 + 2 * 48, 1461 + 2 * 48 + 2 * 38));
        assert_eq!(weight(2 * 1448 - 8, 1500, IpVersion::V6).0, 2 * 1496);
        assert_eq!(weight(65_507, 1500, IpVersion::V4).0, 65_515 + 45 * 20);
    }
}
