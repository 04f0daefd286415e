//! The documents as others write them: they round-trip, refuse what they do not know, and no text makes
//! reading or checking them panic.

use nettrial_scenario::{Problem, Request, Scenario, check};
use proptest::prelude::*;
use serde_json::{Value, json};

fn sample() -> Value {
    let buffer = json!({"minimum": "4 KiB", "initial": "128 KiB", "maximum": "6 MiB"});
    let stack = json!({"name": "linux-cubic", "congestion_control": "cubic", "receive_buffer": buffer,
        "send_buffer": buffer, "window_scaling": true, "sack": true, "timestamps": true});
    let host = |name: &str| json!({"name": name, "kind": "host", "stack": stack, "offloads": {"tso": false, "gso": false, "gro": false}});
    let interface = |node: &str, address: &str| json!({"node": node, "interface": "eth0", "mtu": "9000 B", "addresses": [address]});
    let flow = |name: &str, traffic: Value| json!({"name": name, "from": "a", "to": "b", "transport": "tcp", "ip": 6, "start": "0 ns", "traffic": traffic});
    json!({
        "format": 1,
        "nodes": [host("a"), host("b")],
        "links": [{"ends": [interface("a", "fd00::1/64"), interface("b", "fd00::2/64")], "rate": "1 Gbit/s", "delay": "0 ns", "queue": "1000 packets"}],
        "routing": {"policy": "shortest_path"},
        "workload": [
            flow("transfer", json!({"kind": "transfer", "size": "5 MB", "duration": "2 s"})),
            flow("probe", json!({"kind": "request_response", "request": "64 B", "response": "64 B", "duration": "2 s", "interval": "5 ms", "in_flight": 1, "connecting": "once"})),
        ],
        "measurement": {"interval": "100 ms", "cpu": ["a"], "queue_drops": "unexpected"},
    })
}

fn read(document: &Value) -> Result<Scenario, serde_json::Error> {
    Scenario::try_from(document.clone())
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

/// Verifies that the problem's pointer leads to a value of the document, or to a field that an object of it could
/// have and has not.
fn assert_leads_somewhere(problem: &Problem, document: &Value) {
    if document.pointer(&problem.pointer).is_some() {
        return;
    }
    let (parent, field) = problem.pointer.rsplit_once('/').expect("the whole document is always there");
    let mut with_field = document.clone();
    let Some(Value::Object(fields)) = with_field.pointer_mut(parent) else {
        panic!("{problem} in {document}")
    };
    fields.insert(field.into(), Value::Null);
    if let Err(error) = read(&with_field) {
        assert!(!error.to_string().contains("unknown field"), "{problem}: {error}");
    }
}

#[test]
fn a_download_is_of_a_file_that_its_protocol_can_carry() {
    for (tool, transport, settings, refused) in [
        ("tftp", "udp", json!({"size": "33553919 B"}), &[][..]),
        ("tftp", "udp", json!({"size": "33553920 B"}), &["size"]),
        ("tftp", "udp", json!({"size": "33553920 B", "block_size": "513 B", "window_size": 65_535}), &[]),
        (
            "tftp",
            "udp",
            json!({"size": "1 B", "block_size": "7 B", "window_size": 0}),
            &["block_size", "window_size"],
        ),
        (
            "tftp",
            "udp",
            json!({"size": "1 B", "block_size": "65465 B", "window_size": 65_536}),
            &["block_size", "window_size"],
        ),
        ("tftp", "tcp", json!({"size": "1 B"}), &["transport"]),
        ("ftp", "tcp", json!({"size": "1 GiB"}), &[]),
        ("ftp", "tcp", json!({"size": "2 GiB", "rate": "1 Mbit/s"}), &["rate", "size"]),
        ("http1", "tcp", json!({}), &["size"]),
        ("http2", "udp", json!({"size": "0 B"}), &["transport", "size"]),
        ("http3", "udp", json!({"size": "32 MiB"}), &[]),
        ("http3", "udp", json!({"size": "33 MiB", "block_size": "512 B"}), &["block_size", "size"]),
        ("iperf3", "tcp", json!({"window_size": 2}), &["window_size"]),
        (
            "http1",
            "tcp",
            json!({"size": "1 B", "duration": null, "request_response": true}),
            &["duration", "request_response"],
        ),
    ] {
        let mut document = sample();
        let mut traffic = json!({"kind": "tool", "tool": tool, "duration": "1 s"});
        for (name, value) in settings.as_object().unwrap() {
            traffic[name] = value.clone();
        }
        document["workload"][0]["traffic"] = traffic;
        document["workload"][0]["transport"] = json!(transport);
        let problems = check(&read(&document).unwrap());
        let settings: Vec<&str> = problems.iter().map(|problem| problem.setting.as_str()).collect();
        assert_eq!(settings, refused, "{tool} {settings:?} {problems:?}");
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
        ("/workload/1/traffic/count", json!(1_000_000_001), "count"),
        ("/workload/1/traffic/in_flight", json!(10_001), "in_flight"),
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
        let is_meant = |problem: &&Problem| problem.setting == setting;
        let found =
            problems.iter().find(is_meant).unwrap_or_else(|| panic!("{place} = {value}: {problems:?}"));
        if problems.len() == 1
            && !["stack", "receive_buffer", "ends", "to", "paths", "address", "name"].contains(&setting)
        {
            assert_eq!(found.pointer, place);
        }
    }
}

#[test]
fn a_cable_has_two_interfaces() {
    for count in [0, 1, 3] {
        let mut document = sample();
        let interfaces = document["links"][0]["ends"].as_array_mut().unwrap();
        let mut third = interfaces[0].clone();
        (third["node"], third["interface"], third["addresses"]) = (json!("c"), json!("eth9"), json!([]));
        interfaces.push(third);
        interfaces.truncate(count);
        let problems = check(&read(&document).unwrap());
        let found = problems.iter().find(|problem| problem.setting == "ends").expect("too few or too many");
        assert_eq!(found.pointer, "/links/0/ends");
        assert!(found.value.starts_with(&count.to_string()) && found.expected == "2 interfaces", "{found}");
        assert!(problems.iter().all(|problem| document.pointer(&problem.pointer).is_some()), "{problems:?}");
    }
}

#[test]
fn a_pointer_leads_to_the_one_member_that_is_wrong() {
    let packets = |size: Value| {
        let flow = json!({"name": "p", "from": "a", "to": "b", "transport": "udp", "ip": 6, "start": "0 ns",
            "traffic": {"kind": "packets", "size": size, "duration": "1 s"}});
        ("/workload/2", flow)
    };
    let share = |value: &str| json!({"value": value, "share": 1.0});
    let mix = json!({"distribution": "mix", "shares": [share("100 B"), share("1 B")]});
    let truncation = json!({"minimum": "24 B", "maximum": "65528 B"});
    let cut = json!({"distribution": "exponential", "mean": "50 B", "truncation": truncation});
    let bursts = json!({"loss": 0.1, "bursts": {"enter": 0.1, "leave": 2.0, "loss": 1.0}});
    let codel = json!({"discipline": "codel", "target": "0 ns", "interval": "100 ms"});
    for (change, pointer) in [
        (packets(mix), "/workload/2/traffic/size/shares/1/value"),
        (
            packets(json!({"distribution": "listed", "values": ["99 B", "98 B", "2 B"]})),
            "/workload/2/traffic/size/values/2",
        ),
        (packets(cut), "/workload/2/traffic/size/truncation/maximum"),
        (
            packets(json!({"distribution": "exponential", "mean": "50 B"})),
            "/workload/2/traffic/size/truncation",
        ),
        (("/links/0/impairment", bursts), "/links/0/impairment/bursts/leave"),
        (("/links/0/discipline", codel), "/links/0/discipline/target"),
        (("/links/0/queue", Value::Null), "/links/0/queue"),
        (("/nodes/1/stack/minimum_rto", json!("0 ns")), "/nodes/1/stack/minimum_rto"),
        (("/measurement/cpu/1", json!("c")), "/measurement/cpu/1"),
        (("/workload/1/socket", json!({"mss": "1 B"})), "/workload/1/socket/mss"),
    ] {
        let ((place, value), mut document) = (change, sample());
        let (parent, field) = place.rsplit_once('/').unwrap();
        match document.pointer_mut(parent).unwrap() {
            Value::Object(fields) => _ = fields.insert(field.into(), value),
            Value::Array(values) => values.push(value),
            _ => panic!("{parent} has no members"),
        }
        let problems = check(&read(&document).expect(pointer));
        assert_eq!(problems.iter().map(|problem| problem.pointer.as_str()).collect::<Vec<_>>(), [pointer]);
        assert_leads_somewhere(&problems[0], &document);
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
            let written = serde_json::to_value(&scenario).unwrap();
            check(&scenario).iter().for_each(|problem| assert_leads_somewhere(problem, &written));
            let again: Scenario = Scenario::try_from(written).unwrap();
            prop_assert_eq!(again, scenario);
        }
    }

    #[test]
    fn any_line_is_a_request_or_is_refused(line in ".{0,200}") {
        let _ = serde_json::from_str::<Request>(&line);
    }
}
