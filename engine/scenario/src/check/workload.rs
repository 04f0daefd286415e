//! What makes flows impossible.

mod packets;
mod socket;
mod traffic;
mod variate;

use super::{Problem, hosts, is_name};
use crate::{Directory, Flow, NodeKind};
use std::collections::HashSet;

/// Adds everything that is wrong with the flows of a scenario.
pub fn check(directory: &Directory, problems: &mut Vec<Problem>) {
    let workload = &directory.scenario.workload;
    if workload.is_empty() {
        problems.push(Problem::new(
            "workload",
            "the scenario",
            "none",
            "one flow or more",
            "nothing would be sent",
        ));
    }
    let mut seen = HashSet::new();
    for flow in workload {
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
        check_flow(directory, flow, &object, problems);
    }
}

/// Adds everything that is wrong with `flow`, whatever the network.
pub fn check_alone(flow: &Flow, problems: &mut Vec<Problem>) {
    let object = format!("flow {:?}", flow.name);
    if !is_name(&flow.name) {
        let hint = "rename the flow";
        problems.push(Problem::new("name", &object, &flow.name, "letters, digits, - and _", hint));
    }
    traffic::check(flow, &object, problems);
    socket::check(flow, &object, problems);
}

fn check_flow(directory: &Directory, flow: &Flow, object: &str, problems: &mut Vec<Problem>) {
    for (setting, name) in [("from", &flow.from), ("to", &flow.to)] {
        if directory.node(name).is_none_or(|node| node.kind != NodeKind::Host) {
            problems.push(Problem::new(
                setting,
                object,
                name,
                hosts(directory.scenario),
                "a flow runs between two hosts",
            ));
        } else if directory.addresses(name, flow.ip).next().is_none() {
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
    traffic::check(flow, object, problems);
    socket::check(flow, object, problems);
}
