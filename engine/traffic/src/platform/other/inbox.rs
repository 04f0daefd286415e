//! Datagrams into memory, one with each call, or those that the system has coalesced, with the moment at which the call
//! returned.

use super::{now_ns, reading, sockets, system};
use anyhow::{Context, Result};
use std::io::{Error, ErrorKind};
use std::net::UdpSocket;
use std::time::{Duration, Instant};

/// Room for what arrives while this program does something else, bytes.
const BUFFER_BYTES: i32 = 32 << 20;
/// Bytes of the largest GSO packet.
const GSO_PACKET_BYTES: usize = 1 << 16;
/// Time that one call waits for a datagram.
const WAIT: Duration = Duration::from_millis(20);

/// Memory for a message, made once.
pub struct Inbox {
    bytes: Vec<u8>,
    /// True if a message may be of several datagrams.
    coalesces: bool,
    busy_poll: Duration,
    /// The message of the latest call, if one came.
    message: Option<Message>,
    /// The time at which the latest call returned, by the monotonic clock.
    now_ns: u64,
}

/// A message: datagrams of one length, but for the last, which may be shorter.
#[derive(Clone, Copy)]
struct Message {
    bytes: usize,
    segment: usize,
}

impl Inbox {
    /// For datagrams of up to `largest` bytes, or for GSO packets. A read tries again for `busy_poll` before it sleeps.
    pub fn new(largest: usize, gso_packets: bool, busy_poll: Duration) -> Self {
        // One byte more than expected shows that a datagram is longer.
        let room = if gso_packets { GSO_PACKET_BYTES } else { largest + 1 };
        Self { bytes: vec![0; room], coalesces: gso_packets, busy_poll, message: None, now_ns: 0 }
    }

    /// Sets `socket` up for an inbox: a large buffer, and GSO packets if asked for.
    pub fn set_up(socket: &UdpSocket, gso_packets: bool, _busy_poll: Option<Duration>) -> Result<()> {
        if gso_packets {
            system::coalesce_datagrams(socket, GSO_PACKET_BYTES)
                .context("udp_gro: asking for GSO packets")?;
        }
        socket.set_read_timeout(Some(WAIT)).context("bounding the wait for a datagram")?;
        sockets::enlarge_buffers(socket, BUFFER_BYTES).context("setting the receive buffer")
    }

    /// Takes a message that is there, or waits a little for one; returns how many came.
    pub fn receive(&mut self, socket: &UdpSocket) -> Result<usize> {
        let polling = Instant::now();
        self.message = None;
        while self.message.is_none() && polling.elapsed() < self.busy_poll {
            self.message = self.call(socket, false).or_else(nothing)?;
        }
        if self.message.is_none() {
            self.message = self.call(socket, true).or_else(nothing)?;
        }
        self.now_ns = now_ns();
        Ok(usize::from(self.message.is_some()))
    }

    fn call(&mut self, socket: &UdpSocket, waits: bool) -> Result<Option<Message>, Error> {
        let whole = |bytes| Message { bytes, segment: bytes };
        if !self.coalesces {
            return if waits {
                reading::receive(socket, &mut self.bytes).map(|bytes| Some(whole(bytes)))
            } else {
                Ok(reading::try_receive(socket, &mut self.bytes)?.map(whole))
            };
        }
        socket.set_nonblocking(!waits)?;
        let (bytes, segment) = system::receive_coalesced(socket, &mut self.bytes)?;
        Ok(Some(Message { bytes, segment: segment.unwrap_or(bytes) }))
    }

    /// The datagrams of the latest call, with their arrival by the monotonic clock.
    pub fn datagrams(&self) -> impl Iterator<Item = (u64, &[u8])> {
        let messages = self.message.into_iter();
        // A datagram without payload is one, too.
        messages.flat_map(move |Message { bytes, segment }| {
            let count = bytes.div_ceil(segment.max(1)).max(1);
            (0..count).map(move |number| {
                let begin = number * segment;
                (self.now_ns, &self.bytes[begin..bytes.min(begin + segment)])
            })
        })
    }
}

/// No datagram came, or an ICMP error in its place.
fn nothing(error: Error) -> Result<Option<Message>> {
    match error.kind() {
        ErrorKind::TimedOut
        | ErrorKind::WouldBlock
        | ErrorKind::Interrupted
        | ErrorKind::ConnectionRefused
        | ErrorKind::ConnectionReset => Ok(None),
        _ => Err(error).context("receiving a datagram"),
    }
}
