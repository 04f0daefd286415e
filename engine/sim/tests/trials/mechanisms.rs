//! Tests of the times of the parts of requests' round trips.

use super::scenarios::{dumbbell, flow, pair, run, with};
use nettrial_scenario::{Distribution, MechanismsRecord, Record, Scenario, Traffic};
use proptest::prelude::*;
use serde_json::{Value, json};

/// A link on which 1250 bytes on the wire take 10 us.
fn link() -> Value {
    json!({"rate": "1 Gbit/s", "delay": "50 us", "queue": "100 packets"})
}

fn requests(request: u64, response: u64) -> Value {
    json!({"kind": "request_response", "request": format!("{request} B"), "response": format!("{response} B"),
        "count": 50, "mechanisms": true})
}

fn cost() -> Value {
    json!({"per_packet": "2 us", "per_kilobyte": "1 us", "per_interrupt": "3 us", "coalescing": "20 us"})
}

/// Returns the scenario with CPUs of that cost at these hosts.
fn costly(mut scenario: Scenario, hosts: &[&str]) -> Scenario {
    for node in scenario.nodes.iter_mut().filter(|node| hosts.contains(&node.name.as_str())) {
        node.cost = Some(serde_json::from_value(cost()).unwrap());
    }
    scenario
}

/// Returns the parts that a record has: sending, queue, wire, reading and answering.
fn parts(record: &Record) -> [Option<Distribution>; 5] {
    let MechanismsRecord { sending_us, queue_us, wire_us, reading_us, answering_us } =
        record.flows[0].mechanisms.clone().unwrap();
    [sending_us, queue_us, Some(wire_us), reading_us, answering_us]
}

/// Returns the value of each part in nanoseconds, which is the same for all requests.
fn values(record: &Record) -> [Option<u64>; 5] {
    parts(record).map(|part| {
        let part = part?;
        assert_eq!(part.minimum, part.maximum);
        Some((part.mean * 1000.0).round() as u64)
    })
}

fn absent(record: &Record) -> Vec<&str> {
    record.absent.iter().map(|absence| absence.metric.as_str()).collect()
}

#[test]
fn a_round_trip_is_made_of_the_hosts_work_and_the_wire() {
    // 1184 and 72 bytes of payload are 1212 and 100 bytes of IP, and 1250 and 138 on the wire.
    let wire = Some(10_000 + 1104 + 2 * 50_000);
    let plain = with(pair(&link()), [flow("a0", "b0", "udp", requests(1184, 72))]);
    let record = run(&plain);
    assert_eq!(values(&record), [None, Some(0), wire, None, None]);
    assert_eq!(absent(&record), ["sending_time", "reading_time", "answering_time"]);
    assert!(record.absent.iter().all(|absence| absence.object == "a0-b0"));

    // The client alone works: for 2 us and 1 us for each 1000 bytes when it sends, and 3 us more, after 20 us, when it
    // receives.
    let record = run(&costly(plain, &["a0"]));
    assert_eq!(values(&record), [Some(2000 + 1212), Some(0), wire, Some(20_000 + 3000 + 2000 + 100), None]);
    assert_eq!(absent(&record), ["answering_time"]);
    let rtt_ns = (record.flows[0].rtt_us.unwrap().mean * 1000.0).round() as u64;
    assert_eq!(values(&record).into_iter().flatten().sum::<u64>(), rtt_ns);
}

#[test]
fn a_request_waits_behind_other_packets_in_its_hosts_queue() {
    let other = json!({"kind": "packets", "size": {"distribution": "constant", "value": "1472 B"},
        "rate": "900 Mbit/s", "duration": "20 ms"});
    let flows = |link: &Value| {
        let requests = flow("a0", "b0", "udp", requests(1000, 72));
        let mut other = flow("a0", "b0", "udp", other.clone());
        other.name = "other".into();
        run(&with(dumbbell(1, link, &self::link()), [requests, other]))
    };
    let queue = parts(&flows(&link()))[1].unwrap();
    assert!(queue.maximum > 1.0 && queue.maximum < 30.0, "{queue:?}");
    // Nothing waits at a link without a rate; the queue of the router is part of the wire.
    let record = flows(&json!({"delay": "50 us"}));
    assert_eq!(parts(&record)[1], None);
    assert_eq!(absent(&record), ["sending_time", "queue_time", "reading_time", "answering_time"]);
}

fn links() -> impl Strategy<Value = Value> {
    let disciplines = prop_oneof![
        Just(json!({"discipline": "drop_tail"})),
        Just(json!({"discipline": "red", "minimum": "2 kB", "maximum": "6 kB", "probability": 0.1,
            "weight": 0.2, "ecn": true})),
        Just(json!({"discipline": "codel", "target": "50 us", "interval": "1 ms", "ecn": false})),
        Just(json!({"discipline": "fq_codel", "target": "50 us", "interval": "1 ms", "ecn": false})),
    ];
    let impairments = prop_oneof![
        2 => Just(json!({})),
        1 => any::<u64>().prop_map(|seed| json!({"loss": 0.02, "duplication": 0.2, "reordering": 0.2,
            "reordering_delay": "700 us", "jitter": "300 us", "seed": seed})),
    ];
    let shaped = (10_000_000..10_000_000_000u64, 0..1_000_000u64, 3..40u32, disciplines, impairments);
    let shaped = shaped.prop_map(|(rate, delay, packets, discipline, impairment)| {
        json!({"rate": format!("{rate} bit/s"), "delay": format!("{delay} ns"),
            "queue": format!("{packets} packets"), "discipline": discipline, "impairment": impairment})
    });
    prop_oneof![4 => shaped, 1 => (1..100_000u64).prop_map(|delay| json!({"delay": format!("{delay} ns")}))]
}

fn scenarios() -> impl Strategy<Value = Scenario> {
    let sizes = (72..6000u64, 72..6000u64, 0..30u64);
    let hosts = prop::sample::select(vec![vec![], vec!["a0"], vec!["b0"], vec!["a0", "b0"]]);
    (links(), links(), sizes, hosts).prop_map(|(edge, middle, (request, response, gap), hosts)| {
        let mut flows = vec![flow("a0", "b0", "udp", requests(request, response))];
        if gap > 0 {
            let other = json!({"kind": "packets", "size": {"distribution": "constant", "value": "1000 B"},
                "gap": {"distribution": "exponential", "mean": format!("{gap} us")}, "count": 500});
            flows.push(flow("b0", "a0", "udp", other));
        }
        costly(with(dumbbell(1, &edge, &middle), flows), &hosts)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(25))]

    #[test]
    fn the_parts_sum_to_the_round_trip_time_and_change_nothing(mut scenario in scenarios()) {
        let mut record = run(&scenario);
        if let Some(rtt) = record.flows[0].rtt_us {
            let parts = parts(&record);
            let known = || parts.iter().flatten();
            prop_assert!(known().all(|part| part.count == rtt.count), "{parts:?} {rtt:?}");
            let mean: f64 = known().map(|part| part.mean).sum();
            prop_assert!((mean - rtt.mean).abs() < 1e-6, "{mean} {}", rtt.mean);
            // All else is that of the same trial without the parts.
            let missing = record.absent.iter().filter(|absence| absence.metric.ends_with("_time")).count();
            prop_assert_eq!(missing, 5 - known().count());
            record.absent.retain(|absence| !absence.metric.ends_with("_time"));
            record.flows[0].mechanisms = None;
        }
        let Traffic::RequestResponse(requests) = &mut scenario.workload[0].traffic else { unreachable!() };
        requests.mechanisms = false;
        prop_assert_eq!(record, run(&scenario));
    }
}
