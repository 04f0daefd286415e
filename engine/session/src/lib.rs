//! A session: the agents on the hosts of a trial, each behind a [`Transport`], and the checks around their
//! traffic.
//!
//! An agent takes orders and answers each with a report, as lines that `nettrial_traffic` defines. [`Agents`]
//! gives the orders and waits for the reports over one of these transports:
//!
//! - a process on this machine, in a network namespace or not ([`Process::local`]),
//! - the standard input and output of any command, such as one that reaches another machine
//!   ([`Process::command`]),
//! - a TCP connection that the Noise protocol protects with a key that both sides have ([`enter`], [`admit`],
//!   [`Reader`], [`Writer`]), over which the crate `nettrial-remote` carries orders and more.
//!
//! [`Findings`] holds the checks and warnings of a trial, [`path_mtus`] probes paths, [`prepare`] and [`drive`]
//! make agents carry flows, [`host_records`] writes down what hosts did, a [`Reading`] holds the use of a machine's CPUs,
//! [`Surroundings`] what else happens on it, and an [`Offset`] the lead of its clock.

#![forbid(unsafe_code)]

mod agents;
mod census;
mod clock;
mod error;
mod findings;
mod flows;
mod frame;
mod handshake;
mod hosts;
mod path;
mod plausible;
mod process;
mod reading;
mod surroundings;
mod token;
mod transport;
mod watch;

pub use agents::{Agents, Pending};
pub use census::Census;
pub use clock::{Offset, Round};
pub use error::{Error, Result};
pub use findings::Findings;
pub use flows::{Plan, Planned, Ready, directions, drive, open, prepare};
pub use frame::{Reader, Writer};
pub use handshake::{PENALTY, Sealed, admit, enter};
pub use hosts::{CpuTime, host_records};
pub use path::{Direction, path_mtus};
pub use plausible::impossible;
pub use process::{MOST_REPORT_BYTES, Process};
pub use reading::{Reading, Use, monotonic_ns};
pub use surroundings::{Surroundings, wall_ns};
pub use token::{Token, VARIABLE};
pub use transport::{Event, Sink, Transport};
pub use watch::Watch;
