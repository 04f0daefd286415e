//! Tests of links and nodes that fail while there is traffic.

use super::scenarios::{flow, routers, run, two_paths, with};
use nettrial_scenario::{Duration, Outage, Record, RoutingPolicy, Scenario};
use serde_json::{Value, json};

const MS: u64 = 1_000_000;

fn settings() -> Value {
    json!({"rate": "20 Mbit/s", "delay": "1 ms", "queue": "50 packets"})
}

/// Returns a transfer of 4 s with samples every 50 ms, over a network in which these links or nodes fail at 1 s
/// and return.
fn failing(scenario: Scenario, transport: &str, fails: &[&str], returns_ms: Option<u64>) -> Scenario {
    let transfer = flow("a0", "b0", transport, json!({"kind": "transfer", "duration": "4 s"}));
    let mut scenario = with(scenario, [transfer]);
    scenario.measurement.interval = Duration(50 * MS);
    scenario.events = vec![Outage {
        at: Duration(1000 * MS),
        fails: fails.iter().map(|&name| name.to_owned()).collect(),
        returns: returns_ms.map(|time| Duration(time * MS)),
    }];
    scenario
}

/// Returns the network a0 - left - u or v - right - b0, with this routing policy.
fn diamond(routing: RoutingPolicy) -> Scenario {
    let links =
        [["a0", "left"], ["left", "u"], ["left", "v"], ["u", "right"], ["v", "right"], ["right", "b0"]];
    Scenario { routing, ..routers(&links, &settings()) }
}

/// Returns the bytes of the samples that end between these times.
fn delivered(record: &Record, ms: std::ops::Range<u64>) -> u64 {
    let samples = record.flows[0].intervals.iter().filter(|sample| ms.contains(&(sample.at_ns / MS)));
    samples.map(|sample| sample.bytes).sum()
}

#[test]
fn without_another_way_nothing_arrives_until_the_link_returns() {
    for fails in [["u"].as_slice(), &["left", "u"], &["u", "right"], &["a0", "left"]] {
        let record = run(&failing(diamond(RoutingPolicy::ShortestPath {}), "tcp", fails, Some(2000)));
        assert_eq!(delivered(&record, 1100..2000), 0, "{fails:?}");
        assert!(delivered(&record, 3000..4000) > 2_000_000, "{fails:?}");
        let recovery_ns = record.flows[0].recovery_ns.unwrap();
        assert!((1000 * MS..2000 * MS).contains(&recovery_ns), "{fails:?}: {recovery_ns}");
        let event = &record.events[0];
        assert_eq!((event.at_ns, event.returned_ns), (1000 * MS, Some(2000 * MS)));
    }
}

#[test]
fn a_router_takes_another_of_its_equal_next_hops_and_no_other() {
    for (fails, other, knows) in [("u", "v", true), ("v", "u", true), ("right", "left", false)] {
        let record = run(&failing(diamond(RoutingPolicy::Ecmp { seed: 1 }), "tcp", &[fails], Some(2000)));
        let lost = delivered(&record, 1100..2000) == 0;
        assert_eq!(lost, !knows, "{fails}");
        if knows {
            assert!(record.flows[0].recovery_ns.unwrap() <= 500 * MS, "{fails}");
            assert!(delivered(&record, 1500..2000) > 800_000, "{fails} over {other}");
        }
    }
}

#[test]
fn what_is_not_recovered_from_is_warned_of() {
    let mut scenario = failing(two_paths(&settings()), "mptcp", &["r1"], None);
    scenario.measurement.recovered_share = Some(0.9);
    let record = run(&scenario);
    assert_eq!((record.flows[0].recovery_ns, record.events[0].returned_ns), (None, None));
    assert_eq!(record.warnings.iter().filter(|warning| warning.code == "recovery_untold").count(), 1);
    assert!(record.absent.iter().any(|absence| absence.metric == "time_to_recover"));
}

#[test]
fn an_mptcp_connection_goes_on_over_its_other_subflow() {
    let record = run(&failing(two_paths(&settings()), "mptcp", &["r1"], None));
    assert!(delivered(&record, 2500..4000) > 2_500_000);
    let record = run(&failing(two_paths(&settings()), "tcp", &["r1"], Some(2000)));
    assert_eq!(delivered(&record, 1100..2000), 0);
}

#[test]
fn the_same_events_give_the_same_record_and_those_of_another_path_change_nothing() {
    let diamond = || diamond(RoutingPolicy::ShortestPath {});
    let scenario = failing(diamond(), "tcp", &["u"], Some(2000));
    assert_eq!(run(&scenario), run(&scenario));
    let elsewhere = run(&failing(diamond(), "tcp", &["v"], Some(2000)));
    let without = run(&Scenario { events: Vec::new(), ..scenario });
    assert_eq!(elsewhere.flows[0].intervals, without.flows[0].intervals);
    assert_eq!(elsewhere.flows[0].recovery_ns, Some(0));
}
