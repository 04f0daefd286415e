//! The errors of this crate.

use std::io;
use std::path::{Path, PathBuf};

/// An action on a capture's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// It was to be created.
    Creating,
    /// Packets were to be written to it.
    Writing,
    /// It was to get its final name.
    Renaming,
}

/// An error of a capture's file.
#[derive(Debug, thiserror::Error)]
#[error("{} {}", action.in_words(), file.display())]
pub struct Error {
    /// The action.
    pub action: Action,
    /// The file.
    pub file: PathBuf,
    /// The system's error.
    pub source: io::Error,
}

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Action {
    fn in_words(self) -> &'static str {
        match self {
            Self::Creating => "creating",
            Self::Writing => "writing",
            Self::Renaming => "renaming",
        }
    }

    /// Returns the error of this action with `file`.
    pub(crate) fn failed(self, file: &Path) -> impl FnOnce(io::Error) -> Error {
        move |source| Error { action: self, file: file.to_owned(), source }
    }
}
