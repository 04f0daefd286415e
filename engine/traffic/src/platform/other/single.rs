//! Refuses GSO packets on systems that do not have them: each datagram is sent and received by itself.

use super::unsupported;
use std::io;
use std::net::UdpSocket;

/// Fails, because this system does not segment GSO packets.
pub fn cut_datagrams(_socket: &UdpSocket, _bytes: usize) -> io::Result<()> {
    Err(unsupported("sending UDP GSO packets"))
}

/// Fails, because this system does not coalesce datagrams.
pub fn coalesce_datagrams(_socket: &UdpSocket, _bytes: usize) -> io::Result<()> {
    Err(unsupported("taking UDP GSO packets"))
}

/// Fails, because this system does not coalesce datagrams.
pub fn receive_coalesced(_socket: &UdpSocket, _buffer: &mut [u8]) -> io::Result<(usize, Option<usize>)> {
    Err(unsupported("taking UDP GSO packets"))
}
