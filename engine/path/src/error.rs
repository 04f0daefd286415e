//! The errors of this crate.

use nettrial_scenario::{Fault, contexts};
use std::io;
use std::net::IpAddr;

/// An error of the examination of a path.
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
    /// The kernel's interfaces could not be asked.
    #[cfg(target_os = "linux")]
    #[error(transparent)]
    Netlink(#[from] nettrial_netlink::Error),
    /// No interface of this machine has the address from which packets leave.
    #[error("no interface has the address {0}")]
    NoInterface(IpAddr),
    /// The kernel gave a socket an address of no IP version.
    #[error("{0}")]
    NoAddress(&'static str),
    /// This machine can send no packets that show the size of a path.
    #[error("{0}")]
    CannotProbe(String),
    /// A number does not fit in the system's field.
    #[error(transparent)]
    Number(#[from] std::num::TryFromIntError),
}

contexts!(Error);

impl Fault for Error {
    fn system(&self) -> Option<&io::Error> {
        match self {
            Self::During { source, .. } => source.system(),
            Self::System(error) => Some(error),
            #[cfg(target_os = "linux")]
            Self::Netlink(error) => error.system(),
            _ => None,
        }
    }
}

#[cfg(target_os = "linux")]
impl From<nix::errno::Errno> for Error {
    fn from(error: nix::errno::Errno) -> Self {
        Self::System(error.into())
    }
}
