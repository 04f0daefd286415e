//! The documents as others write them: they round-trip, refuse what they do not know, and no text makes
//! reading or checking them panic.

use nettrial_scenario::{Request, Scenario, check};
use proptest::prelude::*;
use serde_json::{Value, json};

fn sample() -> Value {
    let buffer = json!({"minimum": "4 KiB", "initial": "128 KiB", "maximum": "6 MiB"});
    let stack = json!({"name": "linux-cubic", "congestion_control": "cubic", "receive_buffer": buffer,
        "send_buffer": buffer, "window_scaling": true, "sack": true, "timestamps": true});
    let host = |name: &str| json!({"name": name, "kind": "host", "stack": stack, "offloads": {"tso": false, "gso": false, "gro": false}});
    let end = |node: &str, address: &str| json!({"node": node, "interface": "eth0", "mtu": "9000 B", "addresses": [address]});
    let flow = |name: &str, traffic: Value| json!({"name": name, "from": "a", "to": "b", "transport": "tcp", "ip": 6, "start": "0 ns", "traffic": traffic});
    json!({
        "format": 1,
        "nodes": [host("a"), host("b")],
        "links": [{"ends": [end("a", "fd00::1/64"), end("b", "fd00::2/64")], "rate": "1 Gbit/s", "delay": "0 ns", "queue": "1000 packets"}],
        "routing": {"policy": "shortest_path"},
        "workload": [
            flow("transfer", json!({"kind": "transfer", "size": "5 MB", "duration": "2 s"})),
            flow("probe", json!({"kind": "request_response", "request": "64 B", "response": "64 B", "duration": "2 s", "interval": "5 ms"})),
        ],
        "measurement": {"interval": "100 ms", "cpu": ["a"], "queue_drops": "unexpected"},
    })
}

fn read(document: &Value) -> Result<Scenario, serde_json::Error> {
    serde_json::from_value(document.clone())
}

/// The place of every value in a document, as JSON pointers (RFC 6901).
fn places(value: &Value, at: &str, found: &mut Vec<String>) {
    found.push(at.to_owned());
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                places(value, &format!("{at}/{name}"), found);
            }
        }
        Value::Array(values) => {
            for (number, value) in values.iter().enumerate() {
                places(value, &format!("{at}/{number}"), found);
            }
        }
        _ => {}
    }
}

fn all_places() -> Vec<String> {
    let mut found = Vec::new();
    places(&sample(), "", &mut found);
    found
}

#[test]
fn a_scenario_round_trips_and_has_no_problem() {
    let scenario = read(&sample()).unwrap();
    assert_eq!(check(&scenario), []);
    assert_eq!(serde_json::to_value(&scenario).unwrap(), sample());
}

#[test]
fn an_unknown_field_anywhere_is_an_error() {
    for place in all_places() {
        let mut document = sample();
        if let Some(Value::Object(fields)) = document.pointer_mut(&place) {
            fields.insert("unknown_field".into(), json!(1));
            let error = read(&document).expect_err(&place).to_string();
            assert!(error.contains("unknown_field"), "{place}: {error}");
        }
    }
}

#[test]
fn what_makes_no_sense_is_a_problem() {
    for (place, value, setting) in [
        ("/links/0/ends/0/mtu", json!("500 B"), "mtu"),
        ("/links/0/ends/0/mtu", json!("70000 B"), "mtu"),
        ("/links/0/rate", json!("0 bit/s"), "rate"),
        ("/links/0/queue", json!("0 packets"), "queue"),
        ("/links/0/ends/0/node", json!("b"), "ends"),
        ("/links/0/ends/0/node", json!("c"), "node"),
        ("/links/0/ends/0/interface", json!("a name with spaces"), "interface"),
        ("/links/0/ends/0/addresses/0", json!("fd00::2/64"), "address"),
        ("/nodes/0/kind", json!("router"), "stack"),
        ("/nodes/0/filters_icmp", json!(true), "filters_icmp"),
        ("/nodes/0/name", json!("b"), "name"),
        ("/nodes/0/stack/receive_buffer/initial", json!("1 GiB"), "receive_buffer"),
        ("/workload", json!([]), "workload"),
        ("/workload/0/from", json!("b"), "to"),
        ("/workload/0/ip", json!(4), "ip"),
        ("/workload/0/name", json!("probe"), "name"),
        ("/workload/0/traffic/size", json!("0 B"), "size"),
        ("/workload/0/traffic/duration", json!("0 s"), "duration"),
        ("/workload/1/traffic/request", json!("8 B"), "request"),
        ("/workload/1/traffic/interval", json!("0 ms"), "interval"),
        ("/measurement/interval", json!("1 us"), "interval"),
        ("/measurement/cpu/0", json!("c"), "cpu"),
        ("/routing", json!({"policy": "k_shortest_paths", "paths": 0}), "paths"),
        ("/format", json!(2), "format"),
    ] {
        let mut document = sample();
        let (parent, field) = place.rsplit_once('/').expect(place);
        match document.pointer_mut(parent).expect(place) {
            Value::Object(fields) => _ = fields.insert(field.into(), value.clone()),
            _ => *document.pointer_mut(place).expect(place) = value.clone(),
        }
        let problems = check(&read(&document).expect(place));
        assert!(problems.iter().any(|problem| problem.setting == setting), "{place} = {value}: {problems:?}");
    }
}

fn any_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,20}".prop_map(Value::from),
        "[0-9]{1,20} (B|kB|GiB|Gbit/s|ms|packets)".prop_map(Value::from),
        "[0-9a-f:.]{1,20}/[0-9]{1,3}".prop_map(Value::from),
        Just(json!([])),
        Just(json!({})),
    ]
}

proptest! {
    #[test]
    fn a_document_with_anything_in_it_is_read_and_checked_or_refused(
        changes in prop::collection::vec((prop::sample::select(all_places()), any_value()), 1..4)
    ) {
        let mut document = sample();
        for (place, value) in changes {
            if let Some(target) = document.pointer_mut(&place) {
                *target = value;
            }
        }
        if let Ok(scenario) = read(&document) {
            let _ = check(&scenario);
            let again: Scenario = serde_json::from_value(serde_json::to_value(&scenario).unwrap()).unwrap();
            prop_assert_eq!(again, scenario);
        }
    }

    #[test]
    fn any_line_is_a_request_or_is_refused(line in ".{0,200}") {
        let _ = serde_json::from_str::<Request>(&line);
    }
}
