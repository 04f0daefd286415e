//! Finds the sysctls of hosts that this kernel does not have for each network namespace, or whose values it refuses.

use crate::namespace::Home;
use crate::settings;
use nettrial_scenario::{Place, Problem, Scenario, chain};
use std::collections::BTreeMap;

/// Returns a problem for each sysctl of a host of this kernel that can't be set in a namespace. Those of guests are
/// tried when they build their nodes, and those of machines when these are asked.
pub fn problems(scenario: &Scenario, home: &Home) -> Vec<Problem> {
    let mut tried: BTreeMap<(&str, &str), Option<[String; 2]>> = BTreeMap::new();
    let mut problems = Vec::new();
    let nodes = scenario.nodes.iter().enumerate();
    for (number, node) in nodes.filter(|(_, node)| node.system.is_none() && node.machine.is_none()) {
        for (name, value) in &node.sysctls {
            let refused = tried.entry((name, value)).or_insert_with(|| refusal(home, name, value));
            if let Some([expected, hint]) = refused {
                let place = Place::node(number, node).within("sysctls").within(name);
                problems.push(place.problem_here(name, value, expected.as_str(), hint.as_str()).of_machine());
            }
        }
    }
    problems
}

/// Returns what is expected instead of a sysctl's value, and the reason; `None` if a fresh namespace takes it.
fn refusal(home: &Home, name: &str, value: &str) -> Option<[String; 2]> {
    let attempt = || {
        Ok(match settings::is_writable(name) {
            None => Some([
                "a sysctl of this kernel".to_owned(),
                "it has none of that name in a network namespace".into(),
            ]),
            Some(false) => {
                let hint = "it is one of the whole machine, which the lab does not change: set it yourself";
                Some(["a sysctl that each network namespace has".to_owned(), hint.into()])
            }
            Some(true) => match settings::write(name, value).and_then(|()| settings::value(name)) {
                Err(error) => Some(["a value that the kernel takes".to_owned(), chain(&error)]),
                Ok(taken) if taken != value => Some([taken, "the kernel takes another value instead".into()]),
                Ok(_) => None,
            },
        })
    };
    match home.create(attempt) {
        Ok((_, refused)) => refused,
        Err(error) => Some(["a network namespace to try it in".to_owned(), chain(&error)]),
    }
}
