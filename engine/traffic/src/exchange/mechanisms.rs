//! Requests and responses over UDP whose ways are divided into parts by the kernel's times. Both hosts have one clock.
//!
//! The times of a response's departure are known after it has left, so the next response brings them.

use super::{Schedule, Tally};
use crate::datagram;
use crate::error::{Context, Result};
use crate::flow_record::Figures;
use crate::message::{HEADER_BYTES, Header};
use crate::platform::{Departure, Stamped, wall_ns};
use crate::protocol::Side;
use crate::sampler::Sampler;
use nettrial_flows::statistics::Durations;
use nettrial_flows::unanswered::Unanswered;
use nettrial_scenario::{MechanismsRecord, RequestResponse, TIMED_RESPONSE_BYTES, nanoseconds};
use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// The responder's times in a response, in nanoseconds of the wall clock: of this response until it is sent, and of the one
/// before it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Times {
    arrived: u64,
    read: u64,
    sends: u64,
    /// The number of the request before this one, whose response departed at the times that follow; 0 for both if unknown.
    before: u64,
    queued: u64,
    left: u64,
}

impl Times {
    /// Writes the times behind the header of `message`.
    fn put(self, message: &mut [u8]) {
        let all = [self.arrived, self.read, self.sends, self.before, self.queued, self.left];
        for (place, time) in message[HEADER_BYTES..].chunks_exact_mut(8).zip(all) {
            place.copy_from_slice(&time.to_be_bytes());
        }
    }

    /// Reads the times behind the header of `message`; `None` if it is too short.
    fn get(message: &[u8]) -> Option<Self> {
        let fields = message.get(HEADER_BYTES..usize::try_from(TIMED_RESPONSE_BYTES).ok()?)?;
        let (fields, _) = fields.as_chunks::<8>();
        let [arrived, read, sends, before, queued, left] =
            [0, 1, 2, 3, 4, 5].map(|field: usize| u64::from_be_bytes(fields[field]));
        Some(Self { arrived, read, sends, before, queued, left })
    }
}

/// A request's way, whose response's departure is not known yet.
struct Way {
    number: u64,
    sends: u64,
    departure: Departure,
    there: Times,
    arrived: u64,
    read: u64,
}

/// The parts of all ways so far.
#[derive(Default)]
struct Parts([Durations; 5]);

impl Parts {
    /// Adds a way whose response departed at these times. A way on which the wall clock was set back is left out.
    fn add(&mut self, way: &Way, queued: u64, left: u64) {
        let moments = [
            [way.sends, way.departure.queued_ns, way.departure.left_ns, way.there.arrived, way.there.read],
            [way.there.sends, queued, left, way.arrived, way.read],
        ];
        let all = moments.concat();
        if !all.is_sorted() {
            return;
        }
        for (part, durations) in self.0.iter_mut().enumerate().take(4) {
            durations.record(moments.iter().map(|at| at[part + 1] - at[part]).sum());
        }
        self.0[4].record(way.there.sends - way.there.read);
    }

    fn record(&self) -> Option<MechanismsRecord> {
        let [sending, queue, wire_us, reading, answering] = self.0.each_ref().map(Durations::distribution_us);
        let [sending_us, queue_us, reading_us, answering_us] = [sending, queue, reading, answering].map(Some);
        let record = MechanismsRecord { sending_us, queue_us, wire_us, reading_us, answering_us };
        Some(record).filter(|record| record.wire_us.count > 0)
    }
}

/// Sends the flow's requests, one at a time, and gathers their figures.
pub fn request(
    side: &Side,
    exchange: &RequestResponse,
    destination: SocketAddr,
    sampler: &Sampler,
) -> Result<Figures> {
    let (mut tally, mut parts) = (Tally::new(), Parts::default());
    let socket = datagram::connect(side, destination)?;
    let lost_after = side.waits().lost_after();
    socket.set_read_timeout(Some(lost_after.as_std()))?;
    let mut stamped = Stamped::new(&socket).context("asking for times (SO_TIMESTAMPING)")?;
    let bytes_sent = sampler.datagram_bytes();
    let mut request = vec![0; usize::try_from(exchange.request.0)?];
    let mut response = vec![0; datagram::LARGEST_BYTES];
    let mut waiting = Unanswered::new(lost_after);
    let mut schedule = Schedule::start(exchange);
    let mut open: Option<Way> = None;
    let mut now_ns = 0;
    while let Some(number) = schedule.wait(now_ns) {
        let sends = wall_ns();
        let sent_ns = schedule.now_ns();
        Header { number, sent_ns, third: 0 }.put(&mut request);
        let datagram = stamped.send(&request).context("sending a request")?;
        bytes_sent.fetch_add(exchange.request.0, Ordering::Relaxed);
        waiting.sent(sent_ns);
        loop {
            let (length, arrived) = match stamped.receive(&mut response) {
                Ok(received) => received,
                Err(error) if error.kind() == ErrorKind::TimedOut => break,
                Err(error) => return Err(error).context("waiting for a response"),
            };
            now_ns = schedule.now_ns();
            let read = wall_ns();
            let message = &response[..length];
            let (Some(answer), Some(there)) = (Header::get(message), Times::get(message)) else { continue };
            if length as u64 != exchange.response.0 || waiting.answered(answer.number, now_ns).is_none() {
                continue;
            }
            tally.answered(Header { sent_ns, ..answer }, exchange.request.0, now_ns);
            if let Some(way) = open.take().filter(|way| way.number == there.before && there.left > 0) {
                parts.add(&way, there.queued, there.left);
            }
            let departure = stamped.departure(datagram).context("reading times (MSG_ERRQUEUE)")?;
            open = departure.zip(arrived).map(|(departure, arrived)| Way {
                number,
                sends,
                departure,
                there,
                arrived,
                read,
            });
            break;
        }
        now_ns = schedule.now_ns();
        waiting.expire(now_ns);
    }
    tally.figures.mechanisms = parts.record();
    tally.figures.packets = Some(waiting.counts());
    Ok(tally.finish(schedule.origin()))
}

/// Answers the requests of one sender until none arrives any more.
pub fn respond(socket: &UdpSocket, side: &Side, exchange: &RequestResponse) -> Result<()> {
    let interval = exchange.interval.map_or(Duration::ZERO, |interval| interval.as_std());
    socket.set_read_timeout(Some(side.patience() + interval))?;
    let mut stamped = Stamped::new(socket).context("asking for times (SO_TIMESTAMPING)")?;
    let mut request = vec![0; datagram::LARGEST_BYTES];
    let mut response = vec![0; usize::try_from(exchange.response.0)?];
    let mut before: Option<(u64, u32)> = None;
    let origin = Instant::now();
    loop {
        let (length, arrived) = match stamped.receive(&mut request) {
            Ok(received) => received,
            Err(error) if matches!(error.kind(), ErrorKind::TimedOut | ErrorKind::ConnectionRefused) => {
                return Ok(());
            }
            Err(error) => return Err(error).context("waiting for a request"),
        };
        let read = wall_ns();
        let Some(asked) = Header::get(&request[..length]).filter(|_| length as u64 == exchange.request.0)
        else {
            continue;
        };
        let departed = match before.take() {
            Some((number, datagram)) => stamped.departure(datagram)?.map(|departure| (number, departure)),
            None => None,
        };
        let (number, departure) = departed.unwrap_or_default();
        Header { third: nanoseconds(origin.elapsed()), ..asked }.put(&mut response);
        let times = Times {
            arrived: arrived.unwrap_or_default(),
            read,
            sends: wall_ns(),
            before: number,
            queued: departure.queued_ns,
            left: departure.left_ns,
        };
        times.put(&mut response);
        // A response that is lost here counts as one that is lost on the path.
        before = stamped.send(&response).ok().map(|datagram| (asked.number, datagram));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_they_were_written() {
        let times = Times { arrived: 1, read: 2, sends: 3, before: 4, queued: 5, left: u64::MAX };
        let mut message = vec![0xa5; 80];
        times.put(&mut message);
        assert_eq!(Times::get(&message), Some(times));
        assert_eq!(Times::get(&message[..71]), None);
        assert!(message[..HEADER_BYTES].iter().all(|&byte| byte == 0xa5));
    }

    #[test]
    fn the_parts_of_a_way_sum_to_its_time() {
        let way = |read: u64| Way {
            number: 7,
            sends: 100,
            departure: Departure { queued_ns: 103, left_ns: 110 },
            there: Times { arrived: 200, read: 205, sends: 206, ..Times::default() },
            arrived: 300,
            read,
        };
        let mut parts = Parts::default();
        assert_eq!(parts.record(), None);
        parts.add(&way(330), 216, 240);
        parts.add(&way(299), 216, 240);
        let record = parts.record().unwrap();
        let MechanismsRecord { sending_us, queue_us, wire_us, reading_us, answering_us } = record;
        let ns = |part: nettrial_scenario::Distribution| (part.count, (part.mean * 1000.0).round());
        let all =
            [sending_us, queue_us, Some(wire_us), reading_us, answering_us].map(|part| ns(part.unwrap()));
        assert_eq!(all, [(1, 13.0), (1, 31.0), (1, 150.0), (1, 35.0), (1, 1.0)]);
        assert_eq!(all.iter().map(|(_, ns)| ns).sum::<f64>(), 330.0 - 100.0);
    }
}
