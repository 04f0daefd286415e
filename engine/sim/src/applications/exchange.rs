//! Requests and responses over TCP and UDP.

use super::mechanisms::Ways;
use super::stream::Stream;
use super::{Application, Datagram, Ground};
use crate::{Notice, Time};
use nettrial_flows::requests::{Next, Requests};
use nettrial_flows::unanswered::Unanswered;
use nettrial_flows::waits::Waits;
use nettrial_scenario::RequestResponse;
use std::collections::VecDeque;

/// The state of a flow's requests that does not depend on the transport. Times are nanoseconds since `origin`.
struct Exchange<'a> {
    settings: &'a RequestResponse,
    requests: Requests<'a>,
    origin: Time,
    last_ns: u64,
    /// The last wake-up that was requested.
    woken: Option<u64>,
}

impl<'a> Exchange<'a> {
    fn new(settings: &'a RequestResponse) -> Self {
        let requests = Requests::new(settings);
        Self { settings, requests, origin: Time::ZERO, last_ns: 0, woken: None }
    }

    fn now_ns(&self, ground: &Ground<'_, '_>) -> u64 {
        ground.since_ns(self.origin)
    }

    /// Records the answer to a request that was sent at `sent_ns` and read at `read_ns`.
    fn answered(&mut self, sent_ns: u64, read_ns: u64, ground: &mut Ground<'_, '_>) {
        let now_ns = self.now_ns(ground);
        ground.figures.rtt.record(now_ns.saturating_sub(sent_ns));
        ground.figures.bytes += self.settings.request.0;
        ground.figures.jitter.record(read_ns.wrapping_sub(sent_ns).cast_signed());
        self.last_ns = now_ns;
    }

    /// Requests a wake-up after `span_ns` nanoseconds, unless it is already requested.
    fn wake_in(&mut self, span_ns: u64, ground: &mut Ground<'_, '_>) {
        let at_ns = self.now_ns(ground) + span_ns;
        if self.woken.replace(at_ns) != Some(at_ns) {
            ground.wake(self.origin + Time::from_ns(at_ns));
        }
    }

    /// Sets the time that the requests took.
    fn set_time(&self, ground: &mut Ground<'_, '_>) {
        ground.figures.active_ns = self.last_ns;
        ground.set_span(self.origin, self.origin + Time::from_ns(self.last_ns), self.last_ns);
    }

    /// Ends the flow.
    fn finish(&self, ground: &mut Ground<'_, '_>) {
        self.set_time(ground);
        ground.finish();
    }
}

/// Requests on one connection, of which one or several may be unanswered.
pub struct OverTcp<'a> {
    exchange: Exchange<'a>,
    begin: Time,
    stream: Stream,
    is_connected: bool,
    /// The send times of the unanswered requests, the oldest first.
    waiting: VecDeque<u64>,
    /// The times at which those of them that arrived were read.
    read: VecDeque<u64>,
    /// The number of requests that arrived.
    requested: u64,
    /// The number of responses that arrived.
    answered: u64,
}

impl<'a> OverTcp<'a> {
    /// Returns the application before it sends anything.
    pub fn new(settings: &'a RequestResponse) -> Self {
        Self {
            exchange: Exchange::new(settings),
            begin: Time::ZERO,
            stream: Stream::default(),
            is_connected: false,
            waiting: VecDeque::new(),
            read: VecDeque::new(),
            requested: 0,
            answered: 0,
        }
    }

    /// Sends the requests that are due, and ends the flow after the last response.
    fn step(&mut self, ground: &mut Ground<'_, '_>) {
        if !self.is_connected {
            return;
        }
        let now_ns = self.exchange.now_ns(ground);
        let has_room =
            |waiting: &VecDeque<u64>| (waiting.len() as u64) < u64::from(self.exchange.settings.in_flight);
        while has_room(&self.waiting)
            && self.stream.is_free(0)
            && self.exchange.requests.next(now_ns) == Next::Due
        {
            self.exchange.requests.take(now_ns);
            self.waiting.push_back(now_ns);
            self.stream.write(0, self.exchange.settings.request.0, ground);
        }
        match self.exchange.requests.next(now_ns) {
            Next::Over if self.waiting.is_empty() => {
                self.is_connected = false;
                ground.release(self.stream.connection);
                self.stream.close(0, ground);
                self.exchange.finish(ground);
            }
            Next::In(span_ns) if has_room(&self.waiting) => self.exchange.wake_in(span_ns, ground),
            _ => {}
        }
    }
}

impl Application for OverTcp<'_> {
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
                self.exchange.origin = ground.now();
                self.is_connected = true;
                self.step(ground);
            }
            Notice::Readable { side: 1, total_bytes, .. } => {
                while (self.requested + 1) * self.exchange.settings.request.0 <= total_bytes {
                    self.requested += 1;
                    self.read.push_back(self.exchange.now_ns(ground));
                    self.stream.write(1, self.exchange.settings.response.0, ground);
                }
            }
            Notice::Readable { side: 0, total_bytes, .. } => {
                while (self.answered + 1) * self.exchange.settings.response.0 <= total_bytes {
                    self.answered += 1;
                    let (Some(sent_ns), Some(read_ns)) = (self.waiting.pop_front(), self.read.pop_front())
                    else {
                        break;
                    };
                    self.exchange.answered(sent_ns, read_ns, ground);
                }
                self.step(ground);
            }
            Notice::Writable { side, .. } => {
                self.stream.flush(side, ground);
                self.step(ground);
            }
            Notice::Closed { side: 1, .. } => self.stream.close(1, ground),
            Notice::Failed { connection, .. } => {
                self.is_connected = false;
                self.exchange.set_time(ground);
                ground.fail(connection, "its connection could not be opened, or gave up");
            }
            _ => {}
        }
    }
}

/// Requests with a connection for each, which the second host closes.
pub struct ConnectingEach<'a> {
    exchange: Exchange<'a>,
    stream: Stream,
    sent_ns: u64,
    read_ns: u64,
    is_asked: bool,
    /// True if a request is unanswered.
    is_busy: bool,
}

impl<'a> ConnectingEach<'a> {
    /// Returns the application before it sends anything.
    pub fn new(settings: &'a RequestResponse) -> Self {
        Self {
            exchange: Exchange::new(settings),
            stream: Stream::default(),
            sent_ns: 0,
            read_ns: 0,
            is_asked: false,
            is_busy: false,
        }
    }

    /// Opens a connection for the next request if it is due, or ends the flow.
    fn step(&mut self, ground: &mut Ground<'_, '_>) {
        let now_ns = self.exchange.now_ns(ground);
        match self.exchange.requests.next(now_ns) {
            _ if self.is_busy => {}
            Next::Over => self.exchange.finish(ground),
            Next::In(span_ns) => self.exchange.wake_in(span_ns, ground),
            Next::Due => {
                self.exchange.requests.take(now_ns);
                (self.sent_ns, self.is_busy, self.is_asked) = (now_ns, true, false);
                self.stream = Stream::new(ground.open());
            }
        }
    }
}

impl Application for ConnectingEach<'_> {
    fn start(&mut self, ground: &mut Ground<'_, '_>) {
        self.exchange.origin = ground.now();
        self.step(ground);
    }

    fn on_timer(&mut self, ground: &mut Ground<'_, '_>) {
        self.step(ground);
    }

    fn on_notice(&mut self, notice: Notice, ground: &mut Ground<'_, '_>) {
        let (request, response) = (self.exchange.settings.request.0, self.exchange.settings.response.0);
        let current = self.stream.connection;
        match notice {
            Notice::Connected { connection, side: 0 } if connection == current => {
                ground.figures.connect.record(self.exchange.now_ns(ground) - self.sent_ns);
                self.stream.write(0, request, ground);
            }
            Notice::Readable { connection, side: 1, total_bytes }
                if connection == current && total_bytes >= request && !self.is_asked =>
            {
                self.is_asked = true;
                self.read_ns = self.exchange.now_ns(ground);
                self.stream.write(1, response, ground);
                self.stream.close(1, ground);
            }
            Notice::Readable { connection, side: 0, total_bytes }
                if connection == current && total_bytes == response =>
            {
                self.exchange.answered(self.sent_ns, self.read_ns, ground);
            }
            Notice::Writable { connection, side } if connection == current => self.stream.flush(side, ground),
            Notice::Closed { connection, side: 0 } if connection == current => {
                ground.release(connection);
                self.stream.close(0, ground);
                self.is_busy = false;
                self.step(ground);
            }
            Notice::Failed { connection, .. } if connection == current && self.is_busy => {
                self.exchange.set_time(ground);
                ground.fail(connection, "a connection could not be opened, or gave up");
            }
            _ => {}
        }
    }
}

/// Requests in datagrams. A request and its response are one datagram each, and either may be lost.
pub struct OverUdp<'a> {
    exchange: Exchange<'a>,
    waiting: Unanswered,
    ways: Ways,
}

impl<'a> OverUdp<'a> {
    /// Returns the application before it sends anything.
    pub fn new(settings: &'a RequestResponse, waits: Waits) -> Self {
        let waiting = Unanswered::new(waits.lost_after());
        Self { exchange: Exchange::new(settings), waiting, ways: Ways::default() }
    }

    /// Sends the requests that are due, gives up those without a response, and ends the flow after the last one.
    fn step(&mut self, ground: &mut Ground<'_, '_>) {
        if ground.figures.over.is_some() {
            return;
        }
        let now_ns = self.exchange.now_ns(ground);
        self.waiting.expire(now_ns);
        let in_flight = u64::from(self.exchange.settings.in_flight);
        while self.waiting.open() < in_flight && self.exchange.requests.next(now_ns) == Next::Due {
            let number = self.exchange.requests.take(now_ns);
            let payload_bytes = self.exchange.settings.request.0;
            ground.send(0, Datagram { number, payload_bytes, sent: ground.now(), read: Time::ZERO });
            self.waiting.sent(now_ns);
        }
        let due_ns = match self.exchange.requests.next(now_ns) {
            Next::Over if self.waiting.open() == 0 => {
                ground.figures.packets = Some(self.waiting.counts());
                return self.exchange.finish(ground);
            }
            Next::In(span_ns) if self.waiting.open() < in_flight => span_ns,
            _ => u64::MAX,
        };
        let loss_ns = self.waiting.next_loss_ns().map_or(u64::MAX, |loss_ns| loss_ns - now_ns);
        if due_ns.min(loss_ns) < u64::MAX {
            self.exchange.wake_in(due_ns.min(loss_ns), ground);
        }
    }
}

impl Application for OverUdp<'_> {
    fn start(&mut self, ground: &mut Ground<'_, '_>) {
        self.exchange.origin = ground.now();
        self.step(ground);
    }

    fn on_timer(&mut self, ground: &mut Ground<'_, '_>) {
        self.step(ground);
    }

    fn on_notice(&mut self, _: Notice, _: &mut Ground<'_, '_>) {}

    fn on_datagram(&mut self, side: u8, datagram: Datagram, ground: &mut Ground<'_, '_>) {
        if side == 1 {
            if let Some(way) = ground.io.way() {
                self.ways.arrived(ground.now(), way);
            }
            let payload_bytes = self.exchange.settings.response.0;
            ground.send(1, Datagram { payload_bytes, read: ground.now(), ..datagram });
            return;
        }
        let now_ns = self.exchange.now_ns(ground);
        if let Some(sent_ns) = self.waiting.answered(datagram.number, now_ns) {
            let read_ns = datagram.read.since(self.exchange.origin).as_ns();
            self.exchange.answered(sent_ns, read_ns, ground);
            if let Some(way) = ground.io.way() {
                let times = [datagram.sent, datagram.read, ground.now()];
                let parts = ground.figures.mechanisms.get_or_insert_default();
                self.ways.answered(times, way, self.exchange.origin, parts);
            }
        }
        self.step(ground);
    }
}
