//! Two nettrials on two machines: [`serve`] lets who has the token drive an agent on this machine, and a
//! [`Client`] drives it, and one of its own, through a measurement.
//!
//! One TCP connection controls; both sides prove that they have the token, and what they say is encrypted
//! ([`nettrial_session`]). Data goes over ports of its own, which open for a trial and serve only its cookie, as
//! in the lab.
//!
//! A session's agent is a process: whatever it had opened is gone with the session, however that ends.

mod client;
mod interface;
mod message;
mod rules;
mod server;
mod trial;

pub use client::Client;
pub use server::{PORT, serve};
