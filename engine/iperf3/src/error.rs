//! The errors of this crate.

use crate::message::State;
use nettrial_scenario::{FailureKind, Fault, contexts};
use std::io;
use std::net::SocketAddr;

/// An error of a test with iperf3's server.
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
    #[error("calling the iperf3 server at {server}")]
    Unreachable {
        /// Its address.
        server: SocketAddr,
        /// The reason.
        source: io::Error,
    },
    /// The server tests with somebody else.
    #[error("the server is busy with another test")]
    Busy,
    /// The server refused the test.
    #[error("the server refused the test: iperf3's error {0} (i_errno, iperf_api.h)")]
    Refused(i32),
    /// Datagrams do not reach the server, or its answers do not come back.
    #[error("the server did not answer on UDP port {0}: is UDP filtered on the way?")]
    UdpFiltered(u16),
    /// The server ended the test before its time.
    #[error("the server ended the test")]
    Ended,
    /// The server failed, and did not say why.
    #[error("the server failed")]
    Failed,
    /// The server sent a state that does not belong there.
    #[error("the server said {0:?} where that means nothing")]
    Unexpected(State),
    /// A stream ended before the test.
    #[error("a stream ended in the middle of the test")]
    StreamEnded,
    /// A thread of this process panicked.
    #[error("a stream's thread failed")]
    Thread,
    /// This machine's clock is wrong.
    #[error("the clock is before 1970")]
    Clock(#[from] std::time::SystemTimeError),
}

contexts!(Error);

impl Fault for Error {
    fn system(&self) -> Option<&io::Error> {
        match self {
            Self::During { source, .. } => source.system(),
            Self::System(error) | Self::Unreachable { source: error, .. } => Some(error),
            _ => None,
        }
    }

    fn kind(&self) -> FailureKind {
        match self {
            Self::During { source, .. } => source.kind(),
            Self::Unreachable { .. } => FailureKind::Unreachable,
            Self::Busy => FailureKind::Busy,
            Self::Refused(_) => FailureKind::Refused,
            Self::UdpFiltered(_) => FailureKind::UdpFiltered,
            _ => self.kind_of_system(),
        }
    }
}
