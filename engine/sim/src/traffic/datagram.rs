//! Datagrams over UDP, in the fragments that a path asks for.
//!
//! A datagram's packets carry, in fields that only TCP has a use for: its identification (`ack`), how many
//! fragments there are (`window_bytes`), which of them this is (`data_sequence`) and the whole payload's bytes
//! (`data_ack`). A fragment of bytes that a duplicate brings again changes nothing.

use crate::{Codepoint, Endpoint, Flags, Io, Packet, PathId, SackBlocks, Time};
use nettrial_flows::wire::datagram_packets;
use nettrial_scenario::IpVersion;
use std::collections::BTreeMap;

/// The time that fragments wait for the others (net.ipv4.ipfrag_time; RFC 8200 section 4.5 asks for 60 s).
const ASSEMBLY_TIME: Time = Time::from_ms(30_000);

/// A datagram of an application.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Datagram {
    /// Its number, by the application.
    pub number: u64,
    /// Bytes of its payload.
    pub payload_bytes: u64,
    /// The time when it was sent; an answer repeats that of the request.
    pub sent: Time,
    /// The time when the request was read, on an answer.
    pub read: Time,
}

/// Sends a datagram to endpoint `to`. Gives when its last bit has left the host, or `None` where the host's
/// interface dropped some of it.
pub fn send(
    io: &mut dyn Io,
    datagram: &Datagram,
    identification: u64,
    path: PathId,
    mtu: u64,
    ip: IpVersion,
    to: Endpoint,
) -> Option<Time> {
    let pieces: Vec<u64> = datagram_packets(datagram.payload_bytes, mtu, ip).collect();
    let mut leaves = Some(io.now());
    for (&ip_bytes, index) in pieces.iter().zip(0..) {
        let sent = io.send(Packet {
            path,
            segment_bytes: 0,
            ecn: Codepoint::NotCapable,
            flags: Flags::NONE,
            ip_bytes: ip_bytes as u32,
            payload_bytes: (ip_bytes - ip.header_bytes()) as u32,
            to,
            sequence: datagram.number,
            ack: identification,
            window_bytes: pieces.len() as u64,
            timestamp: datagram.read,
            echo: datagram.sent,
            sack: SackBlocks::default(),
            data_sequence: index,
            data_ack: datagram.payload_bytes,
        });
        leaves = leaves.and(sent);
    }
    leaves
}

/// Puts one side's datagrams together.
#[derive(Debug, Default)]
pub struct Assembly {
    /// The fragments that are there, by identification.
    partial: BTreeMap<u64, Partial>,
}

#[derive(Debug)]
struct Partial {
    begun: Time,
    here: Vec<bool>,
}

impl Assembly {
    /// A packet arrived; gives the datagram that is now complete, if one is.
    pub fn arrived(&mut self, packet: &Packet, now: Time) -> Option<Datagram> {
        if packet.window_bytes > 1 && !self.completes(packet, now) {
            return None;
        }
        Some(Datagram {
            number: packet.sequence,
            payload_bytes: packet.data_ack,
            sent: packet.echo,
            read: packet.timestamp,
        })
    }

    fn completes(&mut self, packet: &Packet, now: Time) -> bool {
        while let Some(oldest) = self.partial.first_entry()
            && now.since(oldest.get().begun) >= ASSEMBLY_TIME
        {
            oldest.remove();
        }
        let partial = self
            .partial
            .entry(packet.ack)
            .or_insert_with(|| Partial { begun: now, here: vec![false; packet.window_bytes as usize] });
        partial.here[packet.data_sequence as usize] = true;
        let is_whole = partial.here.iter().all(|&here| here);
        if is_whole {
            self.partial.remove(&packet.ack);
        }
        is_whole
    }
}
