//! The control message UDP_COALESCED_INFO of Windows, which accompanies a message of coalesced datagrams. Its
//! 32-bit number is the length of each datagram. Its header (WSACMSGHDR of ws2def.h, on 64-bit systems) has the
//! control message's length in 64 bits, and its level and type in 32 bits each.

/// The number of 64-bit words of a control message with a number, and one more.
pub const CONTROL_WORDS: usize = 4;
/// The size of a control message's header and the number behind it, in bytes.
const NEEDED_BYTES: usize = 20;
const IPPROTO_UDP: u64 = 17;
const UDP_COALESCED_INFO: u64 = 3;

/// Reads the length of each datagram from the first `length` bytes of `control`, if they contain it.
pub fn segment(control: &[u64; CONTROL_WORDS], length: usize) -> Option<usize> {
    let is_it = length >= NEEDED_BYTES
        && control[0] >= NEEDED_BYTES as u64
        && control[1] == (UDP_COALESCED_INFO << 32 | IPPROTO_UDP);
    let bytes = u32::try_from(control[2] & u64::from(u32::MAX)).ok()?;
    usize::try_from(bytes).ok().filter(|&bytes| is_it && bytes > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_of_each_datagram_is_read() {
        let mut bytes = [0u8; 32];
        bytes[..8].copy_from_slice(&20u64.to_le_bytes());
        bytes[8..12].copy_from_slice(&17i32.to_le_bytes());
        bytes[12..16].copy_from_slice(&3i32.to_le_bytes());
        bytes[16..20].copy_from_slice(&1452u32.to_le_bytes());
        bytes[20..24].copy_from_slice(&[7; 4]);
        let words = |bytes: [u8; 32]| {
            let words = bytes.as_chunks::<8>().0;
            [0, 1, 2, 3].map(|at| u64::from_le_bytes(words[at]))
        };
        assert_eq!(segment(&words(bytes), 24), Some(1452));
        assert_eq!(segment(&words(bytes), 0), None, "a single datagram has no control message");
        bytes[12] = 4;
        assert_eq!(segment(&words(bytes), 24), None);
    }
}
