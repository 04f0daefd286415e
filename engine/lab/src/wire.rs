//! Computes what packets occupy on an Ethernet wire, and in what pieces the kernel hands them to an interface.
//!
//! A frame takes 24 bytes beyond those the kernel counts (its header of 14 is among them): preamble 8,
//! frame check sequence 4, inter-frame gap 12; and 84 at least (IEEE 802.3 clauses 3 and 4.2.7).
//!
//! TCP builds GSO packets whatever an interface's offload features say (net/core/sock.c,
//! sk_setup_caps); without segmentation offload they are cut into frames after the queue. The kernel
//! charges a GSO packet as one packet, so a shaper would let too much through: up to 1.6% at MTU 1500. The
//! table here charges each GSO packet what its frames occupy, which follows from its length if all its
//! segments have headers of one known size and are cut for one path MTU, which may be below the
//! interface's. Where the flows of a node differ in either (IPv4 beside IPv6, timestamps beside none, a
//! smaller link on one's way), GSO packets are kept to one segment.

use crate::gso::GsoPackets;
use nettrial_scenario::ethernet::{FRAMING_BYTES, HEADER_BYTES, MINIMUM_BYTES, OUTSIDE_BYTES};
use nettrial_scenario::{Node, NodeKind, Offloads, Rate};

/// The largest GSO packet the kernel makes by default (GSO_LEGACY_MAX_SIZE), with its Ethernet header.
const LARGEST_GSO_BYTES: u64 = 65_536 + HEADER_BYTES;
/// The time that a GSO packet may occupy the wire when segmentation offload is off. A shorter one is nearer to
/// frames on a wire, a longer one costs fewer timer interrupts. Counted in time, not frames, so that those
/// interrupts are as many at every MTU and do not hide what a frame costs.
const GSO_PACKET_NS: u64 = 150_000;
/// The largest number of entries of a table: its netlink attribute must stay under 64 KiB.
const LARGEST_TABLE: u64 = 30_000;

/// An interface's view of its wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Wire {
    mtu: u64,
    /// The packet that a full segment makes: as large as the path MTU.
    segment_mtu: u64,
    /// Ethernet, IP and TCP header bytes of a full segment, if all flows agree, on their path MTU too.
    headers: Option<u64>,
    /// The largest number of segments of a GSO packet, or as many as the kernel chooses.
    gso_max_segments: Option<u32>,
    forwards: bool,
}

/// A table as the kernel wants it (`struct tc_sizespec`): entry `length >> cell_log` is the size, shifted
/// right by `size_log`.
pub struct SizeTable {
    /// Bits of a length that do not choose the entry.
    pub cell_log: u8,
    /// Bits by which the entries are shifted.
    pub size_log: u8,
    /// The entries.
    pub sizes: Vec<u16>,
}

impl Wire {
    /// The wire of an interface of `node` with `mtu` bytes, on a link of `rate`; `gso_packets` pass the node.
    pub fn new(node: &Node, gso_packets: GsoPackets, mtu: u64, rate: Option<Rate>) -> Self {
        let forwards = node.kind != NodeKind::Host;
        let path_mtu = if forwards { Some(mtu) } else { gso_packets.path_mtu() };
        let segment_mtu = path_mtu.map_or(mtu, |path_mtu| path_mtu.min(mtu));
        let headers = path_mtu.and_then(|_| gso_packets.headers()).map(|headers| HEADER_BYTES + headers);
        let Offloads { tso, gso, gro } = node.offloads;
        let as_it_likes =
            if forwards { gro || gso_packets.are_whole() } else { tso || gso || rate.is_none() };
        let one_at_a_time = forwards || headers.is_none();
        let limit = |rate: Rate| {
            let bytes = rate.0 / 8 * GSO_PACKET_NS / 1_000_000_000;
            u32::try_from(bytes / (segment_mtu + FRAMING_BYTES)).unwrap_or(u32::MAX).max(1)
        };
        let gso_max_segments = match rate {
            _ if as_it_likes => None,
            Some(rate) if !one_at_a_time => Some(limit(rate)),
            _ => Some(1),
        };
        Self { mtu, segment_mtu, headers, gso_max_segments, forwards }
    }

    /// The wire of a host's interface that is given single frames.
    pub fn plain(mtu: u64) -> Self {
        Self { mtu, segment_mtu: mtu, headers: None, gso_max_segments: Some(1), forwards: false }
    }

    /// The largest number of segments of a GSO packet, or `None` for as many as the kernel chooses.
    pub fn gso_max_segments(&self) -> Option<u32> {
        self.gso_max_segments
    }

    /// Returns true if the node passes on what others send.
    pub fn forwards(&self) -> bool {
        self.forwards
    }

    /// Bytes of the largest frame on the wire.
    pub fn largest_frame(&self) -> u64 {
        self.mtu + FRAMING_BYTES
    }

    /// Bytes on the wire of a packet that the kernel counts as `length` bytes.
    fn occupied(&self, length: u64) -> u64 {
        let frame = self.segment_mtu + HEADER_BYTES;
        // With segments of unknown headers, the smallest: no more than is right is charged.
        let headers = self.headers.unwrap_or(HEADER_BYTES + 40);
        if length <= frame || frame <= headers {
            return (length + OUTSIDE_BYTES).max(MINIMUM_BYTES);
        }
        let payload = length - headers;
        let frames = payload.div_ceil(frame - headers);
        payload + frames * (headers + OUTSIDE_BYTES)
    }

    /// The table of [`Wire::occupied`] for every length the interface can be given.
    pub fn size_table(&self) -> SizeTable {
        let frame = self.segment_mtu + HEADER_BYTES;
        let gso_packet =
            self.gso_max_segments.map_or(LARGEST_GSO_BYTES, |segments| frame * u64::from(segments));
        let longest = gso_packet.min(LARGEST_GSO_BYTES).max(self.mtu + HEADER_BYTES);
        let cell_log = (0..).find(|log| longest >> log < LARGEST_TABLE).unwrap_or(0);
        let size_log = u8::from(self.occupied(longest) > u64::from(u16::MAX));
        let headers = self.headers.unwrap_or(0);
        let segment = frame.saturating_sub(headers).max(1);
        let entry = |cell: u64| {
            let (first, last) = (cell << cell_log, ((cell + 1) << cell_log) - 1);
            // Exact for a GSO packet of full segments, which most are; else for the cell's first length.
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
        // IPv6 with timestamps: 14 + 40 + 20 + 12.
        Wire { mtu, segment_mtu: mtu, headers: Some(86), gso_max_segments: None, forwards: false }
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
        // Two full segments and one of 100 bytes.
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
