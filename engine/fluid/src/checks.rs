//! The checks of scenarios for which rates can't be computed.

use crate::coupled::Coupling;
use crate::routes::{FlowPaths, NoRate};
use crate::supported;
use nettrial_routing::Paths;
use nettrial_scenario::{Directory, Place, Problem, Scenario};

/// Returns all problems of the nodes, links and flows of `scenario`, each considered separately.
pub fn check_parts(scenario: &Scenario) -> Vec<Problem> {
    let mut problems = nettrial_scenario::check(scenario);
    for (number, node) in scenario.nodes.iter().enumerate() {
        let Some(stack) = &node.stack else { continue };
        if Coupling::of(&stack.congestion_control).is_none() {
            let place = Place::node(number, node).within("stack");
            let names: Vec<&str> = Coupling::CONTROLS.iter().map(|(name, _)| *name).collect();
            let hint =
                "its rate follows from delays or marks, which the fluid model has not: use `--backend sim`";
            let named = &stack.congestion_control;
            problems.push(place.problem("congestion_control", named, names.join(", "), hint));
        }
    }
    problems.extend(supported::problems(scenario));
    problems
}

/// Returns all problems of the paths of the flows of `scenario`, which has passed [`check_parts`].
pub fn check_paths(scenario: &Scenario, paths: &Paths<'_>) -> Vec<Problem> {
    let mut problems = Vec::new();
    let directory = Directory::new(scenario);
    let mut flow_paths = FlowPaths::new(scenario);
    for (number, flow) in scenario.workload.iter().enumerate() {
        let place = Place::flow(number, flow);
        match flow_paths.add(paths, &directory, flow, number as u32) {
            Ok(()) => {}
            Err(NoRate::Unreachable) => problems.push(place.problem(
                "to",
                &flow.to,
                format!("a host that a path leads to from {}", flow.from),
                "no links and routers join the two",
            )),
            Err(NoRate::Unlimited) => problems.push(place.problem(
                "to",
                &flow.to,
                "a path with a rate on one of its links",
                "nothing would hold the flow back",
            )),
            Err(NoRate::Narrow) => problems.push(place.problem(
                "to",
                &flow.to,
                "a path whose MTU has room for headers and payload",
                "raise the MTU",
            )),
        }
    }
    problems
}
