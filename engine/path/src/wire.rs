//! Probes over real sockets: ICMP echo and UDP.

use crate::error::Result;
use crate::probe::{Outcome, Probe, Prober};
use crate::sizes::PROBE_HEADER_BYTES;
use crate::socket::{self, IcmpError, Received};
use nettrial_scenario::IpVersion;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use socket2::{Protocol, Socket, Type};
use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

/// The first port for UDP probes, which go to one port after the other: the ports of traceroute, on which nothing
/// listens.
const FIRST_PORT: u16 = 33_434;
/// The number of ports for UDP probes.
const PORTS: u16 = 512;
/// The time for which a host may hold back an answer, of which Linux sends one a second (net/ipv4/icmp.c,
/// icmp_ratelimit).
const LIMITED_WAIT: Duration = Duration::from_millis(1100);
/// The least time to wait for an answer that is not rate-limited; the wait is longer if answers have taken longer.
const LEAST_WAIT: Duration = Duration::from_millis(150);
/// The time to wait for an answer that is not rate-limited as long as there was none.
const FIRST_WAIT: Duration = Duration::from_secs(1);
/// The most by which a wait exceeds the longest time that an answer has taken so far.
const MOST_LATER: Duration = Duration::from_secs(1);
/// The number of probes whose answers are still noticed in later rounds, so that waits follow a longer round-trip time.
const REMEMBERED: usize = 64;
/// The factor by which a wait exceeds the longest time that an answer has taken so far.
const USUAL_TIMES: u32 = 4;

/// The types of echo requests in ICMP and in ICMPv6.
const ECHO_REQUEST: [u8; 2] = [8, 128];
/// The types of echo replies in ICMP and in ICMPv6.
const ECHO_REPLY: [u8; 2] = [0, 129];

/// The kind of a probe's socket.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// ICMP on a raw socket, which includes IPv4 headers and does not fill in the identifier.
    Raw,
    /// ICMP on a ping socket of the kernel (icmp(7)), which fills in the identifier.
    Ping,
    /// UDP to a port on which nothing listens.
    Udp,
}

/// A sender of one kind of probe to one host.
pub struct Wire {
    socket: Socket,
    kind: Kind,
    version: IpVersion,
    target: SocketAddr,
    /// The number of the next probe: an ICMP sequence number, or the UDP port.
    next: u16,
    identifier: u16,
    /// The longest time that an answer took so far, also one that came after its round.
    slowest: Option<Duration>,
    /// The numbers of the latest probes of earlier rounds, and the times at which they were sent.
    earlier: VecDeque<(u16, Instant)>,
}

impl Wire {
    /// Creates a sender of ICMP echo on a raw socket, or else on a ping socket of the kernel.
    ///
    /// # Errors
    /// Fails if this user may open neither.
    pub fn echo(target: SocketAddr) -> Result<Self> {
        let version = IpVersion::of(target.ip());
        let protocol = if version == IpVersion::V4 { Protocol::ICMPV4 } else { Protocol::ICMPV6 };
        let raw = socket::open(version, Type::RAW, protocol).map(|socket| (socket, Kind::Raw));
        let (socket, kind) = raw.or_else(|_| {
            // Of the two errors the second one is reported, because a setting can remove its cause.
            socket::open(version, Type::DGRAM, protocol).map(|socket| (socket, Kind::Ping))
        })?;
        let any = match version {
            IpVersion::V4 => IpAddr::from(Ipv4Addr::UNSPECIFIED),
            IpVersion::V6 => IpAddr::from(Ipv6Addr::UNSPECIFIED),
        };
        if kind == Kind::Ping {
            socket.bind(&SocketAddr::new(any, 0).into())?;
        }
        Ok(Self::new(socket, kind, target))
    }

    /// Creates a sender of UDP packets to ports on which nothing listens, which needs no privileges.
    ///
    /// # Errors
    /// Fails if the kernel does not provide such a socket.
    pub fn udp(target: SocketAddr) -> Result<Self> {
        let socket = socket::open(IpVersion::of(target.ip()), Type::DGRAM, Protocol::UDP)?;
        Ok(Self::new(socket, Kind::Udp, target))
    }

    fn new(socket: Socket, kind: Kind, target: SocketAddr) -> Self {
        let identifier = (std::process::id() & 0xffff) as u16;
        let version = IpVersion::of(target.ip());
        Self { socket, kind, version, target, next: 0, identifier, slowest: None, earlier: VecDeque::new() }
    }

    /// Returns the time to wait for the answers to `probes`.
    fn patience(&self, probes: &[Probe]) -> Duration {
        // Hosts send errors at a limited rate, but not replies.
        if self.kind == Kind::Udp || probes.iter().any(|probe| probe.hops.is_some()) {
            return LIMITED_WAIT + self.slowest.unwrap_or_default();
        }
        let usual = |slowest: Duration| (slowest * USUAL_TIMES).clamp(LEAST_WAIT, slowest + MOST_LATER);
        self.slowest.map_or(FIRST_WAIT, usual)
    }

    /// Sends a probe and returns its number; `None` if the packet is larger than the interface can send.
    fn send(&mut self, probe: Probe) -> Result<Option<u16>> {
        let number = self.next;
        self.next = if self.kind == Kind::Udp { (number + 1) % PORTS } else { number.wrapping_add(1) };
        let headers = self.version.header_bytes() + PROBE_HEADER_BYTES;
        let payload = usize::try_from(probe.size.saturating_sub(headers))?;
        let mut destination = self.target;
        let packet = match self.kind {
            Kind::Udp => {
                destination.set_port(FIRST_PORT + number);
                vec![0; payload]
            }
            Kind::Raw | Kind::Ping => {
                destination.set_port(0);
                echo_request(self.version, self.identifier, number, payload)
            }
        };
        let sent = socket::send(&self.socket, self.version, &packet, destination, probe.hops)?;
        Ok(sent.map(|()| number))
    }

    /// Returns the number of the probe that caused an error.
    fn blamed(&self, error: &IcmpError) -> Option<u16> {
        if error.destination.is_some_and(|destination| destination.ip() != self.target.ip()) {
            return None;
        }
        match self.kind {
            Kind::Udp => error.destination?.port().checked_sub(FIRST_PORT),
            Kind::Raw | Kind::Ping => {
                let (identifier, number) = echo_numbers(&error.quoted, ECHO_REQUEST)?;
                (self.kind == Kind::Ping || identifier == self.identifier).then_some(number)
            }
        }
    }

    /// Returns the number of the probe that a packet answers.
    fn answered(&self, packet: &Received) -> Option<u16> {
        if packet.from?.ip() != self.target.ip() {
            return None;
        }
        match self.kind {
            Kind::Udp => packet.from?.port().checked_sub(FIRST_PORT),
            Kind::Ping => echo_numbers(&packet.bytes, ECHO_REPLY).map(|(_, number)| number),
            Kind::Raw => {
                let header = match self.version {
                    IpVersion::V4 => usize::from(packet.bytes.first()? & 0xf) * 4,
                    IpVersion::V6 => 0,
                };
                let (identifier, number) = echo_numbers(packet.bytes.get(header..)?, ECHO_REPLY)?;
                (identifier == self.identifier).then_some(number)
            }
        }
    }

    /// Returns the outcome of a probe, according to the error that it caused.
    fn judge(&self, error: &IcmpError, rtt: Duration) -> Outcome {
        let Some(by) = error.from else { return Outcome::Lost };
        match (self.version, error.kind) {
            (IpVersion::V4, (3, 4)) | (IpVersion::V6, (2, _)) => Outcome::TooBig { by, mtu: error.mtu },
            (IpVersion::V4, (11, 0)) | (IpVersion::V6, (3, 0)) => Outcome::Expired { by, rtt },
            (IpVersion::V4, (3, 3)) | (IpVersion::V6, (1, 4)) if by == self.target.ip() => {
                Outcome::Arrived { rtt, fragment: None }
            }
            _ => Outcome::Refused { by },
        }
    }

    fn collect(&mut self, sent: &[Option<u16>], begin: &[Instant], outcomes: &mut [Outcome]) {
        let at =
            |number: Option<u16>| number.and_then(|number| sent.iter().position(|&one| one == Some(number)));
        let mut better = |at: usize, outcome: Outcome| {
            if outcome.weight() > outcomes[at].weight() {
                outcomes[at] = outcome;
            }
        };
        while let Some(error) = socket::next_error(&self.socket) {
            let number = self.blamed(&error);
            if let Some(at) = at(number) {
                better(at, self.judge(&error, begin[at].elapsed()));
            } else if self.judge(&error, Duration::ZERO).arrived() {
                self.late(number);
            }
        }
        while let Some(packet) = socket::next_packet(&self.socket) {
            let number = self.answered(&packet);
            if let Some(at) = at(number) {
                let rtt = begin[at].elapsed();
                better(at, Outcome::Arrived { rtt, fragment: packet.fragment });
                self.slowest = self.slowest.max(Some(rtt));
            } else {
                self.late(number);
            }
        }
    }

    /// Notes the time of an answer to a probe of an earlier round, so that later rounds wait for as long.
    fn late(&mut self, number: Option<u16>) {
        if let Some(at) = self.earlier.iter().position(|&(earlier, _)| Some(earlier) == number)
            && let Some((_, begin)) = self.earlier.remove(at)
        {
            self.slowest = self.slowest.max(Some(begin.elapsed()));
        }
    }

    /// Remembers the probes of a round whose outcomes are known.
    fn remember(&mut self, sent: &[Option<u16>], begin: &[Instant], outcomes: &[Outcome]) {
        let open = sent.iter().zip(begin).zip(outcomes).filter(|(_, got)| matches!(got, Outcome::Lost));
        self.earlier.extend(open.filter_map(|((&number, &begin), _)| Some((number?, begin))));
        self.earlier.drain(..self.earlier.len().saturating_sub(REMEMBERED));
    }
}

impl Prober for Wire {
    fn round(&mut self, probes: &[Probe], heed: bool) -> Result<Vec<Outcome>> {
        let mut outcomes = vec![Outcome::Lost; probes.len()];
        let (mut sent, mut begin) = (Vec::new(), Vec::new());
        for &probe in probes {
            begin.push(Instant::now());
            sent.push(self.send(probe)?);
        }
        let deadline = Instant::now() + self.patience(probes);
        let enough = if heed { 1 } else { 3 };
        loop {
            self.collect(&sent, &begin, &mut outcomes);
            let open = sent.iter().zip(&outcomes).any(|(sent, got)| sent.is_some() && got.weight() < enough);
            let left = deadline.saturating_duration_since(Instant::now());
            if !open || left.is_zero() {
                self.remember(&sent, &begin, &outcomes);
                return Ok(outcomes);
            }
            let milliseconds = u16::try_from(left.as_millis() + 1).unwrap_or(u16::MAX);
            let mut waiting = [PollFd::new(self.socket.as_fd(), PollFlags::POLLIN)];
            // If a signal interrupts the wait, the loop waits again.
            let _ = poll(&mut waiting, PollTimeout::from(milliseconds));
        }
    }
}

/// Returns an echo request. Over IPv6 the kernel fills in the checksum, and on a ping socket it does so over both
/// versions.
fn echo_request(version: IpVersion, identifier: u16, number: u16, payload: usize) -> Vec<u8> {
    let kind = if version == IpVersion::V4 { ECHO_REQUEST[0] } else { ECHO_REQUEST[1] };
    let mut packet = vec![kind, 0, 0, 0];
    packet.extend(identifier.to_be_bytes());
    packet.extend(number.to_be_bytes());
    packet.resize(packet.len() + payload, 0);
    let checksum = checksum(&packet);
    packet[2..4].copy_from_slice(&checksum.to_be_bytes());
    packet
}

/// Returns the Internet checksum of `bytes` (RFC 1071).
fn checksum(bytes: &[u8]) -> u16 {
    let words =
        bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | pair.get(1).map_or(0, |&low| u32::from(low)));
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// Returns the identifier and sequence number of an echo message of one of the `types`.
fn echo_numbers(message: &[u8], types: [u8; 2]) -> Option<(u16, u16)> {
    let header = message.get(..8)?;
    let is_echo = types.contains(&header[0]) && header[1] == 0;
    is_echo.then(|| (u16::from_be_bytes([header[4], header[5]]), u16::from_be_bytes([header[6], header[7]])))
}

/// Reads `bytes` as an answer to each kind of probe, and as an ICMP error that quotes a probe.
#[cfg(fuzzing)]
pub fn fuzz(bytes: &[u8]) {
    thread_local! {
        static WIRES: [Wire; 2] = ["127.0.0.1:0", "[::1]:0"]
            .map(|target| Wire::udp(target.parse().expect("an address")).expect("a UDP socket"));
    }
    let [kind, code, mtu, ..] = *bytes else { return };
    WIRES.with(|wires| {
        for wire in wires {
            for kind_of_socket in [Kind::Raw, Kind::Ping, Kind::Udp] {
                let socket = wire.socket.try_clone().expect("a descriptor");
                let wire = Wire { kind: kind_of_socket, ..Wire::new(socket, kind_of_socket, wire.target) };
                let (from, bytes) = (Some(wire.target), bytes.to_vec());
                let quoted = bytes.clone();
                let _ = wire.answered(&Received { from, bytes, fragment: None });
                let from = Some(wire.target.ip());
                let error =
                    IcmpError { from, kind: (kind, code), mtu: mtu.into(), destination: None, quoted };
                let _ = (wire.blamed(&error), wire.judge(&error, Duration::ZERO));
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_request_carries_a_checksum_that_adds_up() {
        for payload in [0, 1, 8, 1473] {
            let packet = echo_request(IpVersion::V4, 0x1234, 7, payload);
            assert_eq!(packet.len(), 8 + payload);
            assert_eq!(checksum(&packet), 0);
            assert_eq!(echo_numbers(&packet, ECHO_REQUEST), Some((0x1234, 7)));
            assert_eq!(echo_numbers(&packet, ECHO_REPLY), None);
        }
        assert_eq!(checksum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]), !0xddf2);
    }

    #[test]
    fn waits_follow_the_slowest_answer() {
        let mut wire = Wire::udp("127.0.0.1:0".parse().unwrap()).unwrap();
        let [near, hop] = [Probe { size: 100, hops: None }, Probe { size: 100, hops: Some(1) }];
        let mut waits = |kind, slowest, probe| {
            (wire.kind, wire.slowest) = (kind, slowest);
            wire.patience(&[probe]).as_millis()
        };
        for (slowest, echo, limited) in
            [(None, 1000, 1100), (Some(10), 150, 1110), (Some(100), 400, 1200), (Some(2000), 3000, 3100)]
        {
            let slowest = slowest.map(Duration::from_millis);
            assert_eq!(waits(Kind::Ping, slowest, near), echo);
            assert_eq!(waits(Kind::Ping, slowest, hop), limited);
            assert_eq!(waits(Kind::Udp, slowest, near), limited);
        }
    }

    #[test]
    fn an_answer_that_comes_after_its_round_lengthens_the_next_waits() {
        let mut wire = Wire::udp("127.0.0.1:0".parse().unwrap()).unwrap();
        let begin = Instant::now().checked_sub(Duration::from_secs(2)).unwrap();
        wire.remember(&[Some(7), Some(8)], &[begin, begin], &[Outcome::Lost, Outcome::Lost]);
        wire.late(Some(9));
        assert_eq!(wire.slowest, None);
        wire.late(Some(8));
        assert!(wire.slowest >= Some(Duration::from_secs(2)));
        wire.slowest = None;
        wire.late(Some(8));
        assert_eq!(wire.slowest, None, "an answer counts once");
    }

    proptest! {
        #[test]
        fn any_bytes_are_an_echo_or_none(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let found = echo_numbers(&bytes, ECHO_REPLY);
            let is_reply = bytes.len() >= 8 && [0, 129].contains(&bytes[0]) && bytes[1] == 0;
            prop_assert_eq!(found.is_some(), is_reply);
        }
    }

    #[test]
    fn what_is_cut_short_is_no_echo() {
        assert_eq!(echo_numbers(&[8, 0, 0, 0, 1, 2, 3], ECHO_REQUEST), None);
    }
}
