//! Other programs can't be run on these systems, because nothing would end them with the agent.

use super::unsupported;
use crate::platform::Bounds;
use std::io;
use std::net::IpAddr;
use std::path::Path;
use std::process::Child;

/// Fails, because this system can't end the process with the thread that started it; the end of the input ends it
/// instead.
///
/// # Errors
/// Always fails, because this needs Linux.
pub fn die_with_parent() -> io::Result<()> {
    Err(unsupported("ending with the parent"))
}

/// Returns true if `path` is a file.
pub fn is_executable(path: &Path) -> bool {
    path.is_file()
}

/// Fails, because this system can't run programs that end with the agent.
pub fn spawn(_words: &[String], _bounds: Bounds) -> io::Result<Child> {
    Err(unsupported("running another program that ends with the agent"))
}

/// Returns `None`, because no other program runs on this system.
pub fn interface_of(_address: IpAddr) -> Option<String> {
    None
}

/// Fails, because this system does not show another program's connections.
pub fn congestion_controls_of(_process: u32) -> io::Result<Vec<(u16, String)>> {
    Err(unsupported("looking at a program's connections"))
}

/// Fails, because this system does not report whether a socket listens at `port`.
pub fn listens(_port: u16) -> io::Result<bool> {
    Err(unsupported("looking up listening sockets"))
}
