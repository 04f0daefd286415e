//! The packets that links carry.

use crate::ahead::read_ahead;
use crate::{Endpoint, PathId, Time};

/// A packet, small enough to copy. Sequence numbers count bytes from 0 in 64 bits and never wrap; SYN and FIN
/// occupy one each, as in RFC 9293.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Packet {
    /// Its path through the network.
    pub path: PathId,
    /// TCP: payload of each segment in it but the last, where its receiver's interface has coalesced some; else 0.
    pub segment_bytes: u16,
    /// The codepoint: not capable of a mark, capable, or marked.
    pub ecn: Codepoint,
    /// TCP's flags.
    pub flags: Flags,
    /// Bytes of the IP packet, headers counted. Ethernet's framing is the link's to add.
    pub ip_bytes: u32,
    /// Bytes of payload.
    pub payload_bytes: u32,
    /// The endpoint that receives it at the path's end.
    pub to: Endpoint,
    /// TCP: the first byte's sequence number. UDP: the datagram's number.
    pub sequence: u64,
    /// TCP: the next byte expected.
    pub ack: u64,
    /// TCP: the receive window in bytes, as its scaling can express it.
    pub window_bytes: u64,
    /// TCP: when it was sent (RFC 7323 timestamps).
    pub timestamp: Time,
    /// TCP: the timestamp it echoes; [`Time::NEVER`] if none. UDP: when it was sent.
    pub echo: Time,
    /// TCP: data received out of order.
    pub sack: SackBlocks,
    /// MPTCP: the data sequence number of its first byte.
    pub data_sequence: u64,
    /// MPTCP: the next data byte expected (DATA_ACK); `u64::MAX` if it says none.
    pub data_ack: u64,
}

read_ahead!(Packet: sequence, data_ack);

impl Packet {
    /// Bytes of payload of a segment in it, the first if they differ.
    pub fn segment(&self) -> u32 {
        if self.segment_bytes == 0 { self.payload_bytes } else { self.segment_bytes.into() }
    }
}

/// ECN's two bits in the IP header (RFC 3168 section 5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Codepoint {
    /// Can't be marked.
    #[default]
    NotCapable,
    /// May be marked (ECT(0)).
    Capable,
    /// Is marked (CE).
    Experienced,
}

/// TCP's flags that matter here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags(u8);

impl Flags {
    /// None, as in a UDP datagram.
    pub const NONE: Self = Self(0);
    /// SYN.
    pub const SYN: Self = Self(1);
    /// ACK.
    pub const ACK: Self = Self(2);
    /// FIN.
    pub const FIN: Self = Self(4);
    /// ECE (RFC 3168).
    pub const ECE: Self = Self(8);
    /// CWR (RFC 3168).
    pub const CWR: Self = Self(16);

    /// Returns whether all of `others` are set.
    pub const fn has(self, others: Self) -> bool {
        self.0 & others.0 == others.0
    }

    /// These and `others`.
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

    /// Adds a block; whether there was room.
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
