//! Requests and responses over TCP and MPTCP.

use super::{Next, Schedule, Tally};
use crate::cookie::Purpose;
use crate::error::{Context, Error, Result};
use crate::flow_record::Figures;
use crate::message::{HEADER_BYTES, Header};
use crate::platform;
use crate::protocol::Side;
use crate::sampler::Sampler;
use crate::tcp;
use crate::waiting::Reader;
use nettrial_scenario::{Connecting, RequestResponse, Size, nanoseconds};
use std::collections::VecDeque;
use std::io::{ErrorKind, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The bytes read or written at a time, if messages are smaller.
const BATCH_BYTES: usize = 64 << 10;

/// Sends the requests over one connection, one at a time.
pub fn one_by_one(
    side: &Side,
    exchange: &RequestResponse,
    destination: SocketAddr,
    sampler: &Sampler,
) -> Result<Figures> {
    let mut tally = Tally::new();
    let stream = tally.figures.connect(side, destination, sampler)?;
    let reader = Reader::new(&*stream, &side.flow.socket);
    let (mut request, mut response) = (message(exchange.request)?, message(exchange.response)?);
    let mut schedule = Schedule::start(exchange);
    while let Some(number) = schedule.wait(tally.last_ns) {
        let sent_ns = schedule.now_ns();
        Header { number, sent_ns, third: 0 }.put(&mut request);
        (&*stream).write_all(&request).context("sending a request")?;
        reader.read_exact(&mut response).context("waiting for a response")?;
        let now_ns = schedule.now_ns();
        let answer = header_of(&response, number)?;
        tally.answered(Header { sent_ns, ..answer }, exchange.request.0, now_ns);
    }
    sampler.closing()?;
    Ok(tally.finish(schedule.origin))
}

/// Sends the requests over one connection, several of which may wait for their responses.
pub fn several(
    side: &Side,
    exchange: &RequestResponse,
    destination: SocketAddr,
    sampler: &Sampler,
) -> Result<Figures> {
    let mut tally = Tally::new();
    let stream = tally.figures.connect(side, destination, sampler)?;
    let reader = Reader::new(&*stream, &side.flow.socket);
    let mut request = message(exchange.request)?;
    let response_bytes = usize::try_from(exchange.response.0)?;
    let mut outgoing = Vec::with_capacity(BATCH_BYTES + request.len());
    let mut written = 0;
    let mut incoming = vec![0; BATCH_BYTES.max(response_bytes)];
    let mut filled = 0;
    // The times at which the waiting requests were sent, the oldest first.
    let mut waiting = VecDeque::new();
    let mut answered = 0;
    let patience = side.patience();
    let mut schedule = Schedule::start(exchange);
    let mut now_ns = 0;
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
        if written < outgoing.len() {
            written += platform::send_some(&stream, &outgoing[written..]).context("sending requests")?;
        }
        let next = schedule.next(now_ns);
        if waiting.is_empty() && next == Next::Over {
            break;
        }
        let writing = written < outgoing.len();
        let more = waiting.len() < exchange.in_flight as usize && next != Next::Over;
        let read = if writing || more {
            // There is more to do than to wait for a response, which is taken if it has arrived.
            let read = reader.try_read(&mut incoming[filled..]).context("reading responses")?;
            if read.is_none() && (writing || next != Next::Due) {
                let due = if let Next::In(span_ns) = next { Duration::from_nanos(span_ns) } else { patience };
                let limit = due.min(patience);
                if !(reader.wait(writing, limit)? || limit < patience) {
                    return Err(Error::TimedOut("waiting for responses: nothing came for too long".into()));
                }
            }
            read
        } else {
            Some(reader.read(&mut incoming[filled..]).context("waiting for responses")?)
        };
        now_ns = schedule.now_ns();
        let Some(read) = read else { continue };
        if read == 0 {
            return Err(Error::Peer("the receiver closed the connection".into()));
        }
        filled += read;
        let complete = filled / response_bytes * response_bytes;
        for response in incoming[..complete].chunks_exact(response_bytes) {
            let sent_ns =
                waiting.pop_front().ok_or_else(|| Error::Peer("a response without a request came".into()))?;
            let answer = header_of(response, answered)?;
            answered += 1;
            tally.answered(Header { sent_ns, ..answer }, exchange.request.0, now_ns);
        }
        incoming.copy_within(complete..filled, 0);
        filled -= complete;
    }
    sampler.closing()?;
    Ok(tally.finish(schedule.origin))
}

/// Sends each request over a connection of its own. The opening and the request are sent together.
pub fn connect_each(
    side: &Side,
    exchange: &RequestResponse,
    destination: SocketAddr,
    sampler: &Sampler,
) -> Result<Figures> {
    let mut tally = Tally::new();
    let opening = side.cookie.opening(Purpose::Traffic);
    let mut request = [opening.as_slice(), &message(exchange.request)?].concat();
    let mut response = message(exchange.response)?;
    let mut schedule = Schedule::start(exchange);
    while let Some(number) = schedule.wait(schedule.now_ns()) {
        let (stream, connect_time) = tcp::connect_only(side, destination)?;
        let sent_ns = schedule.now_ns().saturating_sub(nanoseconds(connect_time));
        let stream = Arc::new(stream);
        sampler.opened(Arc::clone(&stream))?;
        let reader = Reader::new(&*stream, &side.flow.socket);
        Header { number, sent_ns, third: 0 }.put(&mut request[opening.len()..]);
        (&*stream).write_all(&request).context("sending a request")?;
        reader.read_exact(&mut response).context("waiting for a response")?;
        let now_ns = schedule.now_ns();
        let answer = header_of(&response, number)?;
        tally.answered(Header { sent_ns, ..answer }, exchange.request.0, now_ns);
        tally.figures.opened(&stream, connect_time)?;
        // The receiver closes first, so that its port is the one that stays reserved for a while (RFC 9293 section
        // 3.6.1), and this host does not run out of ports.
        if reader.read(&mut [0])? != 0 {
            return Err(Error::Peer("more than a response came".into()));
        }
        sampler.closing()?;
    }
    Ok(tally.finish(schedule.origin))
}

/// Answers the requests of a connection until it is closed.
pub fn respond(mut stream: &TcpStream, side: &Side, exchange: &RequestResponse) -> Result<()> {
    let patience = side.patience() + exchange.interval.map_or_else(Default::default, |span| span.as_std());
    tcp::bound_waits(stream, patience)?;
    let reader = Reader::new(stream, &side.flow.socket);
    let request_bytes = usize::try_from(exchange.request.0)?;
    let mut response = message(exchange.response)?;
    let mut incoming = vec![0; BATCH_BYTES.max(request_bytes)];
    let mut filled = 0;
    let mut outgoing = Vec::with_capacity(BATCH_BYTES + response.len());
    let origin = Instant::now();
    loop {
        match reader.read(&mut incoming[filled..]) {
            Ok(0) => return Ok(()),
            Ok(count) => filled += count,
            Err(error) if error.kind() == ErrorKind::ConnectionReset => return Ok(()),
            Err(error) => return Err(error).context("waiting for a request"),
        }
        let read_ns = nanoseconds(origin.elapsed());
        let complete = filled / request_bytes * request_bytes;
        for request in incoming[..complete].chunks_exact(request_bytes) {
            let asked =
                Header::get(request).ok_or_else(|| Error::Peer("a request without a header".into()))?;
            Header { third: read_ns, ..asked }.put(&mut response);
            outgoing.extend_from_slice(&response);
            if outgoing.len() >= BATCH_BYTES {
                stream.write_all(&outgoing).context("sending a response")?;
                outgoing.clear();
            }
        }
        stream.write_all(&outgoing).context("sending a response")?;
        outgoing.clear();
        if complete > 0 && exchange.connecting == Connecting::EachRequest {
            return Ok(());
        }
        incoming.copy_within(complete..filled, 0);
        filled -= complete;
    }
}

/// Returns the header of the response to the request `number`. Fails if it is that of another request.
fn header_of(response: &[u8], number: u64) -> Result<Header> {
    let answer = Header::get(response).ok_or_else(|| Error::Peer("a response without a header".into()))?;
    if answer.number != number {
        return Err(Error::Peer("a response to another request came".into()));
    }
    Ok(answer)
}

/// Returns a message of `size`, all zeros.
fn message(size: Size) -> Result<Vec<u8>> {
    Ok(vec![0; usize::try_from(size.0)?.max(HEADER_BYTES)])
}
