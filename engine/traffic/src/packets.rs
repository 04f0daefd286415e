//! Packets in one direction, of constant or random sizes and gaps: datagrams over UDP, messages over TCP
//! and MPTCP.
//!
//! The sender keeps to a schedule whatever happens to its packets (open loop): a late packet does not delay the
//! following ones. Paced packets are stamped when they are handed to the kernel, alone or a few at a time. Without
//! a pace, all packets of a batch have the time at which the batch was handed over.

pub(crate) mod batch;
pub(crate) mod datagrams;
pub(crate) mod header;
mod pacer;
pub(crate) mod sender;
pub(crate) mod stream;

use crate::error::{Context, Error, Result};
use crate::flow_record::Figures;
use crate::platform;
use crate::protocol::Side;
use crate::sampler::{Sampler, Samples};
use batch::Batch;
use nettrial_admission::read_text;
use nettrial_flows::arrivals::Received;
use nettrial_flows::departures::Departures;
use nettrial_flows::variate::largest;
use nettrial_scenario::{FlowRecord, Packets, Transport, Warning};
use sender::{Sampling, Sent};
use std::io::Read;
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// The most messages written with one call.
pub const MESSAGES_TOGETHER: usize = 64;
/// The largest size of the figures that a receiver sends, in bytes.
const MOST_FIGURES_BYTES: u64 = 64 << 20;

/// Sends the flow's packets, and returns its record and its warnings. Intervals of `period` count from `origin`.
pub fn send(
    side: &Side,
    packets: &Packets,
    destination: SocketAddr,
    origin: Instant,
    period: Duration,
) -> Result<(FlowRecord, Vec<Warning>)> {
    let mut schedule = Departures::new(packets)?;
    let largest = largest_packet(packets)?;
    if side.flow.transport == Transport::Udp {
        let sampling = Sampling::new(origin, u64::try_from(period.as_nanos())?)?;
        let (mut sent, received) = datagrams::send(side, &mut schedule, largest, destination, sampling)?;
        let samples = Samples { intervals: std::mem::take(&mut sent.intervals), ..Samples::default() };
        return Ok((record(side, Figures::default(), samples, &sent, &received, origin), Vec::new()));
    }
    let sampler = Sampler::start(&side.flow, origin, period);
    let mut figures = Figures::default();
    let stream = figures.connect(side, destination, &sampler)?;
    let mut batch = Batch::new(MESSAGES_TOGETHER, largest, header::tag(&side.cookie));
    // The sampler gives the intervals, with the bytes acknowledged and not the bytes written.
    let sent = sender::send(&mut schedule, &mut batch, &mut &*stream, Sampling::NONE, None)?;
    let received = stream::finish(&stream)?;
    stream::verify(sent.packets, &received)?;
    sampler.closing()?;
    let samples = sampler.finish();
    let warnings = figures.warnings(&side.flow, &samples);
    Ok((record(side, figures, samples, &sent, &received, origin), warnings))
}

/// Receives the packets of a connection that was admitted.
pub fn receive(stream: &TcpStream, side: &Side, packets: &Packets) -> Result<()> {
    let largest = largest_packet(packets)?;
    match side.flow.transport {
        Transport::Udp => datagrams::receive(stream, side, largest),
        _ => stream::receive(stream, side, largest),
    }
}

/// Returns the bytes of the largest packet of the flow, which the scenario's check has bounded.
///
/// # Errors
/// Fails if sizes have no largest.
pub fn largest_packet(packets: &Packets) -> Result<usize> {
    let bytes = largest(&packets.size).ok_or_else(|| Error::Peer("packets without a largest size".into()))?;
    usize::try_from(bytes).context("a packet's size")
}

/// Reads the receiver's figures to the end of its stream.
///
/// # Errors
/// Fails if the stream does, or it has something else.
pub fn read_received(stream: impl Read) -> Result<Received> {
    let line = read_text(stream, MOST_FIGURES_BYTES).context("waiting for the receiver's figures")?;
    serde_json::from_str(&line).context("reading the receiver's figures")
}

/// Returns the flow's record from both hosts' figures and the connections that carried it, if any.
pub fn record(
    side: &Side,
    mut figures: Figures,
    samples: Samples,
    sent: &Sent,
    received: &Received,
    origin: Instant,
) -> FlowRecord {
    let clock_offset = side.clock_offset.filter(|_| received.owd_us.is_some());
    let active_ns = received.active_ns(sent.first_departure_ns, sent.last_departure_ns, side.ahead_ns());
    figures.bytes = received.bytes;
    figures.active = Duration::from_nanos(active_ns);
    let since_ns = platform::now_ns().saturating_sub(sent.first_departure_ns);
    figures.began = Instant::now().checked_sub(Duration::from_nanos(since_ns));
    let record = figures.record(&side.flow, samples, origin);
    FlowRecord {
        packets: (side.flow.transport == Transport::Udp).then_some(received.packets),
        ip_bytes: sent.weight.map_or(record.ip_bytes, |weight| Some(weight.ip_bytes)),
        wire_bytes: sent.weight.map_or(record.wire_bytes, |weight| Some(weight.wire_bytes)),
        goodput_bps: record.span.and_then(|span| span.goodput_bps()),
        owd_us: received.owd_us,
        owd_histogram: received.owd_histogram.clone(),
        owd_error_us: clock_offset
            .filter(|offset| offset.error_ns > 0)
            .map(|offset| offset.error_ns as f64 / 1e3),
        delay_variation_us: received.delay_variation_us,
        jitter_rfc3550_us: received.jitter_rfc3550_us,
        delay_difference_mean_us: received.delay_difference_mean_us,
        pacing: sent.pacing,
        ..record
    }
}

#[cfg(test)]
mod tests;
