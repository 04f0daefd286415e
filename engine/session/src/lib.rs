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
//! [`Findings`] are the checks and warnings of a trial, [`path_mtus`] probes paths, and a [`Reading`] says how
//! busy a machine's CPUs are.

#![forbid(unsafe_code)]

mod agents;
mod findings;
mod frame;
mod handshake;
mod path;
mod process;
mod reading;
mod token;
mod transport;

pub use agents::{Agents, Pending};
pub use findings::Findings;
pub use frame::{Reader, Writer};
pub use handshake::{Sealed, WrongToken, admit, enter};
pub use path::{Direction, path_mtus};
pub use process::Process;
pub use reading::{Reading, Use, monotonic_ns};
pub use token::{Token, VARIABLE};
pub use transport::{Event, Sink, Transport};
