//! The errors of this crate.

use nettrial_scenario::{FailureKind, Fault, contexts};
use std::io;

/// An error of a kernel in virtual time.
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
    /// The initial RAM disk can't be made.
    #[error(transparent)]
    Files(#[from] nettrial_guest::Error),
    /// The kernel ended before it had answered. The text is its last lines.
    #[error("the kernel ended without an answer: {0}")]
    Ended(String),
    /// The kernel stood still for too long.
    #[error("the kernel hangs: its clock stood still for {seconds} s of CPU time: {said}")]
    Hangs {
        /// The CPU time that it used meanwhile, in seconds.
        seconds: u64,
        /// Its last lines.
        said: String,
    },
    /// The number of a descriptor does not fit.
    #[error(transparent)]
    Number(#[from] std::num::TryFromIntError),
    /// A request or an answer can't be read or written.
    #[error(transparent)]
    Document(#[from] serde_json::Error),
}

contexts!(Error);

impl Fault for Error {
    fn system(&self) -> Option<&io::Error> {
        match self {
            Self::During { source, .. } => source.system(),
            Self::System(error) => Some(error),
            Self::Files(error) => error.system(),
            _ => None,
        }
    }

    fn kind(&self) -> FailureKind {
        match self {
            Self::During { source, .. } => source.kind(),
            Self::Files(error) => error.kind(),
            Self::Ended(said) if may_not_trace(said) => FailureKind::NoPrivileges,
            Self::Ended(_) => FailureKind::AgentEnded,
            Self::Hangs { .. } => FailureKind::TimedOut,
            _ => self.kind_of_system(),
        }
    }
}

impl From<nix::errno::Errno> for Error {
    fn from(error: nix::errno::Errno) -> Self {
        Self::System(error.into())
    }
}

/// Returns true if a kernel ended because it may not trace processes. It ends with status 1 after every failed check
/// of the machine (arch/um/os-Linux/start_up.c, fatal_perror), so that only its text tells which one failed. A kernel
/// that panics was past these checks.
fn may_not_trace(said: &str) -> bool {
    said.contains("ptrace") && !said.contains("Kernel panic")
}

#[cfg(test)]
mod tests {
    use super::*;
    use nettrial_scenario::During;

    #[test]
    fn a_kernel_that_may_not_trace_lacks_privileges() {
        let ended = |said: &str| Error::Ended(said.to_owned()).during("checking").kind();
        assert_eq!(ended("check_ptrace : expected SIGSTOP, got status = 0x100"), FailureKind::NoPrivileges);
        let registers = "userspace - ptrace set fp regs failed, errno = 14 | Kernel panic - not syncing";
        assert_eq!(ended(registers), FailureKind::AgentEnded);
        assert_eq!(Error::Hangs { seconds: 120, said: String::new() }.kind(), FailureKind::TimedOut);
    }
}
