//! Measures the path MTU in one direction by UDP packets that may not be fragmented and the answers to them.
//!
//! The kernel's own path MTU is ignored (IP_PMTUDISC_PROBE, ip(7)), so paths are measured whether or not their
//! routers send ICMP (RFC 8899 section 3).

use crate::cookie::COOKIE_BYTES;
use crate::{Cookie, PathMtu, platform};
use anyhow::{Context, Result};
use nettrial_scenario::IpVersion;
use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::Duration;

/// Bytes of a UDP header (RFC 768).
const UDP_HEADER_BYTES: u64 = 8;
/// The bytes of a probe: the cookie and the probe's number.
const PROBE_BYTES: usize = COOKIE_BYTES + 8;
/// The time that an answer may take before the probe is retransmitted, for each attempt.
const WAITS: &[Duration] =
    &[Duration::from_millis(20), Duration::from_millis(100), Duration::from_millis(400)];
/// These times for the first probe, for which the address of a neighbour may have to be resolved again a second
/// later (RFC 4861 section 10).
const FIRST_WAITS: &[Duration] =
    &[Duration::from_millis(20), Duration::from_millis(400), Duration::from_millis(1500)];

/// Answers probes to `address` from a thread of its own until the agent ends, and returns the port.
pub fn respond(cookie: Cookie, address: IpAddr) -> Result<u16> {
    let socket = UdpSocket::bind((address, 0)).with_context(|| format!("binding to {address}"))?;
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

/// Finds the largest packet up to one byte above `expected` that reaches `destination`.
pub fn probe(cookie: Cookie, address: IpAddr, destination: SocketAddr, expected: u64) -> Result<PathMtu> {
    let socket = UdpSocket::bind((address, 0)).with_context(|| format!("binding to {address}"))?;
    platform::forbid_fragmentation(&socket).context("forbidding fragmentation")?;
    socket.connect(destination).with_context(|| format!("choosing {destination}"))?;
    let mut prober = Prober { socket, cookie, number: 0, version: IpVersion::of(destination.ip()) };
    let (mut passing, mut failing) = (prober.version.minimum_mtu().min(expected), expected);
    if !prober.passes(passing, FIRST_WAITS)? {
        return Ok(PathMtu { largest: 0, exceeded: false });
    }
    if passing == expected || prober.passes(expected, WAITS)? {
        return Ok(PathMtu { largest: expected, exceeded: prober.passes(expected + 1, WAITS)? });
    }
    while failing - passing > 1 {
        let middle = passing + (failing - passing) / 2;
        if prober.passes(middle, WAITS)? { passing = middle } else { failing = middle }
    }
    Ok(PathMtu { largest: passing, exceeded: false })
}

/// A sender of probes to the agent of the other host.
struct Prober {
    socket: UdpSocket,
    cookie: Cookie,
    number: u64,
    version: IpVersion,
}

impl Prober {
    /// Returns true if an IP packet of `size` bytes, sent once for each of `waits`, is answered.
    fn passes(&mut self, size: u64, waits: &[Duration]) -> Result<bool> {
        let headers = self.version.header_bytes() + UDP_HEADER_BYTES;
        let Some(length) = size.checked_sub(headers).and_then(|length| usize::try_from(length).ok()) else {
            return Ok(false);
        };
        let mut packet = vec![0; length.max(PROBE_BYTES)];
        packet[..COOKIE_BYTES].copy_from_slice(&self.cookie.0);
        for &wait in waits {
            self.number += 1;
            packet[COOKIE_BYTES..PROBE_BYTES].copy_from_slice(&self.number.to_be_bytes());
            match self.socket.send(&packet) {
                Ok(_) => {}
                Err(error) if platform::is_too_large(&error) => return Ok(false),
                // The next call returns the ICMP error to an earlier probe, which says nothing about this one.
                Err(error)
                    if matches!(error.kind(), ErrorKind::ConnectionRefused | ErrorKind::ConnectionReset) =>
                {
                    continue;
                }
                Err(error) => return Err(error).context("sending a path MTU probe"),
            }
            if self.answered(wait)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns true if the latest probe's answer arrives within `wait`.
    fn answered(&self, wait: Duration) -> Result<bool> {
        self.socket.set_read_timeout(Some(wait))?;
        let mut answer = [0; PROBE_BYTES];
        while let Ok(length) = self.socket.recv(&mut answer) {
            if length == PROBE_BYTES && answer[COOKIE_BYTES..] == self.number.to_be_bytes() {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
