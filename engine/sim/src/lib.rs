//! Runs a trial packet by packet, in simulated time: no rights, any operating system, exactly repeatable.
//!
//! ```text
//! Sim::run ─> network (links, queues, paths) ─┐
//!             connections (TCP, MPTCP)        ├─ world: events in order of time ─> record
//!             applications (the workload)     ┘
//! ```
//!
//! A trial is one thread and depends on nothing but its scenario: no clock, no address of memory, no
//! hash whose seed changes, no floating point whose order may. Packets are not routed hop by hop: a flow's path
//! follows from the scenario, so each packet has the number of its path and how far it is on it.

#![forbid(unsafe_code)]

mod arena;
mod events;
mod io;
mod link;
mod network;
mod packet;
mod paths;
mod queue;
mod time;
mod world;

pub use events::Events;
pub use io::{Endpoint, Io, Notice, PathId};
pub use link::{Link, LinkCounters, Verdict};
pub use network::Network;
pub use packet::{Codepoint, Flags, Packet, SackBlocks};
pub use queue::{Length, wire_bytes};
pub use time::Time;
pub use world::{Balance, Endpoints, Engine, World};
