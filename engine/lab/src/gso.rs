//! Finds the properties that all GSO packets that pass a node share.
//!
//! The number of bytes that a GSO packet occupies on the wire follows from its length if all its segments have
//! headers of one known size and are cut for one path MTU (`wire`). The flows of a node show whether that is the
//! case.

use crate::layout::Layout;
use nettrial_routing::segment_headers;
use nettrial_scenario::{Directory, Flow, Node, NodeKind, Transport};
use std::collections::HashMap;

/// The properties that all GSO packets that pass a node share.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GsoPackets {
    headers: Common,
    path_mtu: Common,
    /// True if hosts hand them over unsegmented.
    are_whole: bool,
}

/// A number on which several flows agree or do not agree.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Common {
    #[default]
    Unasked,
    Agreed(u64),
    Differing,
}

impl Common {
    fn add(&mut self, number: Option<u64>) {
        *self = match (*self, number) {
            (Self::Unasked, Some(number)) => Self::Agreed(number),
            (Self::Agreed(known), Some(number)) if known == number => Self::Agreed(known),
            _ => Self::Differing,
        };
    }

    fn number(self) -> Option<u64> {
        if let Self::Agreed(number) = self { Some(number) } else { None }
    }
}

impl GsoPackets {
    /// Returns the number of bytes of the IP and TCP headers of each packet of a GSO packet, if it is known and
    /// always the same.
    pub fn headers(self) -> Option<u64> {
        self.headers.number()
    }

    /// Returns true if they reach a router or a switch unsegmented, because a veth does not segment packets whose
    /// segmentation is offloaded to it.
    pub fn are_whole(self) -> bool {
        self.are_whole
    }

    /// Returns the path MTU of the host's flows towards their other ends, if it is the same for all.
    pub fn path_mtu(self) -> Option<u64> {
        self.path_mtu.number()
    }
}

/// The GSO packets of every node.
pub struct AllGsoPackets<'a> {
    hosts: HashMap<&'a str, GsoPackets>,
    /// The GSO packets at routers and switches, which those of any flow may pass.
    forwarders: GsoPackets,
}

impl<'a> AllGsoPackets<'a> {
    /// Finds the GSO packets that the flows of a scenario cause.
    pub fn new(layout: &Layout<'a>) -> Self {
        let are_whole = layout.scenario.nodes.iter().any(|node| node.offloads.tso);
        let mut all =
            Self { hosts: HashMap::new(), forwarders: GsoPackets { are_whole, ..GsoPackets::default() } };
        for flow in &layout.scenario.workload {
            let headers = makes_gso_packets(flow).then(|| gso_headers(&layout.directory, flow));
            for (host, far) in [(&flow.from, &flow.to), (&flow.to, &flow.from)] {
                let gso_packets = all.hosts.entry(host).or_default();
                if let Some(headers) = headers {
                    gso_packets.headers.add(headers);
                }
                if let Some(mtu) = layout.path_mtu(host, far, flow.ip) {
                    gso_packets.path_mtu.add(Some(mtu));
                }
            }
            if let Some(headers) = headers {
                all.forwarders.headers.add(headers);
            }
        }
        all
    }

    /// Returns the GSO packets that pass `node`.
    pub fn of(&self, node: &Node) -> GsoPackets {
        match node.kind {
            NodeKind::Host => self.hosts.get(node.name.as_str()).copied().unwrap_or_default(),
            NodeKind::Router | NodeKind::Switch => self.forwarders,
        }
    }
}

/// Returns the number of header bytes of each packet of a GSO packet of `flow`, if all packets but the last are as
/// large as the MTU allows and have headers of the same size.
fn gso_headers(directory: &Directory, flow: &Flow) -> Option<u64> {
    match flow.transport {
        Transport::Tcp if flow.socket.mss.is_some() => None,
        Transport::Tcp => segment_headers(directory, flow),
        // The sender chooses the size of UDP packets, and the options of MPTCP packets differ.
        _ => None,
    }
}

/// Returns true if the kernel forms GSO packets from `flow`: always for TCP, and for UDP if the flow requests it.
fn makes_gso_packets(flow: &Flow) -> bool {
    match flow.transport {
        Transport::Tcp | Transport::Mptcp => true,
        Transport::Udp => flow.socket.udp_gso,
        Transport::Icmp => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;
    use crate::wire::Wire;
    use nettrial_scenario::{Rate, Scenario};
    use serde_json::{Value, json};

    fn scenario(flows: &[Value], links: Value) -> Scenario {
        let flow = |settings: &Value| {
            let mut flow = json!({
                "name": "a", "from": "x", "to": "y", "transport": "tcp", "ip": 6,
                "traffic": {"kind": "transfer", "size": "1 MB"},
            });
            flow.as_object_mut().unwrap().extend(settings.as_object().unwrap().clone());
            flow
        };
        let node = |name: &str| json!({"name": name, "kind": if name == "r" { "router" } else { "host" }});
        let nodes = ["x", "y", "z", "r"].map(node);
        Scenario::try_from(json!({
            "format": 1,
            "nodes": nodes,
            "links": links,
            "routing": nettrial_scenario::RoutingPolicy::ShortestPath {},
            "workload": flows.iter().map(flow).collect::<Vec<_>>(),
            "measurement": {"interval": "10 ms", "queue_drops": "allowed"},
        }))
        .unwrap()
    }

    fn of(scenario: &Scenario, node: &str) -> GsoPackets {
        let layout = Layout::new(scenario);
        AllGsoPackets::new(&layout).of(layout.directory.node(node).unwrap())
    }

    #[test]
    fn headers_are_known_where_all_gso_packets_have_the_same() {
        let headers = |flows: &[Value], node| of(&scenario(flows, json!([])), node).headers();
        let (tcp, udp, icmp) = (json!({}), json!({"transport": "udp"}), json!({"transport": "icmp"}));
        for node in ["r", "x", "y"] {
            assert_eq!(headers(std::slice::from_ref(&tcp), node), Some(40 + 20));
            assert_eq!(headers(&[tcp.clone(), udp.clone(), icmp.clone()], node), Some(40 + 20));
            assert_eq!(headers(&[udp.clone(), icmp.clone()], node), None);
            for other in [
                json!({"ip": 4}),
                json!({"transport": "mptcp"}),
                json!({"socket": {"mss": "600 B"}}),
                json!({"transport": "udp", "socket": {"udp_gso": true}}),
            ] {
                assert_eq!(headers(&[tcp.clone(), other.clone()], node), None, "{other}");
                assert_eq!(headers(&[other.clone(), tcp.clone()], node), None, "{other}");
            }
        }
    }

    #[test]
    fn a_host_is_concerned_with_its_own_flows_alone() {
        let scenario = scenario(&[json!({}), json!({"from": "z", "ip": 4})], json!([]));
        let headers = ["x", "z", "y", "r"].map(|node| of(&scenario, node).headers());
        assert_eq!(headers, [Some(60), Some(40), None, None]);
    }

    #[test]
    fn a_path_mtu_is_known_where_all_flows_of_a_host_have_the_same() {
        let interface = |node: &str, interface: &str, mtu: &str, address: &str| json!({"node": node, "interface": interface, "mtu": mtu, "addresses": [address]});
        let links = json!([
            {"ends": [interface("x", "eth0", "9000 B", "fd00::1/64"), interface("r", "eth0", "9000 B", "fd00::2/64")]},
            {"ends": [interface("y", "eth0", "9000 B", "fd00:1::1/64"), interface("r", "eth1", "9000 B", "fd00:1::2/64")]},
            {"ends": [interface("z", "eth0", "1500 B", "fd00:2::1/64"), interface("r", "eth2", "1500 B", "fd00:2::2/64")]},
        ]);
        let scenario = scenario(&[json!({}), json!({"from": "z"})], links);
        let found = ["x", "z", "y"].map(|node| of(&scenario, node).path_mtu());
        assert_eq!(found, [Some(9000), Some(1500), None]);
    }

    /// A host without offloads sends segment by segment there, as in the simulator.
    #[test]
    fn in_virtual_time_a_gso_packet_is_one_frame() {
        let interface = |node: &str, interface: &str, address: &str| json!({"node": node, "interface": interface, "mtu": "1500 B", "addresses": [address]});
        let links = json!([
            {"ends": [interface("x", "eth0", "fd00::1/64"), interface("r", "eth0", "fd00::2/64")]},
            {"ends": [interface("y", "eth0", "fd00:1::1/64"), interface("r", "eth1", "fd00:1::2/64")]},
        ]);
        let scenario = scenario(&[json!({})], links);
        let layout = Layout::new(&scenario);
        let host = layout.directory.node("x").unwrap();
        let segments = |clock| {
            Wire::new(host, of(&scenario, "x"), 1500, Some(Rate(1_000_000_000)), clock).gso_max_segments()
        };
        assert_eq!(segments(Clock::Real), Some(12), "150 us of 1538 bytes");
        assert_eq!(segments(Clock::Virtual), Some(1));
    }
}
