//! Kinds of failures, for programs, with the texts of failures for people.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::error::Error;
use std::fmt::{Display, Formatter};
use std::io::{self, ErrorKind};

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

impl FailureKind {
    /// Returns true if programs do not tell the failure from others.
    pub fn is_other(&self) -> bool {
        *self == Self::Other
    }
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

impl Error for Failure {}

/// An error of one of the engine's crates. Each crate has an enum of its own kinds of errors; this trait says what
/// they mean to programs and to people elsewhere.
pub trait Fault: Error + Sized + 'static {
    /// Returns the error of the operating system that caused this one, if one did.
    fn system(&self) -> Option<&io::Error>;

    /// Returns the kind, which follows from the variant, or from the system's error.
    fn kind(&self) -> FailureKind {
        self.kind_of_system()
    }

    /// Returns the kind that follows from the system's error, for the variants that have none of their own.
    fn kind_of_system(&self) -> FailureKind {
        self.system().map_or(FailureKind::Other, system_kind)
    }

    /// Returns the error with its causes: what was done, and why it failed. If a connection ended early, the text says
    /// who ended it and where to look, which the texts of the standard library and of the system don't ("failed to
    /// fill whole buffer").
    fn in_words(&self) -> String {
        let mut texts: Vec<String> = causes(self).map(ToString::to_string).collect();
        if let (Some(explained), Some(last)) = (self.system().and_then(explanation), texts.last_mut()) {
            explained.clone_into(last);
        }
        texts.join(": ")
    }

    /// Returns the text of the innermost cause.
    fn root_cause(&self) -> String {
        causes(self).last().map(ToString::to_string).unwrap_or_default()
    }

    /// Returns the kind and the text.
    fn failure(&self) -> Failure {
        Failure::new(self.kind(), self.in_words())
    }
}

impl Fault for Failure {
    fn system(&self) -> Option<&io::Error> {
        None
    }

    fn kind(&self) -> FailureKind {
        self.kind
    }
}

impl Fault for io::Error {
    fn system(&self) -> Option<&io::Error> {
        Some(self)
    }
}

/// An error that can say what was being done when it came. [`contexts!`](crate::contexts) implements it.
pub trait During {
    /// Adds the words `doing` to the error.
    #[must_use]
    fn during(self, doing: impl Into<String>) -> Self;
}

/// Returns the text of an error and of its causes.
pub fn chain(error: &(dyn Error + 'static)) -> String {
    causes(error).map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error: &&'a (dyn Error + 'static)| (*error).source())
}

fn system_kind(error: &io::Error) -> FailureKind {
    match error.kind() {
        ErrorKind::PermissionDenied => FailureKind::NoPrivileges,
        ErrorKind::TimedOut | ErrorKind::WouldBlock => FailureKind::TimedOut,
        _ => FailureKind::Other,
    }
}

/// Returns better words than the system's for the error of a connection. An error that wraps another one already has
/// words of its own.
fn explanation(error: &io::Error) -> Option<&'static str> {
    if error.get_ref().is_some() {
        return None;
    }
    match error.kind() {
        ErrorKind::UnexpectedEof | ErrorKind::BrokenPipe => {
            Some("the other end closed the connection early; its own messages may say why")
        }
        ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted => Some(
            "the connection was reset, by the other end or by a firewall between; the other end's own messages may \
             say why",
        ),
        ErrorKind::WouldBlock => Some(
            "nothing arrived in time; is the path to the other end open, and does its process still run?",
        ),
        _ => None,
    }
}

/// Lets the functions of a crate say what they were doing when an error came: defines the trait `Context` for results,
/// and `Result`. The crate's error is an enum with a variant `During { doing, source }`, whose source is another
/// error of the crate, of any of its kinds.
#[macro_export]
macro_rules! contexts {
    ($error:ident) => {
        /// A result of this crate.
        pub type Result<T, E = $error> = std::result::Result<T, E>;

        /// Says what was being done when an error came.
        #[allow(dead_code, reason = "not every crate calls both functions")]
        pub(crate) trait Context<T> {
            /// Adds the words `doing` to an error.
            fn context(self, doing: impl Into<String>) -> Result<T>;
            /// Adds the words that `doing` returns to an error.
            fn with_context<D: Into<String>>(self, doing: impl FnOnce() -> D) -> Result<T>;
        }

        impl<T, E: Into<$error>> Context<T> for std::result::Result<T, E> {
            fn context(self, doing: impl Into<String>) -> Result<T> {
                self.with_context(|| doing)
            }

            fn with_context<D: Into<String>>(self, doing: impl FnOnce() -> D) -> Result<T> {
                self.map_err(|error| $crate::During::during(error.into(), doing()))
            }
        }

        impl $crate::During for $error {
            fn during(self, doing: impl Into<String>) -> Self {
                Self::During { doing: doing.into(), source: Box::new(self) }
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    /// The error of a crate.
    #[derive(Debug, thiserror::Error)]
    pub enum Example {
        #[error("{doing}")]
        During { doing: String, source: Box<Self> },
        #[error("connecting to {0}")]
        Unreachable(&'static str, #[source] io::Error),
        #[error(transparent)]
        System(#[from] io::Error),
    }

    contexts!(Example);

    impl Fault for Example {
        fn system(&self) -> Option<&io::Error> {
            match self {
                Self::During { source, .. } => source.system(),
                Self::Unreachable(_, error) | Self::System(error) => Some(error),
            }
        }

        fn kind(&self) -> FailureKind {
            match self {
                Self::During { source, .. } => source.kind(),
                Self::Unreachable(..) => FailureKind::Unreachable,
                Self::System(error) => Fault::kind(error),
            }
        }
    }

    fn of_system(kind: ErrorKind) -> Example {
        io::Error::from(kind).into()
    }

    #[test]
    fn the_kind_follows_from_the_variant_and_the_text_has_all_causes() {
        let refused = io::Error::from(ErrorKind::ConnectionRefused);
        let error = Example::Unreachable("a", refused).during("flow 1");
        assert_eq!(error.kind(), FailureKind::Unreachable);
        assert_eq!(error.in_words(), "flow 1: connecting to a: connection refused");
        assert_eq!(chain(&error), error.in_words());
        for (system, kind) in [
            (ErrorKind::ConnectionRefused, FailureKind::Other),
            (ErrorKind::PermissionDenied, FailureKind::NoPrivileges),
            (ErrorKind::TimedOut, FailureKind::TimedOut),
        ] {
            assert_eq!(of_system(system).during("a").kind(), kind);
        }
    }

    #[test]
    fn the_early_end_of_a_connection_is_explained() {
        let read = (&b"no"[..]).read_exact(&mut [0; 9]).context("waiting for a response");
        assert_eq!(
            read.unwrap_err().in_words(),
            "waiting for a response: the other end closed the connection early; its own messages may say why"
        );
        for kind in [ErrorKind::ConnectionReset, ErrorKind::BrokenPipe, ErrorKind::WouldBlock] {
            let said = of_system(kind).in_words();
            assert!(said.contains("the other end"), "{said}");
        }
    }

    #[test]
    fn other_errors_keep_their_words() {
        let own = io::Error::new(ErrorKind::UnexpectedEof, "the file ends in its header");
        for error in [of_system(ErrorKind::ConnectionRefused), own.into()] {
            assert_eq!(error.in_words(), chain(&error));
        }
    }
}
