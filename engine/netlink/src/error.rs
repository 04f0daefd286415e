//! The errors of this crate.

use nettrial_scenario::{Fault, contexts};
use std::io;

/// An error of the kernel's interfaces.
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
    /// A system call failed, or the kernel refused a request.
    #[error(transparent)]
    System(#[from] io::Error),
    /// There is no interface of this name.
    #[error("there is no interface {0}")]
    NoInterface(String),
    /// The kernel's answer lacks something, or can't be read.
    #[error("{0}")]
    Answer(String),
    /// A number does not fit in the kernel's field.
    #[error(transparent)]
    Number(#[from] std::num::TryFromIntError),
}

contexts!(Error);

impl Fault for Error {
    fn system(&self) -> Option<&io::Error> {
        match self {
            Self::During { source, .. } => source.system(),
            Self::System(error) => Some(error),
            Self::NoInterface(_) | Self::Answer(_) | Self::Number(_) => None,
        }
    }
}

impl From<nix::errno::Errno> for Error {
    fn from(error: nix::errno::Errno) -> Self {
        Self::System(error.into())
    }
}
