//! Refuses what a system has no option for, and leaves out what it does not tell: Windows, macOS in part, and the one that
//! stands in for others in tests.

use super::unsupported;
use socket2::Socket;
use std::io;
use std::net::TcpStream;

/// Refuses every congestion control that has a name: a connection has the system's own.
pub fn choose_congestion_control(_socket: &Socket, name: &str) -> io::Result<()> {
    if name.is_empty() { Ok(()) } else { Err(unsupported("choosing a congestion control")) }
}

/// The congestion control in force on a connection, which is not known.
pub fn congestion_control(_stream: &TcpStream) -> io::Result<String> {
    Ok(String::new())
}

/// Refuses a limit of the segments of a connection.
#[cfg(not(target_os = "macos"))]
pub fn limit_segments(_socket: &Socket, _bytes: i32) -> io::Result<()> {
    Err(unsupported("limiting segments"))
}
