//! The errors of this crate.

use nettrial_scenario::{Failure, FailureKind, Fault, Problem, Shortfall, contexts};
use std::io;

/// An error of the user's machines.
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
    /// A machine can't be reached, or lacks something.
    #[error("{}: {}; remedy: {}", .0.what, .0.why, .0.remedy)]
    Shortfall(Box<Shortfall>),
    /// The scenario has a problem, which a check reports, too.
    #[error("{0}")]
    Scenario(Box<Problem>),
    /// A machine does not have this engine.
    #[error("the engine of this version is not installed there")]
    NotInstalled,
    /// The engine of a machine has another version.
    #[error("the engine's version there is {there}, and here it is {here}")]
    OtherVersion {
        /// The version there.
        there: String,
        /// This engine's version.
        here: &'static str,
    },
    /// A machine did not greet in time.
    #[error("the machine gave no answer within {0} s")]
    NoGreeting(u64),
    /// The command that reaches a machine ended, or reaches something else.
    #[error("{0}")]
    Command(&'static str),
    /// The connection to a machine is gone.
    #[error("{machine}: {why}")]
    Lost {
        /// The machine's name.
        machine: String,
        /// The reason.
        why: String,
    },
    /// A machine does not answer.
    #[error("{0}: the machine does not answer")]
    Silent(String),
    /// A machine could not do what it was asked.
    #[error("{machine}: {failure}")]
    Machine {
        /// Its name.
        machine: String,
        /// The failure that it reported.
        failure: Failure,
    },
    /// A machine answered something else than was asked.
    #[error("{0}")]
    Answer(String),
    /// This machine's clock is wrong.
    #[error("this machine's clock is before 1970")]
    Clock(#[from] std::time::SystemTimeError),
    /// A thread of this process panicked.
    #[error("{0}")]
    Thread(&'static str),
    /// Another session uses this machine.
    #[error("{0}")]
    Busy(String),
    /// A setting of this machine can't be read or changed.
    #[error("{0}")]
    Setting(String),
    /// The journal, or another file of nettrial on this machine, can't be used.
    #[error("{0}")]
    Journal(String),
    /// A setting can't be restored.
    #[error("{0}")]
    NotRestored(String),
    /// This system lacks something that Linux has.
    #[error("{what} needs Linux, and this system is {}", nettrial_traffic::system_name())]
    NeedsLinux {
        /// The operation that needs it.
        what: String,
    },
    /// The scenario and the inventory don't fit each other.
    #[error("{0}")]
    NotMapped(String),
    /// This side of a session is not in the state that it should be in.
    #[error("{0}")]
    State(&'static str),
    /// A document can't be read or written.
    #[error(transparent)]
    Document(#[from] serde_json::Error),
    /// The session, or an agent in it, failed.
    #[error(transparent)]
    Session(#[from] nettrial_session::Error),
    /// The kernel's interfaces could not be asked.
    #[cfg(target_os = "linux")]
    #[error(transparent)]
    Netlink(#[from] nettrial_netlink::Error),
}

contexts!(Error);

impl Fault for Error {
    fn system(&self) -> Option<&io::Error> {
        match self {
            Self::During { source, .. } => source.system(),
            Self::System(error) => Some(error),
            Self::Session(error) => error.system(),
            #[cfg(target_os = "linux")]
            Self::Netlink(error) => error.system(),
            _ => None,
        }
    }

    fn kind(&self) -> FailureKind {
        match self {
            Self::During { source, .. } => source.kind(),
            Self::Session(error) => error.kind(),
            #[cfg(target_os = "linux")]
            Self::Netlink(error) => error.kind(),
            Self::Machine { failure, .. } => failure.kind,
            Self::Shortfall(lack) if !lack.kind.is_other() => lack.kind,
            Self::Shortfall(_) | Self::Command(_) | Self::Lost { .. } => FailureKind::Unreachable,
            Self::NoGreeting(_) | Self::Silent(_) => FailureKind::TimedOut,
            Self::NotInstalled => FailureKind::MissingProgram,
            Self::OtherVersion { .. } => FailureKind::OtherVersion,
            Self::Busy(_) => FailureKind::Busy,
            _ => self.kind_of_system(),
        }
    }
}

#[cfg(unix)]
impl From<nix::errno::Errno> for Error {
    fn from(error: nix::errno::Errno) -> Self {
        Self::System(error.into())
    }
}
