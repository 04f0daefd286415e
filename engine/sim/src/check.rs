//! What keeps a scenario from being simulated.
//!
//! A setting that would make no difference here is refused, for a study that compares its levels would find
//! none. Two are taken: a reader that polls (`busy_poll`) is what every simulated reader is; and whether `gro` makes one
//! shows only when it runs, so that the record then warns if it did not.

use crate::wiring::pairs;
use nettrial_routing::Paths;
use nettrial_scenario::{End, Flow, Link, Problem, Scenario, Traffic, Transport};
use std::collections::HashMap;

/// Everything that is wrong with the nodes, links and flows of `scenario`, each by itself.
pub fn check_parts(scenario: &Scenario) -> Vec<Problem> {
    let mut problems = nettrial_scenario::check(scenario);
    check_nodes(scenario, &mut problems);
    scenario.workload.iter().for_each(|flow| check_flow(flow, &mut problems));
    problems
}

fn check_nodes(scenario: &Scenario, problems: &mut Vec<Problem>) {
    for node in &scenario.nodes {
        let object = format!("node {:?}", node.name);
        if let Some(stack) = &node.stack
            && nettrial_congestion::new(&stack.congestion_control).is_none()
        {
            let legal = nettrial_congestion::names().collect::<Vec<_>>().join(", ");
            let hint = "the simulator has these congestion controls";
            let named = &stack.congestion_control;
            problems.push(Problem::new("congestion_control", &object, named, legal, hint));
        }
        if node.stack.as_ref().is_some_and(|stack| stack.mtu_probing) {
            let hint = "simulated hosts learn the path MTU by ICMP alone";
            problems.push(Problem::new("mtu_probing", &object, "true", "false in the simulator", hint));
        }
    }
}

fn check_flow(flow: &Flow, problems: &mut Vec<Problem>) {
    let object = format!("flow {:?}", flow.name);
    let mut refuse = |setting: &str, value: &str, legal: &str, hint: &str| {
        problems.push(Problem::new(setting, &object, value, legal, hint));
    };
    if matches!(flow.traffic, Traffic::Tool(_) | Traffic::FileTransfer(_)) {
        let hint = "programs and files are of real hosts: use the lab, or another kind of traffic";
        let legal = "transfer, request_response, packets, sweep in the simulator";
        refuse("kind", flow.traffic.kind(), legal, hint);
    }
    if flow.transport == Transport::Icmp {
        refuse("transport", "icmp", "tcp, udp, mptcp in the simulator", "only the tool ping sends it");
    }
    let socket = &flow.socket;
    let ignored = [
        ("block", socket.block.is_some()),
        ("zerocopy", socket.zerocopy),
        ("udp_gso", socket.udp_gso),
        ("udp_gro", socket.udp_gro),
    ];
    for (setting, is_set) in ignored {
        if is_set {
            refuse(setting, "given", "none in the simulator", "it would make no difference there");
        }
    }
}

/// The links by the two names of their ends.
type Links<'a> = HashMap<(&'a str, &'a str), &'a Link>;

/// Everything that is wrong with the ways of the flows of `scenario`, which has passed [`check_parts`].
pub fn check_paths(scenario: &Scenario, paths: &Paths<'_>) -> Vec<Problem> {
    let mut problems = Vec::new();
    let ends = scenario.links.iter().flat_map(|link| link.ends.iter().map(move |end| (end, link)));
    let links: Links = ends.map(|(end, link)| ((end.node.as_str(), end.interface.as_str()), link)).collect();
    for flow in &scenario.workload {
        let pairs = pairs(paths, flow);
        let there: Option<Vec<_>> = pairs.iter().map(|(_, far)| paths.path(&flow.from, *far)).collect();
        let back: Option<Vec<_>> = pairs.iter().map(|(near, _)| paths.path(&flow.to, *near)).collect();
        match (there, back) {
            (Some(there), Some(back)) if !pairs.is_empty() => {
                check_time(flow, &links, &there[0], &back[0], &mut problems);
            }
            _ => problems.push(Problem::new(
                "to",
                format!("flow {:?}", flow.name),
                &flow.to,
                format!("a host that a path leads to from {}, and back", flow.from),
                "no links and routers join the two",
            )),
        }
    }
    problems
}

/// A flow whose packets take no time goes on for ever at one instant.
fn check_time(flow: &Flow, links: &Links<'_>, there: &[&End], back: &[&End], problems: &mut Vec<Problem>) {
    let link = |end: &&End| links[&(end.node.as_str(), end.interface.as_str())];
    let is_instant = |link: &Link| link.rate.is_none() && link.delay.0 == 0;
    if there.iter().chain(back).all(|end| is_instant(link(end))) {
        problems.push(Problem::new(
            "rate",
            format!("the path from {} to {}", flow.from, flow.to),
            "none",
            "a rate or a delay on one of its links",
            "packets would take no time, and a flow would never come to its end",
        ));
    }
    let unpaced = |packets: &nettrial_scenario::Packets| packets.gap.is_none() && packets.rate.is_none();
    if let Traffic::Packets(packets) = &flow.traffic
        && flow.transport == Transport::Udp
        && unpaced(packets)
        && there.first().is_some_and(|end| link(end).rate.is_none())
    {
        problems.push(Problem::new(
            "rate",
            format!("flow {:?}", flow.name),
            "none",
            "a rate or a gap, or a rate of the first host's link",
            "nothing would hold its packets back",
        ));
    }
}
