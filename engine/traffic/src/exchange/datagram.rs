//! Requests and responses over UDP: each is one datagram, and either may be lost.

use super::{Next, Schedule, Tally};
use crate::datagram;
use crate::error::{Context, Result};
use crate::flow_record::Figures;
use crate::message::Header;
use crate::platform;
use crate::protocol::Side;
use crate::sampler::Sampler;
use crate::waiting::Reader;
use nettrial_flows::unanswered::Unanswered;
use nettrial_flows::wire::Weight;
use nettrial_scenario::{RequestResponse, nanoseconds};
use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Sends the flow's requests and gathers their figures.
pub fn request(
    side: &Side,
    exchange: &RequestResponse,
    destination: SocketAddr,
    sampler: &Sampler,
) -> Result<Figures> {
    let mut tally = Tally::new();
    let socket = datagram::connect(side, destination)?;
    let lost_after = side.waits().lost_after();
    socket.set_read_timeout(Some(lost_after.as_std()))?;
    let bytes_sent = sampler.datagram_bytes();
    let reader = Reader::new(&socket, &side.flow.socket);
    let mut request = vec![0; usize::try_from(exchange.request.0)?];
    let mut response = vec![0; datagram::LARGEST_BYTES];
    let mut waiting = Unanswered::new(lost_after);
    let mut schedule = Schedule::start(exchange);
    let mut now_ns = 0;
    loop {
        while waiting.open() < u64::from(exchange.in_flight) && schedule.next(now_ns) == Next::Due {
            let header = Header { number: schedule.take(now_ns), sent_ns: schedule.now_ns(), third: 0 };
            header.put(&mut request);
            socket.send(&request).context("sending a request")?;
            bytes_sent.fetch_add(exchange.request.0, Ordering::Relaxed);
            waiting.sent(header.sent_ns);
        }
        let next = schedule.next(now_ns);
        let span = match next {
            Next::Over if waiting.open() == 0 => break,
            Next::In(span_ns) if waiting.open() < u64::from(exchange.in_flight) => {
                Some(Duration::from_nanos(span_ns))
            }
            _ => None,
        };
        let read = if let Some(span) = span {
            let read = reader.try_read(&mut response).context("reading a response")?;
            if read.is_none() {
                reader.wait(false, span.min(lost_after.as_std()))?;
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
    let counts = waiting.counts();
    if let Some(mtu) = platform::path_mtu(&socket).context("reading the path MTU")? {
        let mut one = Weight::default();
        one.add_datagram(exchange.request.0, mtu, side.flow.ip);
        tally.figures.weight = one.times(counts.sent_pkts);
    }
    tally.figures.packets = Some(counts);
    Ok(tally.finish(schedule.origin))
}

/// Answers the requests of one sender until none arrives any more.
pub fn respond(socket: &UdpSocket, side: &Side, exchange: &RequestResponse) -> Result<()> {
    let interval = exchange.interval.map_or(Duration::ZERO, |interval| interval.as_std());
    socket.set_read_timeout(Some(side.patience() + interval))?;
    let reader = Reader::new(socket, &side.flow.socket);
    let mut request = vec![0; datagram::LARGEST_BYTES];
    let mut response = vec![0; usize::try_from(exchange.response.0)?];
    let origin = Instant::now();
    loop {
        match reader.read(&mut request) {
            Ok(length) if length as u64 == exchange.request.0 => {
                let Some(asked) = Header::get(&request[..length]) else { continue };
                Header { third: nanoseconds(origin.elapsed()), ..asked }.put(&mut response);
                // A response that is lost here counts as one that is lost on the path.
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
