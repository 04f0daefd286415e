//! Packets in one direction, of constant or random sizes and gaps: datagrams over UDP, messages over TCP and
//! MPTCP.
//!
//! A packet departs when it is handed to the stack, as on real hosts. A full stack delays the packets that are due
//! meanwhile. For UDP the limit is Linux's: the packets of a socket that wait in the host's own interface may
//! occupy [`SEND_BUFFER_BYTES`], or twice the flow's `udp_buffer`; then the next packet waits until half of that
//! memory is free again.

use super::stream::Stream;
use super::transfer::CONFIRMATION_BYTES;
use super::{Application, Datagram, Ground};
use crate::error::Result;
use crate::transport::window::SEGMENT_BYTES;
use crate::{Notice, Time};
use nettrial_flows::arrivals::{Arrivals, Packet};
use nettrial_flows::departures::Departures;
use nettrial_flows::statistics::Durations;
use nettrial_flows::waits::Waits;
use nettrial_scenario::{Pacing, Packets, Size};
use std::collections::VecDeque;

/// The memory that the packets of a UDP socket may occupy (net.core.wmem_default).
const SEND_BUFFER_BYTES: u64 = 212_992;

/// The departures of a flow's packets, and their punctuality. Times are nanoseconds since `origin`.
struct Sender {
    departures: Departures,
    origin: Time,
    number: u64,
    bytes: u64,
    refused: u64,
    first: Option<Time>,
    last_ns: u64,
    lateness: Durations,
    woken: Option<u64>,
}

impl Sender {
    fn new(packets: &Packets) -> Result<Self> {
        Ok(Self {
            departures: Departures::new(packets)?,
            origin: Time::ZERO,
            number: 0,
            bytes: 0,
            refused: 0,
            first: None,
            last_ns: 0,
            lateness: Durations::default(),
            woken: None,
        })
    }

    /// Takes the next packet if it is due. If it is not, requests a wake-up for it.
    fn take(&mut self, ground: &mut Ground<'_, '_>) -> Next {
        let now_ns = ground.since_ns(self.origin);
        match self.departures.due(now_ns) {
            None => Next::Over,
            Some(due_ns) if due_ns > now_ns => {
                if self.woken.replace(due_ns) != Some(due_ns) {
                    ground.wake(self.origin + Time::from_ns(due_ns));
                }
                Next::Later
            }
            Some(due_ns) => {
                if self.departures.is_paced() {
                    self.lateness.record(now_ns - due_ns);
                }
                Next::Now(self.departures.take())
            }
        }
    }

    /// Records the departure of the packet that was taken.
    fn departed(&mut self, size: u64, ground: &Ground<'_, '_>) {
        self.number += 1;
        self.bytes += size;
        self.first.get_or_insert(ground.now());
        self.last_ns = ground.since_ns(self.origin);
    }

    /// Returns the punctuality of the departures, if they follow a schedule.
    fn pacing(&self) -> Option<Pacing> {
        let asked_ns = self.departures.asked_ns();
        let is_paced = self.departures.is_paced() && asked_ns > 0;
        is_paced.then(|| Pacing {
            asked_bps: self.departures.bytes() as f64 * 8e9 / asked_ns as f64,
            sent_bps: self.bytes as f64 * 8e9 / asked_ns.max(self.last_ns) as f64,
            lateness_us: self.lateness.distribution_us(),
            // A simulated sender has no thread.
            cpu_percent: Some(0.0),
        })
    }

    /// Ends the flow, of which `arrivals` arrived.
    fn finish(&self, arrivals: &Arrivals, ground: &mut Ground<'_, '_>) {
        let received = arrivals.figures(self.number, self.refused);
        let first = self.first.unwrap_or(self.origin);
        let last = self.origin + Time::from_ns(self.last_ns);
        let active_ns = received.active_ns(first.as_ns(), last.as_ns(), Some(0));
        ground.figures.bytes = received.bytes;
        ground.figures.active_ns = active_ns;
        ground.set_span(first, first + Time::from_ns(active_ns), active_ns);
        ground.figures.pacing = self.pacing();
        ground.figures.received = Some(received);
        ground.finish();
    }
}

/// The next packet of a sender.
enum Next {
    /// A packet of that size in bytes is due.
    Now(u64),
    /// The next packet is due later.
    Later,
    /// There is no further packet.
    Over,
}

/// Packets as datagrams, one each.
pub struct OverUdp {
    sender: Sender,
    arrivals: Arrivals,
    /// The time at which each packet in the host's interface departs, and the memory that it occupies, in bytes.
    waiting: VecDeque<(Time, u64)>,
    waiting_bytes: u64,
    /// The memory that they may occupy, in bytes.
    buffer_bytes: u64,
    is_full: bool,
    /// The time until which the interface would refuse packets.
    refused_until: Time,
    /// The time at which the flow ends if nothing arrives until then; `None` while it sends.
    quiet: Option<Time>,
    /// The time without an arrival after the sender's end after which the missing packets count as lost.
    quiet_for: Time,
}

impl OverUdp {
    /// Returns the application before it sends anything. `buffer` is the requested send buffer of the socket.
    ///
    /// # Errors
    /// Fails if a random quantity of `packets` can't be drawn.
    pub fn new(packets: &Packets, buffer: Option<Size>, waits: Waits) -> Result<Self> {
        Ok(Self {
            sender: Sender::new(packets)?,
            arrivals: Arrivals::new(Some(0)),
            buffer_bytes: buffer.map_or(SEND_BUFFER_BYTES, |size| 2 * size.0),
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            is_full: false,
            refused_until: Time::ZERO,
            quiet: None,
            quiet_for: Time::from_ns(waits.quiet().0),
        })
    }

    /// Returns whether the socket has to wait for departures, and requests a wake-up for the next one if so.
    fn must_wait(&mut self, ground: &mut Ground<'_, '_>) -> bool {
        while let Some(&(leaves, bytes)) = self.waiting.front()
            && leaves <= ground.now()
        {
            self.waiting.pop_front();
            self.waiting_bytes -= bytes;
        }
        if self.waiting_bytes >= self.buffer_bytes {
            self.is_full = true;
        } else if self.waiting_bytes * 2 <= self.buffer_bytes {
            self.is_full = false;
        }
        let must_wait = self.is_full || ground.now() < self.refused_until;
        if let Some(&(leaves, _)) = self.waiting.front().filter(|_| must_wait)
            && leaves < Time::NEVER
        {
            ground.wake(leaves);
        }
        must_wait
    }

    /// Sends the packets that are due, as far as the socket has room.
    fn step(&mut self, ground: &mut Ground<'_, '_>) {
        while self.quiet.is_none() && !self.must_wait(ground) {
            match self.sender.take(ground) {
                Next::Now(size) => self.send(size, ground),
                Next::Later => return,
                Next::Over => self.end(ground),
            }
        }
    }

    /// Sends a packet of `size` bytes.
    fn send(&mut self, size: u64, ground: &mut Ground<'_, '_>) {
        let (number, now) = (self.sender.number, ground.now());
        match ground.send(0, Datagram { number, payload_bytes: size, sent: now, read: Time::ZERO }) {
            Some(leaves) => {
                let bytes = memory_bytes(size);
                self.waiting.push_back((leaves, bytes));
                self.waiting_bytes += bytes;
                self.sender.departed(size, ground);
            }
            None => {
                self.sender.refused += 1;
                if !self.sender.departures.is_paced() {
                    match self.waiting.front() {
                        // The next packet is refused, too, until a packet has departed.
                        Some(&(leaves, _)) => self.refused_until = leaves,
                        // The interface accepts no packet of this size, so none will ever depart.
                        None => self.end(ground),
                    }
                }
            }
        }
    }

    /// Ends sending, and waits for the packets in flight.
    fn end(&mut self, ground: &mut Ground<'_, '_>) {
        self.quiet = Some(ground.now() + self.quiet_for);
        self.settle(ground);
    }

    /// Ends the flow when all packets have arrived, or nothing has arrived for some time.
    fn settle(&mut self, ground: &mut Ground<'_, '_>) {
        let Some(quiet) = self.quiet else { return };
        if self.arrivals.received() >= self.sender.number || ground.now() >= quiet {
            if ground.figures.over.is_none() {
                self.sender.finish(&self.arrivals, ground);
                ground.figures.packets = ground.figures.received.as_ref().map(|received| received.packets);
            }
        } else {
            ground.wake(quiet);
        }
    }
}

impl Application for OverUdp {
    fn start(&mut self, ground: &mut Ground<'_, '_>) {
        self.sender.origin = ground.now();
        self.step(ground);
    }

    fn on_timer(&mut self, ground: &mut Ground<'_, '_>) {
        match self.quiet {
            None => self.step(ground),
            Some(quiet) if ground.now() >= quiet => self.settle(ground),
            Some(_) => {}
        }
    }

    fn on_notice(&mut self, _: Notice, _: &mut Ground<'_, '_>) {}

    fn on_left(&mut self, _: u8, ground: &mut Ground<'_, '_>) {
        if let Some((_, bytes)) = self.waiting.pop_front() {
            self.waiting_bytes -= bytes;
        }
        self.refused_until = self.refused_until.min(ground.now());
        self.step(ground);
    }

    fn on_datagram(&mut self, _: u8, datagram: Datagram, ground: &mut Ground<'_, '_>) {
        let packet = Packet {
            number: datagram.number,
            departure_ns: datagram.sent.as_ns(),
            length: datagram.payload_bytes as u32,
        };
        self.arrivals.packet(packet, ground.now().as_ns());
        if let Some(quiet) = &mut self.quiet {
            *quiet = ground.now() + self.quiet_for;
            self.settle(ground);
        }
    }
}

/// Returns the bytes that a datagram with that payload occupies in the send buffer (Linux's skb->truesize): a
/// buffer for the payload, the headers and the kernel's shared information, and 256 bytes for the descriptor of the
/// buffer. The buffer is a small head, as those of TCP's segments are, if that is large enough, and otherwise a power of
/// two (kmalloc_reserve in net/core/skbuff.c).
fn memory_bytes(payload: u64) -> u64 {
    const HEADERS_BYTES: u64 = 64;
    const LINE_BYTES: u64 = 64;
    const SHARED_INFO_BYTES: u64 = 320;
    const DESCRIPTOR_BYTES: u64 = 256;
    let small = u64::from(SEGMENT_BYTES) - DESCRIPTOR_BYTES;
    let needed = (payload + HEADERS_BYTES).next_multiple_of(LINE_BYTES) + SHARED_INFO_BYTES;
    DESCRIPTOR_BYTES + if needed <= small { small } else { needed.next_power_of_two() }
}

/// Packets as messages on a connection, one each.
pub struct OverTcp {
    sender: Sender,
    arrivals: Arrivals,
    begin: Time,
    stream: Stream,
    is_sending: bool,
    /// The messages in flight, each with the length of the stream at its end.
    messages: VecDeque<(u64, Packet)>,
}

impl OverTcp {
    /// Returns the application before it sends anything.
    ///
    /// # Errors
    /// Fails if a random quantity of `packets` can't be drawn.
    pub fn new(packets: &Packets) -> Result<Self> {
        Ok(Self {
            sender: Sender::new(packets)?,
            arrivals: Arrivals::new(Some(0)),
            begin: Time::ZERO,
            stream: Stream::default(),
            is_sending: false,
            messages: VecDeque::new(),
        })
    }

    /// Writes the messages that are due, as far as the connection has room.
    fn step(&mut self, ground: &mut Ground<'_, '_>) {
        while self.is_sending && self.stream.is_free(0) {
            match self.sender.take(ground) {
                Next::Now(size) => {
                    let packet = Packet {
                        number: self.sender.number,
                        departure_ns: ground.now().as_ns(),
                        length: size as u32,
                    };
                    self.messages.push_back((self.sender.bytes + size, packet));
                    self.sender.departed(size, ground);
                    self.stream.write(0, size, ground);
                }
                Next::Later => return,
                Next::Over => {
                    self.is_sending = false;
                    self.stream.close(0, ground);
                }
            }
        }
    }
}

impl Application for OverTcp {
    fn start(&mut self, ground: &mut Ground<'_, '_>) {
        self.begin = ground.now();
        self.stream = Stream::new(ground.open());
    }

    fn on_timer(&mut self, ground: &mut Ground<'_, '_>) {
        self.step(ground);
    }

    fn on_notice(&mut self, notice: Notice, ground: &mut Ground<'_, '_>) {
        match notice {
            Notice::Connected { side: 0, .. } => {
                ground.figures.connect.record(ground.since_ns(self.begin));
                self.sender.origin = ground.now();
                self.is_sending = true;
                self.step(ground);
            }
            Notice::Writable { side, .. } => {
                self.stream.flush(side, ground);
                self.step(ground);
            }
            Notice::Readable { side: 1, total_bytes, .. } => {
                while let Some(&(end, packet)) = self.messages.front()
                    && end <= total_bytes
                {
                    self.arrivals.packet(packet, ground.now().as_ns());
                    self.messages.pop_front();
                }
            }
            Notice::Closed { side: 1, .. } => {
                self.stream.write(1, CONFIRMATION_BYTES, ground);
                self.stream.close(1, ground);
            }
            Notice::Readable { connection, side: 0, total_bytes } if total_bytes == CONFIRMATION_BYTES => {
                ground.release(connection);
                self.sender.finish(&self.arrivals, ground);
            }
            Notice::Failed { connection, .. } if ground.figures.over.is_none() => {
                self.is_sending = false;
                ground.fail(connection, "its connection could not be opened, or gave up");
                self.sender.finish(&self.arrivals, ground);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_datagram_takes_a_small_head() {
        assert_eq!(memory_bytes(100), u64::from(SEGMENT_BYTES));
        assert_eq!([400, 1472].map(memory_bytes), [1024 + 256, 2048 + 256]);
    }
}
