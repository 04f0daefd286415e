//! Finds what makes events impossible.

use super::names;
use crate::{Directory, NodeKind, Place, Problem};

/// Adds everything that is wrong with the events of a scenario.
pub fn check(directory: &Directory, problems: &mut Vec<Problem>) {
    let scenario = directory.scenario;
    for (number, outage) in scenario.events.iter().enumerate() {
        let place = Place::new(format!("/events/{number}"), format!("event {}", number + 1));
        if let Some(returns) = outage.returns.filter(|returns| *returns <= outage.at) {
            let hint = "it returns after it has failed";
            problems.push(place.problem("returns", returns, format!("above {}", outage.at), hint));
        }
        let nodes: Vec<_> = outage.fails.iter().map(|name| directory.node(name)).collect();
        if let Some(unknown) = outage.fails.iter().zip(&nodes).find(|(_, node)| node.is_none()) {
            let hint = "`nettrial draw STUDY` draws the network";
            problems.push(place.problem("fails", unknown.0, names(scenario), hint));
            continue;
        }
        let is_host = |name: &str| directory.node(name).is_some_and(|node| node.kind == NodeKind::Host);
        match outage.fails.as_slice() {
            [node] if is_host(node) => {
                let hint = "the flows of a host that fails have no end; its link may fail";
                problems.push(place.problem(
                    "fails",
                    node,
                    "a router or switch, or the two nodes of a link",
                    hint,
                ));
            }
            [_] | [_, _] if !outage.links(scenario).is_empty() => {}
            [_] | [_, _] => {
                let hint = "no cable joins the two";
                problems.push(place.problem("fails", outage.fails.join(", "), "two nodes with a link", hint));
            }
            _ => {
                let hint = "each event is of one link or node";
                let expected = "a router or switch, or the two nodes of a link";
                problems.push(place.problem("fails", outage.fails.join(", "), expected, hint));
            }
        }
    }
    if let Some(share) = scenario.measurement.recovered_share.filter(|share| !(*share > 0.0 && *share <= 1.0))
    {
        let place = Place::new("/measurement", super::MEASUREMENT);
        let hint = "the share of its goodput before an event at which a flow has recovered";
        problems.push(place.problem("recovered_share", share, "above 0, up to 1", hint));
    }
}

#[cfg(test)]
mod tests {
    use crate::{Scenario, check};
    use serde_json::{Value, json};

    /// The problems of a scenario of a - r - b that has this event.
    fn wrong(event: &Value) -> Vec<(String, String)> {
        let end =
            |node: &str, interface: &str| json!({"node": node, "interface": interface, "mtu": "1500 B"});
        let buffer = json!({"minimum": "4 KiB", "initial": "128 KiB", "maximum": "6 MiB"});
        let stack = json!({"name": "mine", "congestion_control": "cubic", "receive_buffer": buffer,
            "send_buffer": buffer, "window_scaling": true, "sack": true, "timestamps": true});
        let host = |name: &str| json!({"name": name, "kind": "host", "stack": stack});
        let scenario = Scenario::try_from(json!({
            "format": 1,
            "nodes": [host("a"), host("b"), {"name": "r", "kind": "router"}],
            "links": [{"ends": [end("a", "x"), end("r", "x")]}, {"ends": [end("b", "x"), end("r", "y")]}],
            "routing": {"policy": "shortest_path"},
            "workload": [],
            "measurement": {"interval": "100 ms", "queue_drops": "allowed"},
            "events": [event],
        }));
        let problems = check(&scenario.unwrap()).into_iter();
        let of_events = problems.filter(|problem| problem.pointer.starts_with("/events/0"));
        of_events.map(|problem| (problem.setting, problem.value)).collect()
    }

    #[test]
    fn a_link_or_a_device_may_fail_and_return_after_that() {
        let of =
            |fails: Value, returns: &str| wrong(&json!({"at": "1 s", "fails": fails, "returns": returns}));
        assert_eq!(of(json!(["r"]), "2 s"), []);
        assert_eq!(of(json!(["r", "a"]), "2 s"), []);
        let problem = |setting: &str, value: &str| vec![(setting.to_owned(), value.to_owned())];
        assert_eq!(of(json!(["r"]), "1 s"), problem("returns", "1 s"));
        assert_eq!(of(json!(["a"]), "2 s"), problem("fails", "a"));
        assert_eq!(of(json!(["a", "b"]), "2 s"), problem("fails", "a, b"));
        assert_eq!(of(json!(["a", "nobody"]), "2 s"), problem("fails", "nobody"));
        assert_eq!(of(json!([]), "2 s"), problem("fails", ""));
        assert_eq!(of(json!(["a", "r", "b"]), "2 s"), problem("fails", "a, r, b"));
    }
}
