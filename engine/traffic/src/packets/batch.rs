//! Batches of packets that are handed to the kernel together.

use super::header::{Header, Tag};
use crate::platform::Datagrams;

/// The bytes of a batch, unless one packet is larger, so that the batch stays in a CPU's cache.
const BATCH_BYTES: usize = 256 << 10;

/// Packets side by side in memory, with their headers. A batch is created once and reused.
pub struct Batch {
    bytes: Vec<u8>,
    used: usize,
    packets: Vec<Packet>,
    most: usize,
    largest: usize,
    tag: Tag,
    next_number: u64,
}

/// A packet of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet {
    /// The packet's offset in the batch's bytes.
    pub offset: usize,
    /// The packet's length.
    pub size: usize,
    number: u64,
}

impl Batch {
    /// Creates a batch for up to `most` packets of up to `largest` bytes.
    pub fn new(most: usize, largest: usize, tag: Tag) -> Self {
        Self {
            bytes: vec![0; BATCH_BYTES.max(largest)],
            used: 0,
            packets: Vec::with_capacity(most),
            most,
            largest,
            tag,
            next_number: 0,
        }
    }

    /// Removes all packets. The next packet continues their numbers.
    pub fn clear(&mut self) {
        self.used = 0;
        self.packets.clear();
    }

    /// Returns true if a packet of any size fits in.
    pub fn has_room(&self) -> bool {
        self.packets.len() < self.most && self.used + self.largest <= self.bytes.len()
    }

    /// Adds a packet of `size` bytes, which is at most the largest size.
    pub fn add(&mut self, size: usize) {
        let number = self.next_number;
        let packet = &mut self.bytes[self.used..self.used + size];
        Header::write(packet, number, u32::try_from(size).unwrap_or(u32::MAX), self.tag);
        self.packets.push(Packet { offset: self.used, size, number });
        self.used += size;
        self.next_number += 1;
    }

    /// Stamps all packets with the departure `departure_ns`.
    pub fn depart(&mut self, departure_ns: u64) {
        for packet in &self.packets {
            Header::write_departure(&mut self.bytes[packet.offset..], departure_ns);
        }
    }

    /// Returns the packets.
    pub fn packets(&self) -> &[Packet] {
        &self.packets
    }

    /// Returns the number of packets added and not refused so far, over all batches.
    pub fn sent(&self) -> u64 {
        self.next_number
    }
}

impl Datagrams for Batch {
    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.used]
    }

    fn places(&self) -> impl Iterator<Item = (usize, usize)> {
        self.packets.iter().map(|packet| (packet.offset, packet.size))
    }

    /// Packets after the refused ones take their numbers, so that a refused packet does not look lost.
    fn refuse(&mut self, index: usize, count: usize) {
        self.packets.drain(index..index + count);
        for packet in &mut self.packets[index..] {
            packet.number -= count as u64;
            let length = u32::try_from(packet.size).unwrap_or(u32::MAX);
            Header::write(&mut self.bytes[packet.offset..], packet.number, length, self.tag);
        }
        self.next_number -= count as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refused_packets_leave_no_hole_in_the_numbers() {
        let tag = [1, 2, 3, 4];
        let mut batch = Batch::new(8, 100, tag);
        for size in [30, 40, 50, 60, 70] {
            assert!(batch.has_room());
            batch.add(size);
        }
        batch.depart(77);
        batch.refuse(1, 2);
        let numbers: Vec<(u64, u32)> = batch
            .packets()
            .iter()
            .map(|packet| Header::read(&batch.bytes()[packet.offset..], tag).unwrap())
            .map(|header| (header.number, header.length))
            .collect();
        assert_eq!(numbers, [(0, 30), (1, 60), (2, 70)]);
        assert_eq!(batch.sent(), 3);
        batch.clear();
        batch.add(24);
        assert_eq!(Header::read(batch.bytes(), tag).unwrap().number, 3);
    }
}
