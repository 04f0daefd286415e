//! Requests and responses, over TCP and UDP, with the bytes of `engine/traffic/src/exchange`.

use crate::Context;
use crate::connection::Connection;
use crate::datagram::{self, Socket};
use crate::host::Host;
use crate::stack::Stack;
use crate::transfer::close;
use nettrial_flows::requests::Next;
use nettrial_flows::unanswered::Unanswered;
use nettrial_scenario::{Connecting, RequestResponse, Size, Transport, nanoseconds};
use nettrial_traffic::parts::{
    Figures, HEADER_BYTES, Header, LARGEST_BYTES, Purpose, Samples, Schedule, Tally,
};
use nettrial_traffic::{Error, Result, Side};
use std::collections::VecDeque;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The bytes read or written at a time, if messages are smaller.
const BATCH_BYTES: usize = 64 << 10;

/// Sends the flow's requests and gathers their figures.
pub fn request<S: Stack>(
    host: &Arc<Host<S>>,
    side: &Side,
    exchange: &RequestResponse,
    destination: SocketAddr,
    samples: &mut Samples,
) -> Result<Figures> {
    match (side.flow.transport, exchange.connecting) {
        (Transport::Udp, _) => over_datagrams(host, side, exchange, destination),
        (_, Connecting::EachRequest) => connect_each(host, side, exchange, destination, samples),
        (_, Connecting::Once) => over_one(host, side, exchange, destination, samples),
    }
}

/// Sends the requests over one connection, several of which may wait for their responses.
fn over_one<S: Stack>(
    host: &Arc<Host<S>>,
    side: &Side,
    exchange: &RequestResponse,
    destination: SocketAddr,
    samples: &mut Samples,
) -> Result<Figures> {
    let mut tally = Tally::new();
    let made = Connection::carry(host, side, destination, &mut tally.figures)?;
    let mut request = message(exchange.request)?;
    let response_bytes = usize::try_from(exchange.response.0)?;
    let (mut outgoing, mut written) = (Vec::with_capacity(BATCH_BYTES + request.len()), 0);
    let (mut incoming, mut filled) = (vec![0; BATCH_BYTES.max(response_bytes)], 0);
    // The times at which the waiting requests were sent, the oldest first.
    let mut waiting = VecDeque::new();
    let (mut answered, mut now_ns) = (0, 0);
    let mut schedule = Schedule::start(exchange);
    loop {
        if written == outgoing.len() {
            outgoing.clear();
            written = 0;
            while waiting.len() < exchange.in_flight as usize
                && outgoing.len() < BATCH_BYTES
                && schedule.next(now_ns) == Next::Due
            {
                let header = Header { number: schedule.take(now_ns), sent_ns: schedule.now_ns(), third: 0 };
                header.put(&mut request);
                outgoing.extend_from_slice(&request);
                waiting.push_back(header.sent_ns);
            }
        }
        let next = schedule.next(now_ns);
        if waiting.is_empty() && next == Next::Over {
            break;
        }
        let limit = match next {
            Next::In(span_ns) if waiting.len() < exchange.in_flight as usize => Duration::from_nanos(span_ns),
            _ => side.patience(),
        };
        let limit = limit.min(side.patience());
        let (took, read) = made
            .exchange(&outgoing[written..], &mut incoming[filled..], limit)
            .context("waiting for responses")?;
        let read = read.ok_or_else(|| Error::Peer("the receiver closed the connection".into()))?;
        if took == 0 && read == 0 && limit >= side.patience() {
            return Err(Error::TimedOut("waiting for responses: nothing came for too long".into()));
        }
        written += took;
        now_ns = schedule.now_ns();
        filled += read;
        let complete = filled / response_bytes * response_bytes;
        for response in incoming[..complete].chunks_exact(response_bytes) {
            let answer = answer_to(response, answered)?;
            let sent_ns =
                waiting.pop_front().ok_or_else(|| Error::Peer("a response without a request came".into()))?;
            answered += 1;
            tally.answered(Header { sent_ns, ..answer }, exchange.request.0, now_ns);
        }
        incoming.copy_within(complete..filled, 0);
        filled -= complete;
    }
    made.finish();
    close(made, samples);
    Ok(tally.finish(schedule.origin()))
}

/// Sends each request over a connection of its own. The opening and the request are sent together.
fn connect_each<S: Stack>(
    host: &Arc<Host<S>>,
    side: &Side,
    exchange: &RequestResponse,
    destination: SocketAddr,
    samples: &mut Samples,
) -> Result<Figures> {
    let mut tally = Tally::new();
    let opening = side.cookie.opening(Purpose::Traffic);
    let mut request = [opening.as_slice(), &message(exchange.request)?].concat();
    let mut response = message(exchange.response)?;
    let mut schedule = Schedule::start(exchange);
    while let Some(number) = schedule.wait(schedule.now_ns()) {
        let (made, took) = Connection::open(host, side, destination)?;
        let sent_ns = schedule.now_ns().saturating_sub(nanoseconds(took));
        Header { number, sent_ns, third: 0 }.put(&mut request[opening.len()..]);
        made.write_all(&request).context("sending a request")?;
        made.read_exact(&mut response).context("waiting for a response")?;
        let answer = answer_to(&response, number)?;
        tally.answered(Header { sent_ns, ..answer }, exchange.request.0, schedule.now_ns());
        tally.figures.count(took, &side.congestion_control)?;
        // The receiver closes first, so that its port is the one that stays reserved for a while (RFC 9293 section
        // 3.6.1), and this host does not run out of ports.
        if made.read(&mut [0])? != 0 {
            return Err(Error::Peer("more than a response came".into()));
        }
        close(made, samples);
    }
    Ok(tally.finish(schedule.origin()))
}

/// Returns the header of a response to the request `number`.
fn answer_to(response: &[u8], number: u64) -> Result<Header> {
    let answer = Header::get(response).ok_or_else(|| Error::Peer("a response without a header".into()))?;
    if answer.number == number {
        Ok(answer)
    } else {
        Err(Error::Peer("a response to another request came".into()))
    }
}

/// Answers the requests of a connection until it is closed.
pub fn respond<S: Stack>(made: &Connection<S>, side: &Side, exchange: &RequestResponse) -> Result<()> {
    let interval = exchange.interval.map_or_else(Default::default, |span| span.as_std());
    let patience = side.patience() + interval;
    let request_bytes = usize::try_from(exchange.request.0)?;
    let mut response = message(exchange.response)?;
    let (mut incoming, mut filled) = (vec![0; BATCH_BYTES.max(request_bytes)], 0);
    let mut outgoing = Vec::with_capacity(BATCH_BYTES + response.len());
    let origin = Instant::now();
    loop {
        match made.read_until(&mut incoming[filled..], Instant::now() + patience) {
            Ok(0) => return Ok(()),
            Ok(count) => filled += count,
            Err(error) if error.kind() == ErrorKind::ConnectionReset => return Ok(()),
            Err(error) => return Err(error).context("waiting for a request"),
        }
        let read_ns = nanoseconds(origin.elapsed());
        let complete = filled / request_bytes * request_bytes;
        outgoing.clear();
        for request in incoming[..complete].chunks_exact(request_bytes) {
            let asked =
                Header::get(request).ok_or_else(|| Error::Peer("a request without a header".into()))?;
            Header { third: read_ns, ..asked }.put(&mut response);
            outgoing.extend_from_slice(&response);
        }
        made.write_all(&outgoing).context("sending a response")?;
        if complete > 0 && exchange.connecting == Connecting::EachRequest {
            return Ok(());
        }
        incoming.copy_within(complete..filled, 0);
        filled -= complete;
    }
}

/// Returns a message of `size`, all zeros.
fn message(size: Size) -> Result<Vec<u8>> {
    Ok(vec![0; usize::try_from(size.0)?.max(HEADER_BYTES)])
}

/// Sends the requests over UDP: each request and each response is one datagram, and either may be lost.
fn over_datagrams<S: Stack>(
    host: &Arc<Host<S>>,
    side: &Side,
    exchange: &RequestResponse,
    destination: SocketAddr,
) -> Result<Figures> {
    let mut tally = Tally::new();
    let socket = datagram::connect(host, side, destination)?;
    let lost_after = side.waits().lost_after();
    let mut request = vec![0; usize::try_from(exchange.request.0)?];
    let mut response = vec![0; LARGEST_BYTES];
    let mut waiting = Unanswered::new(lost_after);
    let mut schedule = Schedule::start(exchange);
    let mut now_ns = 0;
    loop {
        while waiting.open() < u64::from(exchange.in_flight) && schedule.next(now_ns) == Next::Due {
            let header = Header { number: schedule.take(now_ns), sent_ns: schedule.now_ns(), third: 0 };
            header.put(&mut request);
            socket.send(&request).context("sending a request")?;
            waiting.sent(header.sent_ns);
        }
        let limit = match schedule.next(now_ns) {
            Next::Over if waiting.open() == 0 => break,
            Next::In(span_ns) if waiting.open() < u64::from(exchange.in_flight) => {
                Duration::from_nanos(span_ns).min(lost_after.as_std())
            }
            _ => lost_after.as_std(),
        };
        let read = socket.receive(&mut response, limit);
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
    tally.figures.weight = socket.weight();
    tally.figures.packets = Some(waiting.counts());
    Ok(tally.finish(schedule.origin()))
}

/// Answers the requests of one sender until none arrives any more.
pub fn respond_to_datagrams<S: Stack>(
    socket: &Socket<S>,
    side: &Side,
    exchange: &RequestResponse,
) -> Result<()> {
    let interval = exchange.interval.map_or(Duration::ZERO, |interval| interval.as_std());
    let mut request = vec![0; LARGEST_BYTES];
    let mut response = vec![0; usize::try_from(exchange.response.0)?];
    let origin = Instant::now();
    while let Some(length) = socket.receive(&mut request, side.patience() + interval) {
        if length as u64 == exchange.request.0
            && let Some(asked) = Header::get(&request[..length])
        {
            Header { third: nanoseconds(origin.elapsed()), ..asked }.put(&mut response);
            // A response that is lost here counts as one that is lost on the path.
            let _ = socket.send(&response);
        }
    }
    Ok(())
}
