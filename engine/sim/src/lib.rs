//! Runs a trial packet by packet in simulated time, unprivileged, on any operating system, and exactly
//! reproducibly.
//!
//! ```text
//! trial ──> network (links, queues, paths) ──────────┐
//!           transport (TCP, MPTCP)                   ├─ engine: events in order of time ──> record
//!           applications (the workload) ─────────────┘
//! ```
//! Each part uses only parts before it: `time` and `ticks`, `ahead` (prefetching), `packets`, `network`, `transport`, `capture`,
//! `engine`, `applications`, `parallel` (several threads), `trial`.
//!
//! A trial depends only on its scenario: not on clocks, memory addresses, hashes with changing seeds, a varying
//! order of floating-point operations, or the number of threads, of which a large trial can use several
//! ([`parallel`]). Packets are not routed hop by hop: a flow's path follows from the scenario, so each packet has
//! the number of its path and its position on it.

#![forbid(unsafe_code)]

mod ahead;
mod applications;
mod capture;
mod engine;
mod error;
mod network;
mod packets;
mod parallel;
mod ticks;
mod time;
mod transport;
mod trial;

pub use engine::events::Events;
pub use engine::world::{Balance, Endpoints, Engine, World};
pub use error::{Error, Result};
pub use network::Network;
pub use network::link::{Link, LinkCounters};
pub use network::queue::{Length, wire_bytes};
pub use packets::io::{Io, Notice};
pub use packets::packet::{Codepoint, Endpoint, Flags, Packet, PathId, SackBlocks};
pub use ticks::Wheel;
pub use time::Time;
pub use transport::connection::{Connection, ConnectionSettings, Statistics, SubflowSettings};
pub use trial::environment::preflight;
pub use trial::supported::capabilities;

use nettrial_routing::Paths;
use nettrial_scenario::{Capture, Estimate, Problem, Record, Scenario};

/// Checks whether `scenario` can be simulated, and returns the estimated work.
///
/// # Errors
/// Returns all problems that prevent it.
pub fn check(scenario: &Scenario) -> Result<Estimate, Vec<Problem>> {
    let paths = paths_of(scenario)?;
    Ok(trial::estimates::estimate(scenario, &paths))
}

/// Runs one trial in at most that many threads. The same scenario gives the same record, byte for byte, on any
/// machine, in any number of threads, with or without captures.
///
/// # Errors
/// Fails if the scenario does not pass [`check`], or if a capture can't be written.
pub fn run(scenario: &Scenario, capture: Option<&Capture>, threads: usize) -> Result<Record> {
    let paths = paths_of(scenario).map_err(|problems| Error::Scenario(Box::new(problems[0].clone())))?;
    tracing::info!(links = scenario.links.len(), "simulating");
    trial::run(scenario, &paths, capture, threads)
}

/// Returns the paths of a scenario, or the problems that prevent its simulation.
fn paths_of(scenario: &Scenario) -> Result<Paths<'_>, Vec<Problem>> {
    let of_parts = trial::checks::check_parts(scenario);
    if !of_parts.is_empty() {
        return Err(of_parts);
    }
    let paths = Paths::new(scenario);
    let of_paths = trial::checks::check_paths(scenario, &paths);
    if of_paths.is_empty() { Ok(paths) } else { Err(of_paths) }
}
