//! A test's datagrams: the word that opens a stream, its answer, and the header of each datagram that follows.

use std::time::Duration;

/// The bytes of the longer form of the header.
pub const HEADER_BYTES: usize = 16;
/// The datagram that a client sends to open a stream, as on the wire.
pub const OPENING: [u8; 4] = *b"9876";
/// The server's answer.
pub const ANSWER: [u8; 4] = *b"6789";

/// Returns true if `datagram` opens a stream: the current word in either byte order (clients send it in their
/// own), or the word before 3.8, 123456789.
pub fn opens(datagram: &[u8]) -> bool {
    const OLD: u32 = 123_456_789;
    [OPENING, ANSWER, OLD.to_le_bytes(), OLD.to_be_bytes()].iter().any(|word| word == datagram)
}

/// Returns true if `datagram` answers an opening: the current word, or the word before 3.8, 987654321.
pub fn answers(datagram: &[u8]) -> bool {
    const OLD: u32 = 987_654_321;
    [ANSWER, OPENING, OLD.to_le_bytes(), OLD.to_be_bytes()].iter().any(|word| word == datagram)
}

/// The header with which a datagram begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// The time at which the datagram was sent, by the sender's monotonic clock.
    pub sent: Duration,
    /// The datagram's number, from 1.
    pub number: u64,
}

impl Header {
    /// Reads the header of `datagram`; none if the datagram is too short. Numbers have 64 bits if `wide` is set,
    /// else 32.
    pub fn read(datagram: &[u8], wide: bool) -> Option<Self> {
        let word = |at: usize| Some(u32::from_be_bytes(datagram.get(at..at + 4)?.try_into().ok()?));
        let number = if wide {
            u64::from_be_bytes(datagram.get(8..16)?.try_into().ok()?)
        } else {
            u64::from(word(8)?)
        };
        let sent = Duration::from_secs(word(0)?.into()) + Duration::from_micros(word(4)?.into());
        Some(Self { sent, number })
    }

    /// Writes the header into `datagram`, which has [`HEADER_BYTES`] or more.
    pub fn write(self, datagram: &mut [u8], wide: bool) {
        // The seconds are those of a clock that starts with the machine.
        datagram[..4].copy_from_slice(&(self.sent.as_secs() as u32).to_be_bytes());
        datagram[4..8].copy_from_slice(&self.sent.subsec_micros().to_be_bytes());
        if wide {
            datagram[8..16].copy_from_slice(&self.number.to_be_bytes());
        } else {
            datagram[8..12].copy_from_slice(&(self.number as u32).to_be_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_written_is_read(micros in 0u64..4_000_000_000_000_000, number in 0u64..1 << 32, wide: bool) {
            let header = Header { sent: Duration::from_micros(micros), number };
            let mut datagram = [0; HEADER_BYTES];
            header.write(&mut datagram, wide);
            prop_assert_eq!(Header::read(&datagram, wide), Some(header));
        }

        #[test]
        fn any_bytes_have_a_header_or_none(bytes in prop::collection::vec(any::<u8>(), 0..40), wide: bool) {
            let least = if wide { 16 } else { 12 };
            prop_assert_eq!(Header::read(&bytes, wide).is_some(), bytes.len() >= least);
        }
    }

    #[test]
    fn the_header_lies_on_the_wire_as_iperf3_has_it() {
        let mut datagram = [0; HEADER_BYTES];
        Header { sent: Duration::new(1, 2_000), number: 3 }.write(&mut datagram, true);
        assert_eq!(datagram, [0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3]);
    }

    #[test]
    fn words_of_all_versions_open_and_answer() {
        assert!(opens(b"9876") && opens(&123_456_789u32.to_le_bytes()) && !opens(b"98765") && !opens(b""));
        assert!(answers(b"6789") && answers(&0xb168_de3au32.to_be_bytes()) && !answers(b"1234"));
    }
}
