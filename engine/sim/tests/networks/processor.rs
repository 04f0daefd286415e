//! Tests of the cost of packets on hosts.

use crate::common::{chain, send_along};
use nettrial_scenario::{HostCost, Scenario};
use nettrial_sim::Time;
use serde_json::{Value, json};

fn scenario(cost: [Value; 2]) -> Scenario {
    let mut scenario = chain(&[json!({"delay": "100 us"})], 9000);
    for (node, cost) in scenario.nodes.iter_mut().zip(cost) {
        node.cost = serde_json::from_value::<Option<HostCost>>(cost).unwrap();
    }
    scenario
}

fn arrivals_us(scenario: &Scenario, departures: &[(Time, u32)]) -> Vec<f64> {
    let world = send_along(scenario, departures);
    world.endpoints.arrivals.iter().map(|(_, at, _)| at.0 as f64 / 1e6).collect()
}

#[test]
fn a_sender_is_through_with_a_packet_before_it_begins_the_next() {
    let cost = json!({"per_packet": "2 us", "per_kilobyte": "1 us"});
    let scenario = scenario([cost, Value::Null]);
    let departures = [(Time::ZERO, 1000), (Time::ZERO, 500), (Time::from_us(50), 1000)];
    assert_eq!(arrivals_us(&scenario, &departures), [103.0, 105.5, 153.0]);
    let mut world = send_along(&scenario, &departures);
    assert_eq!(world.engine.network().busy(0, Time::from_ms(1)), Some(Time::from_ns(8500)));
    assert_eq!(world.engine.network().busy(1, Time::from_ms(1)), None);
    // Of the third packet's 3 us, one is still to come.
    assert_eq!(world.engine.network().busy(0, Time::from_us(52)), Some(Time::from_ns(7500)));
}

#[test]
fn packets_share_an_interrupt_that_waits_for_more_of_them() {
    let cost = json!({"per_packet": "1 us", "per_interrupt": "4 us", "coalescing": "10 us"});
    let scenario = scenario([Value::Null, cost]);
    let us = Time::from_us;
    // The first three share an interrupt at 110; the fourth, which arrives while they are processed, has its own
    // at 122.
    let departures = [(us(0), 100), (us(3), 100), (us(9), 100), (us(12), 100)];
    assert_eq!(arrivals_us(&scenario, &departures), [115.0, 116.0, 117.0, 127.0]);
    let mut world = send_along(&scenario, &departures);
    assert_eq!(world.engine.network().busy(1, Time::from_ms(1)), Some(us(12)));
}

/// Packets arrive every 2 us and cost 3 us each, so the host processes one every 3 us, and the others wait.
#[test]
fn a_host_takes_no_more_than_its_processor_can() {
    let scenario = scenario([Value::Null, json!({"per_packet": "3 us"})]);
    let departures: Vec<(Time, u32)> = (0..100).map(|number| (Time::from_us(2 * number), 100)).collect();
    let arrivals = arrivals_us(&scenario, &departures);
    let expected: Vec<f64> = (1..=100).map(|number| 100.0 + 3.0 * f64::from(number)).collect();
    assert_eq!(arrivals, expected);
}
