//! Requests of many sizes in random order, on one connection or as datagrams.

use super::stream::Stream;
use super::{Application, Datagram, Ground};
use crate::{Notice, Time};
use nettrial_flows::sweep::{Measurement, Reply, Sizes, answer_bytes, order};
use nettrial_flows::waits::Waits;
use nettrial_scenario::Sweep;

/// The current measurement and the finished ones.
struct Course<'a> {
    settings: &'a Sweep,
    /// The sizes yet to be measured, the next one last.
    order: Vec<u64>,
    measurement: Option<Measurement>,
    sizes: Sizes,
    /// The time at which the first measurement began.
    begin: Time,
    /// The time at which the current measurement began.
    measurement_begin: Time,
    /// The time at which the current request was sent.
    requested: Time,
    /// The number of the current request.
    number: u64,
    /// The bytes of the current request.
    bytes: u64,
    /// The number of times that the current request was retransmitted.
    resent: u64,
}

impl<'a> Course<'a> {
    fn new(settings: &'a Sweep) -> Self {
        let mut order = order(settings);
        order.reverse();
        Self {
            settings,
            order,
            measurement: None,
            sizes: Sizes::default(),
            begin: Time::ZERO,
            measurement_begin: Time::ZERO,
            requested: Time::ZERO,
            number: 0,
            bytes: 0,
            resent: 0,
        }
    }

    /// Chooses the next request. Returns whether there is one.
    fn advance(&mut self, ground: &Ground<'_, '_>) -> bool {
        loop {
            if let Some(bytes) = self.measurement.as_ref().and_then(Measurement::next) {
                (self.bytes, self.requested, self.resent) = (bytes, ground.now(), 0);
                return true;
            }
            if let Some(done) = self.measurement.take() {
                self.sizes.add(&done, ground.since_ns(self.measurement_begin));
            }
            let Some(size) = self.order.pop() else { return false };
            self.measurement = Some(Measurement::new(self.settings, size));
            self.measurement_begin = ground.now();
        }
    }

    /// Records the answer to the current request.
    fn answered(&mut self, ground: &mut Ground<'_, '_>) {
        ground.figures.bytes += self.bytes;
        let reply = Reply { rtt_ns: ground.since_ns(self.requested), resent: self.resent };
        if let Some(measurement) = &mut self.measurement {
            measurement.answered(reply);
        }
        self.number += 1;
    }

    /// Ends the flow.
    fn finish(&mut self, ground: &mut Ground<'_, '_>) {
        let active_ns = ground.since_ns(self.begin);
        ground.figures.active_ns = active_ns;
        ground.set_span(self.begin, ground.now(), active_ns);
        ground.figures.sizes = std::mem::take(&mut self.sizes).finish();
        ground.finish();
    }
}

/// Requests on one connection.
pub struct OverTcp<'a> {
    course: Course<'a>,
    stream: Stream,
    is_connected: bool,
    /// The lengths of the streams in both directions at the end of the current request and of its answer.
    ends: [u64; 2],
}

impl<'a> OverTcp<'a> {
    /// Returns the application before it sends anything.
    pub fn new(settings: &'a Sweep) -> Self {
        Self { course: Course::new(settings), stream: Stream::default(), is_connected: false, ends: [0, 0] }
    }

    /// Writes the next request, or ends the flow.
    fn request(&mut self, ground: &mut Ground<'_, '_>) {
        if self.course.advance(ground) {
            self.ends[0] += self.course.bytes;
            self.ends[1] += answer_bytes(self.course.settings, self.course.bytes);
            self.stream.write(0, self.course.bytes, ground);
        } else {
            ground.release(self.stream.connection);
            self.stream.close(0, ground);
            self.course.finish(ground);
        }
    }
}

impl Application for OverTcp<'_> {
    fn start(&mut self, ground: &mut Ground<'_, '_>) {
        self.course.begin = ground.now();
        self.stream = Stream::new(ground.open());
    }

    fn on_notice(&mut self, notice: Notice, ground: &mut Ground<'_, '_>) {
        match notice {
            Notice::Connected { side: 0, .. } => {
                ground.figures.connect.record(ground.since_ns(self.course.begin));
                self.course.begin = ground.now();
                self.is_connected = true;
                self.request(ground);
            }
            Notice::Writable { side, .. } => self.stream.flush(side, ground),
            Notice::Readable { side: 1, total_bytes, .. }
                if self.is_connected && total_bytes == self.ends[0] =>
            {
                self.stream.write(1, answer_bytes(self.course.settings, self.course.bytes), ground);
            }
            Notice::Readable { side: 0, total_bytes, .. } if total_bytes == self.ends[1] => {
                self.course.answered(ground);
                self.request(ground);
            }
            Notice::Closed { side: 1, .. } => self.stream.close(1, ground),
            Notice::Failed { connection, .. } if ground.figures.over.is_none() => {
                ground.fail(connection, "its connection could not be opened, or gave up");
                self.course.finish(ground);
            }
            _ => {}
        }
    }
}

/// Requests as datagrams, each of which is retransmitted until it is answered.
pub struct OverUdp<'a> {
    course: Course<'a>,
    waits: Waits,
    /// The time at which the current request is retransmitted.
    again: Time,
}

impl<'a> OverUdp<'a> {
    /// Returns the application before it sends anything.
    pub fn new(settings: &'a Sweep, waits: Waits) -> Self {
        Self { course: Course::new(settings), waits, again: Time::NEVER }
    }

    /// Sends the next request, or ends the flow.
    fn request(&mut self, ground: &mut Ground<'_, '_>) {
        if self.course.advance(ground) {
            self.send(ground);
        } else {
            self.again = Time::NEVER;
            self.course.finish(ground);
        }
    }

    /// Sends the current request for the first time or again.
    fn send(&mut self, ground: &mut Ground<'_, '_>) {
        let (number, now) = (self.course.number, ground.now());
        ground.send(0, Datagram { number, payload_bytes: self.course.bytes, sent: now, read: Time::ZERO });
        let waits = self.again > now && self.again < Time::NEVER;
        self.again = now + Time::from_ns(self.waits.again_after().0);
        // There is one wake-up at a time; when it comes, it finds out what is due.
        if !waits {
            ground.wake(self.again);
        }
    }
}

impl Application for OverUdp<'_> {
    fn start(&mut self, ground: &mut Ground<'_, '_>) {
        self.course.begin = ground.now();
        self.request(ground);
    }

    fn on_notice(&mut self, _: Notice, _: &mut Ground<'_, '_>) {}

    fn on_timer(&mut self, ground: &mut Ground<'_, '_>) {
        if ground.figures.over.is_some() {
            return;
        }
        if ground.now() < self.again {
            return ground.wake(self.again);
        }
        if ground.now().since(self.course.requested) >= Time::from_ns(self.waits.patience().0) {
            ground.figures.failure =
                Some("a request was retransmitted again and again and never answered".to_owned());
            return self.course.finish(ground);
        }
        self.course.resent += 1;
        self.send(ground);
    }

    fn on_datagram(&mut self, side: u8, datagram: Datagram, ground: &mut Ground<'_, '_>) {
        if side == 1 {
            let payload_bytes = answer_bytes(self.course.settings, datagram.payload_bytes);
            ground.send(1, Datagram { payload_bytes, read: ground.now(), ..datagram });
        } else if datagram.number == self.course.number && ground.figures.over.is_none() {
            self.course.answered(ground);
            self.request(ground);
        }
    }
}
