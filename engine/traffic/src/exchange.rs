//! Requests and responses. Both begin with a [`Header`](crate::message::Header).

mod datagram;
mod mechanisms;
mod stream;

pub use stream::respond as respond_to_stream;

use crate::error::Result;
use crate::flow_record::Figures;
use crate::message::Header;
use crate::protocol::Side;
use crate::sampler::Sampler;
use nettrial_flows::requests::{Next, Requests};
use nettrial_flows::statistics::Jitter;
use nettrial_scenario::{Connecting, RequestResponse, Transport, nanoseconds};
use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

/// Answers the requests of one sender over UDP until none arrives any more.
pub fn respond_to_datagrams(socket: &UdpSocket, side: &Side, exchange: &RequestResponse) -> Result<()> {
    match exchange.mechanisms {
        true => mechanisms::respond(socket, side, exchange),
        false => datagram::respond(socket, side, exchange),
    }
}

/// Sends the flow's requests and gathers their figures.
pub fn request(
    side: &Side,
    exchange: &RequestResponse,
    destination: SocketAddr,
    sampler: &Sampler,
) -> Result<Figures> {
    if exchange.mechanisms {
        return mechanisms::request(side, exchange, destination, sampler);
    }
    if side.flow.transport == Transport::Udp {
        return datagram::request(side, exchange, destination, sampler);
    }
    match (exchange.connecting, exchange.in_flight) {
        (Connecting::EachRequest, _) => stream::connect_each(side, exchange, destination, sampler),
        (Connecting::Once, 1) => stream::one_by_one(side, exchange, destination, sampler),
        (Connecting::Once, _) => stream::several(side, exchange, destination, sampler),
    }
}

/// The requests of a flow, by this host's clock.
pub struct Schedule<'a> {
    requests: Requests<'a>,
    origin: Instant,
}

impl<'a> Schedule<'a> {
    /// Starts the requests that `exchange` describes now.
    pub fn start(exchange: &'a RequestResponse) -> Self {
        Self { requests: Requests::new(exchange), origin: Instant::now() }
    }

    /// Returns the time since the start in nanoseconds.
    pub fn now_ns(&self) -> u64 {
        nanoseconds(self.origin.elapsed())
    }

    /// Returns the time of the start.
    pub fn origin(&self) -> Instant {
        self.origin
    }

    /// Returns the next thing to do at `now_ns`.
    pub fn next(&self, now_ns: u64) -> Next {
        self.requests.next(now_ns)
    }

    /// Notes that a request is sent at `now_ns`, and returns its number.
    pub fn take(&mut self, now_ns: u64) -> u64 {
        self.requests.take(now_ns)
    }

    /// Sleeps until the next request is due, and returns its number; `None` after the last.
    pub fn wait(&mut self, now_ns: u64) -> Option<u64> {
        match self.next(now_ns) {
            Next::Over => return None,
            Next::In(span_ns) => std::thread::sleep(Duration::from_nanos(span_ns)),
            Next::Due => {}
        }
        Some(self.requests.take_due(now_ns))
    }
}

/// The figures that responses add to.
pub struct Tally {
    /// The figures so far.
    pub figures: Figures,
    jitter: Jitter,
    last_ns: u64,
}

impl Default for Tally {
    fn default() -> Self {
        Self::new()
    }
}

impl Tally {
    /// Begins without a response.
    pub fn new() -> Self {
        Self { figures: Figures::default(), jitter: Jitter::default(), last_ns: 0 }
    }

    /// Notes that a request with `bytes` was answered at `now_ns`.
    pub fn answered(&mut self, response: Header, bytes: u64, now_ns: u64) {
        self.figures.rtt.record(now_ns.saturating_sub(response.sent_ns));
        self.figures.bytes += bytes;
        self.jitter.record(response.third.wrapping_sub(response.sent_ns).cast_signed());
        self.last_ns = now_ns;
    }

    /// Returns the figures of requests whose times count from `origin`.
    pub fn finish(mut self, origin: Instant) -> Figures {
        self.figures.jitter = Some(self.jitter);
        self.figures.active = Duration::from_nanos(self.last_ns);
        self.figures.began = Some(origin);
        self.figures
    }
}
