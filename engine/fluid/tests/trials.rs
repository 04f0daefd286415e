//! Tests of whole trials, from the scenario to the record.

use nettrial_fluid::{check, run};
use nettrial_scenario::{Record, Scenario};
use serde_json::{Value, json};

/// Returns hosts `a0`, `a1`, … and `b0`, `b1`, …, each on a link of 100 Mbit/s to the router `left` or `right`.
/// The links between the routers have the rates `between`. Each flow goes from a host `a` to the host `b` with the
/// same number.
fn dumbbell(pairs: usize, between: &[&str], control: &str, flows: &[Value]) -> Scenario {
    let buffer = json!({"minimum": "4 KiB", "initial": "16 KiB", "maximum": "4 MiB"});
    let stack = json!({"name": "s", "congestion_control": control, "receive_buffer": buffer,
        "send_buffer": buffer, "window_scaling": true, "sack": true, "timestamps": true});
    let host = |name: String| json!({"name": name, "kind": "host", "stack": stack});
    let mut nodes =
        vec![json!({"name": "left", "kind": "router"}), json!({"name": "right", "kind": "router"})];
    let mut links = Vec::new();
    let link = |ends: [(String, String, Vec<String>); 2], rate: &str| {
        let ends = ends.map(|(node, interface, addresses)| {
            json!({"node": node, "interface": interface, "mtu": "1500 B", "addresses": addresses})
        });
        json!({"ends": ends, "rate": rate, "queue": "50 packets"})
    };
    for (side, (letter, router)) in [("a", "left"), ("b", "right")].into_iter().enumerate() {
        for pair in 0..pairs {
            nodes.push(host(format!("{letter}{pair}")));
            // There are as many addresses as paths between the routers.
            let address = |last: u8| -> Vec<String> {
                (0..between.len()).map(|path| format!("10.{side}.{}.{last}/24", pair * 8 + path)).collect()
            };
            let ends = [
                (format!("{letter}{pair}"), "eth0".to_owned(), address(2)),
                (router.to_owned(), format!("h{pair}"), address(1)),
            ];
            links.push(link(ends, "100 Mbit/s"));
        }
    }
    for (number, rate) in between.iter().enumerate() {
        let end = |node: &str, last: u8| {
            (node.to_owned(), format!("up{number}"), vec![format!("10.2.{number}.{last}/24")])
        };
        links.push(link([end("left", 1), end("right", 2)], rate));
    }
    let flow = |(number, settings): (usize, &Value)| {
        let mut flow = json!({"name": format!("f{number}"), "from": format!("a{number}"), "to": format!("b{number}"),
            "transport": "tcp", "ip": 4});
        flow.as_object_mut().unwrap().extend(settings.as_object().unwrap().clone());
        flow
    };
    Scenario::try_from(json!({
        "format": 1,
        "nodes": nodes,
        "links": links,
        "routing": {"policy": "k_shortest_paths", "paths": between.len()},
        "workload": flows.iter().enumerate().map(flow).collect::<Vec<_>>(),
        "measurement": {"interval": "100 ms", "queue_drops": "allowed", "cpu": ["a0"]},
    }))
    .unwrap()
}

fn transfer(settings: &Value) -> Value {
    let mut traffic = json!({"kind": "transfer"});
    traffic.as_object_mut().unwrap().extend(settings.as_object().unwrap().clone());
    json!({"traffic": traffic})
}

fn record(scenario: &Scenario) -> Record {
    assert_eq!(check(scenario), []);
    let record = run(scenario).unwrap();
    assert_eq!(
        serde_json::to_string(&run(scenario).unwrap()).unwrap(),
        serde_json::to_string(&record).unwrap()
    );
    record
}

/// Returns the payload rate of TCP with timestamps over IPv4 at MTU 1500, from a rate on the wire: 1448 of 1538
/// bytes.
fn payload(wire_bps: f64) -> f64 {
    wire_bps * 1448.0 / 1538.0
}

fn assert_goodput(record: &Record, flow: usize, expected: f64, tolerance: f64) {
    let found = record.flows[flow].goodput_bps.unwrap();
    assert!((found / expected - 1.0).abs() < tolerance, "{found} and not {expected}");
}

#[test]
fn flows_share_a_link_and_payload_alone_counts() {
    let seconds = transfer(&json!({"duration": "2 s"}));
    let found = record(&dumbbell(3, &["60 Mbit/s"], "cubic", &[seconds.clone(), seconds.clone(), seconds]));
    for flow in 0..3 {
        assert_goodput(&found, flow, payload(20e6), 1e-6);
    }
    let flow = &found.flows[0];
    assert_eq!((flow.mss_bytes, flow.active_ns, flow.connections), (1448, 2_000_000_000, 1));
    assert!((flow.wire_bytes.unwrap() as f64 / 5e6 - 1.0).abs() < 1e-3);
    assert_eq!(found.phases.traffic_ns, 2_000_000_000);
    assert_eq!(found.absent[0].metric, "cpu");
}

#[test]
fn what_ends_leaves_its_share_to_others() {
    // At 30 Mbit/s each on the wire, the first transfer ends after its 1.448 MB have taken 1.538 MB on the wire;
    // then the second one has the link alone.
    let flows = [transfer(&json!({"size": "1448 kB"})), transfer(&json!({"size": "2896 kB"}))];
    let found = record(&dumbbell(2, &["60 Mbit/s"], "reno", &flows));
    let first_s = 1.538e6 * 8.0 / 30e6;
    let times = [first_s, first_s + 1.538e6 * 8.0 / 60e6];
    for (flow, seconds) in found.flows.iter().zip(times) {
        let taken = flow.completion_us.unwrap().mean / 1e6;
        assert!((taken / seconds - 1.0).abs() < 1e-3, "{taken} and not {seconds}");
    }
    // A flow that starts later has half of the link from then on; transfers of a size follow each other until the
    // duration is over.
    let mut later = transfer(&json!({"size": "100 kB", "duration": "1 s"}));
    later["start"] = json!("500 ms");
    let found = record(&dumbbell(2, &["60 Mbit/s"], "reno", &[transfer(&json!({"duration": "1 s"})), later]));
    assert_goodput(&found, 0, payload(45e6), 0.001);
    assert_goodput(&found, 1, payload(30e6) * 0.5 + payload(60e6) * 0.5, 0.01);
    let each_s = 1e5 * 8.0 / payload(30e6);
    assert!(found.flows[1].connections as f64 > 0.5 / each_s);
    assert_eq!(found.flows[1].bytes, u64::from(found.flows[1].connections) * 100_000);
}

#[test]
fn subflows_take_the_paths_of_their_addresses() {
    let mut both = transfer(&json!({"duration": "1 s"}));
    both["transport"] = json!("mptcp");
    for control in ["lia", "olia", "balia"] {
        let found = record(&dumbbell(1, &["40 Mbit/s", "20 Mbit/s"], control, &[both.clone()]));
        // 24 bytes of each segment are MPTCP's.
        assert_goodput(&found, 0, 60e6 * 1424.0 / 1538.0, 0.01);
        let [first, second] = [0, 1].map(|subflow| found.flows[0].subflows[subflow].bytes as f64);
        assert!((first / second / 2.0 - 1.0).abs() < 0.02, "{first} {second}");
        assert_eq!(found.warnings, []);
    }
}

#[test]
fn what_has_no_packets_is_refused_with_its_place() {
    let seconds = transfer(&json!({"duration": "1 s"}));
    let refused = |change: &dyn Fn(&mut Value)| -> Vec<String> {
        let mut document =
            serde_json::to_value(dumbbell(1, &["10 Mbit/s"], "reno", std::slice::from_ref(&seconds)))
                .unwrap();
        change(&mut document);
        check(&Scenario::try_from(document).unwrap()).into_iter().map(|problem| problem.pointer).collect()
    };
    assert_eq!(refused(&|_| ()), [""; 0]);
    assert_eq!(
        refused(&|document| document["links"][0]["impairment"] = json!({"loss": 0.1})),
        ["/links/0/impairment/loss"]
    );
    assert_eq!(
        refused(&|document| document["nodes"][2]["stack"]["congestion_control"] = json!("wvegas")),
        ["/nodes/2/stack/congestion_control"]
    );
    let request = json!({"kind": "request_response", "request": "64 B", "response": "64 B", "count": 1});
    assert_eq!(
        refused(&|document| document["workload"][0]["traffic"] = request.clone()),
        ["/workload/0/traffic/kind"]
    );
    let unlimited = refused(&|document| {
        for link in document["links"].as_array_mut().unwrap() {
            link.as_object_mut().unwrap().remove("rate");
            link.as_object_mut().unwrap().remove("queue");
        }
    });
    assert_eq!(unlimited, ["/workload/0/to"]);
}
