//! What a flow's sender gathers, and the flow's record made of it.

use crate::sampler::Samples;
use crate::statistics::{Durations, Jitter};
use crate::tcp;
use anyhow::Result;
use nettrial_scenario::{Flow, FlowRecord, Traffic};
use std::net::TcpStream;
use std::time::Duration;

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

    /// The record of `flow`, which went as these figures and `samples` say.
    pub fn record(&self, flow: &Flow, samples: Samples) -> FlowRecord {
        let is_transfer = matches!(flow.traffic, Traffic::Transfer(_));
        let some_if_any =
            |durations: &Durations| Some(durations.distribution_us()).filter(|summary| summary.count > 0);
        let seconds = self.active.as_secs_f64();
        FlowRecord {
            name: flow.name.clone(),
            transport: flow.transport,
            ip: flow.ip,
            congestion_control: self.congestion_control.clone(),
            mss_bytes: samples.mss_bytes,
            connections: self.connections,
            bytes: self.bytes,
            active_ns: u64::try_from(self.active.as_nanos()).unwrap_or(u64::MAX),
            ip_bytes: None,
            wire_bytes: None,
            goodput_bps: (is_transfer && seconds > 0.0).then(|| self.bytes as f64 * 8.0 / seconds),
            connect_us: self.connect.distribution_us(),
            completion_us: some_if_any(&self.completion),
            retransmissions_pkts: samples.retransmissions_pkts,
            srtt_us: samples.srtt_us,
            min_rtt_us: samples.min_rtt_us,
            rtt_us: some_if_any(&self.rtt),
            rtt_histogram: None,
            transactions_per_second: None,
            owd_us: None,
            owd_histogram: None,
            owd_error_us: None,
            delay_variation_us: None,
            jitter_rfc3550_us: self.jitter.as_ref().and_then(Jitter::rfc3550_us),
            delay_difference_mean_us: self.jitter.as_ref().and_then(Jitter::difference_mean_us),
            packets: None,
            pacing: None,
            subflows: Vec::new(),
            sizes: Vec::new(),
            tool: None,
            intervals: samples.intervals,
        }
    }
}
