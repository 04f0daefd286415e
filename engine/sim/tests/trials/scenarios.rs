//! The scenarios of the tests.

use nettrial_scenario::{Flow, FlowRecord, Record, Scenario};
use serde_json::{Value, json};

/// Returns hosts `a0`, `a1`, … to the left of a router and `b0`, `b1`, … to the right of another one, all with the
/// same rate, so that the link between the two routers is the bottleneck.
pub fn dumbbell(hosts: usize, edge: &Value, middle: &Value) -> Scenario {
    let mut nodes =
        vec![json!({"name": "left", "kind": "router"}), json!({"name": "right", "kind": "router"})];
    let mut links = vec![link(["left", "right"], middle, [Some("10.9.0.1/24"), Some("10.9.0.2/24")])];
    for number in 0..hosts {
        for (side, router, network) in [("a", "left", 10), ("b", "right", 11)] {
            let name = format!("{side}{number}");
            nodes.push(host(&name));
            let [near, far] = [1, 2].map(|host| format!("{network}.0.{number}.{host}/24"));
            links.push(link([&name, router], edge, [Some(&near), Some(&far)]));
        }
    }
    scenario(nodes, links)
}

/// Returns hosts `a0` and `b0` with two paths between them, each over a router; all links have these settings.
pub fn two_paths(settings: &Value) -> Scenario {
    let mut nodes = vec![host("a0"), host("b0")];
    let mut links = Vec::new();
    for router in ["r1", "r2"] {
        nodes.push(json!({"name": router, "kind": "router"}));
        let number = &router[1..];
        for (host, network) in [("a0", 10), ("b0", 11)] {
            let [near, far] = [1, 2].map(|last| format!("{network}.0.{number}.{last}/24"));
            links.push(link([host, router], settings, [Some(&near), Some(&far)]));
        }
    }
    scenario(nodes, links)
}

/// Returns hosts `a0` and `b0`, and routers between them, joined by links with these settings.
pub fn routers(joined: &[[&str; 2]], settings: &Value) -> Scenario {
    let mut nodes = vec![host("a0"), host("b0")];
    let mut links = Vec::new();
    for (number, ends) in joined.iter().enumerate() {
        for name in ends {
            if nodes.iter().all(|node| node["name"] != **name) {
                nodes.push(json!({"name": name, "kind": "router"}));
            }
        }
        let [near, far] = [1, 2].map(|last| format!("10.0.{number}.{last}/24"));
        links.push(link(*ends, settings, [Some(&near), Some(&far)]));
    }
    scenario(nodes, links)
}

/// Returns hosts `a0` and `b0` on one link.
pub fn pair(settings: &Value) -> Scenario {
    let interfaces = [Some("10.0.0.1/24"), Some("10.0.0.2/24")];
    scenario(vec![host("a0"), host("b0")], vec![link(["a0", "b0"], settings, interfaces)])
}

fn scenario(nodes: Vec<Value>, links: Vec<Value>) -> Scenario {
    let mut links = links;
    for (link, number) in links.iter_mut().zip(0..) {
        for interface in link["ends"].as_array_mut().unwrap() {
            interface["interface"] = json!(format!("eth{number}"));
        }
    }
    Scenario::try_from(json!({
        "format": 1, "nodes": nodes, "links": links, "routing": {"policy": "shortest_path"}, "workload": [],
        "measurement": {"interval": "10 ms", "queue_drops": "allowed"},
    }))
    .unwrap()
}

fn host(name: &str) -> Value {
    let buffer = json!({"minimum": "4 KiB", "initial": "128 KiB", "maximum": "64 MiB"});
    json!({"name": name, "kind": "host", "stack": {
        "name": "linux", "congestion_control": "reno", "receive_buffer": buffer, "send_buffer": buffer,
        "window_scaling": true, "sack": true, "timestamps": true,
    }})
}

fn link(nodes: [&str; 2], settings: &Value, addresses: [Option<&str>; 2]) -> Value {
    let mut link = settings.clone();
    let interface = |side: usize| json!({"node": nodes[side], "interface": "", "mtu": "1500 B", "addresses": addresses[side].into_iter().collect::<Vec<_>>()});
    link["ends"] = json!([interface(0), interface(1)]);
    link
}

/// Returns a flow from `from` to `to`.
pub fn flow(from: &str, to: &str, transport: &str, traffic: Value) -> Flow {
    serde_json::from_value(json!({
        "name": format!("{from}-{to}"), "from": from, "to": to, "transport": transport, "ip": 4, "traffic": traffic,
    }))
    .unwrap()
}

/// Returns the scenario with these flows.
pub fn with(scenario: Scenario, flows: impl IntoIterator<Item = Flow>) -> Scenario {
    Scenario { workload: flows.into_iter().collect(), ..scenario }
}

/// Returns the record of a scenario that can run.
pub fn run(scenario: &Scenario) -> Record {
    nettrial_sim::run(scenario, None, 1).unwrap()
}

/// Returns the record of the scenario's only flow, after checking that there are no warnings.
pub fn run_flow(scenario: &Scenario) -> FlowRecord {
    let mut record = run(scenario);
    assert_eq!((record.flows.len(), &record.warnings), (1, &Vec::new()));
    record.flows.remove(0)
}
