//! The segment size of a TCP connection, of which these systems tell too little.

use crate::report::{Direction, Mss};
use std::net::SocketAddr;

/// Refuses, and says why.
pub fn measure(_target: SocketAddr, _ports: &[u16], _forward: Option<&Direction>) -> Result<Mss, String> {
    let system = nettrial_traffic::system_name();
    Err(format!("it needs what Linux tells of a connection's options, and this is {system}"))
}
