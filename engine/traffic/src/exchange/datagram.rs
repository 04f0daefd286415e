//! Requests and responses over UDP: each is one datagram, and either may be lost.

use super::{Next, Schedule, Tally, nanoseconds};
use crate::datagram;
use crate::figures::Figures;
use crate::message::Header;
use crate::protocol::Side;
use crate::sampler::Sampler;
use crate::tcp::PATIENCE;
use crate::waiting::Reader;
use crate::wire::Weight;
use anyhow::{Context, Result};
use nettrial_scenario::{PacketCounts, RequestResponse};
use std::collections::{HashSet, VecDeque};
use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// A request that is not answered for so long is lost.
const LOST_AFTER: Duration = Duration::from_secs(1);

/// Sends the flow's requests and gathers their figures.
pub fn request(
    side: &Side,
    exchange: &RequestResponse,
    destination: SocketAddr,
    sampler: &Sampler,
) -> Result<Figures> {
    let mut tally = Tally::new();
    let socket = datagram::connect(side, destination)?;
    socket.set_read_timeout(Some(LOST_AFTER))?;
    let bytes_sent = sampler.datagram_bytes();
    let reader = Reader::new(&socket, &side.flow.socket);
    let mut request = vec![0; usize::try_from(exchange.request.0)?];
    let mut response = vec![0; datagram::LARGEST_BYTES];
    let mut waiting = Waiting::default();
    let mut schedule = Schedule::start(exchange);
    let mut now_ns = 0;
    loop {
        while waiting.open < u64::from(exchange.in_flight) && schedule.next(now_ns) == Next::Due {
            let header = Header { number: schedule.take(now_ns), sent_ns: schedule.now_ns(), third: 0 };
            header.put(&mut request);
            socket.send(&request).context("sending a request")?;
            bytes_sent.fetch_add(exchange.request.0, Ordering::Relaxed);
            waiting.sent(header.sent_ns);
        }
        let next = schedule.next(now_ns);
        let span = match next {
            Next::Over if waiting.open == 0 => break,
            Next::In(span) if waiting.open < u64::from(exchange.in_flight) => Some(span),
            _ => None,
        };
        let read = if let Some(span) = span {
            let read = reader.try_read(&mut response).context("reading a response")?;
            if read.is_none() {
                reader.wait(false, span.min(LOST_AFTER))?;
            }
            read
        } else {
            match reader.read(&mut response) {
                Ok(count) => Some(count),
                Err(error) if error.kind() == ErrorKind::TimedOut => None,
                Err(error) => return Err(error).context("waiting for a response"),
            }
        };
        now_ns = schedule.now_ns();
        if let Some(length) = read
            && length as u64 == exchange.response.0
            && let Some(answer) = Header::get(&response[..length])
            && let Some(sent_ns) = waiting.answered(answer.number, now_ns)
        {
            tally.answered(Header { sent_ns, ..answer }, exchange.request.0, now_ns);
        }
        waiting.expire(now_ns);
    }
    let mtu = datagram::path_mtu(&socket, side.flow.ip)?;
    let mut one = Weight::default();
    one.add_datagram(exchange.request.0, mtu, side.flow.ip);
    tally.figures.weight = one.times(waiting.counts.sent_pkts);
    tally.figures.packets = Some(waiting.counts());
    Ok(tally.finish())
}

/// Answers the requests of one sender until none comes any more.
pub fn respond(socket: &UdpSocket, side: &Side, exchange: &RequestResponse) -> Result<()> {
    let interval = exchange.interval.map_or(Duration::ZERO, |interval| interval.as_std());
    socket.set_read_timeout(Some(PATIENCE + interval))?;
    let reader = Reader::new(socket, &side.flow.socket);
    let mut request = vec![0; datagram::LARGEST_BYTES];
    let mut response = vec![0; usize::try_from(exchange.response.0)?];
    let origin = Instant::now();
    loop {
        match reader.read(&mut request) {
            Ok(length) if length as u64 == exchange.request.0 => {
                let Some(asked) = Header::get(&request[..length]) else { continue };
                Header { third: nanoseconds(origin.elapsed()), ..asked }.put(&mut response);
                // A response that is lost here is as lost as on its way.
                let _ = socket.send(&response);
            }
            Ok(_) => {}
            Err(error) if matches!(error.kind(), ErrorKind::TimedOut | ErrorKind::ConnectionRefused) => {
                return Ok(());
            }
            Err(error) => return Err(error).context("waiting for a request"),
        }
    }
}

/// The requests that were sent, and what became of them.
#[derive(Default)]
struct Waiting {
    /// When each was sent, and whether it was answered; the first is the oldest that has neither been
    /// answered nor been lost.
    requests: VecDeque<(u64, bool)>,
    /// The number of the first.
    first: u64,
    /// How many are not answered.
    open: u64,
    /// Numbers of lost ones whose answers may still come.
    lost: HashSet<u64>,
    /// The highest number that was answered.
    latest: Option<u64>,
    burst: u64,
    duplicated: u64,
    reordered: u64,
    bursts: u64,
    longest_burst: u64,
    counts: PacketCounts,
}

impl Waiting {
    /// What became of the requests so far.
    fn counts(&self) -> PacketCounts {
        PacketCounts {
            duplicated_pkts: Some(self.duplicated),
            reordered_pkts: Some(self.reordered),
            loss_bursts: Some(self.bursts),
            longest_loss_burst_pkts: Some(self.longest_burst),
            ..self.counts
        }
    }

    fn sent(&mut self, sent_ns: u64) {
        self.requests.push_back((sent_ns, false));
        self.open += 1;
        self.counts.sent_pkts += 1;
    }

    /// An answer to request `number` came; when that was sent, if the answer is the first and in time.
    fn answered(&mut self, number: u64, now_ns: u64) -> Option<u64> {
        self.expire(now_ns);
        let Some(index) = number.checked_sub(self.first).and_then(|index| usize::try_from(index).ok()) else {
            // The first late answer to a lost request changes nothing, another is a duplicate.
            self.duplicated += u64::from(!self.lost.remove(&number));
            return None;
        };
        let (sent_ns, is_answered) = self.requests.get_mut(index)?;
        let sent_ns = *sent_ns;
        if std::mem::replace(is_answered, true) {
            self.duplicated += 1;
            return None;
        }
        self.open -= 1;
        self.counts.received_pkts += 1;
        self.reordered += u64::from(self.latest.is_some_and(|latest| number < latest));
        self.latest = self.latest.max(Some(number));
        self.expire(now_ns);
        Some(sent_ns)
    }

    /// Forgets those that are answered, and gives up those that have waited too long.
    fn expire(&mut self, now_ns: u64) {
        while let Some(&(sent_ns, is_answered)) = self.requests.front() {
            if is_answered {
                self.burst = 0;
            } else if nanoseconds(LOST_AFTER) <= now_ns.saturating_sub(sent_ns) {
                self.lost.insert(self.first);
                self.open -= 1;
                self.burst += 1;
                self.counts.lost_pkts += 1;
                self.bursts += u64::from(self.burst == 1);
                self.longest_burst = self.longest_burst.max(self.burst);
            } else {
                return;
            }
            self.requests.pop_front();
            self.first += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn sent(times: &[u64]) -> Waiting {
        let mut waiting = Waiting::default();
        times.iter().for_each(|&time| waiting.sent(time));
        waiting
    }

    #[test]
    fn an_answer_counts_once_and_only_to_a_request_that_was_sent() {
        let mut waiting = sent(&[10, 20]);
        assert_eq!(waiting.answered(1, 30), Some(20));
        assert_eq!(waiting.answered(1, 31), None);
        assert_eq!(waiting.answered(2, 32), None);
        assert_eq!(waiting.answered(u64::MAX, 32), None);
        assert_eq!(waiting.answered(0, 33), Some(10));
        assert_eq!(waiting.answered(0, 34), None);
        let expected = PacketCounts {
            sent_pkts: 2,
            received_pkts: 2,
            reordered_pkts: Some(1),
            duplicated_pkts: Some(2),
            loss_bursts: Some(0),
            longest_loss_burst_pkts: Some(0),
            ..Default::default()
        };
        assert_eq!((waiting.counts(), waiting.open), (expected, 0));
    }

    #[test]
    fn a_request_is_lost_after_a_second_and_its_late_answer_changes_nothing() {
        let mut waiting = sent(&[0, 1, 2, SECOND, SECOND + 1]);
        waiting.answered(3, SECOND + 5);
        assert_eq!(waiting.counts.lost_pkts, 3);
        assert_eq!(waiting.answered(0, SECOND + 9), None);
        assert_eq!(waiting.answered(0, SECOND + 9), None);
        assert_eq!(waiting.answered(4, 3 * SECOND), None, "too late, though nothing expired it before");
        let expected = PacketCounts {
            sent_pkts: 5,
            received_pkts: 1,
            lost_pkts: 4,
            reordered_pkts: Some(0),
            duplicated_pkts: Some(1),
            loss_bursts: Some(2),
            longest_loss_burst_pkts: Some(3),
            ..Default::default()
        };
        assert_eq!((waiting.counts(), waiting.open), (expected, 0));
    }
}
