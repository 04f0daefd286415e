//! What makes a scenario impossible on any backend.

use crate::workload::MESSAGE_HEADER_BYTES;
use crate::{End, FORMAT, Flow, IpVersion, Link, Node, NodeKind, QueueLimit, Scenario, Size, Stack, Traffic};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::net::IpAddr;

/// One thing that is wrong with a scenario.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Problem {
    /// Which setting: `mtu`, `rate`, `queue`, `stack`, `address`, `flow`, `node`, …
    pub setting: String,
    /// Of which object, in words: "link sender - router".
    pub object: String,
    /// The bad value.
    pub value: String,
    /// The legal values.
    pub legal: String,
    /// Why, and what to do.
    pub hint: String,
}

impl Problem {
    /// A problem with `setting` of `object`.
    pub fn new(
        setting: &str,
        object: impl Into<String>,
        value: impl ToString,
        legal: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self {
            setting: setting.to_owned(),
            object: object.into(),
            value: value.to_string(),
            legal: legal.into(),
            hint: hint.into(),
        }
    }
}

/// The largest packet an IPv4 or non-jumbogram IPv6 packet can be, bytes.
const LARGEST_MTU: u64 = 65_535;
/// The kernel's IFNAMSIZ less the closing zero.
const INTERFACE_NAME_BYTES: usize = 15;

/// Everything that is wrong with `scenario` on any backend; empty if nothing is.
pub fn check(scenario: &Scenario) -> Vec<Problem> {
    let mut problems = Vec::new();
    if scenario.format != FORMAT {
        problems.push(Problem::new(
            "format",
            "the scenario",
            scenario.format,
            FORMAT.to_string(),
            "it was written for another version of nettrial",
        ));
    }
    check_nodes(scenario, &mut problems);
    for link in &scenario.links {
        check_link(scenario, link, &mut problems);
    }
    check_interfaces(scenario, &mut problems);
    check_workload(scenario, &mut problems);
    check_measurement(scenario, &mut problems);
    problems
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
}

fn check_nodes(scenario: &Scenario, problems: &mut Vec<Problem>) {
    let mut seen = HashSet::new();
    for node in &scenario.nodes {
        let object = format!("node {:?}", node.name);
        if !is_name(&node.name) {
            problems.push(Problem::new(
                "name",
                &object,
                &node.name,
                "letters, digits, - and _",
                "rename the node",
            ));
        }
        if !seen.insert(&node.name) {
            problems.push(Problem::new(
                "name",
                &object,
                &node.name,
                "a name no other node has",
                "rename one of the two",
            ));
        }
        match (node.kind, &node.stack) {
            (NodeKind::Host, None) => problems.push(Problem::new(
                "stack",
                &object,
                "none",
                "a stack",
                "a host needs TCP/IP settings",
            )),
            (NodeKind::Router | NodeKind::Switch, Some(stack)) => {
                problems.push(Problem::new("stack", &object, &stack.name, "none", "only hosts have a stack"))
            }
            (_, Some(stack)) => check_stack(&object, stack, problems),
            _ => {}
        }
    }
}

fn check_stack(object: &str, stack: &Stack, problems: &mut Vec<Problem>) {
    if !is_name(&stack.congestion_control) {
        problems.push(Problem::new(
            "congestion_control",
            object,
            &stack.congestion_control,
            "a congestion control's name",
            "such as reno, cubic or bbr",
        ));
    }
    for (setting, buffer) in [("receive_buffer", stack.receive_buffer), ("send_buffer", stack.send_buffer)] {
        let ordered = buffer.minimum <= buffer.initial && buffer.initial <= buffer.maximum;
        let in_range = buffer.minimum.0 > 0 && i32::try_from(buffer.maximum.0).is_ok();
        if !ordered || !in_range {
            problems.push(Problem::new(
                setting,
                object,
                format!("{}, {}, {}", buffer.minimum, buffer.initial, buffer.maximum),
                "minimum ≤ initial ≤ maximum, each from 1 B to 2147483647 B",
                "the kernel keeps them in three signed 32-bit numbers",
            ));
        }
    }
}

fn node<'a>(scenario: &'a Scenario, name: &str) -> Option<&'a Node> {
    scenario.nodes.iter().find(|node| node.name == name)
}

/// A link in words: its two nodes.
fn describe(link: &Link) -> String {
    format!("link {} - {}", link.ends[0].node, link.ends[1].node)
}

fn check_link(scenario: &Scenario, link: &Link, problems: &mut Vec<Problem>) {
    let object = describe(link);
    if link.ends[0].node == link.ends[1].node {
        problems.push(Problem::new(
            "ends",
            &object,
            &link.ends[0].node,
            "two different nodes",
            "a link joins two nodes",
        ));
    }
    if let Some(rate) = link.rate {
        if rate.0 < 8_000 {
            problems.push(Problem::new(
                "rate",
                &object,
                rate,
                "8 kbit/s or more",
                "leave the rate out for a link that is not shaped",
            ));
        }
        if link.queue.is_none() {
            problems.push(Problem::new(
                "queue",
                &object,
                "none",
                "a queue limit",
                "a link with a rate needs a queue",
            ));
        }
    }
    match link.queue {
        Some(QueueLimit::Packets(0) | QueueLimit::Bytes(Size(0))) => problems.push(Problem::new(
            "queue",
            &object,
            "0",
            "1 packet or more",
            "a queue that holds nothing passes nothing",
        )),
        Some(QueueLimit::Bytes(limit)) if u32::try_from(limit.0).is_err() => problems.push(Problem::new(
            "queue",
            &object,
            limit,
            "up to 4294967295 B",
            "the kernel keeps it in 32 bits",
        )),
        Some(limit) if link.rate.is_none() => problems.push(Problem::new(
            "queue",
            &object,
            limit,
            "none",
            "a link without a rate never queues: give it a rate",
        )),
        _ => {}
    }
    for end in &link.ends {
        check_end(scenario, &object, end, problems);
    }
}

fn check_end(scenario: &Scenario, link: &str, end: &End, problems: &mut Vec<Problem>) {
    let object = format!("interface {} of {}", end.interface, end.node);
    if !is_name(&end.interface) || end.interface.len() > INTERFACE_NAME_BYTES || end.interface == "lo" {
        problems.push(Problem::new(
            "interface",
            &object,
            &end.interface,
            "1 to 15 letters, digits, - and _, and not lo",
            "rename the interface",
        ));
    }
    let has_ipv6 = end.addresses.iter().any(|address| address.address().is_ipv6());
    let (smallest, why) = if has_ipv6 {
        (IpVersion::V6.minimum_mtu(), "IPv6's smallest MTU (RFC 8200 section 5)")
    } else {
        (IpVersion::V4.minimum_mtu(), "IPv4's smallest MTU (RFC 791 section 3.2)")
    };
    if !(smallest..=LARGEST_MTU).contains(&end.mtu.0) {
        problems.push(Problem::new(
            "mtu",
            link,
            end.mtu,
            format!("{smallest} B to {LARGEST_MTU} B"),
            format!("{smallest} is {why}"),
        ));
    }
    match node(scenario, &end.node).map(|node| node.kind) {
        None => problems.push(Problem::new(
            "node",
            link,
            &end.node,
            names(scenario),
            "the link names a node that is not there",
        )),
        Some(NodeKind::Switch) if !end.addresses.is_empty() => problems.push(Problem::new(
            "address",
            &object,
            end.addresses[0].0,
            "none",
            "a switch has no addresses",
        )),
        _ => {}
    }
}

fn names(scenario: &Scenario) -> String {
    scenario.nodes.iter().map(|node| node.name.as_str()).collect::<Vec<_>>().join(", ")
}

fn check_interfaces(scenario: &Scenario, problems: &mut Vec<Problem>) {
    let mut interfaces = HashSet::new();
    let mut addresses: HashSet<IpAddr> = HashSet::new();
    for end in scenario.links.iter().flat_map(|link| &link.ends) {
        let object = format!("interface {} of {}", end.interface, end.node);
        if !interfaces.insert((&end.node, &end.interface)) {
            problems.push(Problem::new(
                "interface",
                &object,
                &end.interface,
                "a name the node has once",
                "rename one of the two",
            ));
        }
        for address in &end.addresses {
            if !addresses.insert(address.address()) {
                problems.push(Problem::new(
                    "address",
                    &object,
                    address.0,
                    "an address no other interface has",
                    "two interfaces have it",
                ));
            }
        }
    }
}

fn check_workload(scenario: &Scenario, problems: &mut Vec<Problem>) {
    if scenario.workload.is_empty() {
        problems.push(Problem::new(
            "workload",
            "the scenario",
            "none",
            "one flow or more",
            "nothing would be sent",
        ));
    }
    let mut seen = HashSet::new();
    for flow in &scenario.workload {
        let object = format!("flow {:?}", flow.name);
        if !is_name(&flow.name) || !seen.insert(&flow.name) {
            problems.push(Problem::new(
                "name",
                &object,
                &flow.name,
                "letters, digits, - and _, and each name once",
                "rename the flow",
            ));
        }
        check_flow(scenario, flow, &object, problems);
    }
}

fn check_flow(scenario: &Scenario, flow: &Flow, object: &str, problems: &mut Vec<Problem>) {
    for (setting, name) in [("from", &flow.from), ("to", &flow.to)] {
        if node(scenario, name).is_none_or(|node| node.kind != NodeKind::Host) {
            problems.push(Problem::new(
                setting,
                object,
                name,
                hosts(scenario),
                "a flow runs between two hosts",
            ));
        } else if !has_address(scenario, name, flow.ip) {
            let version = u8::from(flow.ip);
            problems.push(Problem::new(
                "ip",
                object,
                version,
                "a version both hosts have an address of",
                format!("{name} has no IPv{version} address"),
            ));
        }
    }
    if flow.from == flow.to {
        problems.push(Problem::new("to", object, &flow.to, "another host", "a flow crosses the network"));
    }
    match &flow.traffic {
        Traffic::Transfer(transfer) => {
            if transfer.size.is_none() && transfer.duration.is_none() {
                problems.push(Problem::new(
                    "traffic",
                    object,
                    "neither",
                    "a size, a duration, or both",
                    "a transfer must end",
                ));
            }
            if transfer.size.is_some_and(|size| size.0 == 0) {
                problems.push(Problem::new("size", object, "0 B", "1 B or more", "nothing would be sent"));
            }
        }
        Traffic::RequestResponse(exchange) => {
            for (setting, size) in [("request", exchange.request), ("response", exchange.response)] {
                if !(MESSAGE_HEADER_BYTES..=1 << 20).contains(&size.0) {
                    problems.push(Problem::new(
                        setting,
                        object,
                        size,
                        format!("{MESSAGE_HEADER_BYTES} B to 1 MiB"),
                        "a message carries a number and two times, 8 bytes each",
                    ));
                }
            }
            if exchange.interval.is_some_and(|interval| interval.0 == 0) {
                problems.push(Problem::new(
                    "interval",
                    object,
                    "0 ns",
                    "above 0",
                    "leave it out for requests without a pause",
                ));
            }
        }
    }
    if flow.traffic.duration().is_some_and(|duration| duration.0 == 0) {
        problems.push(Problem::new("duration", object, "0 ns", "above 0", "nothing would be sent"));
    }
}

fn hosts(scenario: &Scenario) -> String {
    let hosts = scenario.nodes.iter().filter(|node| node.kind == NodeKind::Host);
    hosts.map(|node| node.name.as_str()).collect::<Vec<_>>().join(", ")
}

fn has_address(scenario: &Scenario, node: &str, version: IpVersion) -> bool {
    let ends = scenario.links.iter().flat_map(|link| &link.ends).filter(|end| end.node == node);
    ends.flat_map(|end| &end.addresses).any(|address| IpVersion::of(address.address()) == version)
}

fn check_measurement(scenario: &Scenario, problems: &mut Vec<Problem>) {
    if scenario.measurement.interval.0 < 1_000_000 {
        problems.push(Problem::new(
            "interval",
            "the measurement",
            scenario.measurement.interval,
            "1 ms or more",
            "reading the transport's state more often would disturb it",
        ));
    }
    for name in &scenario.measurement.cpu {
        if node(scenario, name).is_none_or(|node| node.kind != NodeKind::Host) {
            problems.push(Problem::new(
                "cpu",
                "the measurement",
                name,
                hosts(scenario),
                "processor time is measured of hosts",
            ));
        }
    }
}
