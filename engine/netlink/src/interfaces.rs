//! Reads the state of the interfaces in the calling thread's network namespace (rtnetlink(7)).

use crate::Netlink;
use crate::error::{Context, Error, Result};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::address::{AddressAttribute, AddressMessage};
use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkMessage};
use std::net::IpAddr;

/// An interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    /// The interface's name.
    pub name: String,
    /// The interface's number (ifindex).
    pub index: u32,
    /// True if the interface is up and has a carrier (IFF_LOWER_UP).
    pub is_up: bool,
    /// The largest IP packet that the interface sends, in bytes.
    pub mtu: u64,
    /// The largest MTU that the interface accepts, in bytes; `None` if the driver sets no bound.
    pub largest_mtu: Option<u64>,
    /// The number of times that the carrier appeared or disappeared.
    pub carrier_changes: u64,
    /// The packets and bytes that the interface sent and received.
    pub counters: Counters,
    /// The interface's IP addresses.
    pub addresses: Vec<IpAddr>,
}

/// The packets and bytes that an interface sent and received, including Ethernet headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Packets sent.
    pub sent_pkts: u64,
    /// Bytes received.
    pub received_bytes: u64,
    /// Packets received.
    pub received_pkts: u64,
}

/// Returns all interfaces.
///
/// # Errors
/// Fails if the kernel does not answer.
pub fn interfaces() -> Result<Vec<Interface>> {
    let mut netlink = Netlink::open()?;
    let links = netlink.dump(RouteNetlinkMessage::GetLink(LinkMessage::default()))?;
    let mut interfaces: Vec<Interface> = links.into_iter().filter_map(interface).collect();
    for answer in netlink.dump(RouteNetlinkMessage::GetAddress(AddressMessage::default()))? {
        let RouteNetlinkMessage::NewAddress(message) = answer else { continue };
        let of = interfaces.iter_mut().find(|interface| interface.index == message.header.index);
        if let (Some(interface), Some(address)) = (of, own_address(&message)) {
            interface.addresses.push(address);
        }
    }
    Ok(interfaces)
}

/// Returns the index of the interface called `name`; fails if there is none.
pub(crate) fn index_of(name: &str) -> Result<u32> {
    let named = interfaces()?.into_iter().find(|interface| interface.name == name);
    named.map(|named| named.index).ok_or_else(|| Error::NoInterface(name.to_owned()))
}

/// Returns the interface's own address of a message.
pub(crate) fn own_address(message: &AddressMessage) -> Option<IpAddr> {
    // On a point-to-point interface IFA_ADDRESS is the far end's address, and IFA_LOCAL the interface's own.
    let local = message.attributes.iter().find_map(|attribute| match attribute {
        AddressAttribute::Local(address) => Some(*address),
        _ => None,
    });
    let address = message.attributes.iter().find_map(|attribute| match attribute {
        AddressAttribute::Address(address) => Some(*address),
        _ => None,
    });
    local.or(address)
}

pub(crate) fn interface(answer: RouteNetlinkMessage) -> Option<Interface> {
    let RouteNetlinkMessage::NewLink(message) = answer else { return None };
    let mut interface = Interface {
        name: String::new(),
        index: message.header.index,
        is_up: message.header.flags.contains(LinkFlags::Up | LinkFlags::LowerUp),
        mtu: 0,
        largest_mtu: None,
        carrier_changes: 0,
        counters: Counters::default(),
        addresses: Vec::new(),
    };
    for attribute in message.attributes {
        match attribute {
            LinkAttribute::IfName(name) => interface.name = name,
            LinkAttribute::Mtu(mtu) => interface.mtu = mtu.into(),
            LinkAttribute::MaxMtu(mtu) => interface.largest_mtu = (mtu > 0).then(|| mtu.into()),
            LinkAttribute::CarrierChanges(count) => interface.carrier_changes = count.into(),
            LinkAttribute::Stats64(counted) => {
                interface.counters = Counters {
                    sent_bytes: counted.tx_bytes,
                    sent_pkts: counted.tx_packets,
                    received_bytes: counted.rx_bytes,
                    received_pkts: counted.rx_packets,
                };
            }
            _ => {}
        }
    }
    Some(interface)
}

/// Sets the MTU, in bytes, of the interface called `name`.
///
/// # Errors
/// Fails if there is no such interface, or if the kernel refuses the MTU.
pub fn set_mtu(name: &str, mtu: u64) -> Result<()> {
    let mut message = LinkMessage::default();
    message.header.index = index_of(name)?;
    message.attributes =
        vec![LinkAttribute::Mtu(u32::try_from(mtu).context("the MTU does not fit in 32 bits")?)];
    let mut netlink = Netlink::open()?;
    netlink.change(RouteNetlinkMessage::SetLink(message), format!("setting the MTU of {name} to {mtu}"))?;
    netlink.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_interface_is_found_with_its_address_and_its_counters() {
        let found = interfaces().unwrap();
        let loopback = found.iter().find(|interface| interface.name == "lo").unwrap();
        assert!(loopback.mtu >= 1280);
        assert!(loopback.addresses.contains(&IpAddr::from([127, 0, 0, 1])));
        assert_eq!(loopback.counters.sent_bytes, loopback.counters.received_bytes);
    }

    #[test]
    fn an_interface_that_is_not_there_has_no_mtu_to_set() {
        let error = set_mtu("nettrial-none", 1500).unwrap_err();
        assert_eq!(error.to_string(), "there is no interface nettrial-none");
    }
}
