//! Finds what makes a scenario impossible on any backend.

mod controller;
mod events;
mod links;
mod workload;

use crate::{
    Directory, Duration, FORMAT, GuestHardware, Measure, Node, NodeKind, Place, Problem, RoutingPolicy,
    Scenario, Size, Stack,
};
use std::collections::HashSet;

/// The longest time that a packet of a guest's may wait for others.
const MOST_COALESCING: Duration = Duration(1_000_000_000);
/// The least memory of a guest.
const LEAST_GUEST_MEMORY: Size = Size(256 << 20);
/// The longest value of a sysctl.
const MOST_SYSCTL_BYTES: usize = 256;
/// The object of problems with the measurement.
const MEASUREMENT: &str = "the measurement";

/// Returns everything that is wrong with `scenario` on any backend; empty if nothing is.
pub fn check(scenario: &Scenario) -> Vec<Problem> {
    let mut problems = Vec::new();
    if scenario.format != FORMAT {
        problems.push(whole().problem(
            "format",
            scenario.format,
            FORMAT.to_string(),
            "it was written for another version of nettrial",
        ));
    }
    let directory = Directory::new(scenario);
    check_nodes(scenario, &mut problems);
    links::check(&directory, &mut problems);
    if let RoutingPolicy::KShortestPaths { paths: 0 } = scenario.routing {
        let hint = "a pair of addresses needs a path";
        let place = Place::new("/routing", "the routing");
        problems.push(place.problem("paths", 0, "1 or more", hint));
    }
    workload::check(&directory, &mut problems);
    check_measurement(&directory, &mut problems);
    events::check(&directory, &mut problems);
    controller::check(&directory, &mut problems);
    problems
}

/// The place of the whole scenario.
fn whole() -> Place {
    Place::new("", "the scenario")
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
}

fn check_nodes(scenario: &Scenario, problems: &mut Vec<Problem>) {
    let mut seen = HashSet::new();
    for (number, node) in scenario.nodes.iter().enumerate() {
        let place = Place::node(number, node);
        if !is_name(&node.name) {
            problems.push(place.problem("name", &node.name, "letters, digits, - and _", "rename the node"));
        }
        if !seen.insert(&node.name) {
            problems.push(place.problem(
                "name",
                &node.name,
                "a name no other node has",
                "rename one of the two",
            ));
        }
        if node.filters_icmp && node.kind != NodeKind::Router {
            problems.push(place.problem(
                "filters_icmp",
                "true",
                "false",
                "only a router drops packets that others sent, and says so or not",
            ));
        }
        if node.cost.is_some() && node.kind != NodeKind::Host {
            let hint = "only hosts have a CPU";
            problems.push(place.problem("cost", "given", "none", hint));
        }
        if let Some(system) = node.system.as_ref().filter(|_| node.kind == NodeKind::Switch) {
            problems.push(place.problem("system", system, "none", "only hosts and routers are guests"));
        }
        check_guest(&place.within("guest"), &node.guest, problems);
        check_sysctls(&place, node, problems);
        match (node.kind, &node.stack) {
            (NodeKind::Host, None) => {
                problems.push(place.problem("stack", "none", "a stack", "a host needs TCP/IP settings"))
            }
            (NodeKind::Router | NodeKind::Switch, Some(stack)) => {
                problems.push(place.problem("stack", &stack.name, "none", "only hosts have a stack"))
            }
            (_, Some(stack)) => check_stack(&place.within("stack"), stack, problems),
            _ => {}
        }
    }
}

/// Requires that the sysctls of a node are those of a network namespace, with values on one line.
fn check_sysctls(place: &Place, node: &Node, problems: &mut Vec<Problem>) {
    let has_kernel = node.stack.as_ref().is_some_and(|stack| stack.program.is_none());
    for (name, value) in &node.sysctls {
        let place = place.within("sysctls").within(name);
        if !has_kernel {
            let hint = "only hosts with their kernel's TCP/IP have sysctls";
            problems.push(place.problem_here(name, value, "none", hint));
        } else if !is_sysctl(name) {
            let hint = "a name as sysctl(8) writes it, with dots";
            problems.push(place.problem_here(name, name, "net. and letters, digits, -, _ and dots", hint));
        }
        let words: Vec<&str> = value.split_ascii_whitespace().collect();
        if words.is_empty()
            || words.join(" ") != *value
            || !value.is_ascii()
            || value.len() > MOST_SYSCTL_BYTES
        {
            let expected =
                format!("words of ASCII separated by single spaces, up to {MOST_SYSCTL_BYTES} bytes");
            problems.push(place.problem_here(name, format!("{value:?}"), expected, "as sysctl(8) prints it"));
        }
    }
}

/// Returns whether `name` is that of a sysctl of a network namespace: its path below /proc/sys with dots.
pub fn is_sysctl(name: &str) -> bool {
    name.strip_prefix("net.").is_some_and(|rest| rest.split('.').all(is_name))
}

fn check_guest(place: &Place, guest: &GuestHardware, problems: &mut Vec<Problem>) {
    let GuestHardware { processors, memory, pinned, coalescing } = guest;
    if !(1..=64).contains(processors) {
        problems.push(place.problem("processors", processors, "1 to 64", "a guest has virtual CPUs"));
    }
    if *memory < LEAST_GUEST_MEMORY {
        let hint = "a kernel, its modules and the agent don't fit in less";
        let expected = format!("{LEAST_GUEST_MEMORY} or more");
        problems.push(place.problem("memory", memory, expected, hint));
    }
    if !pinned.is_empty() && pinned.len() != *processors as usize {
        let value = pinned.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
        let expected = format!("none, or {processors}: one for each virtual CPU");
        problems.push(place.problem("pinned", value, expected, "add CPUs, or change `processors`"));
    }
    if *coalescing > MOST_COALESCING {
        let expected = format!("up to {MOST_COALESCING}");
        problems.push(place.problem("coalescing", coalescing, expected, "packets wait for so long"));
    }
}

fn check_stack(place: &Place, stack: &Stack, problems: &mut Vec<Problem>) {
    if !is_name(&stack.congestion_control) {
        problems.push(place.problem(
            "congestion_control",
            &stack.congestion_control,
            "a congestion control's name",
            "such as reno, cubic or bbr",
        ));
    }
    if stack.minimum_rto == Some(Duration(0)) {
        let hint = "a timer that expires at once sends everything again: 200 ms is Linux's";
        problems.push(place.problem("minimum_rto", "0 s", "above 0", hint));
    }
    for (setting, buffer) in [("receive_buffer", stack.receive_buffer), ("send_buffer", stack.send_buffer)] {
        let ordered = buffer.minimum <= buffer.initial && buffer.initial <= buffer.maximum;
        let in_range = buffer.minimum.0 > 0 && i32::try_from(buffer.maximum.0).is_ok();
        if !ordered || !in_range {
            problems.push(place.problem(
                setting,
                format!("{}, {}, {}", buffer.minimum, buffer.initial, buffer.maximum),
                "minimum ≤ initial ≤ maximum, each from 1 B to 2147483647 B",
                "the kernel keeps them in three signed 32-bit numbers",
            ));
        }
    }
}

impl Measure {
    /// Returns everything that is wrong with the measurement for any backend; empty if nothing is.
    pub fn problems(&self) -> Vec<Problem> {
        check_measure(self)
    }
}

fn check_measure(measure: &Measure) -> Vec<Problem> {
    let mut problems = Vec::new();
    let (flow, place) = (&measure.flow, measure.flow_place());
    let ends = (flow.from.as_str(), flow.to.as_str());
    if ends != (Measure::CLIENT, Measure::SERVER) && ends != (Measure::SERVER, Measure::CLIENT) {
        problems.push(place.problem(
            "from",
            format!("{} to {}", flow.from, flow.to),
            "client to server, or server to client",
            "a measurement has these two hosts",
        ));
    }
    if !(1..=Measure::MOST_STREAMS).contains(&measure.streams) {
        problems.push(Place::new("", MEASUREMENT).problem(
            "streams",
            measure.streams,
            format!("1 to {}", Measure::MOST_STREAMS),
            "each stream has a connection and threads of its own",
        ));
    }
    workload::check_alone(flow, &place, &mut problems);
    check_interval(measure.interval, &Place::new("", MEASUREMENT), &mut problems);
    problems
}

fn check_interval(interval: Duration, place: &Place, problems: &mut Vec<Problem>) {
    if interval.0 < 1_000_000 {
        problems.push(place.problem(
            "interval",
            interval,
            "1 ms or more",
            "reading the transport's state more often would disturb it",
        ));
    }
}

fn check_measurement(directory: &Directory, problems: &mut Vec<Problem>) {
    let scenario = directory.scenario;
    let place = Place::new("/measurement", MEASUREMENT);
    check_interval(scenario.measurement.interval, &place, problems);
    if scenario.measurement.queue_series && scenario.measurement.queue_interval.is_none() {
        problems.push(place.problem(
            "queue_series",
            true,
            "false, or a queue_interval",
            "the interval says how often queues are looked at",
        ));
    }
    for (number, name) in scenario.measurement.cpu.iter().enumerate() {
        if directory.node(name).is_none_or(|node| node.kind != NodeKind::Host) {
            problems.push(place.within("cpu").within(number).problem_here(
                "cpu",
                name,
                hosts(scenario),
                "CPU time is measured of hosts",
            ));
        }
    }
}

fn names(scenario: &Scenario) -> String {
    scenario.nodes.iter().map(|node| node.name.as_str()).collect::<Vec<_>>().join(", ")
}

fn hosts(scenario: &Scenario) -> String {
    let hosts = scenario.nodes.iter().filter(|node| node.kind == NodeKind::Host);
    hosts.map(|node| node.name.as_str()).collect::<Vec<_>>().join(", ")
}
