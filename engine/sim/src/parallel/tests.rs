//! The same trials in one thread and in several.

use super::Span;
use crate::Network;
use crate::transport::wiring::wire;
use crate::trial::run;
use nettrial_routing::Paths;
use nettrial_scenario::Scenario;
use serde_json::{Value, json};

const LEAVES: usize = 4;
const SPINES: usize = 2;

/// Returns four leaf routers with two hosts each, every leaf joined to two spines, with these changes to each link
/// between routers, and a flow from each host to the one three further on.
fn fabric(transport: &str, changes: &Value, traffic: &Value) -> Scenario {
    let buffer = json!({"minimum": "4 KiB", "initial": "128 KiB", "maximum": "64 MiB"});
    let control = if transport == "mptcp" { "lia" } else { "cubic" };
    let stack = json!({
        "name": "linux", "congestion_control": control, "receive_buffer": buffer, "send_buffer": buffer,
        "window_scaling": true, "sack": true, "timestamps": true,
    });
    let subflows: &[u32] = if transport == "mptcp" { &[1, 2] } else { &[1] };
    let (mut nodes, mut links, mut flows) = (Vec::new(), Vec::new(), Vec::new());
    let mut join = |near: String, far: String, own: &[u32], changes: Option<&Value>| {
        let number = links.len();
        let addresses =
            |last: &[u32]| last.iter().map(|last| format!("10.0.{number}.{last}/24")).collect::<Vec<_>>();
        let end = |node: &str, last: &[u32]| json!({"node": node, "interface": format!("l{number}"), "mtu": "1500 B", "addresses": addresses(last)});
        let mut link = json!({
            "ends": [end(&near, own), end(&far, &[254])],
            "rate": "100 Mbit/s", "delay": "4 ms", "queue": "20 packets",
        });
        for (field, value) in changes.and_then(Value::as_object).into_iter().flatten() {
            link[field] = value.clone();
        }
        links.push(link);
    };
    for leaf in 0..LEAVES {
        nodes.push(json!({"name": format!("leaf{leaf}"), "kind": "router"}));
        for host in 2 * leaf..2 * leaf + 2 {
            nodes.push(json!({"name": format!("h{host}"), "kind": "host", "stack": stack}));
            join(format!("h{host}"), format!("leaf{leaf}"), subflows, None);
        }
        (0..SPINES)
            .for_each(|spine| join(format!("leaf{leaf}"), format!("spine{spine}"), &[1], Some(changes)));
    }
    nodes.extend((0..SPINES).map(|spine| json!({"name": format!("spine{spine}"), "kind": "router"})));
    for host in 0..2 * LEAVES {
        let to = (host + 3) % (2 * LEAVES);
        flows.push(json!({
            "name": format!("f{host}"), "from": format!("h{host}"), "to": format!("h{to}"),
            "transport": transport, "ip": 4, "traffic": traffic,
        }));
    }
    Scenario::try_from(json!({
        "format": 1, "nodes": nodes, "links": links, "routing": {"policy": "ecmp", "seed": 1}, "workload": flows,
        "measurement": {
            "interval": "50 ms", "queue_drops": "allowed", "queue_interval": "20 ms", "queue_series": true,
        },
    }))
    .unwrap()
}

fn for_a_while() -> Value {
    json!({"kind": "transfer", "duration": "250 ms"})
}

/// Returns the record in that many threads.
fn record(scenario: &Scenario, threads: usize) -> String {
    serde_json::to_string(&run(scenario, &Paths::new(scenario), None, threads).unwrap()).unwrap()
}

/// Returns the number of parts into which a trial is divided in that many threads; 0 if it is not divided.
fn parts(scenario: &Scenario, threads: usize) -> usize {
    let mut network = Network::new(scenario);
    let wirings = wire(scenario, &Paths::new(scenario), &mut network).unwrap();
    Span::new(scenario, &network, &wirings, threads).map_or(0, |span| span.count)
}

/// Checks that the record is the same in one, two and four threads.
fn check(scenario: &Scenario) {
    let alone = record(scenario, 1);
    for threads in [2, 4] {
        assert_eq!(parts(scenario, threads), threads);
        assert!(record(scenario, threads) == alone, "{threads} threads give another record");
    }
}

#[test]
fn tcp_is_the_same_in_any_number_of_threads() {
    check(&fabric("tcp", &json!({}), &for_a_while()));
}

#[test]
fn mptcp_is_the_same_in_any_number_of_threads() {
    check(&fabric("mptcp", &json!({}), &for_a_while()));
}

#[test]
fn impaired_links_are_the_same_in_any_number_of_threads() {
    let impairment = json!({
        "loss": 0.002, "duplication": 0.01, "reordering": 0.01, "reordering_delay": "3 ms", "jitter": "1 ms", "seed": 5,
    });
    check(&fabric("tcp", &json!({"impairment": impairment}), &for_a_while()));
}

#[test]
fn links_whose_delays_follow_traces_are_the_same_in_any_number_of_threads() {
    let (from_ms, delays_ms) = ([0, 20, 90, 95], [9, 4, 30, 5]);
    let [from_ns, delays_ns] = [from_ms, delays_ms].map(|all| all.map(|ms: u64| ms * 1_000_000));
    let trace = json!({"from_ns": from_ns, "delays_ns": delays_ns, "repeats_after_ns": 110_000_000});
    check(&fabric("tcp", &json!({"delay": "4 ms", "delay_trace": trace}), &for_a_while()));
}

#[test]
fn links_with_a_discipline_are_the_same_in_any_number_of_threads() {
    let red = json!({
        "discipline": "red", "minimum": "5 kB", "maximum": "20 kB", "probability": 0.1, "weight": 0.02, "ecn": false,
    });
    check(&fabric("tcp", &json!({"discipline": red}), &for_a_while()));
}

#[test]
fn links_of_equal_times_are_the_same_in_any_number_of_threads() {
    // Without a rate between routers, packets that left together arrive together, so that many events are
    // simultaneous.
    check(&fabric("tcp", &json!({"rate": null, "queue": null}), &for_a_while()));
}

#[test]
fn transfers_of_a_size_are_the_same_in_any_number_of_threads() {
    for transport in ["tcp", "mptcp"] {
        check(&fabric(transport, &json!({}), &json!({"kind": "transfer", "size": "1 MB"})));
    }
    let lossy = json!({"impairment": {"loss": 0.05, "seed": 3}});
    check(&fabric("tcp", &lossy, &json!({"kind": "transfer", "size": "200 kB"})));
}

#[test]
fn a_trial_whose_connections_fail_is_repeated_in_one_thread() {
    let lossy = json!({"impairment": {"loss": 1.0, "seed": 1}});
    let scenario = fabric("tcp", &lossy, &json!({"kind": "transfer", "duration": "300 s"}));
    assert_eq!(parts(&scenario, 2), 2);
    assert!(record(&scenario, 1) == record(&scenario, 2));
}

#[test]
fn what_needs_both_sides_of_a_flow_is_not_divided() {
    let repeated = json!({"kind": "transfer", "size": "100 kB", "duration": "1 s"});
    let transfers = fabric("tcp", &json!({}), &repeated);
    let codel =
        json!({"discipline": {"discipline": "codel", "target": "5 ms", "interval": "100 ms", "ecn": false}});
    let codel = fabric("tcp", &codel, &for_a_while());
    assert_eq!([parts(&transfers, 2), parts(&codel, 2)], [0, 0]);
    assert_eq!(
        parts(&fabric("tcp", &json!({"delay": "1 us"}), &for_a_while()), 2),
        0,
        "windows of few frames"
    );
}
