//! Packets in flight, by number.

use crate::ahead::{ReadAhead, read_ahead};
use crate::{Codepoint, Endpoint, Flags, Packet, PathId, SackBlocks, Time};

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

/// The rest of a packet, without its SACK blocks: few packets have any, and they take as much memory as all else.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Load {
    path: PathId,
    payload_bytes: u32,
    /// The endpoint that receives it.
    pub to: Endpoint,
    segment_bytes: u16,
    flags: Flags,
    has_blocks: bool,
    sequence: u64,
    ack: u64,
    window_bytes: u64,
    timestamp: Time,
    echo: Time,
    data_sequence: u64,
    data_ack: u64,
}

read_ahead!(Load: sequence, data_ack);

impl Load {
    fn of(packet: &Packet) -> Self {
        Self {
            path: packet.path,
            payload_bytes: packet.payload_bytes,
            to: packet.to,
            segment_bytes: packet.segment_bytes,
            flags: packet.flags,
            has_blocks: !packet.sack.as_slice().is_empty(),
            sequence: packet.sequence,
            ack: packet.ack,
            window_bytes: packet.window_bytes,
            timestamp: packet.timestamp,
            echo: packet.echo,
            data_sequence: packet.data_sequence,
            data_ack: packet.data_ack,
        }
    }
}

/// All packets in flight. The number of a packet is reused after it has been removed.
#[derive(Debug, Default)]
pub struct Arena {
    travels: Vec<Travel>,
    loads: Vec<Load>,
    /// The SACK blocks of each packet, if it has any.
    blocks: Vec<SackBlocks>,
    free: Vec<u32>,
}

impl Arena {
    /// Inserts a packet whose path's links begin at `next` in the list, and returns its number.
    pub fn insert(&mut self, packet: &Packet, next: u32) -> u32 {
        let travel = Travel { next, ip_bytes: packet.ip_bytes, ecn: packet.ecn };
        let load = Load::of(packet);
        let number = self.add(travel, load);
        if load.has_blocks {
            self.blocks[number as usize] = packet.sack;
        }
        number
    }

    /// Adds a packet without its SACK blocks, and returns its number.
    fn add(&mut self, travel: Travel, load: Load) -> u32 {
        if let Some(number) = self.free.pop() {
            self.travels[number as usize] = travel;
            self.loads[number as usize] = load;
            return number;
        }
        self.travels.push(travel);
        self.loads.push(load);
        self.blocks.push(SackBlocks::default());
        self.loads.len() as u32 - 1
    }

    /// Takes packet `number` out to be put into another arena: its progress, the rest, and its SACK blocks if it has
    /// any.
    pub fn take(&mut self, number: u32) -> (Travel, Load, Option<SackBlocks>) {
        self.free.push(number);
        let number = number as usize;
        let load = self.loads[number];
        (self.travels[number], load, load.has_blocks.then(|| self.blocks[number]))
    }

    /// Puts in a packet that was taken out of another arena, and returns its number. A packet that has SACK blocks
    /// takes the next ones.
    pub fn put<'a>(
        &mut self,
        travel: Travel,
        load: Load,
        blocks: &mut impl Iterator<Item = &'a SackBlocks>,
    ) -> u32 {
        let number = self.add(travel, load);
        if let Some(blocks) = load.has_blocks.then(|| blocks.next()).flatten() {
            self.blocks[number as usize] = *blocks;
        }
        number
    }

    /// Returns the progress of packet `number`.
    pub fn travel(&mut self, number: u32) -> &mut Travel {
        &mut self.travels[number as usize]
    }

    /// Prefetches the part of packet `number` that a hop needs.
    pub fn read_ahead(&self, number: u32) {
        self.travels[number as usize].read_ahead();
    }

    /// Returns the position in the list of paths at which packet `number` continues.
    pub fn place(&self, number: u32) -> u32 {
        self.travels[number as usize].next
    }

    /// Prefetches the whole packet `number`.
    pub fn read_packet_ahead(&self, number: u32) {
        self.loads[number as usize].read_ahead();
    }

    /// Returns the destination endpoint of packet `number`.
    pub fn to(&self, number: u32) -> Endpoint {
        self.loads[number as usize].to
    }

    /// Returns the endpoint that accounts for packet `number` until it has left the host: the sender of a segment
    /// with data or FIN, or of a datagram's last fragment.
    pub fn accountant(&self, number: u32) -> Option<Endpoint> {
        let packet = &self.loads[number as usize];
        let counts = if packet.flags == Flags::NONE {
            packet.data_sequence + 1 >= packet.window_bytes
        } else {
            packet.payload_bytes > 0 || packet.flags.has(Flags::FIN)
        };
        counts.then(|| Endpoint { side: 1 - packet.to.side, ..packet.to })
    }

    /// Returns the path of packet `number`.
    pub fn path(&self, number: u32) -> PathId {
        self.loads[number as usize].path
    }

    /// Returns a number shared by all packets of the same connection and direction as packet `number` on the same
    /// path.
    pub fn flow(&self, number: u32) -> u32 {
        let Load { path: PathId(path), to, .. } = self.loads[number as usize];
        // Knuth's multiplicative hash separates paths and connections.
        path.wrapping_mul(0x9E37_79B1) ^ (to.connection << 1 | u32::from(to.side))
    }

    /// Inserts a copy of packet `number` at the same place, and returns its number.
    pub fn copy(&mut self, number: u32) -> u32 {
        self.insert(&self.packet(number), self.travels[number as usize].next)
    }

    /// Returns packet `number` in its present state, including marks set on its path.
    pub fn packet(&self, number: u32) -> Packet {
        let Travel { ip_bytes, ecn, .. } = self.travels[number as usize];
        let load = &self.loads[number as usize];
        Packet {
            path: load.path,
            segment_bytes: load.segment_bytes,
            ecn,
            flags: load.flags,
            ip_bytes,
            payload_bytes: load.payload_bytes,
            to: load.to,
            sequence: load.sequence,
            ack: load.ack,
            window_bytes: load.window_bytes,
            timestamp: load.timestamp,
            echo: load.echo,
            sack: if load.has_blocks { self.blocks[number as usize] } else { SackBlocks::default() },
            data_sequence: load.data_sequence,
            data_ack: load.data_ack,
        }
    }

    /// Replaces packet `number` by one into which others with the same SACK blocks were coalesced.
    pub fn replace(&mut self, number: u32, packet: &Packet) {
        self.travels[number as usize].ip_bytes = packet.ip_bytes;
        self.loads[number as usize] = Load::of(packet);
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
        self.loads.len() - self.free.len()
    }
}
