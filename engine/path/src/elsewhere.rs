//! The system interface of systems other than Linux. UDP probes use connected sockets: the next call on such a
//! socket reports that a port is closed, but neither the sender of another ICMP message nor its contents. On
//! Windows a function of the system sends ICMP echo, which needs no privileges and reports where packets expired.

#[cfg(windows)]
mod echo;
pub mod local;
pub mod mss;
pub mod wire;
