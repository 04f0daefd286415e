//! Datagrams over UDP, split into the fragments that their path requires.
//!
//! The packets of a datagram carry additional information in fields that only TCP uses: its identification
//! (`ack`), the number of fragments (`window_bytes`), the number of this fragment (`data_sequence`) and the bytes
//! of the whole payload (`data_ack`). A fragment that arrives twice changes nothing.

use crate::{Codepoint, Endpoint, Flags, Io, Packet, PathId, SackBlocks, Time};
use nettrial_flows::wire::datagram_packets;
use nettrial_scenario::IpVersion;
use std::collections::BTreeMap;

/// The time for which fragments wait for the others (net.ipv4.ipfrag_time; RFC 8200 section 4.5 requires 60 s).
const ASSEMBLY_TIME: Time = Time::from_ms(30_000);

/// A datagram of an application.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Datagram {
    /// Its number, which the application chose.
    pub number: u64,
    /// The bytes of its payload.
    pub payload_bytes: u64,
    /// The time at which it was sent; an answer repeats the time of its request.
    pub sent: Time,
    /// In an answer, the time at which the request was read.
    pub read: Time,
}

/// Sends a datagram to the endpoint `to`. Returns the time at which its last bit leaves the host, or `None` if the
/// host's interface dropped a part of it.
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
        let sent = io.send(&Packet {
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

/// The reassembly of the datagrams that arrive at one side.
#[derive(Debug, Default)]
pub struct Assembly {
    /// The fragments that arrived so far, by identification.
    partial: BTreeMap<u64, Partial>,
}

/// A datagram of which some fragments have arrived.
#[derive(Debug)]
struct Partial {
    begun: Time,
    here: Vec<bool>,
}

impl Assembly {
    /// Handles a packet that arrived. Returns the datagram that is now complete, if any.
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

    /// Adds a fragment, and returns whether its datagram is now complete. Datagrams that waited too long are
    /// removed.
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
