//! Refuses settings for which a system has no option, and leaves out values that it does not report: on Windows,
//! partly on macOS, and on the system that stands in for others in tests.

use super::unsupported;
use socket2::Socket;
use std::io;
use std::net::TcpStream;

/// Fails for every congestion control that has a name, because connections use the system's own.
pub fn choose_congestion_control(_socket: &Socket, name: &str) -> io::Result<()> {
    if name.is_empty() { Ok(()) } else { Err(unsupported("choosing a congestion control")) }
}

/// Returns the empty text, because the congestion control in force on a connection is not known.
pub fn congestion_control(_stream: &TcpStream) -> io::Result<String> {
    Ok(String::new())
}

/// Fails, because this system can't limit the segments of a connection.
#[cfg(not(target_os = "macos"))]
pub fn limit_segments(_socket: &Socket, _bytes: i32) -> io::Result<()> {
    Err(unsupported("limiting segments"))
}
