//! The seam between the agent and the operating system it runs on.
//!
//! All differences between systems are here: clocks, socket options, transport statistics, batched datagrams, path
//! MTU, files without names, and the supervision of other programs. The rest of the crate is written for all
//! systems. The modules of all systems have the same items, and one is chosen when the crate is compiled. A
//! function that the system does not support returns an error of the kind `Unsupported`, and a figure that it
//! doesn't report is `None`.

mod gso;
#[cfg(all(target_os = "linux", not(feature = "portable")))]
mod linux;
#[cfg(any(not(target_os = "linux"), feature = "portable"))]
mod other;

#[cfg(any(windows, test))]
mod coalesced;
#[cfg(any(windows, test))]
mod sio_tcp_info;

// The part of `other` that depends on the system, as the module `system`.
#[cfg(any(target_os = "macos", target_os = "freebsd"))]
mod bsd;
#[cfg(all(target_os = "linux", feature = "portable"))]
mod plain;
#[cfg(windows)]
mod windows;
#[cfg(any(target_os = "macos", target_os = "freebsd"))]
use bsd as system;
#[cfg(all(target_os = "linux", feature = "portable"))]
use plain as system;
#[cfg(windows)]
use windows as system;

#[cfg(all(target_os = "linux", not(feature = "portable")))]
pub use linux::*;
#[cfg(any(not(target_os = "linux"), feature = "portable"))]
pub use other::*;
#[cfg(not(target_os = "linux"))]
pub use system::host;

use crate::tcp_state::TcpState;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;

/// The clocks of one of the machine's CPUs since the machine started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProcessorTimes {
    /// The CPU's number.
    pub processor: usize,
    /// The time in which the CPU was idle, nanoseconds.
    pub idle_ns: u64,
    /// The time that a hypervisor took, nanoseconds; 0 if the system does not report it.
    pub steal_ns: u64,
    /// The time spent on interrupts and their deferred work, nanoseconds, if the system counts it exactly.
    pub interrupt_ns: Option<u64>,
}

/// A subflow of an MPTCP connection.
#[derive(Debug, Clone, Copy)]
pub struct Subflow {
    /// This host's address and port.
    pub local: SocketAddr,
    /// The other host's address and port.
    pub remote: SocketAddr,
    /// The kernel's view of it.
    pub state: TcpState,
}

/// A setting of a flow that a system does not support.
#[derive(Debug, Clone, Copy)]
pub struct Refusal {
    /// The part of the flow that has the setting, unless it is the flow itself.
    pub part: Option<&'static str>,
    /// The setting.
    pub setting: &'static str,
    /// The setting's value, in words.
    pub value: &'static str,
    /// The supported values, in words.
    pub expected: &'static str,
}

/// The counts of blocks of a connection that sends without copying.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Copied {
    /// The blocks handed over.
    pub blocks: u64,
    /// The blocks that the kernel copied after all.
    pub copied: u64,
}

impl std::ops::AddAssign for Copied {
    fn add_assign(&mut self, other: Self) {
        self.blocks += other.blocks;
        self.copied += other.copied;
    }
}

/// The bounds on another program.
#[cfg_attr(
    any(not(target_os = "linux"), feature = "portable"),
    expect(dead_code, reason = "no program is started there")
)]
#[derive(Debug, Clone, Copy, Default)]
pub struct Bounds {
    /// The room in bytes of a directory in memory, in which the program starts without privileges, if it has one.
    pub shelter_bytes: Option<u64>,
    /// The most descriptors that each of its processes may have open, if they are bounded.
    pub descriptors: Option<u64>,
}

/// Datagrams side by side in memory, for an [`Outbox`] to send.
pub trait Datagrams {
    /// Returns the datagrams' bytes. Neither sending nor [`refuse`](Self::refuse) moves them.
    fn bytes(&self) -> &[u8];

    /// Returns the offset and the length of each datagram, in the order of sending.
    fn places(&self) -> impl Iterator<Item = (usize, usize)>;

    /// Removes `count` datagrams from `index` on, which the kernel refused.
    fn refuse(&mut self, index: usize, count: usize);
}
