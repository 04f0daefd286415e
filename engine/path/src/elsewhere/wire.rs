//! Probes over connected UDP sockets and, on Windows, with its ICMP echo.

#[cfg(windows)]
use super::echo;
use super::local::socket_to;
use crate::error::{Context, Error, Result};
use crate::probe::{Hearing, Outcome, Probe, Prober};
use crate::sizes::PROBE_HEADER_BYTES;
use nettrial_scenario::IpVersion;
use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

/// The first port for UDP probes, which go to one port after the other: the ports of traceroute, on which nothing
/// listens.
const FIRST_PORT: u16 = 33_434;
/// The number of ports for UDP probes.
const PORTS: u16 = 512;
/// The longest time to wait for an answer: hosts send errors at most once a second (RFC 1812 section 4.3.2.8).
const WAIT: Duration = Duration::from_millis(1100);
/// The shortest time for which a socket can wait.
const SHORTEST_WAIT: Duration = Duration::from_millis(1);

/// A sender of one kind of probe to one host.
pub enum Wire {
    /// ICMP echo.
    #[cfg(windows)]
    Echo(std::net::Ipv4Addr),
    /// UDP to ports where nothing listens.
    Udp {
        /// The far host.
        target: SocketAddr,
        /// The number of probes sent so far, modulo the number of ports.
        next: u16,
    },
}

impl Wire {
    /// ICMP echo.
    ///
    /// # Errors
    /// Fails if the system has no ICMP echo that unprivileged programs can use and that forbids fragmentation.
    pub fn echo(target: SocketAddr) -> Result<Self> {
        let version = u8::from(IpVersion::of(target.ip()));
        let system = nettrial_traffic::system_name();
        // Wine lets the packets be fragmented.
        #[cfg(windows)]
        if let SocketAddr::V4(v4) = target
            && !system.starts_with("Wine")
        {
            return Ok(Self::Echo(*v4.ip()));
        }
        Err(Error::CannotProbe(format!(
            "{system} can't send ICMP echo over IPv{version} that may not be fragmented"
        )))
    }

    /// Creates a sender of UDP packets to ports on which nothing listens, which needs no privileges.
    ///
    /// # Errors
    /// Fails if the system can't forbid fragmentation.
    pub fn udp(target: SocketAddr) -> Result<Self> {
        let socket = socket_to(target, FIRST_PORT)?;
        nettrial_traffic::forbid_fragmentation(&socket).context("forbidding fragmentation")?;
        Ok(Self::Udp { target, next: 0 })
    }
}

impl Prober for Wire {
    fn hearing(&self) -> Hearing {
        let expiry = !matches!(self, Self::Udp { .. });
        Hearing { expiry, claims: false, fragments: false }
    }

    fn round(&mut self, probes: &[Probe], _heed: bool) -> Result<Vec<Outcome>> {
        match self {
            #[cfg(windows)]
            Self::Echo(target) => echo::round(*target, probes),
            Self::Udp { target, next } => {
                let mut sent = Vec::new();
                for probe in probes {
                    sent.push((send(*target, FIRST_PORT + *next, probe.size)?, Instant::now()));
                    *next = (*next + 1) % PORTS;
                }
                Ok(sent.into_iter().map(|(socket, begin)| outcome(socket.as_ref(), begin)).collect())
            }
        }
    }
}

/// Sends a packet of `size` bytes over a new socket, so that an error on the socket belongs to this packet.
/// Returns `None` if the packet is larger than the interface can send.
fn send(target: SocketAddr, port: u16, size: u64) -> Result<Option<UdpSocket>> {
    let socket = socket_to(target, port)?;
    nettrial_traffic::forbid_fragmentation(&socket).context("forbidding fragmentation")?;
    let headers = IpVersion::of(target.ip()).header_bytes() + PROBE_HEADER_BYTES;
    let payload = vec![0; usize::try_from(size.saturating_sub(headers))?];
    match socket.send(&payload) {
        Ok(_) => Ok(Some(socket)),
        Err(error) if nettrial_traffic::is_too_large(&error) => Ok(None),
        Err(error) => Err(error).context("sending a probe"),
    }
}

/// Waits for the outcome of a packet that was sent at `begin`: an answer, or an error that the port is closed,
/// shows that the packet arrived.
fn outcome(socket: Option<&UdpSocket>, begin: Instant) -> Outcome {
    let Some(socket) = socket else { return Outcome::Lost };
    let left = WAIT.saturating_sub(begin.elapsed()).max(SHORTEST_WAIT);
    let heard = socket.set_read_timeout(Some(left)).and_then(|()| socket.recv(&mut [0; 1]));
    let arrived = match &heard {
        Ok(_) => true,
        // On Windows a datagram that is larger than the buffer is an error.
        Err(error) if nettrial_traffic::is_too_large(error) => true,
        Err(error) => matches!(error.kind(), ErrorKind::ConnectionRefused | ErrorKind::ConnectionReset),
    };
    if arrived { Outcome::Arrived { rtt: begin.elapsed(), fragment: None } } else { Outcome::Lost }
}
