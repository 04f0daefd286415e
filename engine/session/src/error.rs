//! The errors of this crate.

use nettrial_scenario::{Failure, FailureKind, Fault, contexts};
use std::io;

/// An error of a session, or of the agents in it.
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
    /// A caller has another token, or none.
    #[error("wrong token")]
    WrongToken,
    /// The server has another token.
    #[error("{0}")]
    OtherToken(&'static str),
    /// A caller sent what somebody had recorded of another session.
    #[error("a recorded handshake")]
    Recorded,
    /// The server speaks another protocol.
    #[error("what listens there does not answer as `nettrial serve` of this version does")]
    OtherProtocol(#[source] io::Error),
    /// The handshake failed.
    #[error(transparent)]
    Noise(#[from] snow::Error),
    /// A token, or its file, is not as it must be.
    #[error("{0}")]
    Token(String),
    /// The environment variable with the token is no text.
    #[error("reading the token in {0}")]
    Variable(&'static str, #[source] std::env::VarError),
    /// This side has ended the session.
    #[error("the session is over")]
    Over,
    /// A host has no agent.
    #[error("no agent on {0}")]
    NoAgent(String),
    /// An agent ended before its work did.
    #[error("{0}")]
    AgentEnded(String),
    /// An agent does not answer.
    #[error("the agent of {0} does not answer")]
    AgentSilent(String),
    /// An agent could not carry out an order.
    #[error("{0}")]
    Order(Failure),
    /// An agent answered something else than was asked.
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
    /// A process was started without this pipe.
    #[error("no pipe {0}")]
    NoPipe(&'static str),
    /// A document can't be read or written.
    #[error(transparent)]
    Document(#[from] serde_json::Error),
    /// The agent that is part of this process failed.
    #[error(transparent)]
    Traffic(#[from] nettrial_traffic::Error),
}

contexts!(Error);

impl Fault for Error {
    fn system(&self) -> Option<&io::Error> {
        match self {
            Self::During { source, .. } => source.system(),
            Self::System(error) | Self::OtherProtocol(error) => Some(error),
            Self::Traffic(error) => error.system(),
            _ => None,
        }
    }

    fn kind(&self) -> FailureKind {
        match self {
            Self::During { source, .. } => source.kind(),
            Self::WrongToken | Self::OtherToken(_) => FailureKind::OtherToken,
            Self::OtherProtocol(_) => FailureKind::Refused,
            Self::AgentEnded(_) => FailureKind::AgentEnded,
            Self::AgentSilent(_) => FailureKind::TimedOut,
            Self::Order(failure) => failure.kind,
            Self::Traffic(error) => error.kind(),
            _ => self.kind_of_system(),
        }
    }
}
