//! Runs a trial packet by packet, in simulated time: no rights, any operating system, exactly repeatable.
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

mod arena;
mod check;
mod connection;
mod environment;
mod estimate;
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
mod queues;
mod random;
mod record;
mod sampler;
mod tcp;
mod time;
mod traffic;
mod trial;
mod wiring;
mod world;

pub use check::check;
pub use connection::{Connection, ConnectionSettings, Statistics, SubflowSettings};
pub use environment::preflight;
pub use estimate::estimate;
pub use events::Events;
pub use io::{Endpoint, Io, Notice, PathId};
pub use link::{Link, LinkCounters};
pub use network::Network;
pub use packet::{Codepoint, Flags, Packet, SackBlocks};
pub use queue::{Length, wire_bytes};
pub use time::Time;
pub use world::{Balance, Endpoints, Engine, World};

use nettrial_scenario::{Record, Scenario};

/// Runs one trial. The same scenario gives the same record, to the byte, on any machine.
///
/// # Errors
/// Fails if the scenario does not pass [`check`].
pub fn run(scenario: &Scenario) -> anyhow::Result<Record> {
    if let Some(problem) = check(scenario).first() {
        anyhow::bail!(
            "{} of {} is {}; legal: {} ({})",
            problem.setting,
            problem.object,
            problem.value,
            problem.legal,
            problem.hint
        );
    }
    trial::run(scenario)
}
