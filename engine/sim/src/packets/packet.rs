//! The packets that links carry.

use crate::Time;

/// A path from one host's address to another's, as a number in the network's list of paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PathId(pub u32);

/// One side of a connection or of a datagram flow, with one of its subflows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Endpoint {
    /// The number of the connection or datagram flow in the world.
    pub connection: u32,
    /// 0 for the side that opened it, 1 for the other.
    pub side: u8,
    /// The subflow's number, from 0; 0 if there are no subflows.
    pub subflow: u8,
}

/// A packet, small enough to copy. Sequence numbers count bytes from 0 in 64 bits and never wrap; SYN and FIN
/// occupy one each, as in RFC 9293.
#[derive(Debug, Clone, Copy)]
pub struct Packet {
    /// The path through the network.
    pub path: PathId,
    /// TCP: the payload of each segment in it except the last, if the receiver's interface has coalesced segments,
    /// otherwise 0.
    pub segment_bytes: u16,
    /// The ECN codepoint: not ECN-capable, ECN-capable, or marked.
    pub ecn: Codepoint,
    /// TCP: the flags.
    pub flags: Flags,
    /// The size of the IP packet in bytes, including headers. Links add Ethernet's framing.
    pub ip_bytes: u32,
    /// The payload in bytes.
    pub payload_bytes: u32,
    /// The endpoint that receives it at the path's end.
    pub to: Endpoint,
    /// TCP: the sequence number of the first byte. UDP: the datagram's number.
    pub sequence: u64,
    /// TCP: the next byte expected.
    pub ack: u64,
    /// TCP: the receive window in bytes, rounded to its scale.
    pub window_bytes: u64,
    /// TCP: the time at which it was sent (RFC 7323 timestamps).
    pub timestamp: Time,
    /// TCP: the echoed timestamp, or [`Time::NEVER`] if there is none. UDP: the time at which it was sent.
    pub echo: Time,
    /// TCP: data received out of order.
    pub sack: SackBlocks,
    /// MPTCP: the data sequence number of the first byte.
    pub data_sequence: u64,
    /// MPTCP: the next data byte expected (DATA_ACK), or `u64::MAX` if there is none.
    pub data_ack: u64,
}

impl Packet {
    /// Returns the payload in bytes of a segment in it, the first one if they differ.
    pub fn segment(&self) -> u32 {
        if self.segment_bytes == 0 { self.payload_bytes } else { self.segment_bytes.into() }
    }
}

/// The ECN field of the IP header (RFC 3168 section 5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Codepoint {
    /// The packet is not ECN-capable (Not-ECT).
    #[default]
    NotCapable,
    /// The packet is ECN-capable (ECT(0)).
    Capable,
    /// The packet is marked (CE).
    Experienced,
}

/// The TCP flags that matter here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags(u8);

impl Flags {
    /// No flags, as in a UDP datagram.
    pub const NONE: Self = Self(0);
    /// The flag SYN.
    pub const SYN: Self = Self(1);
    /// The flag ACK.
    pub const ACK: Self = Self(2);
    /// The flag FIN.
    pub const FIN: Self = Self(4);
    /// The flag ECE (RFC 3168).
    pub const ECE: Self = Self(8);
    /// The flag CWR (RFC 3168).
    pub const CWR: Self = Self(16);
    /// The flag PSH.
    pub const PSH: Self = Self(32);

    /// Returns whether all of `others` are set.
    pub const fn has(self, others: Self) -> bool {
        self.0 & others.0 == others.0
    }

    /// Returns the union of these flags and `others`.
    #[must_use]
    pub const fn with(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }
}

/// Up to four blocks of data received out of order, the newest first (RFC 2018); a first block at or below the
/// acknowledgment, or within the second, reports a duplicate (RFC 2883). Each is a first byte and the one after
/// the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SackBlocks {
    blocks: [(u64, u64); 4],
    count: u8,
}

impl SackBlocks {
    /// The blocks.
    pub fn as_slice(&self) -> &[(u64, u64)] {
        &self.blocks[..usize::from(self.count)]
    }

    /// The blocks, to be put in another order.
    pub fn as_mut_slice(&mut self) -> &mut [(u64, u64)] {
        &mut self.blocks[..usize::from(self.count)]
    }

    /// Adds a block; returns whether there was room.
    pub fn push(&mut self, first: u64, end: u64) -> bool {
        let free = self.blocks.get_mut(usize::from(self.count));
        let has_room = free.is_some();
        if let Some(block) = free {
            *block = (first, end);
            self.count += 1;
        }
        has_room
    }
}
