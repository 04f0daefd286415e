//! TCP options as written by Linux (net/ipv4/tcp_output.c, net/mptcp/options.c), in the space that the simulator
//! accounts for.
//! They differ from Linux as follows: MP_CAPABLE has a key only in the answer to the SYN, and the third packet of
//! the handshake has none; the last packet of MP_JOIN has no HMAC; the answer to an additional subflow's SYN is 4
//! bytes longer than in the simulator, whose handshakes have 12 bytes of MPTCP options in every SYN.

use super::side::Side;
use crate::{Endpoint, Flags, Packet, Time};
use hmac::{Hmac, KeyInit, Mac};
use nettrial_scenario::Transport;
use sha2::{Digest, Sha256};

/// The kinds of options (RFC 9293, 7323, 2018, 8684).
const NOP: u8 = 1;
const MSS: u8 = 2;
const WINDOW_SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;
const MPTCP: u8 = 30;
/// The subtypes of MPTCP's option, in the upper half of its third byte.
const MP_CAPABLE: u8 = 0 << 4;
const MP_JOIN: u8 = 1 << 4;
const DSS: u8 = 2 << 4;
/// MPTCP's version 1, and flag H for HMAC-SHA256.
const VERSION: u8 = 1;
const HMAC_SHA256: u8 = 1;

/// Returns a pseudorandom number derived from its purpose, a connection, a subflow and a side.
fn number(purpose: u8, connection: u32, subflow: u8, side: usize) -> [u8; 8] {
    let [a, b, c, d] = connection.to_be_bytes();
    let hash = Sha256::digest([purpose, a, b, c, d, subflow, side as u8]);
    hash[..8].try_into().expect("eight bytes of 32")
}

/// Returns the initial sequence number of a side of a subflow.
pub fn initial_sequence(to: Endpoint, side: usize) -> u32 {
    let [a, b, c, d, ..] = number(b's', to.connection, to.subflow, side);
    u32::from_be_bytes([a, b, c, d])
}

/// Returns a side's MPTCP key, derived from the connection's number.
fn key(connection: u32, side: usize) -> [u8; 8] {
    number(b'k', connection, 0, side)
}

/// Returns the hash of a side's key, whose first 4 bytes are the token and whose last 8 are the initial data
/// sequence number (RFC 8684 section 3.2).
fn hash(connection: u32, side: usize) -> [u8; 32] {
    Sha256::digest(key(connection, side)).into()
}

fn data_sequence(connection: u32, side: usize, offset: u64) -> [u8; 8] {
    let hash = hash(connection, side);
    let initial = u64::from_be_bytes(hash[24..].try_into().expect("eight bytes of 32"));
    initial.wrapping_add(1).wrapping_add(offset).to_be_bytes()
}

/// Returns the options of a packet from `source`, padded to `room` bytes; `peers` is the other side's initial
/// sequence number.
pub fn of(packet: &Packet, source: &Side, peers: u32, at: Time, room: usize) -> Vec<u8> {
    let mut options = Vec::with_capacity(40);
    let is_syn = packet.flags.has(Flags::SYN);
    let own_side = 1 - usize::from(packet.to.side);
    if is_syn {
        options.extend([MSS, 4]);
        options.extend(source.mss_bytes.to_be_bytes());
        match (source.has_sack, source.has_timestamps) {
            (true, true) => options.extend([SACK_PERMITTED, 2]),
            (true, false) => options.extend([NOP, NOP, SACK_PERMITTED, 2]),
            (false, true) => options.extend([NOP, NOP]),
            (false, false) => {}
        }
    } else if source.has_timestamps {
        options.extend([NOP, NOP]);
    }
    if source.has_timestamps {
        let echo = if packet.echo == Time::NEVER { 0 } else { milliseconds(packet.echo) };
        options.extend([TIMESTAMPS, 10]);
        options.extend(milliseconds(packet.timestamp.min(at)).to_be_bytes());
        options.extend(echo.to_be_bytes());
    }
    if let Some(shift) = source.window_shift.filter(|_| is_syn) {
        options.extend([NOP, WINDOW_SCALE, 3, shift]);
    }
    let blocks = packet.sack.as_slice();
    if !blocks.is_empty() {
        options.extend([NOP, NOP, SACK, 2 + 8 * blocks.len() as u8]);
        for edge in blocks.iter().flat_map(|&(first, end)| [first, end]) {
            options.extend(peers.wrapping_add(edge as u32).to_be_bytes());
        }
    }
    if source.transport == Transport::Mptcp {
        mptcp(&mut options, packet, own_side);
    }
    let room = room.next_multiple_of(4).min(40);
    options.resize(options.len().next_multiple_of(4).max(room).min(40), NOP);
    options
}

fn mptcp(options: &mut Vec<u8>, packet: &Packet, own: usize) {
    let connection = packet.to.connection;
    if !packet.flags.has(Flags::SYN) {
        signal(options, packet, own);
        return;
    }
    let is_answer = packet.flags.has(Flags::ACK);
    match (packet.to.subflow, is_answer) {
        (0, false) => options.extend([MPTCP, 4, MP_CAPABLE | VERSION, HMAC_SHA256]),
        (0, true) => {
            options.extend([MPTCP, 12, MP_CAPABLE | VERSION, HMAC_SHA256]);
            options.extend(key(connection, own));
        }
        (subflow, false) => {
            options.extend([MPTCP, 12, MP_JOIN, subflow]);
            options.extend(&hash(connection, 1 - own)[..4]);
            options.extend(nonce(packet, own));
        }
        (subflow, true) => {
            // The first 8 bytes of HMAC(key B, key A; nonce B, nonce A) (RFC 8684 section 3.2).
            let both = [key(connection, own), key(connection, 1 - own)].concat();
            let mut code = Hmac::<Sha256>::new_from_slice(&both).expect("any length of key is taken");
            code.update(&nonce(packet, own));
            code.update(&nonce(packet, 1 - own));
            options.extend([MPTCP, 16, MP_JOIN, subflow]);
            options.extend(&code.finalize().into_bytes()[..8]);
            options.extend(nonce(packet, own));
        }
    }
}

/// Writes the data sequence signal: a mapping with a segment, otherwise a DATA_ACK (RFC 8684 section 3.3).
fn signal(options: &mut Vec<u8>, packet: &Packet, own: usize) {
    const ACK_OF_8: u8 = 0b0000_0011;
    const MAPPING_OF_8: u8 = 0b0000_1100;
    let connection = packet.to.connection;
    if packet.payload_bytes > 0 {
        options.extend([MPTCP, 18, DSS, MAPPING_OF_8]);
        options.extend(data_sequence(connection, own, packet.data_sequence));
        options.extend((packet.sequence as u32).to_be_bytes());
        options.extend((packet.payload_bytes as u16).to_be_bytes());
    } else if packet.data_ack != u64::MAX {
        options.extend([MPTCP, 12, DSS, ACK_OF_8]);
        options.extend(data_sequence(connection, 1 - own, packet.data_ack));
    }
}

fn nonce(packet: &Packet, side: usize) -> [u8; 4] {
    (!initial_sequence(packet.to, side)).to_be_bytes()
}

fn milliseconds(time: Time) -> u32 {
    (time.as_ns() / 1_000_000) as u32
}
