//! Refuses GSO packets, where a system has none: each datagram is sent and taken by itself.

use super::unsupported;
use std::io;
use std::net::UdpSocket;

/// Refuses to have datagrams cut.
pub fn cut_datagrams(_socket: &UdpSocket, _bytes: usize) -> io::Result<()> {
    Err(unsupported("sending UDP GSO packets"))
}

/// Refuses to have datagrams coalesced.
pub fn coalesce_datagrams(_socket: &UdpSocket, _bytes: usize) -> io::Result<()> {
    Err(unsupported("taking UDP GSO packets"))
}

/// Refuses to take coalesced datagrams.
pub fn receive_coalesced(_socket: &UdpSocket, _buffer: &mut [u8]) -> io::Result<(usize, Option<usize>)> {
    Err(unsupported("taking UDP GSO packets"))
}
