//! Reads and sets the addresses and the routes of an interface in the calling thread's network namespace (rtnetlink(7)).

use crate::Netlink;
use crate::error::Result;
use crate::interfaces::{index_of, own_address};
use netlink_packet_route::AddressFamily;
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::address::{AddressAttribute, AddressHeaderFlags, AddressMessage};
use netlink_packet_route::link::{LinkFlags, LinkMessage};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteProtocol, RouteScope, RouteType,
};
use std::net::IpAddr;

/// The number of the main routing table (RT_TABLE_MAIN).
const MAIN: u8 = 254;

/// An IP address and the length of its network's prefix.
pub type Network = (IpAddr, u8);

/// A route through an interface: its destination, and the next router, if there is one.
pub type InterfaceRoute = (Network, Option<IpAddr>);

/// Returns the addresses of the interface called `name`, without link-local ones, in order.
///
/// # Errors
/// Fails if there is no such interface.
pub fn addresses(name: &str) -> Result<Vec<Network>> {
    let index = index_of(name)?;
    let mut netlink = Netlink::open()?;
    let answers = netlink.dump(RouteNetlinkMessage::GetAddress(AddressMessage::default()))?;
    let mut networks: Vec<Network> =
        answers.into_iter().filter_map(|answer| address(answer, index)).collect();
    networks.sort_unstable();
    Ok(networks)
}

/// Gives the interface called `name` these addresses and no others but link-local ones, and brings it up.
///
/// # Errors
/// Fails if there is no such interface, or if the kernel refuses an address.
pub fn set_addresses(name: &str, wanted: &[Network]) -> Result<()> {
    let (index, present) = (index_of(name)?, addresses(name)?);
    let mut netlink = Netlink::open()?;
    for network in present.iter().filter(|network| !wanted.contains(network)) {
        let message = RouteNetlinkMessage::DelAddress(address_message(index, *network));
        netlink.change(message, format!("removing the address {} from {name}", network.0))?;
    }
    let mut message = LinkMessage::default();
    message.header.index = index;
    message.header.flags = LinkFlags::Up;
    message.header.change_mask = LinkFlags::Up;
    netlink.change(RouteNetlinkMessage::SetLink(message), format!("bringing up {name}"))?;
    for network in wanted.iter().filter(|network| !present.contains(network)) {
        let message = RouteNetlinkMessage::NewAddress(address_message(index, *network));
        netlink.create(message, format!("giving {name} the address {}", network.0))?;
    }
    netlink.flush()
}

/// Returns the routes through the interface called `name` that somebody has added to the main table: those that the
/// kernel derives from addresses, or learns from routers, are no part of them. They are in order.
///
/// # Errors
/// Fails if there is no such interface.
pub fn routes(name: &str) -> Result<Vec<InterfaceRoute>> {
    let index = index_of(name)?;
    let mut netlink = Netlink::open()?;
    let mut routes = Vec::new();
    for family in [AddressFamily::Inet, AddressFamily::Inet6] {
        let mut message = RouteMessage::default();
        message.header.address_family = family;
        let answers = netlink.dump(RouteNetlinkMessage::GetRoute(message))?;
        routes.extend(answers.into_iter().filter_map(|answer| route(answer, index)));
    }
    routes.sort_unstable();
    Ok(routes)
}

/// Gives the interface called `name` these routes and no others that somebody has added.
///
/// # Errors
/// Fails if there is no such interface, or if the kernel refuses a route.
pub fn set_routes(name: &str, wanted: &[InterfaceRoute]) -> Result<()> {
    let (index, present) = (index_of(name)?, routes(name)?);
    let mut netlink = Netlink::open()?;
    for route in present.iter().filter(|route| !wanted.contains(route)) {
        let message = RouteNetlinkMessage::DelRoute(route_message(index, *route));
        netlink.change(message, format!("removing the route to {} through {name}", route.0.0))?;
    }
    for route in wanted.iter().filter(|route| !present.contains(route)) {
        let message = RouteNetlinkMessage::NewRoute(route_message(index, *route));
        netlink.create(message, format!("adding the route to {} through {name}", route.0.0))?;
    }
    netlink.flush()
}

fn address(answer: RouteNetlinkMessage, index: u32) -> Option<Network> {
    let RouteNetlinkMessage::NewAddress(message) = answer else { return None };
    let address = own_address(&message)?;
    let is_link_local = matches!(address, IpAddr::V6(address) if address.is_unicast_link_local());
    (message.header.index == index && !is_link_local).then_some((address, message.header.prefix_len))
}

/// Returns a message about an address of the interface with this index, which is used without a search for duplicates.
pub fn address_message(index: u32, (address, length): Network) -> AddressMessage {
    let mut message = AddressMessage::default();
    message.header.index = index;
    message.header.prefix_len = length;
    message.header.family = family(address);
    message.header.flags = AddressHeaderFlags::Nodad;
    message.attributes = vec![AddressAttribute::Local(address), AddressAttribute::Address(address)];
    message
}

fn route(answer: RouteNetlinkMessage, index: u32) -> Option<InterfaceRoute> {
    let RouteNetlinkMessage::NewRoute(message) = answer else { return None };
    let RouteHeader { protocol, table, kind, destination_prefix_length, address_family, .. } = message.header;
    let is_added = protocol == RouteProtocol::Static || protocol == RouteProtocol::Boot;
    if !is_added || table != MAIN || kind != RouteType::Unicast {
        return None;
    }
    let unspecified: IpAddr = match address_family {
        AddressFamily::Inet => IpAddr::from([0; 4]),
        _ => IpAddr::from([0; 16]),
    };
    let (mut destination, mut gateway, mut through) = (unspecified, None, None);
    for attribute in &message.attributes {
        match attribute {
            RouteAttribute::Destination(address) => destination = ip(address)?,
            RouteAttribute::Gateway(address) => gateway = Some(ip(address)?),
            RouteAttribute::Oif(index) => through = Some(*index),
            _ => {}
        }
    }
    (through == Some(index)).then_some(((destination, destination_prefix_length), gateway))
}

fn route_message(index: u32, ((destination, length), gateway): InterfaceRoute) -> RouteMessage {
    let mut message = RouteMessage::default();
    message.header = RouteHeader {
        address_family: family(destination),
        destination_prefix_length: length,
        protocol: RouteProtocol::Static,
        scope: if gateway.is_none() { RouteScope::Link } else { RouteScope::Universe },
        kind: RouteType::Unicast,
        table: MAIN,
        ..RouteHeader::default()
    };
    message.attributes =
        vec![RouteAttribute::Destination(route_address(destination)), RouteAttribute::Oif(index)];
    message.attributes.extend(gateway.map(|to| RouteAttribute::Gateway(route_address(to))));
    // Before a default route of IPv6 that another interface has learned from its router, whose priority is 1024. An entry
    // of IPv4 has the first priority, 0, if none is given; with IPv6 that means 1024.
    message.attributes.extend(destination.is_ipv6().then_some(RouteAttribute::Priority(1)));
    message
}

fn ip(address: &RouteAddress) -> Option<IpAddr> {
    match address {
        RouteAddress::Inet(address) => Some((*address).into()),
        RouteAddress::Inet6(address) => Some((*address).into()),
        _ => None,
    }
}

/// Returns an address as routes have it.
pub fn route_address(address: IpAddr) -> RouteAddress {
    match address {
        IpAddr::V4(address) => RouteAddress::Inet(address),
        IpAddr::V6(address) => RouteAddress::Inet6(address),
    }
}

/// Returns the family of an address.
pub fn family(address: IpAddr) -> AddressFamily {
    if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 }
}
