//! Generic receive offload: a receiver's interface coalesces segments before TCP sees them (net/core/gro.c,
//! net/ipv4/tcp_offload.c).
//! The packets found by an interrupt are handed over in polls of 64. Within a poll, consecutive segments of a flow
//! that do not differ otherwise are coalesced: the resulting segment counts as one packet for the CPU and for TCP,
//! which acknowledges it once. Without a `cost`, a host has an interrupt for every packet and coalesces only
//! packets that arrive at the same instant, which does not happen on links with a rate: `coalescing` makes packets
//! arrive together.
//! The model differs from Linux as follows: nothing is kept from one poll to the next; a coalesced packet is handed
//! over at the position of its first segment instead of at the end of the poll. Timestamps are compared in milliseconds, the kernel's default tick.

use crate::packets::arena::Arena;
use crate::{Flags, Packet};
use std::collections::VecDeque;

/// The largest number of packets of a poll (NAPI_POLL_WEIGHT).
pub const POLL_PKTS: usize = 64;
/// The exclusive upper limit of a coalesced packet's size, including the IP header (GRO_LEGACY_MAX_SIZE).
const LARGEST_BYTES: u32 = 65_536;

/// Coalesces packet `first` with all suitable packets among the first `count` of `waiting`, removes those, and
/// returns their number.
pub fn coalesce_waiting(first: u32, waiting: &mut VecDeque<u32>, count: usize, arena: &mut Arena) -> usize {
    let mut packet = arena.packet(first);
    let (mut index, mut coalesced) = (0, 0);
    while index + coalesced < count
        && let Some(&number) = waiting.get(index)
    {
        let next = arena.packet(number);
        if next.to != packet.to {
            index += 1;
        } else if join(&mut packet, &next) {
            waiting.remove(index);
            arena.discard(number);
            coalesced += 1;
        } else {
            break;
        }
    }
    if coalesced > 0 {
        arena.replace(first, &packet);
    }
    coalesced
}

/// Appends `next` to `first` if that is possible, and returns whether it was.
fn join(first: &mut Packet, next: &Packet) -> bool {
    if !follows(first, next) || !is_like(first, next) {
        return false;
    }
    first.segment_bytes = u16::try_from(first.segment()).unwrap_or(u16::MAX);
    first.payload_bytes += next.payload_bytes;
    first.ip_bytes += next.ip_bytes;
    first.flags = first.flags.with(next.flags);
    true
}

/// Returns whether the data of `next` directly follows that of `first`, with full segments except for the last.
fn follows(first: &Packet, next: &Packet) -> bool {
    let length = u64::from(first.payload_bytes);
    let segment = first.segment();
    let is_full = segment > 0 && first.payload_bytes.is_multiple_of(segment);
    let headers = next.ip_bytes - next.payload_bytes;
    next.sequence == first.sequence + length
        && next.data_sequence == first.data_sequence + length
        && is_full
        && (1..=segment).contains(&next.payload_bytes)
        && headers + first.payload_bytes + next.payload_bytes < LARGEST_BYTES
}

/// Returns whether the headers are equal except for sequence numbers. The first may have CWR, and the last
/// PSH and FIN.
fn is_like(first: &Packet, next: &Packet) -> bool {
    let other_flags = |packet: &Packet| packet.flags.with(Flags::CWR).with(Flags::PSH).with(Flags::FIN);
    let is_plain = |packet: &Packet| packet.flags.has(Flags::ACK) && !packet.flags.has(Flags::SYN);
    is_plain(first)
        && is_plain(next)
        && !first.flags.has(Flags::FIN)
        && !first.flags.has(Flags::PSH)
        && !next.flags.has(Flags::CWR)
        && other_flags(first) == other_flags(next)
        && (first.ecn, first.ack, first.window_bytes) == (next.ecn, next.ack, next.window_bytes)
        && (first.sack, first.data_ack) == (next.sack, next.data_ack)
        && first.timestamp.as_timestamp() == next.timestamp.as_timestamp()
        && first.echo.as_timestamp() == next.echo.as_timestamp()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Codepoint, Endpoint, PathId, SackBlocks, Time};

    fn segment(connection: u32, sequence: u64, payload_bytes: u32) -> Packet {
        Packet {
            path: PathId(connection),
            segment_bytes: 0,
            ecn: Codepoint::Capable,
            flags: Flags::ACK,
            ip_bytes: payload_bytes + 52,
            payload_bytes,
            to: Endpoint { connection, side: 1, subflow: 0 },
            sequence,
            ack: 1,
            window_bytes: 65_535,
            timestamp: Time::from_us(1100),
            echo: Time::from_us(300),
            sack: SackBlocks::default(),
            data_sequence: sequence - 1,
            data_ack: u64::MAX,
        }
    }

    /// Returns the packets that result from these, each as its first sequence number and payload.
    fn coalesced(packets: &[Packet]) -> Vec<(u64, u32)> {
        let mut arena = Arena::default();
        let mut waiting: VecDeque<u32> = packets.iter().map(|packet| arena.insert(packet, 0)).collect();
        let mut made = Vec::new();
        while let Some(number) = waiting.pop_front() {
            let count = waiting.len();
            let coalesced = coalesce_waiting(number, &mut waiting, count, &mut arena);
            assert_eq!(waiting.len() + coalesced, count);
            let packet = arena.remove(number);
            made.push((packet.sequence, packet.payload_bytes));
        }
        assert_eq!(arena.len(), 0);
        made
    }

    #[test]
    fn what_follows_is_joined_up_to_a_short_segment_and_64_kilobytes() {
        let row = |lengths: &[u32]| -> Vec<Packet> {
            let starts = lengths.iter().scan(1, |next, &length| {
                *next += u64::from(length);
                Some(*next - u64::from(length))
            });
            starts.zip(lengths).map(|(start, &length)| segment(0, start, length)).collect()
        };
        assert_eq!(coalesced(&row(&[1000; 4])), [(1, 4000)]);
        assert_eq!(coalesced(&row(&[1000, 1000, 300, 1000, 1000])), [(1, 2300), (2301, 2000)]);
        assert_eq!(
            coalesced(&row(&[300, 1000, 1000])),
            [(1, 300), (301, 2000)],
            "no longer one is coalesced"
        );
        // 52 + 45 * 1448 is 65 212; one more would be over 65 535.
        assert_eq!(coalesced(&row(&[1448; 50])), [(1, 45 * 1448), (1 + 45 * 1448, 5 * 1448)]);
    }

    #[test]
    fn flows_are_joined_beside_each_other() {
        let packets = [(0, 1), (1, 1), (0, 1001), (1, 1001), (1, 2001)];
        assert_eq!(coalesced(&packets.map(|(flow, at)| segment(flow, at, 1000))), [(1, 2000), (1, 3000)]);
    }

    /// Applies changes to the second of three segments, and checks the resulting packets.
    #[test]
    fn what_differs_is_not_joined() {
        let after = |change: fn(&mut Packet)| {
            let mut packets = [1, 1001, 2001].map(|at| segment(0, at, 1000));
            change(&mut packets[1]);
            coalesced(&packets)
        };
        let all = [(1, 3000)];
        let none = [(1, 1000), (1001, 1000), (2001, 1000)];
        assert_eq!(after(|_| {}), all);
        assert_eq!(after(|second| second.ecn = Codepoint::Experienced), none);
        assert_eq!(after(|second| second.ack = 2), none);
        assert_eq!(after(|second| second.window_bytes = 9), none);
        assert_eq!(after(|second| second.flags = Flags::ACK.with(Flags::ECE)), none);
        assert_eq!(after(|second| second.sequence = 5001), [(1, 1000), (5001, 1000), (2001, 1000)]);
        assert_eq!(after(|second| second.data_sequence = 7), none);
        assert_eq!(after(|second| second.timestamp = Time::from_us(2000)), none);
        assert_eq!(after(|second| second.timestamp = Time::from_us(1999)), all, "within a tick");
        assert!(
            after(|second| second.sack =
                [(9, 10)].into_iter().fold(SackBlocks::default(), |mut sack, block| {
                    sack.push(block.0, block.1);
                    sack
                }))
                == none
        );
        // The first may signal a reduced window (CWR), and the last may end the data (FIN).
        assert_eq!(after(|second| second.flags = Flags::ACK.with(Flags::CWR)), [(1, 1000), (1001, 2000)]);
        assert_eq!(after(|second| second.flags = Flags::ACK.with(Flags::FIN)), [(1, 2000), (2001, 1000)]);
    }

    #[test]
    fn acknowledgments_and_datagrams_are_not_joined() {
        let acks = [1, 1, 1].map(|at| segment(0, at, 0));
        assert_eq!(coalesced(&acks).len(), 3);
        let datagrams = [1, 1001].map(|at| Packet { flags: Flags::NONE, ..segment(0, at, 1000) });
        assert_eq!(coalesced(&datagrams).len(), 2);
    }
}
