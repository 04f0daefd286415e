//! The edge of systems other than Linux. UDP goes over connected sockets, whose next call tells that a port is closed, and
//! no more: not who sent another message, nor what it says. On Windows ICMP echo goes by a function of the system's own,
//! which needs no privileges and tells where packets expired.

#[cfg(windows)]
mod echo;
pub mod local;
pub mod mss;
pub mod wire;
