//! Computes the rates of a trial's flows from the network alone: no packets, no queues, no windows.
//!
//! Between two events, a flow that starts and one that ends, every flow has a constant rate: that of an equilibrium in
//! which every connection has as much as its congestion control would take. Flows of TCP share the links on their paths
//! max-min fair; how much a connection of coupled MPTCP takes of each of its paths follows from its algorithm's fixed
//! point (`coupled`).
//!
//! ```text
//! run ─> routes (the paths of all connections, as in the simulator) ─> trial: start or end ─> rates ─> ... ─> record
//! ```
//!
//! The model is wrong where what it leaves out matters: slow start and all that takes time to converge, round-trip
//! times (all connections' count as equal), losses, the acknowledgments' part of links, hosts.

#![forbid(unsafe_code)]

mod checks;
mod coupled;
mod maxmin;
mod routes;
mod supported;
mod trial;

pub use coupled::{Coupling, Group, equilibrium};
pub use maxmin::max_min;
pub use routes::Ways;
pub use supported::capabilities;

use nettrial_routing::Paths;
use nettrial_scenario::{Problem, Record, Scenario};

/// Returns everything that keeps the rates of `scenario` from being computed.
pub fn check(scenario: &Scenario) -> Vec<Problem> {
    let of_parts = checks::check_parts(scenario);
    if !of_parts.is_empty() {
        return of_parts;
    }
    checks::check_paths(scenario, &Paths::new(scenario))
}

/// Computes one trial. The same scenario gives the same record, to the byte, on any machine.
///
/// # Errors
/// Fails if the scenario does not pass [`check`].
pub fn run(scenario: &Scenario) -> anyhow::Result<Record> {
    if let Some(problem) = checks::check_parts(scenario).first() {
        anyhow::bail!("{problem}");
    }
    let paths = Paths::new(scenario);
    tracing::info!(links = scenario.links.len(), "computing rates");
    trial::run(scenario, &paths)
}
