//! The errors of this crate.

use nettrial_scenario::{FailureKind, Fault, contexts};
use std::io;

/// An error of a guest, its machine or its files.
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
    /// A guest can't be used any more.
    #[error("the guest {guest} {how}; the last lines of its console:\n  {said}")]
    Lost {
        /// Its name.
        guest: String,
        /// The fault, such as "is gone" or "hangs".
        how: String,
        /// The last lines of its console.
        said: String,
    },
    /// A guest was silent for too long.
    #[error("the guest {guest} does not answer; the last lines of its console:\n  {said}")]
    Silent {
        /// Its name.
        guest: String,
        /// The last lines of its console.
        said: String,
    },
    /// The engine in a guest has another version.
    #[error(
        "the nettrial-engine in the guest {guest} is of version {there}, not {here}: copy this machine's into the \
         image, and add it again"
    )]
    OtherVersion {
        /// The guest's name.
        guest: String,
        /// The version there.
        there: String,
        /// This engine's version.
        here: &'static str,
    },
    /// A guest sent something else before it was ready.
    #[error("the guest {0} said something before it was ready")]
    NotReady(String),
    /// An image of a disk can't be used.
    #[error("{0}")]
    Image(String),
    /// A system of the catalogue is no guest's.
    #[error("{0} is a kernel in virtual time, and no guest can run it")]
    NotForGuests(String),
    /// A system of the catalogue is no kernel in virtual time.
    #[error("{0} is for guests, and no kernel in virtual time")]
    OnlyForGuests(String),
    /// QEMU did not carry out a command.
    #[error("{0}")]
    Qemu(String),
    /// A device did not appear in time.
    #[error("{0}")]
    Absent(String),
    /// The guest's owner sent what is no order.
    #[error("{0}")]
    Order(&'static str),
    /// A process was started without this pipe.
    #[error("no pipe {0}")]
    NoPipe(&'static str),
    /// A library of this program has no name.
    #[error("a library without a name")]
    NoName,
    /// A document can't be read.
    #[error(transparent)]
    Document(#[from] serde_json::Error),
    /// The number of a thread can't be read.
    #[error(transparent)]
    Number(#[from] std::num::ParseIntError),
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
            Self::Lost { .. } => FailureKind::AgentEnded,
            Self::Silent { .. } | Self::Absent(_) => FailureKind::TimedOut,
            Self::OtherVersion { .. } => FailureKind::OtherVersion,
            _ => self.kind_of_system(),
        }
    }
}

impl From<nix::errno::Errno> for Error {
    fn from(error: nix::errno::Errno) -> Self {
        Self::System(error.into())
    }
}
