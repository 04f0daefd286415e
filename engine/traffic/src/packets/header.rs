//! The header of every packet: its number, its departure, its length and the trial's tag, 24 bytes,
//! big-endian.

use crate::cookie::{COOKIE_BYTES, Cookie};
use nettrial_flows::arrivals::Packet;
use nettrial_scenario::MESSAGE_HEADER_BYTES;

/// Bytes of the header.
pub const HEADER_BYTES: usize = MESSAGE_HEADER_BYTES as usize;

/// The last four bytes of the trial's cookie. A datagram without them does not belong to the flow.
pub type Tag = [u8; 4];

/// Returns the tag of packets of the trial with `cookie`.
pub fn tag(cookie: &Cookie) -> Tag {
    let mut tag = Tag::default();
    tag.copy_from_slice(&cookie.0[COOKIE_BYTES - 4..]);
    tag
}

/// A packet's header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// The packet's number in the flow, from 0.
    pub number: u64,
    /// The time at which the packet was handed to the kernel, by the sender's monotonic clock.
    pub departure_ns: u64,
    /// The bytes of the packet, header included.
    pub length: u32,
}

impl Header {
    /// Writes the header without the departure to the beginning of `packet`.
    pub fn write(packet: &mut [u8], number: u64, length: u32, tag: Tag) {
        packet[..8].copy_from_slice(&number.to_be_bytes());
        packet[16..20].copy_from_slice(&length.to_be_bytes());
        packet[20..24].copy_from_slice(&tag);
    }

    /// Writes the departure into a packet's header.
    pub fn write_departure(packet: &mut [u8], departure_ns: u64) {
        packet[8..16].copy_from_slice(&departure_ns.to_be_bytes());
    }

    /// Returns the packet that begins with this header.
    pub fn packet(self) -> Packet {
        Packet { number: self.number, departure_ns: self.departure_ns, length: self.length }
    }

    /// Reads the header of `packet`; `None` if it has no header with this tag.
    pub fn read(packet: &[u8], tag: Tag) -> Option<Self> {
        let header = packet.first_chunk::<HEADER_BYTES>()?;
        let [number, departure_ns] =
            [0, 8].map(|at| u64::from_be_bytes(std::array::from_fn(|index| header[at + index])));
        let length = u32::from_be_bytes(std::array::from_fn(|index| header[16 + index]));
        let is_ours = header[20..] == tag && length as usize >= HEADER_BYTES;
        is_ours.then_some(Self { number, departure_ns, length })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_written_is_read_and_nothing_else_is(
            number: u64, departure_ns: u64, length in 24u32.., tag: Tag, bytes in prop::collection::vec(any::<u8>(), 0..40)
        ) {
            let mut packet = [0; HEADER_BYTES];
            Header::write(&mut packet, number, length, tag);
            Header::write_departure(&mut packet, departure_ns);
            prop_assert_eq!(Header::read(&packet, tag), Some(Header { number, departure_ns, length }));
            prop_assert_eq!(Header::read(&packet[..23], tag), None);
            if bytes.len() < 24 || bytes[20..24] != tag {
                prop_assert_eq!(Header::read(&bytes, tag), None);
            }
        }
    }
}
