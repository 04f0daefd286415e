//! Two nettrials on two machines: [`serve`] lets who has the token drive an agent on this machine, and a
//! [`Client`] drives it, and one of its own, through a measurement.
//!
//! One TCP connection controls. Both sides prove that they have the token ([`handshake`]), and from then
//! on every line carries a code that only they can make ([`line`]): nobody on the way can change,
//! repeat, or insert one, but everybody on the way can read them. Data goes over ports of its own, which
//! open for a trial and serve only its cookie, as in the lab.
//!
//! A session's agent is a process: whatever it had opened is gone with the session, however that ends.

mod agent;
mod client;
mod clock;
mod handshake;
mod interface;
mod line;
mod message;
mod processors;
mod rules;
mod server;
mod token;
mod trial;

pub use client::Client;
pub use processors::{Reading, saturated};
pub use server::{PORT, serve};
pub use token::{Token, VARIABLE};
