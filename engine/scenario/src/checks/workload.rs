//! Finds what makes flows impossible.

mod messages;
mod packets;
mod socket;
mod traffic;
mod variate;

use super::{hosts, is_name, whole};
use crate::{Directory, Flow, NodeKind, Place, Problem};
use std::collections::HashSet;

/// Adds everything that is wrong with the flows of a scenario.
pub fn check(directory: &Directory, problems: &mut Vec<Problem>) {
    let workload = &directory.scenario.workload;
    if workload.is_empty() {
        problems.push(whole().problem("workload", "none", "one flow or more", "nothing would be sent"));
    }
    let mut seen = HashSet::new();
    for (number, flow) in workload.iter().enumerate() {
        let place = Place::flow(number, flow);
        if !is_name(&flow.name) || !seen.insert(&flow.name) {
            problems.push(place.problem(
                "name",
                &flow.name,
                "letters, digits, - and _, and each name once",
                "rename the flow",
            ));
        }
        check_flow(directory, flow, &place, problems);
    }
}

/// Adds everything that is wrong with `flow`, which is at `place`, whatever the network.
pub fn check_alone(flow: &Flow, place: &Place, problems: &mut Vec<Problem>) {
    if !is_name(&flow.name) {
        let hint = "rename the flow";
        problems.push(place.problem("name", &flow.name, "letters, digits, - and _", hint));
    }
    traffic::check(flow, place, problems);
    socket::check(flow, place, problems);
}

fn check_flow(directory: &Directory, flow: &Flow, place: &Place, problems: &mut Vec<Problem>) {
    for (setting, name) in [("from", &flow.from), ("to", &flow.to)] {
        if directory.node(name).is_none_or(|node| node.kind != NodeKind::Host) {
            problems.push(place.problem(
                setting,
                name,
                hosts(directory.scenario),
                "a flow runs between two hosts",
            ));
        } else if directory.addresses(name, flow.ip).next().is_none() {
            let version = u8::from(flow.ip);
            problems.push(place.problem(
                "ip",
                version,
                "a version both hosts have an address of",
                format!("{name} has no IPv{version} address"),
            ));
        }
    }
    if flow.from == flow.to {
        problems.push(place.problem("to", &flow.to, "another host", "a flow crosses the network"));
    }
    traffic::check(flow, place, problems);
    socket::check(flow, place, problems);
}
