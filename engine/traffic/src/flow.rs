//! A flow from its sender's side: the one place that chooses the code for a kind of traffic.

use crate::protocol::Side;
use crate::sampler::Sampler;
use crate::{exchange, packets, tool, transfer};
use anyhow::{Result, bail};
use nettrial_scenario::{FlowRecord, Traffic};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// Runs the flow of `side` to its end, after the flow's start time, and gives its record.
pub fn run(side: &Side, destination: SocketAddr, sample_period: Duration) -> Result<FlowRecord> {
    let origin = Instant::now();
    std::thread::sleep(side.flow.start.as_std());
    if let Traffic::Packets(settings) = &side.flow.traffic {
        return packets::send(side, settings, destination, origin, sample_period);
    }
    if let Some(settings) = tool::of(&side.flow) {
        return tool::run(side, settings, destination, sample_period);
    }
    let sampler = Sampler::start(origin, sample_period);
    let figures = match &side.flow.traffic {
        Traffic::Transfer(settings) => transfer::send(side, settings, destination, &sampler)?,
        Traffic::RequestResponse(settings) => exchange::request(side, settings, destination, &sampler)?,
        other => bail!("traffic of the kind {} is not carried", other.kind()),
    };
    Ok(figures.record(&side.flow, sampler.finish()))
}
