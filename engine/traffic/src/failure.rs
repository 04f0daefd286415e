//! Errors in words.

use crate::Reply;
use nettrial_scenario::{Failure, FailureKind};
use std::error::Error;
use std::io::{self, ErrorKind};

/// Returns an error with its causes: what was done, and why it failed. If a connection ended early, the text says who
/// ended it and where to look, which the texts of the standard library and of the system don't ("failed to fill whole
/// buffer").
pub fn in_words(error: &anyhow::Error) -> String {
    error.chain().map(cause_in_words).collect::<Vec<_>>().join(": ")
}

/// Returns the kind of an error: that of the outermost [`Failure`] in it, or else that of the system's error.
pub fn kind_of(error: &anyhow::Error) -> FailureKind {
    if let Some(failure) = error.downcast_ref::<Failure>() {
        return failure.kind;
    }
    let system = error.chain().find_map(|cause| cause.downcast_ref::<io::Error>());
    match system.map(io::Error::kind) {
        Some(ErrorKind::PermissionDenied) => FailureKind::NoPrivileges,
        Some(ErrorKind::TimedOut | ErrorKind::WouldBlock) => FailureKind::TimedOut,
        _ => FailureKind::Other,
    }
}

impl Reply {
    /// Returns the report of an order that could not be carried out.
    pub fn failed(error: &anyhow::Error) -> Self {
        Self::Failed { kind: kind_of(error), message: in_words(error) }
    }
}

fn cause_in_words(cause: &(dyn Error + 'static)) -> String {
    // An error that wraps another one already has words of its own.
    let bare = cause.downcast_ref::<io::Error>().filter(|error| error.get_ref().is_none());
    bare.and_then(|error| explanation(error.kind())).map_or_else(|| cause.to_string(), str::to_owned)
}

fn explanation(kind: ErrorKind) -> Option<&'static str> {
    match kind {
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

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context;
    use std::io::Read;

    #[test]
    fn the_outermost_kind_counts_and_the_texts_are_those_of_all_causes() {
        let refused = || anyhow::Error::from(io::Error::from(ErrorKind::ConnectionRefused));
        let tagged = refused().context(Failure::new(FailureKind::Unreachable, "connecting to a"));
        let error = tagged.context("flow 1");
        assert_eq!(kind_of(&error), FailureKind::Unreachable);
        assert_eq!(in_words(&error), "flow 1: connecting to a: connection refused");
        assert_eq!(kind_of(&refused()), FailureKind::Other);
        for (system, kind) in [
            (ErrorKind::PermissionDenied, FailureKind::NoPrivileges),
            (ErrorKind::TimedOut, FailureKind::TimedOut),
        ] {
            assert_eq!(kind_of(&anyhow::Error::from(io::Error::from(system)).context("a")), kind);
        }
    }

    #[test]
    fn the_early_end_of_a_connection_is_explained() {
        let read = (&b"no"[..]).read_exact(&mut [0; 9]).context("waiting for a response");
        let said = in_words(&read.unwrap_err());
        assert_eq!(
            said,
            "waiting for a response: the other end closed the connection early; its own messages may say why"
        );
        for kind in [ErrorKind::ConnectionReset, ErrorKind::BrokenPipe, ErrorKind::WouldBlock] {
            let said = in_words(&io::Error::from(kind).into());
            assert!(said.contains("the other end"), "{said}");
        }
    }

    #[test]
    fn other_errors_keep_their_words() {
        let refused = io::Error::from(ErrorKind::ConnectionRefused);
        let own = io::Error::new(ErrorKind::UnexpectedEof, "the file ends in its header");
        for error in
            [anyhow::Error::from(refused), own.into(), anyhow::anyhow!("no route").context("sending")]
        {
            assert_eq!(in_words(&error), format!("{error:#}"));
        }
    }
}
