//! The errors of this crate.

use nettrial_scenario::{FailureKind, Fault, contexts};
use std::io::{self, ErrorKind};

/// An error of traffic, or of the agent that makes it.
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
    /// A system call failed.
    #[error(transparent)]
    System(#[from] io::Error),
    /// A program could not be started.
    #[error("starting {program}")]
    NotStarted {
        /// Its name or path.
        program: String,
        /// The reason.
        source: io::Error,
    },
    /// A thread that starts a program ended, or the program has no pipes.
    #[error("{0}")]
    Thread(&'static str),
    /// Another program failed, or did not print what is read of it.
    #[error("{0}")]
    Program(String),
    /// The other end of a flow did something else than was agreed.
    #[error("{0}")]
    Peer(String),
    /// The other end of a flow has as much to do as it takes on.
    #[error("{0}")]
    Busy(String),
    /// Something that should have come or ended by itself did not in time.
    #[error("{0}")]
    TimedOut(String),
    /// The flow asks for something that can't be done, or not on this system.
    #[error("{0}")]
    Unsupported(String),
    /// A file is not what the flow needs.
    #[error("{0}")]
    File(String),
    /// A document can't be read.
    #[error(transparent)]
    Document(#[from] serde_json::Error),
    /// The flow's random quantities can't be drawn.
    #[error(transparent)]
    Draws(#[from] nettrial_flows::Error),
    /// A number does not fit where it has to go.
    #[error(transparent)]
    Number(#[from] std::num::TryFromIntError),
}

contexts!(Error);

impl Fault for Error {
    fn system(&self) -> Option<&io::Error> {
        match self {
            Self::During { source, .. } => source.system(),
            Self::System(error) | Self::NotStarted { source: error, .. } => Some(error),
            _ => None,
        }
    }

    fn kind(&self) -> FailureKind {
        match self {
            Self::During { source, .. } => source.kind(),
            Self::NotStarted { source, .. } if source.kind() == ErrorKind::NotFound => {
                FailureKind::MissingProgram
            }
            Self::Busy(_) => FailureKind::Busy,
            Self::TimedOut(_) => FailureKind::TimedOut,
            _ => self.kind_of_system(),
        }
    }
}
