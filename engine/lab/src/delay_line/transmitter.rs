//! The transmitter of a link's direction, which sends one frame after the other, each for its bits divided by the
//! link's rate.
//!
//! The shaper before the transmitter hands a packet over when its transmission may begin, several at once after an
//! idle time, and all frames of a GSO packet together. On a wire each frame has arrived when its last bit has
//! (store and forward).

use crate::packet_socket::OFFLOAD_HEADER_BYTES;
use nettrial_scenario::Rate;
use nettrial_scenario::ethernet::{MINIMUM_BYTES, OUTSIDE_BYTES};

/// The transmitter of one direction.
#[derive(Debug, Clone, Copy)]
pub struct Transmitter {
    /// The link's rate; if there is none, a frame takes no time.
    pub rate: Option<Rate>,
    /// The longest time that a frame waits for those before it, which is the time of the shaper's burst. The
    /// shaper passes more frames only to make up for a late timer, and then the transmitter does so, too.
    pub longest_wait_ns: u64,
    /// The end of the last transmission.
    free_ns: u64,
}

impl Transmitter {
    /// Creates a transmitter that is free.
    pub fn new(rate: Option<Rate>, longest_wait_ns: u64) -> Self {
        Self { rate, longest_wait_ns, free_ns: 0 }
    }

    /// Transmits a frame, which follows an offload header and arrived at `arrived_ns`; returns the time of its
    /// last bit.
    pub fn transmit(&mut self, arrived_ns: u64, frame: &[u8]) -> u64 {
        let Some(rate) = self.rate else { return arrived_ns };
        let start = self.free_ns.clamp(arrived_ns, arrived_ns + self.longest_wait_ns);
        // The time is rounded down, because a transmitter that is slower than its shaper would fall behind.
        let took = u128::from(wire_bytes(frame)) * 8_000_000_000 / u128::from(rate.0.max(1));
        self.free_ns = start.saturating_add(u64::try_from(took).unwrap_or(u64::MAX));
        self.free_ns
    }
}

/// Returns the number of bytes that a frame, or the frames of a GSO packet, occupy on the wire.
pub fn wire_bytes(bytes: &[u8]) -> u64 {
    let (header, frame) = bytes.split_at(OFFLOAD_HEADER_BYTES.min(bytes.len()));
    let length = frame.len() as u64;
    let alone = (length + OUTSIDE_BYTES).max(MINIMUM_BYTES);
    gso(header, frame).map_or(alone, |Gso { headers, segment }| {
        let payload = length.saturating_sub(headers);
        (payload + payload.div_ceil(segment) * (headers + OUTSIDE_BYTES)).max(alone)
    })
}

/// Reads `bytes` as a frame that a host sends.
#[cfg(fuzzing)]
pub fn fuzz(bytes: &[u8]) {
    assert!(Transmitter::new(Some(Rate(1_000_000)), 0).transmit(1, bytes) > 1);
}

/// The pieces of a GSO packet: the bytes of the headers of each of its frames, and those of the payload.
struct Gso {
    headers: u64,
    segment: u64,
}

/// Reads `struct virtio_net_hdr` (include/uapi/linux/virtio_net.h); its `hdr_len` is only a hint, so the length of
/// the headers is computed from the beginning of the checksummed part, which is the transport header, and from
/// that header.
fn gso(header: &[u8], frame: &[u8]) -> Option<Gso> {
    const UDP_L4: u8 = 5;
    const KIND: u8 = 0x7f;
    let &[_, kind, _, _, size_low, size_high, start_low, start_high, ..] = header else { return None };
    let transport = usize::from(u16::from_ne_bytes([start_low, start_high]));
    let transport_header = match kind & KIND {
        0 => return None,
        UDP_L4 => 8,
        _ => u64::from(frame.get(transport + 12)? >> 4) * 4,
    };
    let segment = u64::from(u16::from_ne_bytes([size_low, size_high]));
    (segment > 0).then_some(Gso { headers: transport as u64 + transport_header, segment })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a frame of `length` bytes that follows an offload header of these bytes.
    fn frame(offload: [u8; OFFLOAD_HEADER_BYTES], length: usize) -> Vec<u8> {
        let mut bytes = offload.to_vec();
        bytes.resize(OFFLOAD_HEADER_BYTES + length, 0);
        bytes
    }

    fn plain(length: usize) -> Vec<u8> {
        frame([0; OFFLOAD_HEADER_BYTES], length)
    }

    #[test]
    fn a_frame_takes_its_bits_and_those_around_it() {
        assert_eq!(wire_bytes(&plain(1514)), 1538);
        assert_eq!(wire_bytes(&plain(42)), 84);
    }

    #[test]
    fn a_gso_packet_takes_what_its_frames_take() {
        let [size_low, size_high] = 1448_u16.to_ne_bytes();
        let [start_low, start_high] = 34_u16.to_ne_bytes();
        // This is VIRTIO_NET_HDR_GSO_TCPV4 with ECN and a wrong hint of the headers' length; the TCP header has 32
        // bytes.
        let header = [1, 0x81, 200, 0, size_low, size_high, start_low, start_high, 16, 0];
        let mut bytes = frame(header, 66 + 2 * 1448 + 100);
        bytes[OFFLOAD_HEADER_BYTES + 34 + 12] = 8 << 4;
        assert_eq!(wire_bytes(&bytes), 2 * 1538 + 100 + 66 + 24);
        // This is VIRTIO_NET_HDR_GSO_UDP_L4.
        let header = [1, 5, 0, 0, size_low, size_high, start_low, start_high, 6, 0];
        assert_eq!(wire_bytes(&frame(header, 42 + 3 * 1448)), 3 * (1448 + 42 + 24));
        // Headers that are longer than the packet don't make it shorter.
        let header = [1, 5, 0, 0, 255, 255, 255, 255, 6, 0];
        assert_eq!(wire_bytes(&frame(header, 100)), 124);
    }

    #[test]
    fn frames_follow_each_other() {
        let mut line = Transmitter::new(Some(Rate(1_000_000_000)), 200_000);
        // 1538 bytes take 12.304 us.
        assert_eq!(line.transmit(1_000, &plain(1514)), 13_304);
        assert_eq!(line.transmit(1_000, &plain(1514)), 25_608);
        assert_eq!(line.transmit(20_000, &plain(1514)), 37_912);
        assert_eq!(line.transmit(100_000, &plain(60)), 100_672);
    }

    #[test]
    fn a_frame_waits_no_longer_than_a_shaper_lets_pass_at_once() {
        let mut line = Transmitter::new(Some(Rate(1_000_000_000)), 50_000);
        let last = (0..20).map(|_| line.transmit(0, &plain(1514))).last();
        assert_eq!(last, Some(62_304));
    }

    #[test]
    fn without_a_rate_a_frame_takes_no_time() {
        assert_eq!(Transmitter::new(None, 0).transmit(7, &plain(1514)), 7);
    }
}
