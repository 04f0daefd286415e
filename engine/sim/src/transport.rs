//! TCP and MPTCP: connections, their data, and the paths and sockets of a flow.

pub mod connection;
pub mod stream;
pub mod tcp;
pub mod window;
pub mod wiring;
