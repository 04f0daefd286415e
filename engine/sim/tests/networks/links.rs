//! Tests of the times at which packets arrive, and of the packets that links drop.

use crate::common::{chain, send_along};
use nettrial_sim::{Network, Time};
use serde_json::json;

/// A rate at which a full frame of 1250 bytes on the wire takes a microsecond.
const FAST: &str = "10 Gbit/s";
/// The bytes of the IP packet in such a frame.
const FULL: u32 = 1250 - 38;

fn times(arrivals: &[(u64, Time, bool)]) -> Vec<(u64, Time)> {
    arrivals.iter().map(|&(number, at, _)| (number, at)).collect()
}

#[test]
fn each_link_takes_the_frame_in_full_before_it_sends_it_on() {
    let links = [
        json!({"rate": FAST, "delay": "5 us", "queue": "100 packets"}),
        json!({"delay": "1 us"}),
        json!({"rate": "1 Gbit/s", "delay": "0 ns", "queue": "100 packets"}),
    ];
    let world = send_along(&chain(&links, 1500), &[(Time::ZERO, FULL), (Time::ZERO, FULL), (Time::ZERO, 28)]);
    let us = Time::from_us;
    // The last frame has the minimum size: 84 bytes, 672 ns at 1 Gbit/s.
    assert_eq!(
        times(&world.endpoints.arrivals),
        [(0, us(17)), (1, us(27)), (2, us(27) + Time::from_ns(672))]
    );
    // The sender is told when each transmission begins.
    assert_eq!(world.endpoints.left[..2], [Some(us(0)), Some(us(1))]);
}

#[test]
fn a_queue_holds_its_limit_beside_the_frame_in_transmission() {
    for (limit, taken) in [("2 packets", 3), ("2499 B", 2), ("2500 B", 3), ("1249 B", 0)] {
        let links = [json!({"rate": FAST, "queue": limit}), json!({})];
        let mut world = send_along(&chain(&links, 1500), &[(Time::ZERO, FULL); 5]);
        assert_eq!(world.endpoints.arrivals.len(), taken, "{limit}");
        let refused = world.endpoints.left.iter().filter(|left| left.is_none()).count();
        assert_eq!(refused, 5 - taken);
        let counters = world.engine.network().link(0).counters(Time::from_ms(1));
        assert_eq!((counters.frames_pkts, counters.drops_pkts), (taken as u64, refused as u64));
        assert_eq!(counters.wire_bytes, 1250 * taken as u64);
    }
}

#[test]
fn a_packet_larger_than_a_links_mtu_is_dropped_there() {
    let mut scenario = chain(&[json!({}), json!({})], 1500);
    scenario.links[1].interfaces[0].mtu.0 = 1400;
    let mut world = send_along(&scenario, &[(Time::ZERO, 1400), (Time::ZERO, 1401)]);
    assert_eq!(times(&world.endpoints.arrivals), [(0, Time::ZERO)]);
    assert_eq!(world.engine.network().link(2).counters(Time::ZERO).too_big_pkts, 1);
    let balance = world.engine.balance();
    assert_eq!((balance.sent_pkts, balance.delivered_pkts, balance.dropped_pkts), (2, 1, 1));
}

#[test]
fn the_smallest_mtu_of_a_path_is_known() {
    let mut scenario = chain(&[json!({}), json!({}), json!({})], 9000);
    scenario.links[1].interfaces[0].mtu.0 = 1400;
    // The smallest MTU of the reverse path is a different one.
    scenario.links[2].interfaces[1].mtu.0 = 1300;
    let mut network = Network::new(&scenario);
    let path = crate::common::along(&mut network, &scenario);
    assert_eq!(network.links_of(path), [0, 2, 4]);
    assert_eq!(network.path_mtu(path), 1400);
}
