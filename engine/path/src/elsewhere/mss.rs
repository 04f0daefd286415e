//! The segment size of a TCP connection, which these systems do not report.

use crate::report::{Direction, Mss};
use std::net::SocketAddr;
use std::time::Duration;

/// Returns the reason why the segment size can't be measured.
pub fn measure(
    _target: SocketAddr,
    _ports: &[u16],
    _forward: Option<&Direction>,
    _round_trip: Option<Duration>,
) -> Result<Mss, String> {
    let system = nettrial_traffic::system_name();
    Err(format!("only Linux reports a connection's options, and this system is {system}"))
}
