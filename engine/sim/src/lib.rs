//! Runs a trial packet by packet in simulated time, unprivileged, on any operating system, and exactly
//! reproducibly.
//!
//! ```text
//! run ──────> network (links, queues, paths) ─┐
//!             connections (TCP, MPTCP)        ├─ world: events in order of time ─> record
//!             applications (the workload)     ┘
//! ```
//! A trial depends only on its scenario: not on clocks, memory addresses, hashes with changing seeds, a varying
//! order of floating-point operations, or the number of threads, of which a large trial can use several
//! ([`parallel`]). Packets are not routed hop by hop: a flow's path follows from the scenario, so each packet has
//! the number of its path and its position on it.

#![forbid(unsafe_code)]

mod ahead;
mod air;
mod arena;
mod calendar;
mod capture;
mod checks;
mod coalescing;
mod connection;
mod detours;
mod environment;
mod estimates;
mod event;
mod events;
mod fate;
mod findings;
mod hosts;
mod io;
mod link;
mod network;
mod packet;
mod parallel;
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

/// Checks whether `scenario` can be simulated, and returns the estimated work.
///
/// # Errors
/// Returns all problems that prevent it.
pub fn check(scenario: &Scenario) -> Result<Estimate, Vec<Problem>> {
    let paths = paths_of(scenario)?;
    Ok(estimates::estimate(scenario, &paths))
}

/// Runs one trial in at most that many threads. The same scenario gives the same record, byte for byte, on any
/// machine, in any number of threads, with or without captures.
///
/// # Errors
/// Fails if the scenario does not pass [`check`], or if a capture can't be written.
pub fn run(scenario: &Scenario, capture: Option<&Capture>, threads: usize) -> anyhow::Result<Record> {
    let paths = paths_of(scenario).map_err(|problems| anyhow::anyhow!("{}", problems[0]))?;
    tracing::info!(links = scenario.links.len(), "simulating");
    trial::run(scenario, &paths, capture, threads)
}

/// Returns the paths of a scenario, or the problems that prevent its simulation.
fn paths_of(scenario: &Scenario) -> Result<Paths<'_>, Vec<Problem>> {
    let of_parts = checks::check_parts(scenario);
    if !of_parts.is_empty() {
        return Err(of_parts);
    }
    let paths = Paths::new(scenario);
    let of_paths = checks::check_paths(scenario, &paths);
    if of_paths.is_empty() { Ok(paths) } else { Err(of_paths) }
}
