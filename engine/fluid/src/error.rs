//! The errors of this crate.

use nettrial_scenario::{Fault, Problem};
use std::io;

/// An error of a computation.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The scenario has a problem, which a check reports, too.
    #[error("{0}")]
    Scenario(Box<Problem>),
    /// A flow has no path.
    #[error("flow {0:?} has no path")]
    NoPath(String),
    /// A flow's traffic is none whose rate is computed.
    #[error("flow {0:?} is none of TCP's or MPTCP's transfers")]
    Unsupported(String),
}

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Fault for Error {
    fn system(&self) -> Option<&io::Error> {
        None
    }
}
