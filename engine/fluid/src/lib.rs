//! Computes the rates of a trial's flows from the network alone, without packets, queues and windows.
//!
//! Between two events (a flow starts or ends), every flow has a constant rate: the one in an equilibrium in which
//! every connection has the rate that its congestion control would reach. TCP flows share the links on their paths
//! max-min fairly. The rates of a coupled MPTCP connection on its paths follow from the fixed point of its
//! algorithm (`coupled`).
//!
//! ```text
//! run ─> routes (the paths of all connections, as in the simulator) ─> trial: start or end ─> rates ─> ... ─> record
//! ```
//!
//! The model ignores slow start and all other convergence, round-trip times (those of all connections count as
//! equal), losses, the acknowledgments' share of links, and hosts. It is wrong where these matter.

#![forbid(unsafe_code)]

mod checks;
mod coupled;
mod error;
mod maxmin;
mod routes;
mod supported;
mod trial;

pub use coupled::{Coupling, Group, equilibrium};
pub use error::{Error, Result};
pub use maxmin::max_min;
pub use routes::FlowPaths;
pub use supported::capabilities;

use nettrial_routing::Paths;
use nettrial_scenario::{Problem, Record, Scenario};

/// Returns all problems because of which the rates of `scenario` can't be computed.
pub fn check(scenario: &Scenario) -> Vec<Problem> {
    let of_parts = checks::check_parts(scenario);
    if !of_parts.is_empty() {
        return of_parts;
    }
    checks::check_paths(scenario, &Paths::new(scenario))
}

/// Computes a trial. The same scenario gives the same record, byte by byte, on any machine.
///
/// # Errors
/// Fails if the scenario does not pass [`check`].
pub fn run(scenario: &Scenario) -> Result<Record> {
    if let Some(problem) = checks::check_parts(scenario).first() {
        return Err(Error::Scenario(Box::new(problem.clone())));
    }
    let paths = Paths::new(scenario);
    tracing::info!(links = scenario.links.len(), "computing rates");
    trial::run(scenario, &paths)
}
