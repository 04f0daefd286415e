//! Requests and responses. Both begin with a [`Header`](crate::message::Header).

mod datagram;
mod stream;

pub use datagram::respond as respond_to_datagrams;
pub use stream::respond as respond_to_stream;

use crate::figures::Figures;
use crate::message::Header;
use crate::protocol::Side;
use crate::sampler::Sampler;
use crate::statistics::Jitter;
use anyhow::Result;
use nettrial_scenario::{Connecting, RequestResponse, Transport};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// Sends the flow's requests and gathers their figures.
pub fn request(
    side: &Side,
    exchange: &RequestResponse,
    destination: SocketAddr,
    sampler: &Sampler,
) -> Result<Figures> {
    if side.flow.transport == Transport::Udp {
        return datagram::request(side, exchange, destination, sampler);
    }
    match (exchange.connecting, exchange.in_flight) {
        (Connecting::EachRequest, _) => stream::connect_each(side, exchange, destination, sampler),
        (Connecting::Once, 1) => stream::one_by_one(side, exchange, destination, sampler),
        (Connecting::Once, _) => stream::several(side, exchange, destination, sampler),
    }
}

/// When the requests of a flow are due. Times are nanoseconds from its start.
struct Schedule<'a> {
    exchange: &'a RequestResponse,
    origin: Instant,
    due_ns: u64,
    /// The number of the next request.
    number: u64,
}

/// Whether a request may be sent.
#[derive(Debug, PartialEq, Eq)]
enum Next {
    /// Now.
    Due,
    /// After so long.
    In(Duration),
    /// No more.
    Over,
}

impl<'a> Schedule<'a> {
    fn start(exchange: &'a RequestResponse) -> Self {
        Self { exchange, origin: Instant::now(), due_ns: 0, number: 0 }
    }

    fn now_ns(&self) -> u64 {
        nanoseconds(self.origin.elapsed())
    }

    /// What there is to do at `now_ns`.
    fn next(&self, now_ns: u64) -> Next {
        let end_ns = self.exchange.duration.map_or(u64::MAX, |duration| duration.0);
        if now_ns.max(self.due_ns) >= end_ns || self.exchange.count == Some(self.number) {
            Next::Over
        } else if self.due_ns <= now_ns {
            Next::Due
        } else {
            Next::In(Duration::from_nanos(self.due_ns - now_ns))
        }
    }

    /// A request is sent at `now_ns`; its number.
    fn take(&mut self, now_ns: u64) -> u64 {
        if let Some(interval) = self.exchange.interval {
            // What comes later than an interval after it was due moves the schedule: no burst follows.
            self.due_ns += interval.0;
            if self.due_ns <= now_ns {
                self.due_ns = now_ns + interval.0;
            }
        }
        self.number += 1;
        self.number - 1
    }

    /// Sleeps until the next request is due; its number, or `None` after the last.
    fn wait(&mut self, now_ns: u64) -> Option<u64> {
        match self.next(now_ns) {
            Next::Over => return None,
            Next::In(span) => std::thread::sleep(span),
            Next::Due => {}
        }
        Some(self.take(now_ns.max(self.due_ns)))
    }
}

/// What the responses gave.
struct Tally {
    figures: Figures,
    jitter: Jitter,
    last_ns: u64,
}

impl Tally {
    fn new() -> Self {
        Self { figures: Figures::default(), jitter: Jitter::default(), last_ns: 0 }
    }

    /// A request with `bytes` was answered at `now_ns`.
    fn answered(&mut self, response: Header, bytes: u64, now_ns: u64) {
        self.figures.rtt.record(now_ns.saturating_sub(response.sent_ns));
        self.figures.bytes += bytes;
        self.jitter.record(response.third.wrapping_sub(response.sent_ns).cast_signed());
        self.last_ns = now_ns;
    }

    fn finish(mut self) -> Figures {
        self.figures.jitter = Some(self.jitter);
        self.figures.active = Duration::from_nanos(self.last_ns);
        self.figures
    }
}

fn nanoseconds(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nettrial_scenario::Size;

    fn exchange(duration: Option<u64>, count: Option<u64>, interval: Option<u64>) -> RequestResponse {
        RequestResponse {
            request: Size(64),
            response: Size(64),
            duration: duration.map(nettrial_scenario::Duration),
            count,
            interval: interval.map(nettrial_scenario::Duration),
            in_flight: 1,
            connecting: Connecting::Once,
        }
    }

    #[test]
    fn requests_end_with_the_count_or_the_duration() {
        let counted = exchange(Some(1000), Some(2), None);
        let mut schedule = Schedule::start(&counted);
        assert_eq!((schedule.take(1), schedule.take(2)), (0, 1));
        assert_eq!(schedule.next(3), Next::Over);
        let timed = exchange(Some(1000), None, None);
        assert_eq!(Schedule::start(&timed).next(999), Next::Due);
        assert_eq!(Schedule::start(&timed).next(1000), Next::Over);
    }

    #[test]
    fn an_interval_keeps_its_beat_and_no_burst_follows_a_late_response() {
        let paced = exchange(Some(10_000), None, Some(100));
        let mut schedule = Schedule::start(&paced);
        schedule.take(0);
        assert_eq!(schedule.next(30), Next::In(Duration::from_nanos(70)));
        schedule.take(110); // woken a little late: the next is due at 200 all the same
        assert_eq!(schedule.next(110), Next::In(Duration::from_nanos(90)));
        schedule.take(750);
        assert_eq!(schedule.next(750), Next::In(Duration::from_nanos(100)));
        // None is due before the end.
        assert_eq!(schedule.next(9_990), Next::Due);
        schedule.take(9_950);
        assert_eq!(schedule.next(9_950), Next::Over);
    }
}
