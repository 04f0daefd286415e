//! Receives datagrams into memory, one with each call or several that the system has coalesced, with the time at
//! which the call returned.

use super::{now_ns, reading, sockets, system};
use crate::error::{Context, Result};
use std::io::{Error, ErrorKind};
use std::net::UdpSocket;
use std::time::{Duration, Instant};

/// The size of the socket's buffer, in bytes, for datagrams that arrive while this program is busy.
const BUFFER_BYTES: i32 = 32 << 20;
/// The size of the largest GSO packet, in bytes.
const GSO_PACKET_BYTES: usize = 1 << 16;
/// The time for which one call waits for a datagram.
const WAIT: Duration = Duration::from_millis(20);

/// The memory for a message, allocated once.
pub struct Inbox {
    bytes: Vec<u8>,
    /// True if a message may contain several datagrams.
    coalesces: bool,
    busy_poll: Duration,
    /// The message of the latest call, if one arrived.
    message: Option<Message>,
    /// The time of the monotonic clock at which the latest call returned.
    now_ns: u64,
}

/// A message: datagrams of the same length, except that the last one may be shorter.
#[derive(Clone, Copy)]
struct Message {
    bytes: usize,
    segment: usize,
}

impl Inbox {
    /// Creates an inbox for datagrams of up to `largest` bytes, or for GSO packets. A read retries for `busy_poll`
    /// before it sleeps.
    pub fn new(largest: usize, gso_packets: bool, busy_poll: Duration) -> Self {
        // The additional byte shows that a datagram is longer than expected.
        let room = if gso_packets { GSO_PACKET_BYTES } else { largest + 1 };
        Self { bytes: vec![0; room], coalesces: gso_packets, busy_poll, message: None, now_ns: 0 }
    }

    /// Sets `socket` up for an inbox: a large buffer, and GSO packets if requested.
    pub fn set_up(socket: &UdpSocket, gso_packets: bool, _busy_poll: Option<Duration>) -> Result<()> {
        if gso_packets {
            system::coalesce_datagrams(socket, GSO_PACKET_BYTES).context("udp_gro: enabling GSO packets")?;
        }
        socket.set_read_timeout(Some(WAIT)).context("setting the receive timeout")?;
        sockets::enlarge_buffers(socket, BUFFER_BYTES).context("setting the receive buffer")
    }

    /// Receives a message that has arrived, or waits for a short time for one; returns the number of messages
    /// received.
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

    /// Returns the datagrams of the latest call, with their arrival time of the monotonic clock.
    pub fn datagrams(&self) -> impl Iterator<Item = (u64, &[u8])> {
        let messages = self.message.into_iter();
        // A datagram without payload counts as a datagram, too.
        messages.flat_map(move |Message { bytes, segment }| {
            let count = bytes.div_ceil(segment.max(1)).max(1);
            (0..count).map(move |number| {
                let begin = number * segment;
                (self.now_ns, &self.bytes[begin..bytes.min(begin + segment)])
            })
        })
    }
}

/// Returns `None` if no datagram arrived, or an ICMP error instead of one; any other error is returned.
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
