//! Measures the path MTU in one direction by UDP packets that may not be fragmented and the answers to them.
//!
//! The kernel's own path MTU is ignored (IP_PMTUDISC_PROBE, ip(7)), so paths are measured whether or not their
//! routers send ICMP (RFC 8899 section 3).

use crate::cookie::COOKIE_BYTES;
use crate::error::{Context, Result};
use crate::{Cookie, PathMtu, platform};
use nettrial_scenario::{HostAddress, IpVersion, nanoseconds};
use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

/// Bytes of a UDP header (RFC 768).
const UDP_HEADER_BYTES: u64 = 8;
/// The bytes of a probe: the cookie and the probe's number.
pub const PROBE_BYTES: usize = COOKIE_BYTES + 8;
/// The most errors to earlier probes that a socket reports one after the other.
const MOST_PENDING_ERRORS: usize = 2;
/// The times for which an answer is awaited after each sending of a probe: a span, and so many round-trip times.
/// An answer to an earlier sending counts as well.
const WAITS: &[(Duration, u32)] =
    &[(Duration::from_millis(20), 2), (Duration::from_millis(100), 2), (Duration::from_millis(400), 4)];
/// These times for the first probe, for which the address of a neighbour may have to be resolved again a second
/// later (RFC 4861 section 10), and the round-trip time may not be known.
const FIRST_WAITS: &[(Duration, u32)] = &[
    (Duration::from_millis(20), 2),
    (Duration::from_millis(400), 2),
    (Duration::from_millis(1500), 4),
    (Duration::from_millis(2500), 4),
];

/// Answers probes to `address` from a thread of its own until the agent ends, and returns the port.
pub fn respond(cookie: Cookie, address: HostAddress) -> Result<u16> {
    let socket = UdpSocket::bind(address.socket(0)).with_context(|| format!("binding to {address}"))?;
    let port = socket.local_addr()?.port();
    std::thread::spawn(move || {
        let mut packet = vec![0; 1 << 16];
        while let Ok((length, from)) = socket.recv_from(&mut packet) {
            if length >= PROBE_BYTES && packet[..COOKIE_BYTES] == cookie.0 {
                // The prober asks again for an answer that is lost.
                let _ = socket.send_to(&packet[..PROBE_BYTES], from);
            }
        }
    });
    Ok(port)
}

/// Finds the largest packet up to one byte above `expected` that reaches `destination`. Probes wait for answers as
/// the round-trip time requires: `round_trip` if it is known, or the longest one of the probes so far.
pub fn probe(
    cookie: Cookie,
    address: HostAddress,
    destination: SocketAddr,
    expected: u64,
    round_trip: Option<nettrial_scenario::Duration>,
) -> Result<PathMtu> {
    let socket = UdpSocket::bind(address.socket(0)).with_context(|| format!("binding to {address}"))?;
    platform::forbid_fragmentation(&socket).context("forbidding fragmentation")?;
    socket.connect(destination).with_context(|| format!("choosing {destination}"))?;
    search(socket, cookie, IpVersion::of(destination.ip()), expected, round_trip)
}

/// Finds the largest packet up to one byte above `expected` that passes, by probes of `socket`.
pub fn search(
    socket: impl Probing,
    cookie: Cookie,
    version: IpVersion,
    expected: u64,
    round_trip: Option<nettrial_scenario::Duration>,
) -> Result<PathMtu> {
    let known = round_trip.unwrap_or_default().as_std();
    let mut prober = Prober { socket, cookie, number: 0, version, known, shortest: None, longest: None };
    let (largest, exceeded) = prober.search(expected)?;
    let round_trip = prober.shortest.map(|shortest| nettrial_scenario::Duration(nanoseconds(shortest)));
    Ok(PathMtu { largest, exceeded, round_trip })
}

/// A UDP socket with one other end, whose packets may not be fragmented.
pub trait Probing {
    /// Sends a packet. Returns false if it is larger than the interface can send.
    fn send(&self, packet: &[u8]) -> Result<bool>;

    /// Reads the next packet, and returns its length; `None` if none comes within `limit`.
    fn receive(&self, packet: &mut [u8], limit: Duration) -> Result<Option<usize>>;
}

impl Probing for UdpSocket {
    fn send(&self, packet: &[u8]) -> Result<bool> {
        // A call may return the ICMP errors to earlier probes, which say nothing about this one.
        let mut sent = Self::send(self, packet);
        for _ in 0..MOST_PENDING_ERRORS {
            match &sent {
                Err(error) if platform::is_too_large(error) || is_of_earlier(error) => {
                    sent = Self::send(self, packet);
                }
                _ => break,
            }
        }
        match sent {
            Ok(_) => Ok(true),
            Err(error) if platform::is_too_large(&error) => Ok(false),
            Err(error) => Err(error).context("sending a path MTU probe"),
        }
    }

    fn receive(&self, packet: &mut [u8], limit: Duration) -> Result<Option<usize>> {
        self.set_read_timeout(Some(limit))?;
        // An error is an ICMP message, which the search does not rely on, or the end of the wait.
        Ok(self.recv(packet).ok())
    }
}

/// A sender of probes to the agent of the other host.
struct Prober<S> {
    socket: S,
    cookie: Cookie,
    number: u64,
    version: IpVersion,
    /// The round-trip time of the idle path, as far as it was known before; zero if it was not.
    known: Duration,
    /// The shortest and the longest time that an answer has taken.
    shortest: Option<Duration>,
    longest: Option<Duration>,
}

impl<S: Probing> Prober<S> {
    /// Returns the size of the largest probe up to `expected` that is answered, 0 if none is, and whether one of
    /// another byte is answered, too.
    fn search(&mut self, expected: u64) -> Result<(u64, bool)> {
        let (mut passing, mut failing) = (self.version.minimum_mtu().min(expected), expected);
        if !self.passes(passing, FIRST_WAITS)? {
            return Ok((0, false));
        }
        if passing == expected || self.passes(expected, WAITS)? {
            return Ok((expected, self.passes(expected + 1, WAITS)?));
        }
        while failing - passing > 1 {
            let middle = passing + (failing - passing) / 2;
            if self.passes(middle, WAITS)? { passing = middle } else { failing = middle }
        }
        Ok((passing, false))
    }

    /// Returns true if an IP packet of `size` bytes, sent once for each of `waits`, is answered.
    fn passes(&mut self, size: u64, waits: &[(Duration, u32)]) -> Result<bool> {
        let headers = self.version.header_bytes() + UDP_HEADER_BYTES;
        let Some(length) = size.checked_sub(headers).and_then(|length| usize::try_from(length).ok()) else {
            return Ok(false);
        };
        let mut packet = vec![0; length.max(PROBE_BYTES)];
        packet[..COOKIE_BYTES].copy_from_slice(&self.cookie.0);
        let first = self.number + 1;
        let mut sent = Vec::with_capacity(waits.len());
        for &(span, round_trips) in waits {
            self.number += 1;
            packet[COOKIE_BYTES..PROBE_BYTES].copy_from_slice(&self.number.to_be_bytes());
            sent.push(Instant::now());
            if !self.socket.send(&packet)? {
                return Ok(false);
            }
            let wait = span + self.known.max(self.longest.unwrap_or_default()) * round_trips;
            if let Some(number) = self.answered(first, Instant::now() + wait)? {
                let took = usize::try_from(number - first).map(|at| sent[at].elapsed())?;
                self.shortest = Some(self.shortest.map_or(took, |shortest| shortest.min(took)));
                self.longest = self.longest.max(Some(took));
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the number of the probe that is answered before `deadline`, from number `first` on.
    fn answered(&self, first: u64, deadline: Instant) -> Result<Option<u64>> {
        let mut answer = [0; PROBE_BYTES + 1];
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            let Some(PROBE_BYTES) = self.socket.receive(&mut answer, left)? else { continue };
            let Some((cookie, number)) = answer.split_first_chunk::<COOKIE_BYTES>() else { continue };
            let Some(number) = number.first_chunk().copied().map(u64::from_be_bytes) else { continue };
            if *cookie == self.cookie.0 && (first..=self.number).contains(&number) {
                return Ok(Some(number));
            }
        }
    }
}

/// Returns true if an error of sending may be an ICMP error to an earlier packet.
fn is_of_earlier(error: &std::io::Error) -> bool {
    use ErrorKind::{ConnectionRefused, ConnectionReset, HostUnreachable};
    matches!(error.kind(), ConnectionRefused | ConnectionReset | HostUnreachable)
}
