//! What only the simulator can do.

use nettrial_scenario::{Problem, Scenario};

/// A problem for each kind of setting that only the simulator follows, of the first object that has it.
pub fn problems(scenario: &Scenario) -> Vec<Problem> {
    let link = |index: usize| {
        let [near, far] = &scenario.links[index].ends;
        format!("link {} - {}", near.node, far.node)
    };
    let links = &scenario.links;
    let node = |index: usize| format!("node {:?}", scenario.nodes[index].name);
    let nodes = &scenario.nodes;
    let stack = |is_set: fn(&nettrial_scenario::Stack) -> bool| {
        nodes.iter().position(|node| node.stack.as_ref().is_some_and(is_set))
    };
    let flow = |index: usize| format!("flow {:?}", scenario.workload[index].name);
    let series = scenario.measurement.queue_series.then(|| "the measurement".to_owned());
    let found = [
        ("discipline", links.iter().position(|link| !link.discipline.is_drop_tail()).map(link), "drop_tail"),
        ("bursts", links.iter().position(|link| link.impairment.bursts.is_some()).map(link), "none"),
        ("cost", nodes.iter().position(|node| node.cost.is_some()).map(node), "none"),
        ("ecn", stack(|stack| stack.ecn).map(node), "false"),
        ("minimum_rto", stack(|stack| stack.minimum_rto.is_some()).map(node), "none"),
        ("pair", scenario.workload.iter().position(|flow| flow.pair != 0).map(flow), "0"),
        ("queue_series", series, "false"),
        ("scheduler", stack(|stack| !stack.scheduler.is_lowest_rtt()).map(node), "lowest_rtt"),
    ];
    let hint = "the lab's hosts and links don't have it: run the study with `--backend sim`";
    found
        .into_iter()
        .filter_map(|(setting, object, legal)| {
            Some(Problem::new(setting, object?, "given", format!("{legal} in the lab"), hint))
        })
        .collect()
}
