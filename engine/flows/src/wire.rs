//! Computes the bytes that traffic occupies as IP packets, and as frames on Ethernet.

use nettrial_scenario::{IpVersion, ethernet};
use std::ops::AddAssign;

/// The bytes of a UDP header (RFC 768).
pub const UDP_HEADER_BYTES: u64 = 8;
/// The bytes of IPv6's fragment header (RFC 8200 section 4.5).
const FRAGMENT_HEADER_BYTES: u64 = 8;

/// Returns the sizes of the IP packets, headers included, that carry a UDP datagram of `payload` bytes over a path
/// with an MTU of `mtu` bytes: one packet, or the fragments that Linux makes.
///
/// All fragments but the last carry a multiple of 8 bytes (RFC 791, RFC 8200). Over IPv4 the last fragment fills
/// the MTU if it can (`__ip_append_data` in net/ipv4/ip_output.c); over IPv6 it is not larger than the others
/// (`__ip6_append_data` in net/ipv6/ip6_output.c cuts each at `maxfraglen`).
pub fn datagram_packets(payload: u64, mtu: u64, version: IpVersion) -> impl Iterator<Item = u64> {
    let mut left = payload + UDP_HEADER_BYTES;
    let header = version.header_bytes();
    let (header, last) = match version {
        _ if header + left <= mtu => (header, left),
        IpVersion::V4 => (header, mtu.saturating_sub(header)),
        IpVersion::V6 => {
            let header = header + FRAGMENT_HEADER_BYTES;
            (header, mtu.saturating_sub(header) / 8 * 8)
        }
    };
    let (last, piece) = (last.max(8), (last / 8 * 8).max(8));
    std::iter::from_fn(move || {
        let carried = if left <= last { left } else { piece };
        left -= carried;
        (carried > 0).then_some(header + carried)
    })
}

/// Bytes of traffic by layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Weight {
    /// IP packets, headers included.
    pub ip_bytes: u64,
    /// The frames that carry the packets, as they occupy an Ethernet wire.
    pub wire_bytes: u64,
}

impl Weight {
    /// Adds `packets` packets of about the same size that have `bytes` bytes together.
    pub fn add_packets(&mut self, packets: u64, bytes: u64) {
        self.ip_bytes += bytes;
        let framed = bytes + packets * ethernet::FRAMING_BYTES;
        self.wire_bytes += framed.max(packets * ethernet::MINIMUM_BYTES);
    }

    /// Adds a datagram of `payload` bytes, fragmented for a path MTU of `mtu` bytes.
    pub fn add_datagram(&mut self, payload: u64, mtu: u64, version: IpVersion) {
        for bytes in datagram_packets(payload, mtu, version) {
            self.add_packets(1, bytes);
        }
    }

    /// Returns the weight of this traffic, `count` times.
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

    /// Sizes that Linux 6.18 sent, as the lab counted them (tests/lab/test_links.py).
    #[test]
    fn the_last_fragment_fills_the_mtu_over_ipv4_alone() {
        let packets = |payload, mtu, version| datagram_packets(payload, mtu, version).collect::<Vec<_>>();
        assert_eq!(packets(35_900, 9000, IpVersion::V4), [8996, 8996, 8996, 9000]);
        assert_eq!(packets(2943, 1499, IpVersion::V4), [1492, 1499]);
        assert_eq!(packets(2944, 1499, IpVersion::V4), [1492, 1492, 28]);
        assert_eq!(packets(2892, 1500, IpVersion::V6), [1496, 1496, 52]);
        assert_eq!(packets(17_900, 9004, IpVersion::V6), [9000, 9000, 52]);
    }
}
