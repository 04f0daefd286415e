//! The guard of a machine's settings, which is never needed: nothing is changed.

use super::journal::Lock;
use super::unsupported;
use anyhow::Result;

/// A guard: there is no value of the type.
pub enum Guard {}

impl Guard {
    /// Refuses to start one.
    pub fn start(_lock: &Lock) -> Result<Self> {
        unsupported("changing settings")
    }

    /// Has it restore what was changed.
    pub fn finish(self) -> Result<()> {
        match self {}
    }
}

/// Refuses to be one.
///
/// # Errors
/// Always.
pub fn guard() -> Result<()> {
    unsupported("guarding settings")
}
