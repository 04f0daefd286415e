//! iperf3's protocol, which needs Linux: what `nettrial_iperf3` has that the commands use.

use super::end;
use anyhow::Result;
use nettrial_scenario::{Measure, Problem, Record};
use std::io;
use std::net::{IpAddr, SocketAddr};

/// The port of iperf3's.
pub const PORT: u16 = 5201;

/// A client.
pub struct Client;

impl Client {
    /// Refuses to be one.
    pub fn new(_server: SocketAddr) -> Self {
        end("measure --iperf3")
    }

    /// Refuses to measure.
    pub fn run(&self, _measure: &Measure) -> Result<Record> {
        end("measure --iperf3")
    }
}

/// Returns no problem: no client asks.
pub fn problems(_measure: &Measure) -> Vec<Problem> {
    Vec::new()
}

/// Refuses to serve.
pub fn serve<F: FnOnce(SocketAddr)>(_address: Option<IpAddr>, _port: u16, _ready: F) -> io::Result<()> {
    end("serve --iperf3")
}
