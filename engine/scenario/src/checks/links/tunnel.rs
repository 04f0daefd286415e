//! Finds what makes a tunnel impossible.

use super::{LARGEST_MTU, called};
use crate::{Directory, IpVersion, Link, NodeKind, Place, Problem, Tunnel};

/// Adds what is wrong with the tunnel of the cable `link`, which is at `place`.
pub fn check(directory: &Directory, link: &Link, place: &Place, problems: &mut Vec<Problem>) {
    let Some(tunnel) = link.tunnel else { return };
    let (name, inner) = (tunnel.name(), tunnel.inner());
    for (number, interface) in link.interfaces.iter().enumerate() {
        if directory.node(&interface.node).is_some_and(|node| node.kind == NodeKind::Switch) {
            let (expected, hint) =
                ("none at a switch", "a switch forwards frames, and begins and ends no tunnel");
            problems.push(place.problem("tunnel", name, expected, hint));
        }
        if let Some(other) =
            interface.addresses.iter().find(|address| IpVersion::of(address.address()) != inner)
        {
            let expected = format!("a tunnel that carries IPv{}", u8::from(IpVersion::of(other.address())));
            let hint = format!("{} of {} has the address {}", interface.name, interface.node, other.0);
            problems.push(place.problem("tunnel", name, expected, hint));
        }
        let bytes = tunnel.added_bytes();
        let smallest = tunnel.outer().minimum_mtu().saturating_add_signed(-bytes);
        let largest = LARGEST_MTU.saturating_add_signed(-bytes).min(LARGEST_MTU);
        if !(smallest..=largest).contains(&interface.mtu.0) {
            let size = if bytes < 0 { "smaller" } else { "larger" };
            let hint = format!("the packets of {name} are {} B {size} than those in them", bytes.abs());
            let place = called(interface, &place.within("ends").within(number));
            problems.push(place.problem("mtu", interface.mtu, format!("{smallest} B to {largest} B"), hint));
        }
    }
    if tunnel == Tunnel::Nat64 {
        check_translation(directory, link, place, problems);
    }
}

/// Adds what is wrong with the ends of a link with NAT64, which has a router that translates at one end and at the other
/// a host that has this link alone.
fn check_translation(directory: &Directory, link: &Link, place: &Place, problems: &mut Vec<Problem>) {
    let ends_of = |kind| {
        link.interfaces
            .iter()
            .filter(move |end| directory.node(&end.node).is_some_and(|node| node.kind == kind))
    };
    let (mut hosts, mut routers) = (ends_of(NodeKind::Host), ends_of(NodeKind::Router));
    let (Some(host), Some(_)) = (hosts.next(), routers.next()) else {
        let hint = "the router translates what the host sends and receives";
        problems.push(place.problem("tunnel", "nat64", "none but between a host and a router", hint));
        return;
    };
    let all = directory.scenario.links.iter().flat_map(|link| &link.interfaces);
    if all.filter(|end| end.node == host.node).count() > 1 {
        let hint = format!("{} has other links, too", host.node);
        problems.push(place.problem("tunnel", "nat64", "the only link of its host", hint));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scenario;
    use serde_json::{Value, json};

    /// Returns the problems of a link between a node of that kind and a router, with a tunnel.
    fn problems(kind: &str, tunnel: &str, mtu: &str, addresses: [&[&str]; 2]) -> Vec<String> {
        let end = |node: &str, addresses: &[&str]| -> Value {
            json!({"node": node, "interface": "eth0", "mtu": mtu, "addresses": addresses})
        };
        let [near, far] = addresses;
        let scenario = Scenario::try_from(json!({
            "format": 1,
            "nodes": [{"name": "a", "kind": kind}, {"name": "b", "kind": "router"}],
            "links": [{"ends": [end("a", near), end("b", far)], "tunnel": tunnel}],
            "routing": {"policy": "shortest_path"},
            "workload": [],
            "measurement": {"interval": "10 ms", "queue_drops": "allowed"},
        }))
        .unwrap();
        let directory = Directory::new(&scenario);
        let link = &scenario.links[0];
        let mut found = Vec::new();
        check(&directory, link, &Place::link(0, link), &mut found);
        found.iter().map(|problem| format!("{} {}", problem.pointer, problem.expected)).collect()
    }

    #[test]
    fn a_tunnel_carries_one_version_between_nodes_that_have_it() {
        let (four, six): ([&[&str]; 2], [&[&str]; 2]) =
            ([&["10.0.0.1/24"], &["10.0.0.2/24"]], [&["fd00::1/64"], &["fd00::2/64"]]);
        assert_eq!(problems("router", "6in4", "1480 B", six), [""; 0]);
        assert_eq!(problems("router", "4in6", "1460 B", four), [""; 0]);
        assert_eq!(problems("router", "4in6", "1460 B", six).len(), 2);
        assert_eq!(problems("switch", "6in4", "1480 B", [&[], six[1]]), ["/links/0/tunnel none at a switch"]);
        assert_eq!(
            problems("router", "4in6", "1239 B", four),
            ["/links/0/ends/0/mtu 1240 B to 65495 B", "/links/0/ends/1/mtu 1240 B to 65495 B"]
        );
    }

    #[test]
    fn nat64_is_between_a_router_and_a_host_with_one_link() {
        let six: [&[&str]; 2] = [&["fd00::1/64"], &["fd00::2/64"]];
        assert_eq!(problems("host", "nat64", "1520 B", six), [""; 0]);
        assert_eq!(
            problems("router", "nat64", "1520 B", six),
            ["/links/0/tunnel none but between a host and a router"]
        );
        assert_eq!(problems("host", "nat64", "87 B", six)[0], "/links/0/ends/0/mtu 88 B to 65535 B");
    }
}
