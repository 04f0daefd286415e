//! The addresses of the packets on links with tunnels, and those of hosts behind NAT64.

use crate::error::{Error, Result};
use nettrial_scenario::{Interface, InterfaceAddress, Link, NodeKind, Scenario, Tunnel};
use std::collections::HashMap;
use std::net::{Ipv4Addr, Ipv6Addr};

/// The beginnings of the networks for benchmarks, which no network of a study has: 198.18.0.0/15 (RFC 2544) and
/// 2001:2::/48 (RFC 5180). Each tunnel has a subnet with two addresses.
const FIRST_V4: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 0);
const FIRST_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 0);
/// The number of subnets of the first half of 198.18.0.0/15.
const SUBNETS: u32 = 1 << 14;

/// The network of the addresses by which hosts with IPv4 alone know others: the half of 198.18.0.0/15 without links.
pub const OTHERS: &str = "198.19.0.0/16";
const FIRST_OTHER: Ipv4Addr = Ipv4Addr::new(198, 19, 0, 0);

/// Returns the addresses between which the tunnel of link number `number` carries packets.
pub fn outer_addresses(tunnel: Tunnel, number: usize) -> Result<[InterfaceAddress; 2]> {
    let subnet = u32::try_from(number)?;
    if subnet >= SUBNETS {
        return Err(Error::Missing(format!("tunnels can be in the first {SUBNETS} links alone")));
    }
    let address = |host: u32| {
        let text = match tunnel {
            Tunnel::SixInFour | Tunnel::Nat64 => {
                format!("{}/30", Ipv4Addr::from_bits(FIRST_V4.to_bits() + 4 * subnet + host))
            }
            Tunnel::FourInSix => {
                let bits = FIRST_V6.to_bits() + (u128::from(subnet) << 64) + u128::from(host);
                format!("{}/64", Ipv6Addr::from_bits(bits))
            }
        };
        let parsed = text.parse().map(InterfaceAddress);
        parsed.map_err(|error| Error::Missing(format!("{text} is no address: {error}")))
    };
    Ok([address(1)?, address(2)?])
}

/// Returns the address of the packets on the link number `number`, which has a tunnel, at its node `node`.
pub fn outer_address(scenario: &Scenario, number: usize, node: &str) -> Result<InterfaceAddress> {
    let missing = || Error::Missing(format!("{node} has no tunnel"));
    let link = scenario.links.get(number).ok_or_else(missing)?;
    let outer = outer_addresses(link.tunnel.ok_or_else(missing)?, number)?;
    let ends = link.interfaces.iter().zip(outer);
    ends.into_iter().find(|(end, _)| end.node == node).map(|(_, address)| address).ok_or_else(missing)
}

/// Returns the interface of the host of a link with NAT64, and that of its router.
pub fn ends<'a>(scenario: &Scenario, link: &'a Link) -> Option<[&'a Interface; 2]> {
    let [near, far] = link.cable().filter(|_| link.tunnel == Some(Tunnel::Nat64))?;
    let is_host = |end: &Interface| scenario.node(&end.node).is_some_and(|node| node.kind == NodeKind::Host);
    Some(if is_host(near) { [near, far] } else { [far, near] })
}

/// Returns the hosts behind NAT64, each with the number of its link.
pub fn hosts(scenario: &Scenario) -> HashMap<&str, usize> {
    let host = |(number, link)| ends(scenario, link).map(|[host, _]| (host.node.as_str(), number));
    scenario.links.iter().enumerate().filter_map(host).collect()
}

/// Returns the address by which hosts with IPv4 alone know `host`.
pub fn known_as(scenario: &Scenario, host: &str) -> Result<Ipv4Addr> {
    let number = scenario.nodes.iter().position(|node| node.name == host);
    let number = number.ok_or_else(|| Error::Missing(format!("no node {host:?}")))?;
    let number = u16::try_from(number + 1)?;
    Ok(Ipv4Addr::from_bits(FIRST_OTHER.to_bits() + u32::from(number)))
}
