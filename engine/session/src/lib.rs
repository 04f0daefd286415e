//! A session: agents on the hosts of a trial, each behind a [`Transport`], and what is checked around the
//! traffic that they make.
//!
//! An agent takes orders and answers each with a report, in the lines of `nettrial_traffic`. [`Agents`] gives
//! the orders and awaits the reports, whatever carries them:
//!
//! - a process on this machine, in a network namespace or not ([`Process::local`]),
//! - the standard input and output of any command, such as one that reaches another machine
//!   ([`Process::command`]),
//! - a TCP connection that the Noise protocol protects with a key that both sides have ([`enter`], [`admit`],
//!   [`Reader`], [`Writer`]), over which the crate `nettrial-remote` carries orders and more.
//!
//! [`Findings`] are the checks and warnings of a trial, [`path_mtus`] probes paths, [`open`], [`inspect`] and
//! [`drive`] have agents carry flows, a [`Reading`] says how busy a machine's CPUs are, and an [`Offset`] by how much
//! its clock is ahead.

#![forbid(unsafe_code)]

mod agents;
mod clock;
mod findings;
mod flows;
mod frame;
mod handshake;
mod path;
mod process;
mod reading;
mod token;
mod transport;

pub use agents::{Agents, Pending};
pub use clock::{Offset, Round};
pub use findings::Findings;
pub use flows::{Planned, Ready, directions, drive, inspect, open, payload_bytes};
pub use frame::{Reader, Writer};
pub use handshake::{Sealed, WrongToken, admit, enter};
pub use path::{Direction, path_mtus};
pub use process::{MOST_REPORT_BYTES, Process};
pub use reading::{Reading, Use, monotonic_ns};
pub use token::{Token, VARIABLE};
pub use transport::{Event, Sink, Transport};
