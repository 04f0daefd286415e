//! Runs one trial: builds its network, checks it, drives the traffic, and collects the record.

mod build;
mod check;
mod collect;
mod drive;
mod machine;

use crate::congestion::Own;
use crate::error::Result;
use crate::layout::Layout;
use crate::namespace::Home;
use crate::pools::Pools;
use build::Built;
use nettrial_scenario::{Capture, Phases, Record, Scenario, nanoseconds};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Runs `scenario`, which has passed the lab's check and uses the kernel's names of the congestion controls in
/// `own`.
pub fn run(
    home: &Home,
    scenario: &Scenario,
    own: &Own,
    capture: Option<&Capture>,
    pools: &mut Pools,
) -> Result<Record> {
    let started_unix_ns = nanoseconds(SystemTime::now().duration_since(UNIX_EPOCH)?);
    let mut phases = Phases::default();
    let mut begin = Instant::now();
    let mut lap = || nanoseconds(std::mem::replace(&mut begin, Instant::now()).elapsed());

    tracing::info!(nodes = scenario.nodes.len(), links = scenario.links.len(), "building the network");
    let layout = Layout::new(scenario);
    let mut built = Built::build(home, &layout, pools)?;
    phases.network_ns = lap();

    tracing::info!(took_ns = phases.network_ns, "checking the network");
    let (mut endpoints, mut watched) = check::check(&mut built, capture)?;
    phases.checks_ns = lap();

    tracing::info!(took_ns = phases.checks_ns, "starting the traffic");
    let measured = drive::drive(&mut built, &mut endpoints, &mut watched.findings, own)?;
    phases.traffic_ns = lap();

    tracing::info!(took_ns = phases.traffic_ns, "all flows have ended");
    let record = collect::collect(&mut built, watched, measured)?;
    built.take_down(endpoints.into_agents())?;
    phases.tear_down_ns = lap();

    tracing::info!(took_ns = phases.tear_down_ns, "the network is gone");
    Ok(Record { started_unix_ns, phases, ..record })
}
