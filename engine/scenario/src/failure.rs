//! Kinds of failures, for programs, with the texts of failures for people.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::{Display, Formatter};

/// The kind of a failure. Programs decide by it; the text of a failure is for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// Another machine can't be reached, does not answer, or is gone.
    Unreachable,
    /// Another machine or program refused.
    Refused,
    /// Another machine or program refused, because others use it.
    Busy,
    /// The other machine has another token, or does not say why it ended the conversation about the token.
    OtherToken,
    /// The program on the other machine has another version.
    OtherVersion,
    /// The other machine answers over TCP, and not over UDP.
    UdpFiltered,
    /// Something that should have ended by itself did not end in time.
    TimedOut,
    /// The agent of a host ended before its work did.
    AgentEnded,
    /// A program that the traffic needs is not there.
    MissingProgram,
    /// The user may not do what the trial needs.
    NoPrivileges,
    /// Any other failure.
    #[default]
    Other,
}

/// An error with its kind. It may be the context of another error, which is its cause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The kind.
    pub kind: FailureKind,
    /// The action that failed, or the reason.
    pub message: String,
}

impl Failure {
    /// Creates an error of this kind.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }
}

impl Display for Failure {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}
