//! The errors of this crate.

use nettrial_scenario::{Fault, Problem, contexts};
use std::io;
use std::net::IpAddr;

/// The error of a field of a header, which does not take its value.
pub type Refusal = Box<dyn std::error::Error + Send + Sync>;

/// An error of a simulation.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An action failed because of another error.
    #[error("{doing}")]
    During {
        /// The action.
        doing: String,
        /// The reason.
        source: Box<Self>,
    },
    /// The scenario has a problem, which a check reports, too.
    #[error("{0}")]
    Scenario(Box<Problem>),
    /// A flow has traffic that is not simulated.
    #[error("{0}")]
    Unsupported(String),
    /// No path leads from one host of a flow to the other.
    #[error("no path leads from {from} to {to}")]
    NoPath {
        /// The address of the one.
        from: IpAddr,
        /// The address of the other.
        to: IpAddr,
    },
    /// A host has no stack.
    #[error("{0} has no stack")]
    NoStack(String),
    /// A flow's random quantities can't be drawn.
    #[error(transparent)]
    Draws(#[from] nettrial_flows::Error),
    /// A capture's file can't be written.
    #[error(transparent)]
    Capture(#[from] nettrial_capture::Error),
    /// A packet's headers can't be built; the fields of headers have errors of their own.
    #[error(transparent)]
    Frame(Refusal),
}

contexts!(Error);

impl Fault for Error {
    fn system(&self) -> Option<&io::Error> {
        match self {
            Self::During { source, .. } => source.system(),
            Self::Capture(error) => Some(&error.source),
            _ => None,
        }
    }
}
