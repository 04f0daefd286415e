//! A stand-in for iperf3's protocol, which needs Linux: the items of `nettrial_iperf3` that the commands use.

use super::end;
use nettrial_scenario::{Failure, HostAddress, Measure, Problem, Record};
use std::io;
use std::net::SocketAddr;

/// iperf3's default port.
pub const PORT: u16 = 5201;

/// A client, which can't measure on this system.
pub struct Client;

impl Client {
    /// Ends the program, because a client needs Linux.
    pub fn new(_server: SocketAddr) -> Self {
        end("measure --iperf3")
    }

    /// Ends the program, because a client needs Linux.
    pub fn run(&self, _measure: &Measure) -> Result<Record, Failure> {
        end("measure --iperf3")
    }
}

/// Returns no problems, because there is no client.
pub fn problems(_measure: &Measure) -> Vec<Problem> {
    Vec::new()
}

/// Ends the program, because a server needs Linux.
pub fn serve<F: FnOnce(SocketAddr)>(_address: Option<HostAddress>, _port: u16, _ready: F) -> io::Result<()> {
    end("serve --iperf3")
}
