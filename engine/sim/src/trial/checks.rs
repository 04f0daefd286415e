//! The problems that keep a scenario from being simulated.
//! A setting without an effect in the simulator is refused, because a study that compares its levels would find no
//! difference. There are two exceptions: `busy_poll` is accepted because every simulated reader polls, and `gro` is
//! accepted because its effect shows only in the trial; the record has a warning if there was none.

use crate::trial::supported;
use nettrial_routing::Paths;
use nettrial_scenario::{Flow, Interface, Link, Medium, Place, Problem, Scenario, Traffic, Transport};
use std::borrow::Cow;
use std::collections::HashMap;

/// The smallest receive buffer: that of the smallest `socket.window`, which has room for data of any segment size.
const LEAST_BUFFER_BYTES: u64 = 4096;

/// Returns the problems of the individual nodes, links and flows of `scenario`.
pub fn check_parts(scenario: &Scenario) -> Vec<Problem> {
    let mut problems = nettrial_scenario::check(scenario);
    check_nodes(scenario, &mut problems);
    problems.extend(supported::problems(scenario));
    let has_radio = scenario.links.iter().any(|link| link.medium == Medium::Wlan);
    if scenario.measurement.packet_sizes && has_radio {
        let place = Place::new("/measurement", "the measurement");
        let hint = "the packets of a radio channel's stations are not counted by size";
        problems.push(place.problem("packet_sizes", "true", "false with a radio channel", hint));
    }
    problems
}

fn check_nodes(scenario: &Scenario, problems: &mut Vec<Problem>) {
    for (number, node) in scenario.nodes.iter().enumerate() {
        let place = Place::node(number, node).within("stack");
        let Some(stack) = &node.stack else { continue };
        if stack.receive_buffer.initial.0 < LEAST_BUFFER_BYTES {
            let place = place.within("receive_buffer");
            let hint = "the simulator has no zero windows (docs/explanation/simulator.md)";
            problems.push(place.problem("initial", stack.receive_buffer.initial, "4 KiB or more", hint));
        }
        if nettrial_congestion::new(&stack.congestion_control).is_none() {
            let expected = nettrial_congestion::names().collect::<Vec<_>>().join(", ");
            let hint = "the simulator has these congestion controls";
            let named = &stack.congestion_control;
            problems.push(place.problem("congestion_control", named, expected, hint));
        }
    }
}

/// The links with their numbers, as frames from an interface meet them, by the nodes and names of these interfaces.
type Links<'a> = HashMap<(&'a str, &'a str), (usize, Cow<'a, Link>)>;

/// Returns an interface's node and name, by which its link is found.
fn key(interface: &Interface) -> (&str, &str) {
    (&interface.node, &interface.name)
}

/// Returns the problems with the paths of the flows of `scenario`, which has passed [`check_parts`].
pub fn check_paths(scenario: &Scenario, paths: &Paths<'_>) -> Vec<Problem> {
    let mut problems = Vec::new();
    let links = scenario.links.iter().enumerate();
    let interfaces = links.flat_map(|(number, link)| {
        let ends = link.interfaces.iter().enumerate();
        ends.map(move |(end, interface)| (key(interface), (number, link.from_end(end))))
    });
    let links: Links = interfaces.collect();
    for (number, flow) in scenario.workload.iter().enumerate() {
        let place = Place::flow(number, flow);
        let pairs = paths.subflow_pairs(flow);
        let there: Option<Vec<_>> = pairs.iter().map(|(_, far)| paths.path(&flow.from, *far)).collect();
        let back: Option<Vec<_>> = pairs.iter().map(|(near, _)| paths.path(&flow.to, *near)).collect();
        match (there, back) {
            (Some(there), Some(back)) if !pairs.is_empty() => {
                let ways = [&there[0][..], &back[0][..]];
                check_time(flow, &place, &links, ways, &mut problems);
                check_mechanisms(flow, &place, &links, ways, &mut problems);
            }
            _ => problems.push(place.problem(
                "to",
                &flow.to,
                format!("a host that a path leads to from {}, and back", flow.from),
                "no links and routers join the two",
            )),
        }
    }
    problems
}

/// Refuses times of the parts of round trips whose messages leave through a radio channel.
fn check_mechanisms<'a>(
    flow: &Flow,
    place: &Place,
    links: &'a Links<'a>,
    ways: [&[&'a Interface]; 2],
    problems: &mut Vec<Problem>,
) {
    let is_radio = |interface: &&Interface| links[&key(interface)].1.medium == Medium::Wlan;
    if flow.traffic.has_mechanisms() && ways.iter().filter_map(|way| way.first()).any(is_radio) {
        let hint = "a station's queue and its wait for the channel are one part there";
        let expected = "false, or hosts on cables";
        problems.push(place.within("traffic").problem("mechanisms", true, expected, hint));
    }
}

/// Refuses a flow whose packets take no time, because it would continue forever at one instant.
fn check_time<'a>(
    flow: &Flow,
    place: &Place,
    links: &'a Links<'a>,
    [there, back]: [&[&'a Interface]; 2],
    problems: &mut Vec<Problem>,
) {
    let link = |interface: &&'a Interface| -> &'a (usize, Cow<'a, Link>) { &links[&key(interface)] };
    let is_instant = |link: &Link| link.medium == Medium::Cable && link.rate.is_none() && link.delay.0 == 0;
    if there.iter().chain(back).all(|interface| is_instant(&link(interface).1)) {
        let place = there.first().map_or_else(
            || place.clone(),
            |interface| {
                let (number, link) = link(interface);
                Place::link(*number, link)
            },
        );
        let place = place.called(format!("the path from {} to {}", flow.from, flow.to));
        problems.push(place.problem(
            "rate",
            "none",
            "a rate or a delay on one of its links",
            "packets would take no time, and a flow would never come to its end",
        ));
    }
    let unpaced = |packets: &nettrial_scenario::Packets| packets.gap.is_none() && packets.rate.is_none();
    if let Traffic::Packets(packets) = &flow.traffic
        && flow.transport == Transport::Udp
        && unpaced(packets)
        && there.first().is_some_and(|interface| {
            link(interface).1.medium == Medium::Cable && link(interface).1.rate.is_none()
        })
    {
        problems.push(place.within("traffic").problem(
            "rate",
            "none",
            "a rate or a gap, or a rate of the first host's link",
            "nothing would hold its packets back",
        ));
    }
}
