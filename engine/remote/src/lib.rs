//! Measurements between two machines that both run nettrial. [`serve`] lets clients that have the token use an
//! agent on this machine, and a [`Client`] makes measurements with it and with an agent of its own.
//!
//! One TCP connection controls a session. Both sides prove that they have the token, and the connection is
//! encrypted ([`nettrial_session`]). Data uses separate ports, which open for a trial and serve only connections
//! that show its cookie, as in the lab.
//!
//! A session's agent is a process, so that everything it has opened is closed at the end of the session, however
//! the session ends.

mod client;
mod error;
#[cfg(fuzzing)]
pub mod fuzzing;
mod interface;
mod message;
mod mtu;
mod rules;
mod server;
mod trial;

pub use client::Client;
pub use error::{Error, Result};
pub use server::{PORT, serve};
