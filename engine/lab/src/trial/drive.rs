//! Drives the traffic of a trial, and measures what happens during it.

use super::build::Built;
use super::check::Endpoints;
use super::machine::{MachineUse, MachineWatch};
use crate::channel::Driven;
use crate::checks::Findings;
use crate::congestion::Own;
use crate::error::Result;
use crate::openflow::{Fabric, Outcome};
use crate::outages::Outages;
use nettrial_scenario::{ChannelRecord, CongestionRecord, FlowRecord, OutageRecord};

/// The measurements of the traffic.
pub struct Measured {
    /// The record of each flow.
    pub flows: Vec<FlowRecord>,
    /// The events that happened.
    pub events: Vec<OutageRecord>,
    /// For each radio channel its link in words, its record, and its work.
    pub channels: Vec<(String, ChannelRecord, Driven)>,
    /// The work of the controller, if there is one.
    pub controller: Option<Outcome>,
    /// The calls of the engine's own congestion controls.
    pub congestion: Vec<CongestionRecord>,
    /// The state of the machine.
    pub machine: MachineUse,
}

/// Begins with the impairments, starts all flows and the events, and waits for the last flow to end.
pub fn drive(
    built: &mut Built,
    endpoints: &mut Endpoints,
    findings: &mut Findings,
    own: &Own,
) -> Result<Measured> {
    let Built { home, layout, network, kernels, placement } = built;
    let Endpoints { agents, ready, .. } = endpoints;
    let scenario = layout.scenario;
    network.arm()?;
    let calls = own.callbacks()?;
    let watch = MachineWatch::start(home.clock, agents, scenario, placement.as_ref().ok())?;
    network.fabric().map(Fabric::begin);
    let outages = Outages::start(home, network, scenario, &**kernels)?;
    network.begin_traces()?;
    let flows = nettrial_session::drive(agents, ready, scenario.measurement.interval.0, findings)?;
    let events = outages.map_or(Ok(Vec::new()), Outages::finish)?;
    let channels = network.finish_channels()?;
    let controller = network.fabric().map(Fabric::finish).transpose()?;
    let machine = watch.finish()?;
    let congestion = own.since(&calls, scenario)?;
    Ok(Measured { flows, events, channels, controller, congestion, machine })
}
