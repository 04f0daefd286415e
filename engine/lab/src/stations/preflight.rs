//! Finds the problems that keep nodes from being machines of the user's.

use super::Stations;
use crate::programs;
use nettrial_routing::Paths;
use nettrial_scenario::{Medium, Node, NodeKind, Offloads, Place, Problem, Scenario, Transport, chain};

impl Stations {
    /// Returns all problems that keep nodes of `scenario` from being the machines that they should be. Machines that do
    /// not run are started.
    pub fn problems(&mut self, scenario: &Scenario) -> Vec<Problem> {
        let nodes = scenario.nodes.iter().enumerate();
        let on_machines: Vec<(usize, &Node, &str)> =
            nodes.filter_map(|(number, node)| Some((number, node, node.machine.as_deref()?))).collect();
        let mut problems = Vec::new();
        for &(number, node, name) in &on_machines {
            let place = Place::node(number, node);
            let known = || self.stations.iter().map(|station| station.joining.name.as_str());
            if !known().any(|known| known == name) {
                let names = known().collect::<Vec<_>>().join(", ");
                let (expected, hint) = match names.is_empty() {
                    true => {
                        ("none without an inventory".to_owned(), "name the inventory's file by `--machines`")
                    }
                    false => {
                        (format!("a machine of the inventory: {names}"), "the inventory has no such machine")
                    }
                };
                let problem = place.problem("machine", name, expected, hint);
                // A plan can be shown without its machines.
                problems.push(if names.is_empty() { problem.of_machine() } else { problem });
            }
            if let Some((_, other, _)) =
                on_machines.iter().find(|(other, _, it)| *other < number && *it == name)
            {
                let hint = format!("this machine already stands for {}", other.name);
                problems.push(place.problem("machine", name, "a machine for each node", hint));
            }
            problems.extend(node_problems(node, &place));
        }
        if !on_machines.is_empty() {
            problems.extend(scenario_problems(scenario));
        }
        if !problems.is_empty() {
            return problems;
        }
        for (number, node, name) in on_machines {
            problems.extend(self.problems_there(scenario, &Place::node(number, node), node, name));
        }
        problems
    }

    /// Asks a machine for the problems that keep it from being `node`.
    fn problems_there(
        &mut self,
        scenario: &Scenario,
        place: &Place,
        node: &Node,
        name: &str,
    ) -> Vec<Problem> {
        let Some((number, station)) = self.named(name) else { return Vec::new() };
        let deadline = std::time::Instant::now() + super::BOOT;
        let started = station.started(number);
        if let Err(lack) = started.and_then(|started| station.reached(started, deadline)) {
            let hint = format!("{}; {}", lack.why, lack.remedy);
            let expected = "a machine that can be started and reached";
            return vec![place.problem_here("machine", name, expected, hint).of_machine()];
        }
        station.joining.way.problems(scenario, &node.name).unwrap_or_else(|error| {
            vec![place.problem_here("machine", name, "a machine that answers", chain(&error)).of_machine()]
        })
    }
}

/// Returns the problems of one node's own settings.
fn node_problems(node: &Node, place: &Place) -> Vec<Problem> {
    let mut problems = Vec::new();
    if node.kind == NodeKind::Switch {
        let hint = "a machine can be a host or a router";
        problems.push(place.problem("machine", "given", "none for a switch", hint));
    }
    if node.system.is_some() {
        let hint = "a node is a guest, or a machine";
        problems.push(place.problem("system", "given", "none with a machine", hint));
    }
    if node.offloads != Offloads::default() {
        let hint = "the lab's end of the machine's interface carries plain frames";
        problems.push(place.problem("offloads", "on", "off with a machine", hint));
    }
    problems
}

/// Returns the problems of parts of `scenario` that can't be together with a machine.
fn scenario_problems(scenario: &Scenario) -> Vec<Problem> {
    let mut problems = Vec::new();
    let is_machine = |name: &str| scenario.node(name).is_some_and(|node| node.machine.is_some());
    let unknown = "the Ethernet address of a machine is not known to it";
    for (number, node) in scenario.nodes.iter().enumerate().filter(|(_, node)| node.machine.is_none()) {
        let place = Place::node(number, node);
        if node.system.is_some() {
            let hint = "a trial has guests or machines: start the guest as a machine, too";
            problems.push(place.problem("system", "given", "none beside a machine", hint));
        }
        if programs::of(node).is_some() {
            problems.push(place.within("stack").problem(
                "program",
                "given",
                "none beside a machine",
                unknown,
            ));
        }
    }
    if scenario.controller.is_some() {
        let place = Place::new("/controller", "the controller");
        problems.push(place.problem_here("controller", "given", "none beside a machine", unknown));
    }
    for (number, link) in scenario.links.iter().enumerate() {
        let ends = || link.interfaces.iter();
        if link.medium != Medium::Cable && ends().any(|interface| is_machine(&interface.node)) {
            let (place, expected) = (Place::link(number, link), "cable at a machine");
            problems.push(place.problem(
                "medium",
                link.medium.name(),
                expected,
                "the radio's model holds frames back",
            ));
        }
    }
    for (number, flow) in scenario.workload.iter().enumerate() {
        if flow.transport == Transport::Mptcp && (is_machine(&flow.from) || is_machine(&flow.to)) {
            let hint = "nettrial does not configure the MPTCP path manager of machines";
            problems.push(Place::flow(number, flow).problem("transport", "mptcp", "tcp, udp, icmp", hint));
        }
    }
    let paths = Paths::new(scenario);
    for route in paths.routes().iter().filter(|route| is_machine(route.node)) {
        if route.source.is_some() || route.next_hops.len() > 1 {
            let place = scenario.nodes.iter().enumerate().find(|(_, node)| node.name == route.node);
            let place =
                place.map_or(Place::new("/nodes", "the nodes"), |(number, node)| Place::node(number, node));
            let hint =
                format!("the packets to {} have several paths, or one of their own", route.destination);
            problems.push(place.problem("machine", "given", "one path to each network from a machine", hint));
            break;
        }
    }
    problems
}
