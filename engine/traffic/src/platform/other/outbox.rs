//! Datagrams out of a socket, one with each call.

use super::unsupported;
use crate::platform::Datagrams;
use anyhow::{Context, Result};
use std::io::ErrorKind;
use std::net::UdpSocket;

/// "No buffer space available", as the system's calls number it.
const NO_BUFFERS: i32 = if cfg!(windows) {
    10_055
} else if cfg!(target_os = "linux") {
    105
} else {
    55
};

/// A connected socket, and the places of the datagrams of one batch.
pub struct Outbox<'a> {
    socket: &'a UdpSocket,
    places: Vec<(usize, usize)>,
}

impl<'a> Outbox<'a> {
    /// For batches of up to `most` packets, none of which share a GSO packet.
    pub fn new(socket: &'a UdpSocket, most: usize, _segment_limit: usize) -> Self {
        Self { socket, places: Vec::with_capacity(most) }
    }

    /// Refuses UDP GSO packets.
    pub fn verify_gso(_socket: &UdpSocket) -> Result<()> {
        Err(unsupported("udp_gso: sending UDP GSO packets").into())
    }

    /// Hands the datagrams of `batch` to the system. Those it refuses are taken out; returns how many.
    pub fn send(&mut self, batch: &mut impl Datagrams) -> Result<u64> {
        self.places.clear();
        self.places.extend(batch.places());
        let (mut kept, mut refused) = (0, 0);
        for &(offset, size) in &self.places {
            loop {
                let sent = self.socket.send(&batch.bytes()[offset..offset + size]);
                match sent.map_err(|error| (error.kind(), error.raw_os_error(), error)) {
                    Ok(_) => kept += 1,
                    // An ICMP error to an earlier datagram shows at the next call: not this one's fate.
                    Err((
                        ErrorKind::Interrupted | ErrorKind::ConnectionRefused | ErrorKind::ConnectionReset,
                        ..,
                    )) => continue,
                    Err((ErrorKind::WouldBlock | ErrorKind::TimedOut, ..))
                    | Err((_, Some(NO_BUFFERS), _)) => {
                        batch.refuse(kept, 1);
                        refused += 1;
                    }
                    Err((_, _, error)) => {
                        return Err(error).with_context(|| format!("sending a datagram of {size} bytes"));
                    }
                }
                break;
            }
        }
        Ok(refused)
    }

    /// Packets of a GSO packet at most: there are none.
    pub fn packets_as_one(&self) -> Option<usize> {
        None
    }
}
