//! Tests of properties that hold in every network: packets neither appear nor vanish, no queue exceeds its limit,
//! time does not run backwards, and the same scenario gives the same result.

use crate::common::{Schedule, along, chain, datagram};
use nettrial_scenario::{QueueLimit, Scenario};
use nettrial_sim::{Codepoint, Io, Network, Packet, Time, World};
use proptest::prelude::*;
use serde_json::{Value, json};

fn disciplines() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!({"discipline": "drop_tail"})),
        Just(json!({"discipline": "mark", "threshold": "3 packets"})),
        Just(json!({"discipline": "red", "minimum": "2 kB", "maximum": "6 kB", "probability": 0.1,
            "weight": 0.2, "ecn": true})),
        Just(json!({"discipline": "codel", "target": "50 us", "interval": "1 ms", "ecn": false})),
        Just(json!({"discipline": "codel", "target": "50 us", "interval": "1 ms", "ecn": true})),
        Just(json!({"discipline": "fq_codel", "target": "50 us", "interval": "1 ms", "ecn": false})),
        Just(json!({"discipline": "fq_codel", "target": "50 us", "interval": "1 ms", "ecn": true})),
    ]
}

fn impairments() -> impl Strategy<Value = Value> {
    let bursts = json!({"enter": 0.1, "leave": 0.3, "loss": 0.5});
    prop_oneof![
        2 => Just(json!({})),
        1 => any::<u64>().prop_map(move |seed| json!({"loss": 0.1, "duplication": 0.2, "reordering": 0.2,
            "reordering_delay": "70 us", "jitter": "30 us", "bursts": bursts, "seed": seed})),
    ]
}

fn links() -> impl Strategy<Value = Value> {
    let limits = prop_oneof![
        (1..20u32).prop_map(|most| format!("{most} packets")),
        (84..20_000u32).prop_map(|most| format!("{most} B"))
    ];
    let shaped = (1_000_000..10_000_000_000u64, 0..1_000_000u64, limits, disciplines(), impairments());
    let shaped = shaped.prop_map(|(rate, delay, limit, discipline, impairment)| {
        json!({"rate": format!("{rate} bit/s"), "delay": format!("{delay} ns"), "queue": limit,
            "discipline": discipline, "impairment": impairment})
    });
    prop_oneof![4 => shaped, 1 => impairments().prop_map(|impairment| json!({"impairment": impairment}))]
}

/// Chains with hosts at their ends, which may have packet costs and coalesce received packets.
fn scenarios() -> impl Strategy<Value = Scenario> {
    (prop::collection::vec(links(), 1..5), any::<[bool; 2]>(), any::<bool>()).prop_map(
        |(links, has_cost, gro)| {
            let mut scenario = chain(&links, 1500);
            let last = scenario.nodes.len() - 1;
            for (node, has_cost) in [0, last].into_iter().zip(has_cost) {
                let cost = json!({"per_packet": "2 us", "per_kilobyte": "1 us", "per_interrupt": "3 us",
                "coalescing": "20 us"});
                scenario.nodes[node].offloads.gro = gro;
                scenario.nodes[node].cost = has_cost.then(|| serde_json::from_value(cost).unwrap());
            }
            scenario
        },
    )
}

fn departures() -> impl Strategy<Value = Vec<(u64, u32, bool)>> {
    // Some packets are larger than the MTU.
    prop::collection::vec((0..200_000u64, 28..1600u32, any::<bool>()), 1..120)
}

/// Returns a world that sends these packets: nanoseconds since the packet before, bytes, and whether it can be
/// marked.
fn world(scenario: &Scenario, departures: &[(u64, u32, bool)]) -> World<Schedule> {
    let mut network = Network::new(scenario);
    let path = along(&mut network, scenario);
    let mut at = Time::ZERO;
    let packet = |(number, &(gap, ip_bytes, can_bear)): (usize, &(u64, u32, bool))| {
        at += Time::from_ns(gap);
        let ecn = if can_bear { Codepoint::Capable } else { Codepoint::NotCapable };
        (at, Packet { ecn, ..datagram(path, number as u64, ip_bytes) })
    };
    let departures = departures.iter().enumerate().map(packet).collect();
    let mut world = World::new(network, Schedule { departures, ..Schedule::default() });
    world.act(|schedule, engine| schedule.wait(engine));
    world
}

/// Checks that no packet has appeared or vanished, and that no queue is too long.
fn check(world: &mut World<Schedule>, directions: u32) {
    let (now, balance) = (world.engine.now(), world.engine.balance());
    let came = balance.sent_pkts + balance.duplicated_pkts;
    assert_eq!(came, balance.delivered_pkts + balance.dropped_pkts + balance.in_flight_pkts);
    assert_eq!(balance.sent_pkts, world.endpoints.left.len() as u64);
    assert_eq!(balance.delivered_pkts, world.endpoints.arrivals.len() as u64);
    let mut dropped = 0;
    for direction in 0..directions {
        let link = world.engine.network().link(direction);
        let counters = link.counters(now);
        dropped += counters.drops_pkts + counters.too_big_pkts + counters.lost_pkts;
        let queue = link.queue(now);
        match link.limit() {
            Some(QueueLimit::Packets(most)) => assert!(queue.packets <= most),
            Some(QueueLimit::Bytes(most)) => assert!(queue.bytes <= most.0),
            None => assert_eq!(queue.packets, 0),
        }
    }
    assert_eq!(dropped, balance.dropped_pkts);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn packets_are_conserved_and_queues_within_their_limits(scenario in scenarios(), departures in departures()) {
        let directions = 2 * scenario.links.len() as u32;
        let mut world = world(&scenario, &departures);
        let mut end = Time::ZERO;
        let mut last = Time::ZERO;
        while world.endpoints.left.len() < departures.len() {
            end += Time::from_us(37);
            let at = world.run(end);
            prop_assert!(at >= last && at <= end);
            last = at;
            check(&mut world, directions);
        }
        world.run(Time::NEVER);
        check(&mut world, directions);
        prop_assert_eq!(world.engine.balance().in_flight_pkts, 0);
        prop_assert!(world.endpoints.arrivals.windows(2).all(|pair| pair[0].1 <= pair[1].1));
    }

    #[test]
    fn the_same_scenario_gives_the_same_result(scenario in scenarios(), departures in departures()) {
        let run = |steps: bool| {
            let mut world = world(&scenario, &departures);
            if steps {
                (0..1000).for_each(|step| { world.run(Time::from_us(10 * step)); });
            }
            world.run(Time::NEVER);
            (world.endpoints.arrivals, world.endpoints.left, world.engine.balance())
        };
        prop_assert_eq!(run(false), run(true));
    }
}
