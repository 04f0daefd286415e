//! Measures a stack's connections by their frames, whatever the stack itself tells.

use etherparse::{
    Ipv6ExtensionSlice, NetSlice, SlicedPacket, TcpOptionElement, TcpSlice, TransportSlice, UdpHeaderSlice,
};
use nettrial_flows::wire::Weight;
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};

/// The most connections that are measured, of which the rest are those of strangers.
const MOST: usize = 4096;
/// The bytes of an Ethernet header.
const ETHERNET_BYTES: usize = 14;

/// A connection, or a UDP socket's exchange with another: this host's port, and the other's address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key {
    /// True for TCP.
    pub is_tcp: bool,
    /// This host's port.
    pub port: u16,
    /// The other end.
    pub peer: SocketAddr,
}

/// What a host has announced when a connection opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Announced {
    /// The largest segment that it takes, bytes of payload, as RFC 9293 section 3.7.1 has it.
    pub mss_bytes: Option<u16>,
    /// The scale of its windows.
    pub window_scale: Option<u8>,
    /// True if it takes selective acknowledgments.
    pub sack: bool,
    /// True if it has timestamps.
    pub timestamps: bool,
}

/// The measurements of a connection.
#[derive(Debug, Clone, Copy, Default)]
pub struct Counts {
    /// What this host has announced, once it has.
    pub own: Option<Announced>,
    /// What the other host has announced.
    pub peer: Option<Announced>,
    /// The packets sent, and their bytes by layer.
    pub weight: Weight,
    /// The segments whose payload had been sent before.
    pub retransmissions: u64,
    /// The largest window that the other host has announced, bytes.
    pub peer_window_bytes: u64,
    /// The number after the highest sent so far.
    next: Option<u32>,
}

/// Measures connections by their frames.
#[derive(Default)]
pub struct Meter {
    connections: HashMap<Key, Counts>,
    /// The last fragmented datagram, by its identification.
    fragmented: Option<(u32, Key)>,
}

impl Meter {
    /// Begins to measure a connection anew.
    pub fn begin(&mut self, key: Key) {
        self.connections.insert(key, Counts::default());
    }

    /// Ends the measurement of a connection, and returns it.
    pub fn end(&mut self, key: Key) -> Counts {
        self.connections.remove(&key).unwrap_or_default()
    }

    /// Returns the measurement of a connection so far.
    pub fn of(&self, key: Key) -> Counts {
        self.connections.get(&key).copied().unwrap_or_default()
    }

    /// Notes a frame that has arrived. One that is damaged is nothing's.
    pub fn arrived(&mut self, frame: &[u8]) {
        let Some((source, _, packet)) = parse(frame) else { return };
        let Some(TransportSlice::Tcp(segment)) = &packet.transport else { return };
        let key = Key {
            is_tcp: true,
            port: segment.destination_port(),
            peer: SocketAddr::new(source, segment.source_port()),
        };
        if segment.syn() && !self.connections.contains_key(&key) && self.connections.len() < MOST {
            self.begin(key);
        }
        let Some(counts) = self.connections.get_mut(&key) else { return };
        if segment.syn() {
            counts.peer = Some(announced(segment));
        }
        // The window of a segment with SYN is never scaled (RFC 7323 section 2.2).
        let scale = match (counts.own, counts.peer) {
            (Some(own), Some(peer)) if !segment.syn() && own.window_scale.is_some() => peer.window_scale,
            _ => None,
        };
        let window = u64::from(segment.window_size()) << scale.unwrap_or(0).min(14);
        counts.peer_window_bytes = counts.peer_window_bytes.max(window);
    }

    /// Notes a frame that is sent.
    pub fn departed(&mut self, frame: &[u8]) {
        let Some((_, destination, packet)) = parse(frame) else { return };
        let Some(key) = self.key(destination, &packet) else { return };
        let Some(counts) = self.connections.get_mut(&key) else { return };
        counts.weight.add_packets(1, (frame.len() - ETHERNET_BYTES) as u64);
        let Some(TransportSlice::Tcp(segment)) = &packet.transport else { return };
        if segment.syn() {
            counts.own = Some(announced(segment));
        }
        let length = segment.payload().len() as u32 + u32::from(segment.syn()) + u32::from(segment.fin());
        if length == 0 {
            return;
        }
        let end = segment.sequence_number().wrapping_add(length);
        match counts.next {
            Some(next) if end.wrapping_sub(next).cast_signed() <= 0 => counts.retransmissions += 1,
            _ => counts.next = Some(end),
        }
    }

    /// Returns the connection or the exchange that a packet to `destination` belongs to.
    fn key(&mut self, destination: IpAddr, packet: &SlicedPacket<'_>) -> Option<Key> {
        let of_udp =
            |source, port| Key { is_tcp: false, port: source, peer: SocketAddr::new(destination, port) };
        match (&packet.transport, &packet.net) {
            (Some(TransportSlice::Tcp(segment)), _) => Some(Key {
                is_tcp: true,
                port: segment.source_port(),
                peer: SocketAddr::new(destination, segment.destination_port()),
            }),
            (Some(TransportSlice::Udp(datagram)), _) => {
                Some(of_udp(datagram.source_port(), datagram.destination_port()))
            }
            // A fragment, of which only the first has ports.
            (None, Some(net)) => {
                let (number, is_first, payload) = fragment(net)?;
                if is_first {
                    let datagram = UdpHeaderSlice::from_slice(payload).ok()?;
                    self.fragmented =
                        Some((number, of_udp(datagram.source_port(), datagram.destination_port())));
                }
                let (of, key) = self.fragmented?;
                (of == number && key.peer.ip() == destination).then_some(key)
            }
            _ => None,
        }
    }
}

/// Returns the identification of a fragment, whether it is the first, and its payload; `None` if it is none.
fn fragment<'a>(net: &NetSlice<'a>) -> Option<(u32, bool, &'a [u8])> {
    match net {
        NetSlice::Ipv4(ip) if ip.is_payload_fragmented() => {
            let header = ip.header();
            let number = u32::from(header.identification());
            Some((number, header.fragments_offset().value() == 0, ip.payload().payload))
        }
        NetSlice::Ipv6(ip) => ip.extensions().clone().into_iter().find_map(|extension| match extension {
            Ipv6ExtensionSlice::Fragment(header) => {
                Some((header.identification(), header.fragment_offset().value() == 0, ip.payload().payload))
            }
            _ => None,
        }),
        _ => None,
    }
}

/// Returns the source and the destination of a frame's packet, and its parts; `None` unless it is one of IP.
fn parse(frame: &[u8]) -> Option<(IpAddr, IpAddr, SlicedPacket<'_>)> {
    let packet = SlicedPacket::from_ethernet(frame).ok()?;
    let (source, destination) = match packet.net.as_ref()? {
        NetSlice::Ipv4(ip) => {
            (IpAddr::V4(ip.header().source_addr()), IpAddr::V4(ip.header().destination_addr()))
        }
        NetSlice::Ipv6(ip) => {
            (IpAddr::V6(ip.header().source_addr()), IpAddr::V6(ip.header().destination_addr()))
        }
        NetSlice::Arp(_) => return None,
    };
    Some((source, destination, packet))
}

/// Returns what a segment with SYN announces.
fn announced(segment: &TcpSlice<'_>) -> Announced {
    let mut announced = Announced::default();
    for option in segment.options_iterator().map_while(Result::ok) {
        match option {
            TcpOptionElement::MaximumSegmentSize(bytes) => announced.mss_bytes = Some(bytes),
            TcpOptionElement::WindowScale(bits) => announced.window_scale = Some(bits),
            TcpOptionElement::SelectiveAcknowledgementPermitted => announced.sack = true,
            TcpOptionElement::Timestamp(..) => announced.timestamps = true,
            TcpOptionElement::Noop | TcpOptionElement::SelectiveAcknowledgement(..) => {}
        }
    }
    announced
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::{PacketBuilder, TcpHeader};

    const OWN: [u8; 4] = [10, 0, 0, 1];
    const PEER: [u8; 4] = [10, 0, 0, 2];

    /// Returns the frame of a segment from `from`, whose port is 1000 and whose peer's is 2000, if it is this host.
    fn frame(from: [u8; 4], sequence: u32, syn: bool, payload: &[u8]) -> Vec<u8> {
        let (to, ports) = if from == OWN { (PEER, (1000, 2000)) } else { (OWN, (2000, 1000)) };
        let mut header = TcpHeader::new(ports.0, ports.1, sequence, 500);
        header.syn = syn;
        if syn {
            let options = [TcpOptionElement::MaximumSegmentSize(1460), TcpOptionElement::WindowScale(3)];
            header.set_options(&options).unwrap();
        }
        let builder = PacketBuilder::ethernet2([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]).ipv4(from, to, 64);
        let mut bytes = Vec::new();
        builder.tcp_header(header).write(&mut bytes, payload).unwrap();
        bytes
    }

    #[test]
    fn a_connection_is_what_its_frames_say() {
        let mut meter = Meter::default();
        let key = Key { is_tcp: true, port: 1000, peer: SocketAddr::new(IpAddr::from(PEER), 2000) };
        meter.begin(key);
        meter.departed(&frame(OWN, 99, true, &[]));
        meter.arrived(&frame(PEER, 7, true, &[]));
        for sequence in [100, 200, 100, 300] {
            meter.departed(&frame(OWN, sequence, false, &[0; 100]));
        }
        meter.arrived(&frame(PEER, 8, false, &[]));
        let found = meter.end(key);
        assert_eq!(found.retransmissions, 1);
        // A SYN with 8 bytes of options, and four segments of 100 bytes.
        assert_eq!(found.weight.ip_bytes, 48 + 4 * 140);
        assert_eq!(found.peer_window_bytes, 500 << 3);
        assert_eq!(
            (found.own, found.own),
            (
                found.peer,
                Some(Announced { mss_bytes: Some(1460), window_scale: Some(3), ..Announced::default() })
            )
        );
        assert_eq!(meter.of(key).weight, Weight::default());
    }

    #[test]
    fn fragments_belong_to_the_datagram_whose_first_one_has_the_ports() {
        let mut meter = Meter::default();
        let peer = std::net::Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 2);
        let key = Key { is_tcp: false, port: 1000, peer: SocketAddr::new(peer.into(), 2000) };
        meter.begin(key);
        let ports = [[0x03, 0xe8], [0x07, 0xd0], [0, 0], [0, 0]].concat();
        // Of the fragments of datagram 7, the second comes first, and belongs to nothing yet.
        for (offset, number, payload) in
            [(1, 7, [0; 8].as_slice()), (0, 7, &ports), (1, 7, &[0; 8]), (1, 8, &[0; 8])]
        {
            let header = etherparse::Ipv6FragmentHeader::new(
                etherparse::IpNumber::UDP,
                etherparse::IpFragOffset::try_new(offset).unwrap(),
                true,
                number,
            );
            let mut packet = [0x60, 0, 0, 0, 0, 16, 44, 64].to_vec();
            packet.extend([0; 16].into_iter().chain(peer.octets()));
            packet.extend(header.to_bytes().into_iter().chain(payload.iter().copied()));
            let ethernet = [[2, 0, 0, 0, 0, 2], [2, 0, 0, 0, 0, 1]].concat();
            meter.departed(&[ethernet, [0x86, 0xdd].to_vec(), packet].concat());
        }
        assert_eq!(meter.of(key).weight.ip_bytes, 2 * 56);
    }

    #[test]
    fn damaged_frames_and_those_of_others_change_nothing() {
        let mut meter = Meter::default();
        let whole = frame(OWN, 99, true, &[]);
        for length in 0..whole.len() {
            meter.departed(&whole[..length]);
            meter.arrived(&whole[..length]);
        }
        meter.departed(&whole);
        assert!(meter.connections.is_empty());
    }
}
