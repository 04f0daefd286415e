//! Measures the path MTU in one direction by UDP packets that may not be fragmented (`engine/traffic/src/path_mtu.rs`).

use crate::datagram::Socket;
use crate::host::Host;
use crate::stack::Stack;
use nettrial_flows::wire::UDP_HEADER_BYTES;
use nettrial_scenario::{HostAddress, IpVersion};
use nettrial_traffic::parts::{COOKIE_BYTES, LARGEST_BYTES, PROBE_BYTES, Probing, search};
use nettrial_traffic::{Cookie, PathMtu, Result};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// The time for which the thread that answers sleeps at a time.
const LONG: Duration = Duration::from_secs(3600);

/// Answers probes to `address` from a thread of its own, and returns the port.
pub fn respond<S: Stack>(host: &Arc<Host<S>>, cookie: Cookie, address: HostAddress) -> Result<u16> {
    let socket = Socket::bind(host, address.ip)?;
    let port = socket.port;
    std::thread::spawn(move || {
        let mut packet = vec![0; LARGEST_BYTES];
        loop {
            let Some((length, from)) = socket.receive_from(&mut packet, LONG) else { continue };
            if length >= PROBE_BYTES && packet[..COOKIE_BYTES] == cookie.0 {
                // The prober asks again for an answer that is lost.
                let _ = socket.send_to(&packet[..PROBE_BYTES], from);
            }
        }
    });
    Ok(port)
}

/// Finds the largest packet up to one byte above `expected` that reaches `destination`.
pub fn probe<S: Stack>(
    host: &Arc<Host<S>>,
    cookie: Cookie,
    address: HostAddress,
    destination: SocketAddr,
    expected: u64,
    round_trip: Option<nettrial_scenario::Duration>,
) -> Result<PathMtu> {
    let mut socket = Socket::bind(host, address.ip)?;
    socket.choose(destination);
    let version = IpVersion::of(destination.ip());
    let most = host.mtu_bytes.saturating_sub(version.header_bytes() + UDP_HEADER_BYTES);
    search(Prober { socket, most }, cookie, version, expected, round_trip)
}

/// A socket of probes, none of which is fragmented.
struct Prober<S: Stack> {
    socket: Socket<S>,
    /// The most bytes of a probe's payload.
    most: u64,
}

impl<S: Stack> Probing for Prober<S> {
    fn send(&self, packet: &[u8]) -> Result<bool> {
        if packet.len() as u64 > self.most {
            return Ok(false);
        }
        self.socket.send(packet)?;
        Ok(true)
    }

    fn receive(&self, answer: &mut [u8], limit: Duration) -> Result<Option<usize>> {
        Ok(self.socket.receive(answer, limit))
    }
}
