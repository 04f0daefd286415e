//! The errors of this crate.

use nettrial_scenario::{FailureKind, Fault, contexts};
use std::io;
use std::net::SocketAddr;

/// An error of a measurement with `nettrial serve`.
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
    /// The server can't be reached.
    #[error("connecting to {server}")]
    Unreachable {
        /// Its address.
        server: SocketAddr,
        /// The reason.
        source: io::Error,
    },
    /// The server does not answer.
    #[error("the server does not answer")]
    Silent,
    /// The server ended the session.
    #[error("the server closed the session; its own messages say why")]
    Closed,
    /// The server ended the session before it had begun.
    #[error(
        "the server closed the session; its own messages say why. It may have no place for another session"
    )]
    Full,
    /// The server did not greet this side.
    #[error("the server did not welcome")]
    NoWelcome,
    /// The server's engine has another version.
    #[error("nettrial there is version {there}, here it is {here}: both must be of one version")]
    OtherVersion {
        /// The server's version.
        there: String,
        /// This engine's version.
        here: &'static str,
    },
    /// The server refuses an order.
    #[error("the server refuses: {0}")]
    Refused(String),
    /// The server has as many sessions or callers as it takes on.
    #[error("refused: too many {0}")]
    TooMany(&'static str),
    /// The other side sent something else than was asked.
    #[error("{0}")]
    Answer(String),
    /// An agent's record of a flow can't be right.
    #[error("the record of flow {flow:?} can't be right: {why}")]
    Implausible {
        /// The flow's name.
        flow: String,
        /// The reason.
        why: String,
    },
    /// This machine's clock is wrong.
    #[error("the clock is before 1970")]
    Clock(#[from] std::time::SystemTimeError),
    /// The session, or an agent in it, failed.
    #[error(transparent)]
    Session(#[from] nettrial_session::Error),
}

contexts!(Error);

impl Fault for Error {
    fn system(&self) -> Option<&io::Error> {
        match self {
            Self::During { source, .. } => source.system(),
            Self::System(error) | Self::Unreachable { source: error, .. } => Some(error),
            Self::Session(error) => error.system(),
            _ => None,
        }
    }

    fn kind(&self) -> FailureKind {
        match self {
            Self::During { source, .. } => source.kind(),
            Self::Unreachable { .. } | Self::Silent | Self::Closed => FailureKind::Unreachable,
            Self::Full | Self::TooMany(_) => FailureKind::Busy,
            Self::NoWelcome | Self::Refused(_) => FailureKind::Refused,
            Self::OtherVersion { .. } => FailureKind::OtherVersion,
            Self::Session(error) => error.kind(),
            _ => self.kind_of_system(),
        }
    }
}
