//! The errors of this crate.

use nettrial_scenario::{FailureKind, Fault, contexts};
use std::io;

/// An error of a congestion control that the kernel runs.
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
    /// A file of the kernel could not be read, or a system call failed.
    #[error(transparent)]
    System(#[from] io::Error),
    /// libbpf, or the kernel behind it, refused.
    #[error(transparent)]
    Library(#[from] libbpf_rs::Error),
    /// There is no program of this name.
    #[error("there is no program for a congestion control {0:?}")]
    Unknown(String),
    /// A program of this crate is not built as it is expected to be.
    #[error("{0}")]
    Program(String),
    /// The counters of calls are not there, or are not numbers.
    #[error("{0}")]
    Counters(String),
    /// Every name in the kernel that this process may use is taken.
    #[error("registering {0}: every name that this process may give it is taken")]
    NamesTaken(String),
}

contexts!(Error);

impl Fault for Error {
    fn system(&self) -> Option<&io::Error> {
        match self {
            Self::During { source, .. } => source.system(),
            Self::System(error) => Some(error),
            _ => None,
        }
    }

    fn kind(&self) -> FailureKind {
        match self {
            Self::During { source, .. } => source.kind(),
            Self::Library(error) if error.kind() == libbpf_rs::ErrorKind::PermissionDenied => {
                FailureKind::NoPrivileges
            }
            _ => self.kind_of_system(),
        }
    }
}
