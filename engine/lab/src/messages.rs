//! The route netlink messages with which a network is built.

use crate::error::Result;
use netlink_packet_route::IpProtocol;
use netlink_packet_route::address::AddressMessage;
use netlink_packet_route::link::{
    InfoBridge, InfoData, InfoIpTunnel, InfoKind, InfoVeth, Ip6TunnelFlags, LinkAttribute, LinkExtentMask,
    LinkFlags, LinkInfo, LinkMessage,
};
use netlink_packet_route::neighbour::{NeighbourAttribute, NeighbourMessage, NeighbourState};
use netlink_packet_route::route::{
    RouteAttribute, RouteHeader, RouteMessage, RouteMetric, RouteNextHop, RouteProtocol, RouteScope,
    RouteType,
};
use netlink_packet_route::rule::{RuleAction, RuleAttribute, RuleMessage};
use nettrial_netlink::{address_message, family, route_address};
use nettrial_routing::Route;
use nettrial_scenario::{InterfaceAddress, Tunnel};
use std::net::IpAddr;

/// The attributes of a veth with one queue in each direction. By default a veth gets a queue for each CPU, of
/// which all but one are removed again, and the kernel waits until nobody uses them (drivers/net/veth.c,
/// veth_init_queues).
pub const SINGLE_QUEUES: [LinkAttribute; 2] = [LinkAttribute::NumTxQueues(1), LinkAttribute::NumRxQueues(1)];

/// The hop limit of a tunnel's packets, Linux's own default.
const TUNNEL_TTL: u8 = 64;

/// Returns a request for a veth pair, each end of which is created in its own namespace.
pub fn veth([mut near, far]: [LinkMessage; 2]) -> LinkMessage {
    near.attributes.push(LinkAttribute::LinkInfo(vec![
        LinkInfo::Kind(InfoKind::Veth),
        LinkInfo::Data(InfoData::Veth(InfoVeth::Peer(far))),
    ]));
    near
}

/// Returns a request for a bridge that is a plain learning switch, with multicast to every port.
pub fn new_bridge(index: i32, name: &str) -> LinkMessage {
    let mut message = LinkMessage::default();
    message.header.index = index.unsigned_abs();
    message.attributes = vec![
        LinkAttribute::IfName(name.to_owned()),
        LinkAttribute::LinkInfo(vec![
            LinkInfo::Kind(InfoKind::Bridge),
            LinkInfo::Data(InfoData::Bridge(vec![InfoBridge::MulticastSnooping(false)])),
        ]),
    ];
    message
}

/// Returns a request for the device of a tunnel through the interface with index `carrier`, between the addresses `ends` of
/// this node and the other one; `None` if the kernel has no device for it, as for translation.
pub fn new_tunnel(tunnel: Tunnel, carrier: i32, ends: [IpAddr; 2]) -> Option<LinkMessage> {
    let [local, remote] = ends;
    let mut settings = vec![
        InfoIpTunnel::Link(carrier.unsigned_abs()),
        InfoIpTunnel::Local(local),
        InfoIpTunnel::Remote(remote),
        InfoIpTunnel::Ttl(TUNNEL_TTL),
    ];
    let kind = match tunnel {
        Tunnel::SixInFour => InfoKind::SitTun,
        Tunnel::FourInSix => {
            // The device would add a destination option of 8 bytes to each packet (RFC 2473 section 4.1.1).
            settings.push(InfoIpTunnel::Ipv6Flags(Ip6TunnelFlags::IgnEncapLimit));
            settings.push(InfoIpTunnel::Protocol(IpProtocol::Ipip));
            InfoKind::Ip6Tnl
        }
        Tunnel::Nat64 => return None,
    };
    let mut message = LinkMessage::default();
    message.attributes = vec![LinkAttribute::LinkInfo(vec![
        LinkInfo::Kind(kind),
        LinkInfo::Data(InfoData::IpTunnel(settings)),
    ])];
    Some(message)
}

/// Returns a request that brings up the interface with this index.
pub fn up(index: i32) -> LinkMessage {
    let mut message = LinkMessage::default();
    message.header.index = index.unsigned_abs();
    message.header.flags = LinkFlags::Up;
    message.header.change_mask = LinkFlags::Up;
    message
}

/// Returns a request that takes down the interface with this index.
pub fn down(index: i32) -> LinkMessage {
    let mut message = up(index);
    message.header.flags = LinkFlags::empty();
    message
}

/// Returns the Ethernet address of the interface with this index, which is a locally administered one (IEEE 802
/// section 8.4).
pub fn ethernet_address(index: i32) -> Vec<u8> {
    [[0x02, 0].as_slice(), &index.to_be_bytes()].concat()
}

/// Returns a request for an entry with the Ethernet address of the neighbour with this IP address, on the
/// interface with this index.
pub fn new_neighbour(index: i32, address: IpAddr, ethernet_address: Vec<u8>) -> NeighbourMessage {
    let mut message = NeighbourMessage::default();
    message.header.family = family(address);
    message.header.ifindex = index.unsigned_abs();
    message.header.state = NeighbourState::Permanent;
    message.header.kind = RouteType::Unicast;
    message.attributes = vec![
        NeighbourAttribute::Destination(address.into()),
        NeighbourAttribute::LinkLayerAddress(ethernet_address),
    ];
    message
}

/// Returns a request for the state of the interface with this index, without its counters.
pub fn state_of(index: i32) -> LinkMessage {
    let mut message = LinkMessage::default();
    message.header.index = index.unsigned_abs();
    message.attributes = vec![LinkAttribute::ExtMask(vec![LinkExtentMask::SkipStats])];
    message
}

/// Returns a request for an address of the interface with this index.
pub fn new_address(index: i32, address: InterfaceAddress) -> Result<AddressMessage> {
    Ok(address_message(u32::try_from(index)?, (address.address(), address.0.prefix_len())))
}

/// Returns a request for an entry of the forwarding table `table`, through the interfaces with these indexes and
/// to these gateways, with the congestion control with which connections over it begin, if one is given.
pub fn new_route(
    route: &Route,
    table: u32,
    next_hops: &[(u32, Option<IpAddr>)],
    congestion_control: Option<&str>,
) -> RouteMessage {
    let mut message = RouteMessage::default();
    let is_on_link = next_hops.iter().all(|(_, gateway)| gateway.is_none());
    message.header = RouteHeader {
        address_family: family(route.destination.addr()),
        destination_prefix_length: route.destination.prefix_len(),
        protocol: RouteProtocol::Static,
        scope: if is_on_link { RouteScope::Link } else { RouteScope::Universe },
        kind: RouteType::Unicast,
        ..RouteHeader::default()
    };
    message.attributes = vec![
        RouteAttribute::Table(table),
        RouteAttribute::Destination(route_address(route.destination.addr())),
    ];
    let preferred = route.preferred_source.map(|source| RouteAttribute::PrefSource(route_address(source)));
    message.attributes.extend(preferred);
    let control = |name: &str| RouteAttribute::Metrics(vec![RouteMetric::CcAlgo(name.to_owned())]);
    message.attributes.extend(congestion_control.map(control));
    let gateway = |gateway: Option<IpAddr>| gateway.map(|to| RouteAttribute::Gateway(route_address(to)));
    if let [(index, to)] = *next_hops {
        message.attributes.push(RouteAttribute::Oif(index));
        message.attributes.extend(gateway(to));
    } else {
        let next_hop = |&(index, to): &(u32, Option<IpAddr>)| {
            let mut next_hop = RouteNextHop::default();
            next_hop.interface_index = index;
            next_hop.attributes.extend(gateway(to));
            next_hop
        };
        message.attributes.push(RouteAttribute::MultiPath(next_hops.iter().map(next_hop).collect()));
    }
    message
}

/// Returns a request for a rule by which packets from `source` are routed by table `table`, if it has an entry for
/// them.
pub fn source_rule(source: IpAddr, table: u32) -> RuleMessage {
    let mut rule = RuleMessage::default();
    rule.header.family = family(source);
    rule.header.src_len = if source.is_ipv4() { 32 } else { 128 };
    rule.header.action = RuleAction::ToTable;
    rule.attributes =
        vec![RuleAttribute::Source(source), RuleAttribute::Table(table), RuleAttribute::Priority(table)];
    rule
}
