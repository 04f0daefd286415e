//! Packets in flight, by number.

use crate::ahead::{ReadAhead, read_ahead};
use crate::{Codepoint, Endpoint, Flags, Packet, PathId};

/// The part of a packet that a hop needs, apart from the rest so that it stays in the CPU's cache.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Travel {
    /// The place where the list of its path's links goes on.
    pub next: u32,
    /// Bytes of the IP packet.
    pub ip_bytes: u32,
    /// The codepoint: not capable of a mark, capable, or marked.
    pub ecn: Codepoint,
}

read_ahead!(Travel: next);

/// All packets in flight. A number is used again once its packet is taken.
#[derive(Debug, Default)]
pub struct Arena {
    travels: Vec<Travel>,
    packets: Vec<Packet>,
    free: Vec<u32>,
}

impl Arena {
    /// Puts in a packet whose path's links begin at `next` in the list; gives its number.
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

    /// Returns how far packet `number` is.
    pub fn travel(&mut self, number: u32) -> &mut Travel {
        &mut self.travels[number as usize]
    }

    /// Reads ahead what a hop needs of packet `number`.
    pub fn read_ahead(&self, number: u32) {
        self.travels[number as usize].read_ahead();
    }

    /// Reads ahead all of packet `number`.
    pub fn read_packet_ahead(&self, number: u32) {
        self.packets[number as usize].read_ahead();
    }

    /// Returns whom packet `number` is for.
    pub fn to(&self, number: u32) -> Endpoint {
        self.packets[number as usize].to
    }

    /// Returns the endpoint that keeps account of packet `number` until it has left the host: that of a segment with data or
    /// FIN, or of a datagram's last fragment.
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

    /// A number that all packets have in common with packet `number` that go the same way on the same connection.
    pub fn flow(&self, number: u32) -> u32 {
        let Packet { path: PathId(path), to, .. } = self.packets[number as usize];
        // Knuth's multiplicative hash keeps paths and connections apart.
        path.wrapping_mul(0x9E37_79B1) ^ (to.connection << 1 | u32::from(to.side))
    }

    /// Another packet like `number`, at the same place; gives its number.
    pub fn copy(&mut self, number: u32) -> u32 {
        let travel = self.travels[number as usize];
        let copy = self.insert(self.packets[number as usize], travel.next);
        self.travels[copy as usize] = travel;
        copy
    }

    /// Packet `number`, with what has become of it on its way so far.
    pub fn packet(&self, number: u32) -> Packet {
        Packet { ecn: self.travels[number as usize].ecn, ..self.packets[number as usize] }
    }

    /// Puts another packet in the place of `number`.
    pub fn replace(&mut self, number: u32, packet: Packet) {
        self.travels[number as usize].ip_bytes = packet.ip_bytes;
        self.packets[number as usize] = packet;
    }

    /// Takes packet `number` out, with what has become of it on its way so far.
    pub fn remove(&mut self, number: u32) -> Packet {
        self.free.push(number);
        self.packet(number)
    }

    /// Drops packet `number`.
    pub fn discard(&mut self, number: u32) {
        self.free.push(number);
    }

    /// Packets in it.
    pub fn len(&self) -> usize {
        self.packets.len() - self.free.len()
    }
}
