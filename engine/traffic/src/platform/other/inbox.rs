//! Datagrams into memory, one with each call, with the moment at which the call returned.

use super::{now_ns, reading, sockets, unsupported};
use anyhow::{Context, Result};
use std::io::{Error, ErrorKind};
use std::net::UdpSocket;
use std::time::{Duration, Instant};

/// Room for what arrives while this program does something else, bytes.
const BUFFER_BYTES: i32 = 32 << 20;
/// Time that one call waits for a datagram.
const WAIT: Duration = Duration::from_millis(20);

/// Memory for a datagram, made once.
pub struct Inbox {
    bytes: Vec<u8>,
    busy_poll: Duration,
    /// Length of the datagram of the latest call, if one came.
    length: Option<usize>,
    /// When the latest call returned, by the monotonic clock.
    now_ns: u64,
}

impl Inbox {
    /// For datagrams of up to `largest` bytes. A read tries again for `busy_poll` before it sleeps.
    pub fn new(largest: usize, _gso_packets: bool, busy_poll: Duration) -> Self {
        // One byte more than expected shows that a datagram is longer.
        Self { bytes: vec![0; largest + 1], busy_poll, length: None, now_ns: 0 }
    }

    /// Sets `socket` up for an inbox: a large buffer, and no GSO packets.
    pub fn set_up(socket: &UdpSocket, gso_packets: bool, _busy_poll: Option<Duration>) -> Result<()> {
        if gso_packets {
            return Err(unsupported("taking UDP GSO packets").into());
        }
        socket.set_read_timeout(Some(WAIT)).context("bounding the wait for a datagram")?;
        sockets::enlarge_buffers(socket, BUFFER_BYTES).context("setting the receive buffer")
    }

    /// Takes a datagram that is there, or waits a little for one; returns how many came.
    pub fn receive(&mut self, socket: &UdpSocket) -> Result<usize> {
        let polling = Instant::now();
        self.length = None;
        while self.length.is_none() && polling.elapsed() < self.busy_poll {
            self.length = reading::try_receive(socket, &mut self.bytes).or_else(nothing)?;
        }
        if self.length.is_none() {
            self.length = reading::receive(socket, &mut self.bytes).map(Some).or_else(nothing)?;
        }
        self.now_ns = now_ns();
        Ok(usize::from(self.length.is_some()))
    }

    /// The datagram of the latest call, with its arrival by the monotonic clock.
    pub fn datagrams(&self) -> impl Iterator<Item = (u64, &[u8])> {
        self.length.into_iter().map(|length| (self.now_ns, &self.bytes[..length]))
    }
}

/// No datagram came, or an ICMP error in its place.
fn nothing(error: Error) -> Result<Option<usize>> {
    match error.kind() {
        ErrorKind::TimedOut | ErrorKind::ConnectionRefused | ErrorKind::ConnectionReset => Ok(None),
        _ => Err(error).context("receiving a datagram"),
    }
}
