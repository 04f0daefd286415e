//! The tunnels of links: on both nodes a device, which has the interface's addresses and routes, and puts each packet
//! into one of the other version of IP. The interface itself carries these, and has an address for them. A link with
//! NAT64 has such a device at its router alone (`translation`).

use super::{Network, translation};
use crate::error::Result;
use crate::messages::{ethernet_address, new_address, new_neighbour, new_tunnel};
use crate::namespace::Home;
use crate::programs;
use crate::tunnel_addresses::outer_addresses;
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::LinkAttribute;
use nettrial_netlink::Netlink;
use nettrial_scenario::{Place, Problem, Scenario, Tunnel, chain};

impl Network {
    /// Creates the devices of all tunnels, with indexes from `next`, and prepares the interfaces that carry their packets.
    pub(super) fn create_tunnels(
        &mut self,
        home: &Home,
        scenario: &Scenario,
        mut next: impl FnMut() -> Result<i32>,
    ) -> Result<()> {
        for (number, link) in scenario.links.iter().enumerate() {
            let (Some(tunnel), Some(ends)) = (link.tunnel, link.cable()) else { continue };
            let outer = outer_addresses(tunnel, number)?;
            if tunnel == Tunnel::Nat64 {
                self.translate(home, scenario, number, next()?)?;
            }
            for (end, other) in [(0, 1), (1, 0)] {
                let far = &ends[other];
                let remote = ethernet_address(self.node(&far.node)?.index_of(&far.name)?);
                let interface = &ends[end];
                let built = self.node_mut(&interface.node)?;
                let carrier = built.index_of(&interface.name)?;
                let [local, peer] = [outer[end], outer[other]];
                let words =
                    format!("the tunnel {} of {} of {}", tunnel.name(), interface.name, interface.node);
                let purpose = |what: &str| format!("{what} {words}");
                if let Some(mut message) = new_tunnel(tunnel, carrier, [local.address(), peer.address()]) {
                    let index = next()?;
                    built.tunnels.push((interface.name.clone(), index));
                    message.header.index = index.unsigned_abs();
                    message.attributes.extend([
                        LinkAttribute::IfName(super::node::tunnel_device(index)),
                        LinkAttribute::Mtu(u32::try_from(interface.mtu.0)?),
                        // A shaper would count the headers of a GSO packet's segments without those of the tunnel.
                        LinkAttribute::GsoMaxSegs(1),
                    ]);
                    built.netlink.create(RouteNetlinkMessage::NewLink(message), purpose("creating"))?;
                }
                let requests = [
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
        if tunnel == Tunnel::Nat64 {
            problems.extend(translation::problems(scenario, home, &place));
        } else if let Err(error) = home.create(|| attempt(tunnel)) {
            let module = if tunnel == Tunnel::SixInFour { "sit" } else { "ip6_tunnel" };
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
    if let Some(message) = new_tunnel(tunnel, 0, [local, remote]) {
        let purpose = format!("creating the tunnel {}", tunnel.name());
        netlink.create(RouteNetlinkMessage::NewLink(message), purpose)?;
    }
    Ok(netlink.flush()?)
}
