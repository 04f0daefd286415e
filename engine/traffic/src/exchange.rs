//! Requests and responses over TCP, one in flight.
//!
//! Both messages begin with three big-endian 64-bit numbers: the request's number, when it was sent by
//! the requester's clock, and (in a response) when it was read by the responder's clock.

use crate::cookie::Purpose;
use crate::figures::Figures;
use crate::protocol::Side;
use crate::sampler::Sampler;
use crate::statistics::Jitter;
use crate::tcp;
use anyhow::{Context, Result, ensure};
use nettrial_scenario::RequestResponse;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Instant;

/// Sends the flow's requests and gathers their figures.
pub fn request(
    side: &Side,
    exchange: &RequestResponse,
    destination: SocketAddr,
    sampler: &Sampler,
) -> Result<Figures> {
    let mut figures = Figures::default();
    let (stream, connect_time) = tcp::connect(side, destination, Purpose::Traffic)?;
    stream.set_nodelay(true).context("setting TCP_NODELAY")?;
    let stream = Arc::new(stream);
    sampler.opened(Arc::clone(&stream));
    figures.opened(&stream, connect_time)?;

    let mut request = vec![0; usize::try_from(exchange.request.0)?];
    let mut response = vec![0; usize::try_from(exchange.response.0)?];
    let mut jitter = Jitter::default();
    let origin = Instant::now();
    let mut due = origin;
    for number in 0u64.. {
        if let Some(interval) = exchange.interval {
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            // A late response moves the schedule: no burst follows it.
            due = due.max(Instant::now()) + interval.as_std();
        }
        let over = exchange.duration.is_some_and(|duration| origin.elapsed() >= duration.as_std());
        if over || exchange.count == Some(number) {
            break;
        }
        let sent_ns = nanoseconds(origin.elapsed());
        put(&mut request, 0, number);
        put(&mut request, 1, sent_ns);
        (&*stream).write_all(&request).context("sending a request")?;
        (&*stream).read_exact(&mut response).context("waiting for a response")?;
        let rtt_ns = nanoseconds(origin.elapsed()) - sent_ns;
        ensure!(get(&response, 0) == number, "a response to another request came");
        figures.rtt.record(rtt_ns);
        figures.bytes += exchange.request.0;
        figures.active += std::time::Duration::from_nanos(rtt_ns);
        jitter.record(get(&response, 2).wrapping_sub(sent_ns).cast_signed());
    }
    sampler.closing()?;
    figures.jitter = Some(jitter);
    Ok(figures)
}

/// Answers the requests of a connection until it is closed.
pub fn respond(mut stream: &TcpStream, exchange: &RequestResponse) -> Result<()> {
    stream.set_nodelay(true).context("setting TCP_NODELAY")?;
    let mut request = vec![0; usize::try_from(exchange.request.0)?];
    let mut response = vec![0; usize::try_from(exchange.response.0)?];
    let origin = Instant::now();
    loop {
        match stream.read_exact(&mut request) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(()),
            Err(error) => return Err(error).context("waiting for a request"),
        }
        put(&mut response, 0, get(&request, 0));
        put(&mut response, 1, get(&request, 1));
        put(&mut response, 2, nanoseconds(origin.elapsed()));
        stream.write_all(&response).context("sending a response")?;
    }
}

fn nanoseconds(span: std::time::Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

fn put(message: &mut [u8], field: usize, value: u64) {
    message[field * 8..field * 8 + 8].copy_from_slice(&value.to_be_bytes());
}

fn get(message: &[u8], field: usize) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&message[field * 8..field * 8 + 8]);
    u64::from_be_bytes(bytes)
}
