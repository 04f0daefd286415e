//! The kernel that a scenario names.

use nettrial_guest::Catalogue;
use nettrial_scenario::{Place, Problem, Scenario, chain};
use std::path::PathBuf;

/// Returns the program of the kernel that the nodes of `scenario` name as their system, and removes the name from them,
/// because inside that kernel it is their own; `None` if they name none.
///
/// # Errors
/// Fails with a problem if the nodes do not all name the same system, or if it is no kernel in virtual time.
pub fn take_system(scenario: &mut Scenario, systems: &Catalogue) -> Result<Option<PathBuf>, Box<Problem>> {
    let nodes = || scenario.nodes.iter().enumerate();
    let Some((number, first)) = nodes().find(|(_, node)| node.system.is_some()) else { return Ok(None) };
    let name = first.system.clone().unwrap_or_default();
    let refuse = |number: usize, value: &str, expected: String, hint: String| {
        let place = Place::node(number, &scenario.nodes[number]);
        Box::new(place.problem("system", value, expected, hint))
    };
    // A router that names none has the hosts' kernel.
    let differs = |node: &nettrial_scenario::Node| match &node.system {
        Some(other) => *other != name,
        None => node.stack.is_some(),
    };
    if let Some((number, other)) = nodes().find(|(_, node)| differs(node)) {
        let value = other.system.as_deref().unwrap_or("none");
        let hint = "in virtual time, one kernel has all hosts of a trial: set hosts.every.system".to_owned();
        return Err(refuse(number, value, name, hint));
    }
    let expected = || "a kernel in virtual time of `nettrial systems list`".to_owned();
    let program = match systems.program(&name) {
        Ok(Some(program)) => program,
        Ok(None) => {
            let hint = format!("nettrial systems add {name} --package linux-source-6.12, or --tree ~/linux");
            return Err(Box::new(refuse(number, &name, expected(), hint).of_machine()));
        }
        Err(error) => {
            return Err(Box::new(refuse(number, &name, expected(), chain(&error)).of_machine()));
        }
    };
    scenario.nodes.iter_mut().for_each(|node| node.system = None);
    Ok(Some(program))
}
