//! Ports for receiving programs.

use super::process::Process;
use crate::error::{Context, Error, Result};
use crate::platform;
use std::net::{IpAddr, SocketAddr, TcpListener, UdpSocket};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

/// The first port, which is below those that the kernel assigns to connections (net.ipv4.ip_local_port_range): a
/// connection could take one of those between its choice and its use.
const FIRST: u16 = 20_001;
const LAST: u16 = 32_000;
/// The time after which a receiving program must listen.
const PATIENCE: Duration = Duration::from_secs(30);

/// The port at which the next search begins.
static NEXT: AtomicU16 = AtomicU16::new(FIRST);

/// Returns a port that is free over TCP and UDP at `address`, like the port after it (D-ITG uses two). No port is
/// returned twice.
pub fn free_pair(address: IpAddr) -> Result<u16> {
    loop {
        let port = NEXT.fetch_add(2, Ordering::Relaxed);
        if !(FIRST..LAST).contains(&port) {
            return Err(Error::Program(format!("no port from {FIRST} to {LAST} is free at {address}")));
        }
        let is_free = |port| {
            let at = SocketAddr::new(address, port);
            TcpListener::bind(at).is_ok() && UdpSocket::bind(at).is_ok()
        };
        if is_free(port) && is_free(port + 1) {
            return Ok(port);
        }
    }
}

/// Waits until a socket of this network namespace listens at `port` over TCP, or is bound to it over UDP. The
/// program sees only connections of the trial.
pub fn await_listener(port: u16, process: &mut Process) -> Result<()> {
    let deadline = Instant::now() + PATIENCE;
    while !platform::listens(port).context("looking for the receiving program's port")? {
        if process.has_ended() || Instant::now() > deadline {
            return Err(Error::Program(format!("the receiving program does not listen at port {port}")));
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    Ok(())
}

#[cfg(all(test, not(feature = "portable")))]
mod tests {
    use super::*;

    #[test]
    fn a_port_that_listens_is_seen_and_others_are_not() {
        let port = free_pair("127.0.0.1".parse().unwrap()).unwrap();
        assert!(!platform::listens(port).unwrap());
        let _udp = UdpSocket::bind(("127.0.0.1", port)).unwrap();
        assert!(platform::listens(port).unwrap());
        let _tcp = TcpListener::bind(("127.0.0.1", port + 1)).unwrap();
        assert!(platform::listens(port + 1).unwrap());
        assert!(free_pair("127.0.0.1".parse().unwrap()).unwrap() > port + 1);
    }
}
