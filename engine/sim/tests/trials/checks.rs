//! Tests of refused scenarios, and of the estimated cost of a trial.

use super::scenarios::{dumbbell, flow, pair, with};
use nettrial_scenario::{Flow, Scenario, Size};
use serde_json::{Value, json};

fn link() -> Value {
    json!({"rate": "1 Gbit/s", "delay": "50 us", "queue": "100 packets"})
}

fn transfer() -> Flow {
    flow("a0", "b0", "tcp", json!({"kind": "transfer", "duration": "10 s"}))
}

/// Returns the settings that are refused, after checking that the place of each, or its parent, is in the
/// scenario.
fn refused(scenario: &Scenario) -> Vec<String> {
    let document = serde_json::to_value(scenario).unwrap();
    let problems = nettrial_sim::check(scenario).err().into_iter().flatten();
    let setting = |problem: nettrial_scenario::Problem| {
        let (parent, field) = problem.pointer.rsplit_once('/').unwrap();
        assert!(document.pointer(parent).is_some_and(Value::is_object), "{problem}");
        assert_eq!(field, problem.setting);
        problem.setting
    };
    problems.map(setting).collect()
}

#[test]
fn what_the_simulator_does_not_have_is_refused_by_name() {
    let good = with(pair(&link()), [transfer()]);
    assert!(refused(&good).is_empty());
    let socket = |settings: Value| {
        let mut scenario = good.clone();
        scenario.workload[0].socket = serde_json::from_value(settings).unwrap();
        refused(&scenario)
    };
    assert_eq!(socket(json!({"block": "64 KiB"})), ["block"]);
    // Buffers that could be too small for any data: there are no zero windows.
    assert_eq!(socket(json!({"window": "4095 B"})), ["window"]);
    assert!(socket(json!({"window": "4096 B"})).is_empty());
    for (bytes, refused_settings) in [(1, vec!["initial"]), (4095, vec!["initial"]), (4096, vec![])] {
        let mut scenario = good.clone();
        let buffer = &mut scenario.nodes[1].stack.as_mut().unwrap().receive_buffer;
        (buffer.minimum, buffer.initial) = (Size(1), Size(bytes));
        assert_eq!(refused(&scenario), refused_settings, "{bytes} B");
    }
    assert_eq!(socket(json!({"zerocopy": true})), ["zerocopy"]);
    assert!(socket(json!({"busy_poll": "1 ms", "mss": "500 B"})).is_empty());

    let mut scenario = good.clone();
    scenario.nodes[1].stack.as_mut().unwrap().congestion_control = "hybla".into();
    assert_eq!(refused(&scenario), ["congestion_control"]);
    assert!(nettrial_sim::check(&scenario).unwrap_err()[0].expected.contains("reno"));
    assert!(nettrial_sim::run(&scenario, None, 1).is_err());

    let tool = json!({"kind": "tool", "tool": "ping", "duration": "1 s"});
    assert_eq!(refused(&with(pair(&link()), [flow("a0", "b0", "icmp", tool)])), ["kind", "transport"]);
}

#[test]
fn a_host_that_nothing_leads_to_is_refused() {
    let mut scenario = with(dumbbell(1, &link(), &link()), [transfer()]);
    scenario.links.remove(0);
    assert_eq!(refused(&scenario), ["to"]);
}

#[test]
fn traffic_that_would_take_no_time_is_refused() {
    assert_eq!(refused(&with(pair(&json!({})), [transfer()])), ["rate"]);
    assert!(refused(&with(pair(&json!({"delay": "1 us"})), [transfer()])).is_empty());
    let packets =
        json!({"kind": "packets", "size": {"distribution": "constant", "value": "100 B"}, "count": 5});
    let flood = || flow("a0", "b0", "udp", packets.clone());
    assert_eq!(refused(&with(pair(&json!({"delay": "1 us"})), [flood()])), ["rate"]);
    assert!(refused(&with(pair(&link()), [flood()])).is_empty());
}

#[test]
fn an_estimate_is_of_what_the_bottleneck_lets_through() {
    let flows = |names: &[(&str, &str)]| -> Vec<Flow> {
        let traffic = json!({"kind": "transfer", "duration": "10 s"});
        names.iter().map(|(from, to)| flow(from, to, "tcp", traffic.clone())).collect()
    };
    let hops =
        |names| nettrial_sim::check(&with(dumbbell(2, &link(), &link()), flows(names))).unwrap().packet_hops;
    // 10 s at 1 Gbit/s are 812 744 frames of 1538 bytes; with acknowledgments 1.5 times as many, over 3 links.
    let one = hops(&[("a0", "b0")]);
    assert!((3_657_000..3_658_000).contains(&one), "{one}");
    assert!(hops(&[("a0", "b0"), ("a1", "b1")]).abs_diff(one) < 2, "two share the bottleneck");
    assert!(hops(&[("a0", "b0"), ("b1", "a1")]).abs_diff(2 * one) < 2, "each direction has its own rate");
}

#[test]
fn this_machine_lacks_nothing() {
    let preflight = nettrial_sim::preflight();
    assert!(preflight.missing.is_empty());
    assert_eq!(preflight.environment.kernel, "simulated");
    assert!(preflight.environment.congestion_controls.contains(&"reno".to_owned()));
}
