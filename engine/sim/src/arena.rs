//! Packets in flight, by number.

use crate::ahead::{ReadAhead, read_ahead};
use crate::{Codepoint, Endpoint, Flags, Packet, PathId};

/// The part of a packet that a hop needs, separate from the rest so that it stays in the CPU's cache.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Travel {
    /// The position in the list of its path's links at which it continues.
    pub next: u32,
    /// The size of the IP packet in bytes.
    pub ip_bytes: u32,
    /// The ECN codepoint: not ECN-capable, ECN-capable, or marked.
    pub ecn: Codepoint,
}

read_ahead!(Travel: next);

/// All packets in flight. The number of a packet is reused after it has been removed.
#[derive(Debug, Default)]
pub struct Arena {
    travels: Vec<Travel>,
    packets: Vec<Packet>,
    free: Vec<u32>,
}

impl Arena {
    /// Inserts a packet whose path's links begin at `next` in the list, and returns its number.
    pub fn insert(&mut self, packet: Packet, next: u32) -> u32 {
        let travel = Travel { next, ip_bytes: packet.ip_bytes, ecn: packet.ecn };
        if let Some(number) = self.free.pop() {
            self.travels[number as usize] = travel;
            self.packets[number as usize] = packet;
            return number;
        }
        self.travels.push(travel);
        self.packets.push(packet);
        self.packets.len() as u32 - 1
    }

    /// Returns the progress of packet `number`.
    pub fn travel(&mut self, number: u32) -> &mut Travel {
        &mut self.travels[number as usize]
    }

    /// Prefetches the part of packet `number` that a hop needs.
    pub fn read_ahead(&self, number: u32) {
        self.travels[number as usize].read_ahead();
    }

    /// Prefetches the whole packet `number`.
    pub fn read_packet_ahead(&self, number: u32) {
        self.packets[number as usize].read_ahead();
    }

    /// Returns the destination endpoint of packet `number`.
    pub fn to(&self, number: u32) -> Endpoint {
        self.packets[number as usize].to
    }

    /// Returns the endpoint that accounts for packet `number` until it has left the host: the sender of a segment
    /// with data or FIN, or of a datagram's last fragment.
    pub fn accountant(&self, number: u32) -> Option<Endpoint> {
        let packet = &self.packets[number as usize];
        let counts = if packet.flags == Flags::NONE {
            packet.data_sequence + 1 >= packet.window_bytes
        } else {
            packet.payload_bytes > 0 || packet.flags.has(Flags::FIN)
        };
        counts.then(|| Endpoint { side: 1 - packet.to.side, ..packet.to })
    }

    /// Returns the path of packet `number`.
    pub fn path(&self, number: u32) -> PathId {
        self.packets[number as usize].path
    }

    /// Returns a number shared by all packets of the same connection and direction as packet `number` on the same
    /// path.
    pub fn flow(&self, number: u32) -> u32 {
        let Packet { path: PathId(path), to, .. } = self.packets[number as usize];
        // Knuth's multiplicative hash separates paths and connections.
        path.wrapping_mul(0x9E37_79B1) ^ (to.connection << 1 | u32::from(to.side))
    }

    /// Inserts a copy of packet `number` at the same place, and returns its number.
    pub fn copy(&mut self, number: u32) -> u32 {
        let travel = self.travels[number as usize];
        let copy = self.insert(self.packets[number as usize], travel.next);
        self.travels[copy as usize] = travel;
        copy
    }

    /// Returns packet `number` in its present state, including marks set on its path.
    pub fn packet(&self, number: u32) -> Packet {
        Packet { ecn: self.travels[number as usize].ecn, ..self.packets[number as usize] }
    }

    /// Replaces packet `number` by another one.
    pub fn replace(&mut self, number: u32, packet: Packet) {
        self.travels[number as usize].ip_bytes = packet.ip_bytes;
        self.packets[number as usize] = packet;
    }

    /// Removes and returns packet `number` in its present state, including marks set on its path.
    pub fn remove(&mut self, number: u32) -> Packet {
        self.free.push(number);
        self.packet(number)
    }

    /// Drops packet `number`.
    pub fn discard(&mut self, number: u32) {
        self.free.push(number);
    }

    /// Returns the number of packets in flight.
    pub fn len(&self) -> usize {
        self.packets.len() - self.free.len()
    }
}
