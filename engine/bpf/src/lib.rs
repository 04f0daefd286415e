//! Congestion controls that this kernel does not have, as BPF programs that its TCP calls (`struct_ops` of
//! `tcp_congestion_ops`), and the code that loads them.
//!
//! ```text
//! missing ── nothing ──> Registered::new ── its name ──> connections that ask for it
//!                            └─ dropped, or its process gone in any way: nothing stays registered
//! ```
//!
//! Each program is a folder of `programs`, compiled by the build script and built into this crate. libbpf adapts
//! it to the running kernel by the kernel's description of its types (CO-RE, BTF). A kernel in virtual time can't load
//! programs, and has the same ones built in.

mod built_in;
mod error;
mod name;
mod program;
mod registered;
mod requirements;

pub use error::{Error, Result};
pub use name::is_of_an_engine;
pub use program::algorithms;
pub use registered::{Registered, verify};
pub use requirements::{jit_is_off, missing};
