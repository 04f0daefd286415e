//! The place of datagrams with the kernel's times, which other systems than Linux don't state.

use super::unsupported;
use std::io;
use std::net::UdpSocket;

/// Returns 0, because nothing here uses the wall clock.
pub fn wall_ns() -> u64 {
    0
}

/// The times at which a datagram reached a queue, and left the interface.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Departure {
    /// The time at which it reached the queue.
    pub queued_ns: u64,
    /// The time at which it left the interface.
    pub left_ns: u64,
}

/// A socket whose datagrams would have times.
pub struct Stamped;

impl Stamped {
    /// Fails, because the system states no times.
    pub fn new(_socket: &UdpSocket) -> io::Result<Self> {
        Err(unsupported("stating the times of datagrams"))
    }

    /// Is never called, because there is no such socket.
    pub fn send(&mut self, _bytes: &[u8]) -> io::Result<u32> {
        Err(unsupported("stating the times of datagrams"))
    }

    /// Is never called, because there is no such socket.
    pub fn receive(&self, _buffer: &mut [u8]) -> io::Result<(usize, Option<u64>)> {
        Err(unsupported("stating the times of datagrams"))
    }

    /// Is never called, because there is no such socket.
    pub fn departure(&self, _number: u32) -> io::Result<Option<Departure>> {
        Err(unsupported("stating the times of datagrams"))
    }
}
