//! A flow on its sender's side. This is the one place that chooses the code for a kind of traffic.

use crate::error::{Error, Result};
use crate::protocol::Side;
use crate::sampler::Sampler;
use crate::{exchange, file_transfer, packets, platform, sweep, tool, transfer};
use nettrial_scenario::{FlowRecord, Traffic, Warning};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// Runs the flow of `side` to its end, after the flow's start time, and returns its record and its warnings.
pub fn run(
    side: &Side,
    destination: SocketAddr,
    sample_period: Duration,
) -> Result<(FlowRecord, Vec<Warning>)> {
    let origin = Instant::now();
    if side.virtual_time {
        platform::wake_promptly(); // the kernel has nothing to gain from late timers
    }
    std::thread::sleep(side.flow.start.as_std());
    if let Traffic::Packets(settings) = &side.flow.traffic {
        return packets::send(side, settings, destination, origin, sample_period);
    }
    if let Some(settings) = tool::of(&side.flow) {
        return Ok((tool::run(side, settings, destination, sample_period)?, Vec::new()));
    }
    let sampler = Sampler::start(&side.flow, origin, sample_period);
    let figures = match &side.flow.traffic {
        Traffic::Transfer(settings) => transfer::send(side, settings, destination, &sampler)?,
        Traffic::FileTransfer(settings) => file_transfer::send(side, settings, destination, &sampler)?,
        Traffic::RequestResponse(settings) => exchange::request(side, settings, destination, &sampler)?,
        Traffic::Sweep(settings) => sweep::run(side, settings, destination, &sampler)?,
        other => {
            return Err(Error::Unsupported(format!("traffic of the kind {} is not carried", other.kind())));
        }
    };
    let samples = sampler.finish();
    let warnings = figures.warnings(&side.flow, &samples);
    Ok((figures.record(&side.flow, samples, origin), warnings))
}
