//! The errors of this crate.

use nettrial_scenario::{FailureKind, Fault, Problem, contexts};
use std::io;

/// An error of the lab.
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
    /// The kernel refused a request about an interface, a route or a queue.
    #[error(transparent)]
    Netlink(#[from] nettrial_netlink::Error),
    /// The session, or an agent in it, failed.
    #[error(transparent)]
    Session(#[from] nettrial_session::Error),
    /// The agent that is part of this process failed.
    #[error(transparent)]
    Traffic(#[from] nettrial_traffic::Error),
    /// A guest failed.
    #[error(transparent)]
    Guest(#[from] nettrial_guest::Error),
    /// A machine of the user's failed.
    #[error(transparent)]
    Machine(#[from] nettrial_scenario::Failure),
    /// The kernel did not take a congestion control.
    #[error(transparent)]
    Bpf(#[from] nettrial_bpf::Error),
    /// A capture's file can't be written.
    #[error(transparent)]
    Capture(#[from] nettrial_capture::Error),
    /// The scenario has a problem, which a check reports, too.
    #[error("{0}")]
    Scenario(Box<Problem>),
    /// The network lacks something that a part of it names: a node, an interface, an address.
    #[error("{0}")]
    Missing(String),
    /// This machine or its kernel lacks something.
    #[error("{0}")]
    Unsupported(String),
    /// Only root may do this.
    #[error("creating device files needs root")]
    NeedsRoot,
    /// Another program ended, or does something else than it should.
    #[error("{0}")]
    Program(String),
    /// Another program does not answer in time.
    #[error("{0}")]
    Silent(String),
    /// A link did not come up in time.
    #[error("{0}")]
    NoCarrier(String),
    /// The node inside a guest could not be built.
    #[error("{0}")]
    Node(String),
    /// A thread of this process ended early.
    #[error("{0}")]
    Thread(&'static str),
    /// The kernel reported something that makes no sense.
    #[error("{0}")]
    Kernel(String),
    /// This machine's clock is wrong.
    #[error(transparent)]
    Clock(#[from] std::time::SystemTimeError),
    /// A document can't be read or written.
    #[error(transparent)]
    Document(#[from] serde_json::Error),
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
            Self::Netlink(error) => error.system(),
            Self::Session(error) => error.system(),
            Self::Traffic(error) => error.system(),
            Self::Guest(error) => error.system(),
            Self::Bpf(error) => error.system(),
            Self::Capture(error) => Some(&error.source),
            _ => None,
        }
    }

    fn kind(&self) -> FailureKind {
        match self {
            Self::During { source, .. } => source.kind(),
            Self::Netlink(error) => error.kind(),
            Self::Session(error) => error.kind(),
            Self::Traffic(error) => error.kind(),
            Self::Guest(error) => error.kind(),
            Self::Machine(failure) => failure.kind,
            Self::Bpf(error) => error.kind(),
            Self::Capture(error) => Fault::kind(&error.source),
            Self::NeedsRoot => FailureKind::NoPrivileges,
            Self::Silent(_) | Self::NoCarrier(_) => FailureKind::TimedOut,
            _ => self.kind_of_system(),
        }
    }
}

impl From<nix::errno::Errno> for Error {
    fn from(error: nix::errno::Errno) -> Self {
        Self::System(error.into())
    }
}
