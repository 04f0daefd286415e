//! The headers of a captured frame, generated from the simulator's state of a packet.
//! They differ from those of a real capture as follows: initial sequence numbers, keys and nonces are derived from
//! the connection's number; payload bytes are zeros; the hop limit stays 64; MAC addresses are numbered and belong
//! to the link's two interfaces, whereas a switch would keep those of the hosts; successive connections of a flow
//! have consecutive source ports unless the path depends on the port. See [`super::options`] for the TCP options.

use super::options::{self, initial_sequence};
use super::side::Side;
use crate::error::Refusal;
use crate::{Codepoint, Flags, Packet, Time};
use etherparse::{
    EtherType, Ethernet2Header, IpDscp, IpEcn, IpFragOffset, IpHeaders, IpNumber, Ipv4Header, Ipv6Extensions,
    Ipv6FragmentHeader, Ipv6Header, TcpHeader, UdpHeader,
};
use nettrial_scenario::Transport;
use std::net::IpAddr;

/// The hop limit of every packet (net.ipv4.ip_default_ttl).
const HOP_LIMIT: u8 = 64;
/// The size in bytes of the UDP header, which is in the first fragment of a datagram.
const UDP_HEADER_BYTES: usize = 8;
/// Zeros for checksums, as many as in the largest IP packet.
static ZEROS: [u8; 1 << 16] = [0; 1 << 16];

/// A frame under construction, whose memory is reused.
#[derive(Debug, Default)]
pub struct Frame {
    bytes: Vec<u8>,
}

impl Frame {
    /// Returns the frame's bytes, as many as were requested.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Makes the frame of `packet` between the interfaces with these numbers, with at least the first `keep`
    /// bytes, if it has as many. Returns its length in bytes, including the Ethernet header.
    pub fn make(
        &mut self,
        packet: &Packet,
        sides: &[Side; 2],
        between: [usize; 2],
        at: Time,
        keep: usize,
    ) -> Result<usize, Refusal> {
        let (to, from) = (usize::from(packet.to.side), 1 - usize::from(packet.to.side));
        let (source, destination) = (&sides[from], &sides[to]);
        self.bytes.clear();
        let is_version_4 = source.address.is_ipv4();
        let ether_type = if is_version_4 { EtherType::IPV4 } else { EtherType::IPV6 };
        let [source_mac, destination_mac] = between.map(mac);
        Ethernet2Header { source: source_mac, destination: destination_mac, ether_type }
            .write(&mut self.bytes)?;
        let sequences = [from, to].map(|side| initial_sequence(packet.to, side));
        if source.transport == Transport::Udp {
            self.datagram(packet, source, destination)?;
        } else {
            self.segment(packet, source, destination, sequences, at)?;
        }
        let headers = self.bytes.len();
        let ip_header = if is_version_4 { 20 } else { 40 };
        let length = self.ip_bytes()? + 14;
        debug_assert!(length >= 14 + ip_header);
        self.bytes.resize(length.min(keep).max(headers), 0);
        Ok(length)
    }

    /// Returns the length of the IP packet according to its header.
    fn ip_bytes(&self) -> Result<usize, Refusal> {
        let field = |at: usize| -> Result<usize, Refusal> {
            let bytes = self.bytes.get(at..at + 2).ok_or("a frame without an IP header")?;
            Ok(usize::from(u16::from_be_bytes([bytes[0], bytes[1]])))
        };
        if self.bytes[12] == 0x08 { field(16) } else { Ok(field(18)? + 40) }
    }

    fn segment(
        &mut self,
        packet: &Packet,
        source: &Side,
        destination: &Side,
        [own, peers]: [u32; 2],
        at: Time,
    ) -> Result<(), Refusal> {
        let flags = packet.flags;
        let is_syn = flags.has(Flags::SYN);
        let shift = source.window_shift.filter(|_| !is_syn).unwrap_or(0);
        let window = u16::try_from(packet.window_bytes >> shift).unwrap_or(u16::MAX);
        let mut tcp = TcpHeader::new(
            source.address.port(),
            destination.address.port(),
            own.wrapping_add(packet.sequence as u32),
            window,
        );
        tcp.syn = is_syn;
        tcp.ack = flags.has(Flags::ACK);
        tcp.fin = flags.has(Flags::FIN);
        tcp.ece = flags.has(Flags::ECE);
        tcp.cwr = flags.has(Flags::CWR);
        tcp.psh = flags.has(Flags::PSH);
        if tcp.ack {
            tcp.acknowledgment_number = peers.wrapping_add(packet.ack as u32);
        }
        let ip_header = if source.address.is_ipv4() { 20 } else { 40 };
        let room = packet.ip_bytes.saturating_sub(ip_header + 20 + packet.payload_bytes) as usize;
        tcp.set_options_raw(&options::of(packet, source, peers, at, room))
            .map_err(|error| format!("TCP's options: {error}"))?;
        let payload = &ZEROS[..packet.payload_bytes as usize];
        let length = tcp.header_len() + payload.len();
        let ip = ip_headers(packet, source, destination, length, IpNumber::TCP, None)?;
        tcp.checksum = match &ip {
            IpHeaders::Ipv4(header, _) => tcp.calc_checksum_ipv4(header, payload)?,
            IpHeaders::Ipv6(header, _) => tcp.calc_checksum_ipv6(header, payload)?,
        };
        ip.write(&mut self.bytes)?;
        tcp.write(&mut self.bytes)?;
        Ok(())
    }

    /// A datagram or one of its fragments; see [`crate::applications`] for where a packet has which.
    fn datagram(&mut self, packet: &Packet, source: &Side, destination: &Side) -> Result<(), Refusal> {
        let whole = packet.data_ack as usize + UDP_HEADER_BYTES;
        let is_whole = packet.window_bytes <= 1;
        let is_last = packet.data_sequence + 1 >= packet.window_bytes;
        let headers = match (source.address.is_ipv4(), is_whole) {
            (true, _) => 20,
            (false, true) => 40,
            (false, false) => 40 + Ipv6FragmentHeader::LEN,
        };
        let length = packet.ip_bytes as usize - headers;
        let at = if is_last { whole - length.min(whole) } else { packet.data_sequence as usize * length };
        let fragment = Fragment {
            identification: packet.ack as u32,
            offset: IpFragOffset::try_new(u16::try_from(at / 8)?)?,
            is_whole,
            is_last,
        };
        let ip = ip_headers(packet, source, destination, length, IpNumber::UDP, Some(fragment))?;
        ip.write(&mut self.bytes)?;
        if at == 0 {
            let (port, to_port) = (source.address.port(), destination.address.port());
            let payload = &ZEROS[..whole - UDP_HEADER_BYTES];
            let udp = match &ip {
                IpHeaders::Ipv4(header, _) => UdpHeader::with_ipv4_checksum(port, to_port, header, payload)?,
                IpHeaders::Ipv6(header, _) => UdpHeader::with_ipv6_checksum(port, to_port, header, payload)?,
            };
            udp.write(&mut self.bytes)?;
        }
        Ok(())
    }
}

/// Returns the locally administered MAC address of an interface with this number.
pub fn mac(interface: usize) -> [u8; 6] {
    let [a, b, c, d] = u32::try_from(interface).unwrap_or(u32::MAX).to_be_bytes();
    [2, 0, a, b, c, d]
}

fn codepoint(packet: &Packet) -> IpEcn {
    match packet.ecn {
        Codepoint::NotCapable => IpEcn::NotEct,
        Codepoint::Capable => IpEcn::Ect0,
        Codepoint::Experienced => IpEcn::CongestionExperienced,
    }
}

/// The part of its datagram that a packet carries, possibly all of it.
struct Fragment {
    identification: u32,
    offset: IpFragOffset,
    is_whole: bool,
    is_last: bool,
}

/// Writes the IP headers of `packet`, which are followed by `length` bytes of the protocol `next`; a packet
/// without a `fragment` must not be fragmented.
fn ip_headers(
    packet: &Packet,
    source: &Side,
    destination: &Side,
    length: usize,
    next: IpNumber,
    fragment: Option<Fragment>,
) -> Result<IpHeaders, Refusal> {
    match (source.address.ip(), destination.address.ip()) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            let mut ip =
                Ipv4Header::new(u16::try_from(length)?, HOP_LIMIT, next, from.octets(), to.octets())?;
            ip.dont_fragment = fragment.is_none();
            ip.dscp = IpDscp::try_new(source.dscp)?;
            ip.ecn = codepoint(packet);
            if let Some(fragment) = fragment {
                ip.identification = fragment.identification as u16;
                ip.more_fragments = !fragment.is_last;
                ip.fragment_offset = fragment.offset;
            }
            ip.header_checksum = ip.calc_header_checksum();
            Ok(IpHeaders::Ipv4(ip, Default::default()))
        }
        (IpAddr::V6(from), IpAddr::V6(to)) => {
            let cut = fragment.filter(|fragment| !fragment.is_whole).map(|fragment| {
                Ipv6FragmentHeader::new(next, fragment.offset, !fragment.is_last, fragment.identification)
            });
            let bytes = length + if cut.is_some() { Ipv6FragmentHeader::LEN } else { 0 };
            let ip = Ipv6Header {
                traffic_class: source.dscp << 2 | codepoint(packet).value(),
                payload_length: u16::try_from(bytes)?,
                next_header: if cut.is_some() { IpNumber::IPV6_FRAGMENTATION_HEADER } else { next },
                hop_limit: HOP_LIMIT,
                source: from.octets(),
                destination: to.octets(),
                ..Ipv6Header::default()
            };
            Ok(IpHeaders::Ipv6(ip, Ipv6Extensions { fragment: cut, ..Default::default() }))
        }
        _ => Err("a flow's two addresses differ in their IP version".into()),
    }
}
