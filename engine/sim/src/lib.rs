//! Runs a trial packet by packet, in simulated time: no privileges, any operating system, exactly repeatable.
//!
//! ```text
//! run ──────> network (links, queues, paths) ─┐
//!             connections (TCP, MPTCP)        ├─ world: events in order of time ─> record
//!             applications (the workload)     ┘
//! ```
//!
//! A trial is one thread and depends on nothing but its scenario: no clock, no address of memory, no
//! hash whose seed changes, no floating point whose order may. Packets are not routed hop by hop: a flow's path
//! follows from the scenario, so each packet has the number of its path and how far it is on it.

#![forbid(unsafe_code)]

mod ahead;
mod air;
mod arena;
mod capture;
mod checks;
mod coalescing;
mod connection;
mod detours;
mod environment;
mod estimates;
mod events;
mod fate;
mod findings;
mod hosts;
mod io;
mod link;
mod network;
mod packet;
mod paths;
mod processor;
mod queue;
mod queue_series;
mod record;
mod sampler;
mod supported;
mod tcp;
mod time;
mod traffic;
mod trial;
mod wiring;
mod world;

pub use connection::{Connection, ConnectionSettings, Statistics, SubflowSettings};
pub use environment::preflight;
pub use events::Events;
pub use io::{Endpoint, Io, Notice, PathId};
pub use link::{Link, LinkCounters};
pub use network::Network;
pub use packet::{Codepoint, Flags, Packet, SackBlocks};
pub use queue::{Length, wire_bytes};
pub use supported::capabilities;
pub use time::Time;
pub use world::{Balance, Endpoints, Engine, World};

use nettrial_routing::Paths;
use nettrial_scenario::{Capture, Estimate, Problem, Record, Scenario};

/// Everything that keeps `scenario` from being simulated; if nothing does, what that would take.
///
/// # Errors
/// Gives the problems.
pub fn check(scenario: &Scenario) -> Result<Estimate, Vec<Problem>> {
    let paths = paths_of(scenario)?;
    Ok(estimates::estimate(scenario, &paths))
}

/// Runs one trial. The same scenario gives the same record, to the byte, on any machine, whether packets are captured
/// or not.
///
/// # Errors
/// Fails if the scenario does not pass [`check`], or if a capture can't be written.
pub fn run(scenario: &Scenario, capture: Option<&Capture>) -> anyhow::Result<Record> {
    let paths = paths_of(scenario).map_err(|problems| anyhow::anyhow!("{}", problems[0]))?;
    tracing::info!(links = scenario.links.len(), "simulating");
    trial::run(scenario, &paths, capture)
}

/// The paths of a scenario that can be simulated, or what is wrong with it.
fn paths_of(scenario: &Scenario) -> Result<Paths<'_>, Vec<Problem>> {
    let of_parts = checks::check_parts(scenario);
    if !of_parts.is_empty() {
        return Err(of_parts);
    }
    let paths = Paths::new(scenario);
    let of_paths = checks::check_paths(scenario, &paths);
    if of_paths.is_empty() { Ok(paths) } else { Err(of_paths) }
}
