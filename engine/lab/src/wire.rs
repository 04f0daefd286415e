//! Computes the number of bytes that packets occupy on an Ethernet wire, and the pieces in which the kernel hands
//! them to an interface.
//!
//! A frame occupies 24 bytes more than the kernel counts, which includes its header of 14 bytes: preamble 8, frame
//! check sequence 4, inter-frame gap 12; and at least 84 in total (IEEE 802.3 clauses 3 and 4.2.7).
//!
//! TCP builds GSO packets whatever the offload features of an interface (net/core/sock.c, sk_setup_caps). Without
//! segmentation offload they are segmented into frames after the queue. The kernel charges a GSO packet as one
//! packet, so a shaper would pass too many bytes: up to 1.6% at MTU 1500. The table here charges each GSO packet
//! the bytes of its frames. They follow from its length if all its segments have headers of one known size and are
//! cut for one path MTU, which may be below the interface's. If the flows of a node differ in either (IPv4 beside
//! IPv6, timestamps beside none, a smaller link on the path of one), GSO packets are limited to one segment.

use crate::clock::Clock;
use crate::gso::GsoPackets;
use nettrial_scenario::ethernet::{FRAMING_BYTES, HEADER_BYTES, MINIMUM_BYTES, OUTSIDE_BYTES};
use nettrial_scenario::{Node, NodeKind, Offloads, Rate};

/// The size of the largest GSO packet that the kernel forms by default (GSO_LEGACY_MAX_SIZE), with its Ethernet
/// header, in bytes.
const LARGEST_GSO_BYTES: u64 = 65_536 + HEADER_BYTES;
/// The time for which a GSO packet may occupy the wire when segmentation offload is off, in nanoseconds. A shorter
/// time is closer to frames on a wire, a longer one costs fewer timer interrupts. The limit is a time instead of a
/// number of frames, so that the number of these interrupts is the same at every MTU and does not hide the cost of
/// a frame.
const GSO_PACKET_NS: u64 = 150_000;
/// The largest number of entries of a table, whose netlink attribute must stay under 64 KiB.
const LARGEST_TABLE: u64 = 30_000;

/// Describes the GSO packets of shaped links without segmentation offload, for the fingerprint of a session.
pub fn description(clock: Clock) -> String {
    match clock {
        Clock::Real => {
            let us = GSO_PACKET_NS / 1000;
            format!("at most {us} us of wire time on hosts, one segment on routers and switches")
        }
        Clock::Virtual => "one segment".to_owned(),
    }
}

/// An interface's view of its wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Wire {
    mtu: u64,
    /// The size of the packet of a full segment, which is the path MTU.
    segment_mtu: u64,
    /// The number of Ethernet, IP and TCP header bytes of a full segment, if all flows agree on it and on their
    /// path MTU.
    headers: Option<u64>,
    /// The largest number of segments of a GSO packet, or as many as the kernel chooses.
    gso_max_segments: Option<u32>,
    /// True if GSO packets are segmented before the interface counts their bytes.
    counts_frames: bool,
    forwards: bool,
}

/// A table in the kernel's format (`struct tc_sizespec`): entry `length >> cell_log` is the size, shifted right by
/// `size_log`.
pub struct SizeTable {
    /// The number of low bits of a length that do not select the entry.
    pub cell_log: u8,
    /// The number of bits by which the entries are shifted.
    pub size_log: u8,
    /// The entries.
    pub sizes: Vec<u16>,
}

impl Wire {
    /// Creates the wire of an interface of `node` with an MTU of `mtu` bytes, on a link of `rate`; `gso_packets`
    /// pass the node. In virtual time TCP hands its segments over one by one unless an offload is on, as in the simulator,
    /// and the shaper itself segments GSO packets that the interface does not (TSO).
    pub fn new(node: &Node, gso_packets: GsoPackets, mtu: u64, rate: Option<Rate>, clock: Clock) -> Self {
        let forwards = node.kind != NodeKind::Host;
        let path_mtu = if forwards { Some(mtu) } else { gso_packets.path_mtu() };
        let segment_mtu = path_mtu.map_or(mtu, |path_mtu| path_mtu.min(mtu));
        let headers = path_mtu.and_then(|_| gso_packets.headers()).map(|headers| HEADER_BYTES + headers);
        let Offloads { tso, gso, gro } = node.offloads;
        let as_it_likes =
            if forwards { gro || gso_packets.are_whole() } else { tso || gso || rate.is_none() };
        let counts_frames = clock == Clock::Virtual && !tso && rate.is_some();
        let one_at_a_time = forwards || headers.is_none() || clock == Clock::Virtual;
        let limit = |rate: Rate| {
            let bytes = rate.0 / 8 * GSO_PACKET_NS / 1_000_000_000;
            u32::try_from(bytes / (segment_mtu + FRAMING_BYTES)).unwrap_or(u32::MAX).max(1)
        };
        let gso_max_segments = match rate {
            _ if as_it_likes => None,
            Some(rate) if !one_at_a_time => Some(limit(rate)),
            _ => Some(1),
        };
        Self { mtu, segment_mtu, headers, gso_max_segments, counts_frames, forwards }
    }

    /// Creates the wire of a host's interface that gets single frames.
    pub fn plain(mtu: u64) -> Self {
        Self {
            mtu,
            segment_mtu: mtu,
            headers: None,
            gso_max_segments: Some(1),
            counts_frames: true,
            forwards: false,
        }
    }

    /// Returns the largest number of segments of a GSO packet; `None` for the kernel's own limit.
    pub fn gso_max_segments(&self) -> Option<u32> {
        self.gso_max_segments
    }

    /// Returns true if the node forwards packets of others.
    pub fn forwards(&self) -> bool {
        self.forwards
    }

    /// Returns the number of bytes that the largest frame occupies on the wire.
    pub fn largest_frame(&self) -> u64 {
        self.mtu + FRAMING_BYTES
    }

    /// Returns the number of bytes on the wire of a packet that the kernel counts as `length` bytes.
    fn occupied(&self, length: u64) -> u64 {
        let frame = self.segment_mtu + HEADER_BYTES;
        // If the headers of segments are unknown, the smallest ones are assumed, so that no packet is charged too
        // much.
        let headers = self.headers.unwrap_or(HEADER_BYTES + 40);
        if length <= frame || frame <= headers {
            return (length + OUTSIDE_BYTES).max(MINIMUM_BYTES);
        }
        let payload = length - headers;
        let frames = payload.div_ceil(frame - headers);
        payload + frames * (headers + OUTSIDE_BYTES)
    }

    /// Returns the table of [`Wire::occupied`] for every length that the interface can get.
    pub fn size_table(&self) -> SizeTable {
        let frame = self.segment_mtu + HEADER_BYTES;
        let gso_packet = match (self.counts_frames, self.gso_max_segments) {
            (true, _) => frame,
            (false, None) => LARGEST_GSO_BYTES,
            (false, Some(segments)) => frame * u64::from(segments),
        };
        let longest = gso_packet.min(LARGEST_GSO_BYTES).max(self.mtu + HEADER_BYTES);
        let cell_log = (0..).find(|log| longest >> log < LARGEST_TABLE).unwrap_or(0);
        let size_log = u8::from(self.occupied(longest) > u64::from(u16::MAX));
        let headers = self.headers.unwrap_or(0);
        let segment = frame.saturating_sub(headers).max(1);
        let entry = |cell: u64| {
            let (first, last) = (cell << cell_log, ((cell + 1) << cell_log) - 1);
            // The entry is exact for a GSO packet of full segments, as most are, or else for the cell's first
            // length.
            let full = last.saturating_sub(headers) / segment * segment + headers;
            let length = if (first..=last).contains(&full) { full } else { first };
            u16::try_from(self.occupied(length).div_ceil(1 << size_log)).unwrap_or(u16::MAX)
        };
        SizeTable { cell_log, size_log, sizes: (0..=longest >> cell_log).map(entry).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wire(mtu: u64) -> Wire {
        // The headers are those of IPv6 with timestamps: 14 + 40 + 20 + 12.
        let headers = Some(86);
        Wire { mtu, segment_mtu: mtu, headers, gso_max_segments: None, counts_frames: false, forwards: false }
    }

    fn charged(table: &SizeTable, length: u64) -> u64 {
        u64::from(table.sizes[usize::try_from(length >> table.cell_log).unwrap()]) << table.size_log
    }

    #[test]
    fn a_frame_takes_its_overhead_and_84_bytes_at_least() {
        assert_eq!(wire(1500).occupied(1514), 1538);
        assert_eq!(wire(1500).occupied(60), 84);
        assert_eq!(wire(9000).occupied(86), 110);
    }

    #[test]
    fn a_gso_packet_takes_what_its_frames_take() {
        let mss = 1428;
        for segments in 1..40 {
            assert_eq!(wire(1500).occupied(86 + segments * mss), segments * 1538);
        }
        // The packet has two full segments and one of 100 bytes.
        assert_eq!(wire(1500).occupied(86 + 2 * mss + 100), 2 * 1538 + 100 + 86 + 24);
    }

    #[test]
    fn the_table_is_exact_for_full_gso_packets_and_close_for_others() {
        for mtu in [576, 1280, 1500, 4000, 9000, 65_535] {
            let wire = wire(mtu);
            let table = wire.size_table();
            assert!(table.sizes.len() as u64 <= LARGEST_TABLE + 1, "{mtu}: {}", table.sizes.len());
            let mss = mtu + 14 - 86;
            for segments in 1..=(65_000 / mss).max(1) {
                let length = 86 + segments * mss;
                let error = charged(&table, length).abs_diff(segments * (mtu + 38));
                assert!(error <= 1, "MTU {mtu}, {segments} segments: off by {error}");
            }
            for length in (60..mtu.min(60_000)).step_by(7) {
                assert!(
                    charged(&table, length).abs_diff(wire.occupied(length)) <= 4,
                    "MTU {mtu}, {length} bytes"
                );
            }
        }
    }

    #[test]
    fn a_gso_packet_for_a_smaller_link_on_the_way_takes_what_the_smaller_frames_take() {
        let wire = Wire { segment_mtu: 1500, gso_max_segments: Some(2), ..wire(9000) };
        let table = wire.size_table();
        assert_eq!(charged(&table, 86 + 2 * 1428), 2 * 1538);
        assert_eq!(wire.largest_frame(), 9038);
        assert!(table.sizes.len() > 9014, "the largest frame the interface sends is in the table");
    }

    #[test]
    fn single_frames_are_charged_to_the_byte() {
        let table = Wire { gso_max_segments: Some(1), ..wire(1500) }.size_table();
        assert_eq!((table.cell_log, table.sizes.len()), (0, 1515));
        assert!((0..=1514).all(|length| charged(&table, length) == (length + 24).max(84)));
    }
}
