//! What makes a scenario impossible on any backend.

mod links;
mod workload;

use crate::{Directory, Duration, FORMAT, Measure, NodeKind, RoutingPolicy, Scenario, Stack};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

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
    let directory = Directory::new(scenario);
    check_nodes(scenario, &mut problems);
    links::check(&directory, &mut problems);
    if let RoutingPolicy::KShortestPaths { paths: 0 } = scenario.routing {
        let hint = "a pair of addresses needs a path";
        problems.push(Problem::new("paths", "the routing", 0, "1 or more", hint));
    }
    workload::check(&directory, &mut problems);
    check_measurement(&directory, &mut problems);
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
        if node.filters_icmp && node.kind != NodeKind::Router {
            problems.push(Problem::new(
                "filters_icmp",
                &object,
                "true",
                "false",
                "only a router drops packets that others sent, and says so or not",
            ));
        }
        if node.cost.is_some() && node.kind != NodeKind::Host {
            let hint = "only hosts have a processor";
            problems.push(Problem::new("cost", &object, "given", "none", hint));
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
    if stack.minimum_rto == Some(Duration(0)) {
        let hint = "a timer that expires at once sends everything again: 200 ms is Linux's";
        problems.push(Problem::new("minimum_rto", object, "0 s", "above 0", hint));
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

/// Everything that is wrong with `measure`; empty if nothing is.
pub fn check_measure(measure: &Measure) -> Vec<Problem> {
    let mut problems = Vec::new();
    let flow = &measure.flow;
    let ends = (flow.from.as_str(), flow.to.as_str());
    if ends != (Measure::CLIENT, Measure::SERVER) && ends != (Measure::SERVER, Measure::CLIENT) {
        problems.push(Problem::new(
            "from",
            format!("flow {:?}", flow.name),
            format!("{} to {}", flow.from, flow.to),
            "client to server, or server to client",
            "a measurement has these two hosts",
        ));
    }
    workload::check_alone(flow, &mut problems);
    check_interval(measure.interval, &mut problems);
    problems
}

fn check_interval(interval: Duration, problems: &mut Vec<Problem>) {
    if interval.0 < 1_000_000 {
        problems.push(Problem::new(
            "interval",
            "the measurement",
            interval,
            "1 ms or more",
            "reading the transport's state more often would disturb it",
        ));
    }
}

fn check_measurement(directory: &Directory, problems: &mut Vec<Problem>) {
    let scenario = directory.scenario;
    check_interval(scenario.measurement.interval, problems);
    if scenario.measurement.queue_series && scenario.measurement.queue_interval.is_none() {
        problems.push(Problem::new(
            "queue_series",
            "the measurement",
            true,
            "false, or a queue_interval",
            "the interval says how often queues are looked at",
        ));
    }
    for name in &scenario.measurement.cpu {
        if directory.node(name).is_none_or(|node| node.kind != NodeKind::Host) {
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

fn names(scenario: &Scenario) -> String {
    scenario.nodes.iter().map(|node| node.name.as_str()).collect::<Vec<_>>().join(", ")
}

fn hosts(scenario: &Scenario) -> String {
    let hosts = scenario.nodes.iter().filter(|node| node.kind == NodeKind::Host);
    hosts.map(|node| node.name.as_str()).collect::<Vec<_>>().join(", ")
}
