//! What makes flows impossible.

use super::{Problem, hosts, is_name};
use crate::workload::MESSAGE_HEADER_BYTES;
use crate::{Flow, IpVersion, NodeKind, Scenario, Traffic};
use std::collections::HashSet;

/// Adds everything that is wrong with the flows of `scenario`.
pub fn check(scenario: &Scenario, problems: &mut Vec<Problem>) {
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
        if scenario.node(name).is_none_or(|node| node.kind != NodeKind::Host) {
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

fn has_address(scenario: &Scenario, node: &str, version: IpVersion) -> bool {
    let ends = scenario.links.iter().flat_map(|link| &link.ends).filter(|end| end.node == node);
    ends.flat_map(|end| &end.addresses).any(|address| IpVersion::of(address.address()) == version)
}
