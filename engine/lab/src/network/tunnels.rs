//! The tunnels of links: on both nodes a device, which has the interface's addresses and routes, and puts each packet
//! into one of the other version of IP. The interface itself carries these, and has an address for them.

use super::Network;
use crate::error::{Error, Result};
use crate::messages::{ethernet_address, new_address, new_neighbour, new_tunnel};
use crate::namespace::Home;
use crate::programs;
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::LinkAttribute;
use nettrial_netlink::Netlink;
use nettrial_scenario::{InterfaceAddress, Place, Problem, Scenario, Tunnel, chain};
use std::net::{Ipv4Addr, Ipv6Addr};

/// The beginnings of the networks for benchmarks, which no network of a study has: 198.18.0.0/15 (RFC 2544) and
/// 2001:2::/48 (RFC 5180). Each tunnel has a subnet with two addresses.
const FIRST_V4: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 0);
const FIRST_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 0);
/// The number of subnets of 198.18.0.0/15.
const SUBNETS: u32 = 1 << 15;

/// Returns the addresses between which the tunnel of link number `number` carries packets.
fn outer_addresses(tunnel: Tunnel, number: usize) -> Result<[InterfaceAddress; 2]> {
    let subnet = u32::try_from(number)?;
    if subnet >= SUBNETS {
        return Err(Error::Missing(format!("tunnels can be in the first {SUBNETS} links alone")));
    }
    let address = |host: u32| {
        let text = match tunnel {
            Tunnel::SixInFour => {
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

impl Network {
    /// Creates the devices of all tunnels, with indexes from `next`, and prepares the interfaces that carry their packets.
    pub(super) fn create_tunnels(
        &mut self,
        scenario: &Scenario,
        mut next: impl FnMut() -> Result<i32>,
    ) -> Result<()> {
        for (number, link) in scenario.links.iter().enumerate() {
            let (Some(tunnel), Some(ends)) = (link.tunnel, link.cable()) else { continue };
            let outer = outer_addresses(tunnel, number)?;
            for (end, other) in [(0, 1), (1, 0)] {
                let far = &ends[other];
                let remote = ethernet_address(self.node(&far.node)?.index_of(&far.name)?);
                let interface = &ends[end];
                let built = self.node_mut(&interface.node)?;
                let (carrier, index) = (built.index_of(&interface.name)?, next()?);
                built.tunnels.push((interface.name.clone(), index));
                let [local, peer] = [outer[end], outer[other]];
                let mut message = new_tunnel(tunnel, carrier, [local.address(), peer.address()]);
                message.header.index = index.unsigned_abs();
                message.attributes.extend([
                    LinkAttribute::IfName(super::node::tunnel_device(index)),
                    LinkAttribute::Mtu(u32::try_from(interface.mtu.0)?),
                    // A shaper would count the headers of a GSO packet's segments without those of the tunnel.
                    LinkAttribute::GsoMaxSegs(1),
                ]);
                let words =
                    format!("the tunnel {} of {} of {}", tunnel.name(), interface.name, interface.node);
                let purpose = |what: &str| format!("{what} {words}");
                let requests = [
                    (RouteNetlinkMessage::NewLink(message), "creating"),
                    (RouteNetlinkMessage::NewAddress(new_address(carrier, local)?), "giving an address to"),
                    (
                        RouteNetlinkMessage::NewNeighbour(new_neighbour(carrier, peer.address(), remote)),
                        "adding the far end of",
                    ),
                ];
                for (request, what) in requests {
                    built.netlink.create(request, purpose(what))?;
                }
            }
        }
        Ok(self.nodes.iter_mut().try_for_each(|node| node.netlink.flush())?)
    }
}

/// Returns the problems that keep the tunnels of `scenario` from carrying packets here, about the first link of each.
pub fn problems(scenario: &Scenario, home: &Home) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut tried = Vec::new();
    for (number, link) in scenario.links.iter().enumerate() {
        let Some(tunnel) = link.tunnel.filter(|tunnel| !tried.contains(tunnel)) else { continue };
        tried.push(tunnel);
        let place = Place::link(number, link);
        let ends =
            || scenario.nodes.iter().filter(|node| link.interfaces.iter().any(|end| end.node == node.name));
        if let Some(node) = ends().find(|node| node.system.is_some() || programs::of(node).is_some()) {
            let hint = format!("{} does not have this machine's kernel", node.name);
            problems.push(place.problem("tunnel", tunnel.name(), "none at a guest or a program", hint));
        }
        if let Some(node) =
            scenario.nodes.iter().find(|node| node.offloads.tso || node.offloads.gso || node.offloads.gro)
        {
            let hint =
                format!("the segments of a GSO packet of {} have no headers of a tunnel yet", node.name);
            let expected = "none, or `offloads: {tso: false, gso: false, gro: false}`";
            problems.push(place.problem("tunnel", tunnel.name(), expected, hint));
        }
        if let Err(error) = home.create(|| attempt(tunnel)) {
            let module = match tunnel {
                Tunnel::SixInFour => "sit",
                Tunnel::FourInSix => "ip6_tunnel",
            };
            let hint = format!(
                "this kernel does not take it: {}; if it is a module: modprobe {module}; or run it with \
                 `--backend virtual`",
                chain(&error)
            );
            problems.push(place.problem("tunnel", tunnel.name(), "none", hint).of_machine());
        }
    }
    problems
}

/// Creates a tunnel in the calling thread's namespace.
fn attempt(tunnel: Tunnel) -> Result<()> {
    let [local, remote] = outer_addresses(tunnel, 0)?.map(|address| address.address());
    let mut netlink = Netlink::open()?;
    let message = new_tunnel(tunnel, 0, [local, remote]);
    netlink
        .create(RouteNetlinkMessage::NewLink(message), format!("creating the tunnel {}", tunnel.name()))?;
    Ok(netlink.flush()?)
}
