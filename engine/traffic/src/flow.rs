//! A flow from its sender's side: one place that chooses the code for a kind of traffic and makes the
//! flow's record of what it gathered.

use crate::protocol::Side;
use crate::sampler::Sampler;
use crate::statistics::{Durations, Jitter};
use crate::{exchange, tcp, transfer};
use anyhow::Result;
use nettrial_scenario::{FlowRecord, Traffic};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// What a flow's sender gathers.
#[derive(Default)]
pub struct Figures {
    /// Application bytes.
    pub bytes: u64,
    /// The time they took.
    pub active: Duration,
    /// From connect to confirmation, each sized transfer.
    pub completion: Durations,
    /// From request to response.
    pub rtt: Durations,
    /// Of the requests' transit times.
    pub jitter: Option<Jitter>,
    connections: u32,
    connect: Durations,
    congestion_control: String,
}

impl Figures {
    /// Counts a connection that was opened in `connect_time`.
    pub fn opened(&mut self, stream: &TcpStream, connect_time: Duration) -> Result<()> {
        self.connections += 1;
        self.connect.record(u64::try_from(connect_time.as_nanos())?);
        self.congestion_control = tcp::congestion_control(stream)?;
        Ok(())
    }
}

/// Runs the flow of `side` to its end, after the flow's start time, and gives its record.
pub fn run(side: &Side, destination: SocketAddr, sample_period: Duration) -> Result<FlowRecord> {
    let origin = Instant::now();
    std::thread::sleep(side.flow.start.as_std());
    let sampler = Sampler::start(origin, sample_period);
    let figures = match &side.flow.traffic {
        Traffic::Transfer(settings) => transfer::send(side, settings, destination, &sampler)?,
        Traffic::RequestResponse(settings) => exchange::request(side, settings, destination, &sampler)?,
    };
    Ok(record(side, &figures, sampler))
}

fn record(side: &Side, figures: &Figures, sampler: Sampler) -> FlowRecord {
    let samples = sampler.finish();
    let is_transfer = matches!(side.flow.traffic, Traffic::Transfer(_));
    let some_if_any =
        |durations: &Durations| Some(durations.distribution_us()).filter(|summary| summary.count > 0);
    let seconds = figures.active.as_secs_f64();
    FlowRecord {
        name: side.flow.name.clone(),
        transport: side.flow.transport,
        ip: side.flow.ip,
        congestion_control: figures.congestion_control.clone(),
        mss_bytes: samples.mss_bytes,
        connections: figures.connections,
        bytes: figures.bytes,
        active_ns: u64::try_from(figures.active.as_nanos()).unwrap_or(u64::MAX),
        goodput_bps: (is_transfer && seconds > 0.0).then(|| figures.bytes as f64 * 8.0 / seconds),
        connect_us: figures.connect.distribution_us(),
        completion_us: some_if_any(&figures.completion),
        retransmissions_pkts: samples.retransmissions_pkts,
        srtt_us: samples.srtt_us,
        min_rtt_us: samples.min_rtt_us,
        rtt_us: some_if_any(&figures.rtt),
        jitter_rfc3550_us: figures.jitter.as_ref().and_then(Jitter::rfc3550_us),
        delay_difference_mean_us: figures.jitter.as_ref().and_then(Jitter::difference_mean_us),
        intervals: samples.intervals,
    }
}
