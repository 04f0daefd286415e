//! Runs requests inside a kernel in virtual time: Linux as an ordinary process (user-mode Linux, the kernel's
//! arch/um), whose clock jumps to the next timer when everything in it waits.
//!
//! ```text
//! engine: Virtual::answer ── initial RAM disk: this program, the request ──> kernel ── init ── the lab's own code
//!                         <── signs of life, an event ──────────────────────   (a process, and one for each of its)
//! ```
//!
//! Each request has a kernel of its own, so a trial depends on nothing but its scenario: not on earlier trials, on
//! others at the same time, or on the machine. The kernel's random numbers follow from the scenario's seed, and its
//! clock always starts at the same moment. The kernel has no file on the machine, and ends with this process.

mod error;
mod init;
mod kernel;
mod seat;
mod systems;

pub use error::{Error, Result};
pub use init::init;
pub use kernel::Kernel;
pub use systems::take_system;
