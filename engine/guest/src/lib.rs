//! Guests: hosts with their own kernels, which run under QEMU on this machine.
//!
//! ```text
//! lab ── Guest::send ──> QEMU's standard input ── virtio-serial ──> init ── standard input ──> the node's process
//!     <── Report ─────── QEMU's standard output <───────────────────      <── standard output ──
//! ```
//!
//! A guest boots a kernel of the [`Catalogue`] with an initial RAM disk ([`initial_ram_disk`]) whose init is this
//! very program ([`init`]), so it needs no disk image and no installed system. Or it boots an installed system
//! from a disk's image, which starts this program as a service ([`serve`]). Init starts a process for the node of
//! each trial and passes lines on. The user of the guest defines the node and the contents of the lines. A guest
//! continues to run between trials. It ends with the [`Guest`], and with the thread that started it, however that
//! thread ends.

mod archive;
mod catalogue;
mod confined;
mod disk;
mod elf;
mod error;
#[cfg(fuzzing)]
pub mod fuzzing;
mod init;
mod lines;
mod monitor;
mod program;
mod qemu;

pub use archive::{INIT, initial_ram_disk, last_file, program as archived_program};
pub use catalogue::{Boot, Catalogue, System, VARIABLE};
pub use error::{Error, Result};
pub use init::{init, network_devices, serve};
pub use lines::{Order, Report};
pub use monitor::Monitor;
pub use program::{PROGRAM, program};
pub use qemu::{Acceleration, Guest, Hardware, Sender};
