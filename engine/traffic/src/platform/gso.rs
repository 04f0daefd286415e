//! Joins packets into GSO packets, which the system segments.

/// The largest number of packets in a GSO packet (UDP_MAX_SEGMENTS, include/linux/udp.h).
pub const GSO_PACKET_PACKETS: usize = 64;
/// The largest size of a GSO packet, in bytes: that of a datagram over IPv4.
const GSO_PACKET_BYTES: usize = 65_507;

/// A run of packets that one message carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message {
    /// The number of packets.
    pub packets: usize,
    /// The offset of the first packet in the batch's bytes.
    pub offset: usize,
    /// The total length of the packets, in bytes.
    pub bytes: usize,
    /// The length of each packet, in bytes; the last one may be shorter.
    pub segment: usize,
}

/// Finds the messages that carry the packets at `places`: consecutive packets of the same size share a GSO packet,
/// up to its largest size.
pub fn join(places: impl Iterator<Item = (usize, usize)>, segment_limit: usize, messages: &mut Vec<Message>) {
    messages.clear();
    for (offset, size) in places {
        match messages.last_mut() {
            Some(last)
                if last.segment == size
                    && size <= segment_limit
                    && last.packets < GSO_PACKET_PACKETS
                    && last.bytes + size <= GSO_PACKET_BYTES =>
            {
                last.packets += 1;
                last.bytes += size;
            }
            _ => messages.push(Message { packets: 1, offset, bytes: size, segment: size }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(sizes: &[usize], segment_limit: usize) -> Vec<(usize, usize)> {
        let mut messages = Vec::new();
        // The offsets of the packets make no difference here.
        join(sizes.iter().map(|&size| (0, size)), segment_limit, &mut messages);
        messages.iter().map(|message| (message.packets, message.bytes)).collect()
    }

    #[test]
    fn only_neighbours_of_one_size_that_need_no_fragments_are_in_gso_packets() {
        assert_eq!(joined(&[64, 64, 100, 64], 1472), [(2, 128), (1, 100), (1, 64)]);
        assert_eq!(joined(&[64, 64], 0), [(1, 64), (1, 64)]);
        assert_eq!(joined(&[2000, 2000], 1472), [(1, 2000), (1, 2000)]);
        assert_eq!(joined(&[64; 70], 1472), [(64, 4096), (6, 384)]);
        assert_eq!(joined(&[1400; 50], 1472), [(46, 64_400), (4, 5600)]);
    }
}
