//! The header of a request, a response or a packet: three big-endian 64-bit numbers.

use nettrial_scenario::MESSAGE_HEADER_BYTES;

/// Bytes of a header.
pub const HEADER_BYTES: usize = MESSAGE_HEADER_BYTES as usize;

/// The first bytes of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Header {
    /// The request's number; a response repeats it.
    pub number: u64,
    /// The time at which the request was sent, nanoseconds by the requester's clock; a response repeats it.
    pub sent_ns: u64,
    /// In a response, the time at which the request was read, nanoseconds by the responder's clock. In a request
    /// of a sweep, the request's size, bytes.
    pub third: u64,
}

impl Header {
    /// Writes the header at the beginning of `message`, which has at least [`HEADER_BYTES`].
    pub fn put(self, message: &mut [u8]) {
        message[..8].copy_from_slice(&self.number.to_be_bytes());
        message[8..16].copy_from_slice(&self.sent_ns.to_be_bytes());
        message[16..HEADER_BYTES].copy_from_slice(&self.third.to_be_bytes());
    }

    /// Reads the header at the beginning of `message`; `None` if the message is too short.
    pub fn get(message: &[u8]) -> Option<Self> {
        let (fields, _) = message.get(..HEADER_BYTES)?.as_chunks::<8>();
        let [number, sent_ns, third] = [0, 1, 2].map(|field: usize| u64::from_be_bytes(fields[field]));
        Some(Self { number, sent_ns, third })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_put_is_got(number: u64, sent_ns: u64, third: u64, length in HEADER_BYTES..100) {
            let header = Header { number, sent_ns, third };
            let mut message = vec![0xa5; length];
            header.put(&mut message);
            prop_assert_eq!(Header::get(&message), Some(header));
            prop_assert!(message[HEADER_BYTES..].iter().all(|&byte| byte == 0xa5));
            prop_assert_eq!(Header::get(&message[..HEADER_BYTES - 1]), None);
        }
    }
}
