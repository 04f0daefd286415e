//! Tests of routes and paths on small graphs, and on random ones.

use crate::common::{address, flow, interface, node, scenario};
use nettrial_routing::{NextHop, Paths};
use proptest::prelude::*;
use serde_json::{Value, json};

fn shortest() -> Value {
    json!({"policy": "shortest_path"})
}

#[test]
fn a_router_between_two_hosts() {
    let scenario = scenario(
        vec![node("a", "host"), node("r", "router"), node("b", "host")],
        vec![
            [interface("a", "e0", 9000, &["fd00:1::1/64"]), interface("r", "e0", 9000, &["fd00:1::2/64"])],
            [interface("r", "e1", 4000, &["fd00:2::1/64"]), interface("b", "e0", 9000, &["fd00:2::2/64"])],
        ],
        shortest(),
        vec![flow("a", "b", 6)],
    );
    let paths = Paths::new(&scenario);
    let routes = paths.routes();
    assert_eq!(routes.len(), 2, "{routes:?}");
    for (route, node, gateway) in [(&routes[0], "a", "fd00:1::2"), (&routes[1], "b", "fd00:2::1")] {
        let next_hops = vec![NextHop { gateway: Some(address(gateway)), interface: "e0" }];
        assert_eq!((route.node, &route.next_hops), (node, &next_hops));
        // There is only one router.
        assert_eq!(route.destination.to_string(), "::/0");
    }
    assert_eq!(paths.path_mtu("a", address("fd00:2::2")), Some(4000));
    assert_eq!(paths.path_mtu("b", address("fd00:1::1")), Some(9000));
    assert_eq!(paths.path("a", address("fd00:9::1")), None);
}

#[test]
fn the_round_trip_time_of_an_idle_path_is_that_of_full_packets_on_the_slowest_of_equal_paths() {
    let link = |delay: &str, near: (&str, &str, &str), far: (&str, &str, &str)| {
        let end = |(node, name, address): (&str, &str, &str)| interface(node, name, 1462, &[address]);
        json!({"ends": [end(near), end(far)], "delay": delay})
    };
    let mut scenario = scenario(
        ["a", "l", "r", "s", "t", "b"]
            .map(|name| node(name, if "ab".contains(name) { "host" } else { "router" }))
            .into(),
        vec![],
        json!({"policy": "ecmp"}),
        vec![flow("a", "b", 4)],
    );
    let links = json!([
        link("1 ms", ("a", "e0", "10.0.1.1/24"), ("l", "e0", "10.0.1.2/24")),
        link("2 ms", ("l", "e1", "10.0.2.1/24"), ("r", "e0", "10.0.2.2/24")),
        link("30 ms", ("l", "e2", "10.0.3.1/24"), ("s", "e0", "10.0.3.2/24")),
        link("4 ms", ("r", "e1", "10.0.4.1/24"), ("t", "e0", "10.0.4.2/24")),
        link("5 ms", ("s", "e1", "10.0.5.1/24"), ("t", "e1", "10.0.5.2/24")),
        link("0 ms", ("t", "e2", "10.0.6.1/24"), ("b", "e0", "10.0.6.2/24")),
    ]);
    scenario.links = serde_json::from_value(links).unwrap();
    let milliseconds = |scenario: &nettrial_scenario::Scenario| {
        let paths = Paths::new(scenario);
        let found = paths.round_trip(("a", address("10.0.1.1")), ("b", address("10.0.6.2"))).unwrap();
        assert_eq!(paths.round_trip_of(&scenario.workload[0]), Some(found));
        found.0 / 1_000_000
    };
    assert_eq!(milliseconds(&scenario), 2 * (1 + 30 + 5));
    // A frame of 1462 + 38 bytes takes 12 ms at 1 Mbit/s, in each direction.
    scenario.links[0].rate = Some("1 Mbit/s".parse().unwrap());
    scenario.links[0].impairment.jitter = "5 ms".parse().unwrap();
    assert_eq!(milliseconds(&scenario), 2 * (1 + 12 + 5 + 30 + 5));
    scenario.links[0].reverse =
        serde_json::from_value(json!({"rate": "2 Mbit/s", "delay": "8 ms", "impairment": {}})).unwrap();
    assert_eq!(milliseconds(&scenario), (1 + 12 + 5 + 30 + 5) + (5 + 30 + 8 + 6));
    scenario.links[0].reverse = None;
    scenario.links[5].impairment.reordering_delay = "100 ms".parse().unwrap();
    assert_eq!(milliseconds(&scenario), 106, "nothing is reordered");
    scenario.links[5].impairment.reordering = 0.1;
    assert_eq!(milliseconds(&scenario), 306);
}

#[test]
fn switches_are_crossed_to_the_router_behind_them() {
    let scenario = scenario(
        vec![node("a", "host"), node("s", "switch"), node("r", "router"), node("b", "host")],
        vec![
            [interface("a", "e0", 1500, &["10.0.1.1/24"]), interface("s", "p0", 1400, &[])],
            [interface("s", "p1", 1400, &[]), interface("r", "e0", 1500, &["10.0.1.9/24"])],
            [interface("r", "e1", 1500, &["10.0.2.9/24"]), interface("b", "e0", 1500, &["10.0.2.1/24"])],
        ],
        shortest(),
        vec![flow("a", "b", 4)],
    );
    let paths = Paths::new(&scenario);
    let route = paths.routes().into_iter().find(|route| route.node == "a").unwrap();
    assert_eq!(route.next_hops, [NextHop { gateway: Some(address("10.0.1.9")), interface: "e0" }]);
    assert_eq!(paths.path("a", address("10.0.2.1")).unwrap().len(), 3);
    assert_eq!(paths.path_mtu("a", address("10.0.2.1")), Some(1400));
    assert_eq!(paths.path_mtu("a", address("10.0.1.9")), Some(1400));
}

#[test]
fn a_sender_learns_of_a_smaller_link_only_from_a_router_that_says_so() {
    let mut scenario = scenario(
        vec![node("a", "host"), node("l", "router"), node("r", "router"), node("b", "host")],
        vec![
            [interface("a", "e0", 9000, &["10.0.1.1/24"]), interface("l", "e0", 9000, &["10.0.1.2/24"])],
            [interface("l", "e1", 1500, &["10.0.2.1/24"]), interface("r", "e0", 1500, &["10.0.2.2/24"])],
            [interface("r", "e1", 9000, &["10.0.3.1/24"]), interface("b", "e0", 9000, &["10.0.3.2/24"])],
        ],
        shortest(),
        vec![flow("a", "b", 4)],
    );
    let far = address("10.0.3.2");
    assert_eq!(Paths::new(&scenario).known_mtu("a", far), Some(1500));
    scenario.nodes[1].filters_icmp = true;
    assert_eq!(Paths::new(&scenario).path_mtu("a", far), Some(1500));
    assert_eq!(Paths::new(&scenario).known_mtu("a", far), Some(9000));
    // A different router is responsible for the reverse path.
    assert_eq!(Paths::new(&scenario).known_mtu("b", address("10.0.1.1")), Some(1500));
}

#[test]
fn hosts_do_not_forward() {
    let scenario = scenario(
        vec![node("a", "host"), node("middle", "host"), node("b", "host")],
        vec![
            [interface("a", "e0", 1500, &["10.0.1.1/24"]), interface("middle", "e0", 1500, &["10.0.1.2/24"])],
            [interface("middle", "e1", 1500, &["10.0.2.2/24"]), interface("b", "e0", 1500, &["10.0.2.1/24"])],
        ],
        shortest(),
        vec![flow("a", "b", 4)],
    );
    let paths = Paths::new(&scenario);
    assert!(paths.routes().is_empty());
    assert_eq!(paths.path("a", address("10.0.2.1")), None);
}

proptest! {
    /// On a random connected graph of routers every pair is joined by a path without a loop that
    /// follows the routes.
    #[test]
    fn random_graphs_are_loop_free(parents in prop::collection::vec(any::<prop::sample::Index>(), 1..20),
                                   extra in prop::collection::vec(any::<(prop::sample::Index, prop::sample::Index)>(), 0..12)) {
        let count = parents.len() + 1;
        let mut edges: Vec<(usize, usize)> =
            parents.iter().enumerate().map(|(number, parent)| (parent.index(number + 1), number + 1)).collect();
        edges.extend(extra.iter().map(|(a, b)| (a.index(count), b.index(count))).filter(|(a, b)| a != b));
        let nodes = (0..count).map(|number| node(&format!("r{number}"), "router")).collect();
        let links = edges.iter().enumerate().map(|(number, (a, b))| {
            let network = format!("10.{}.{}", number / 250, number % 250);
            [interface(&format!("r{a}"), &format!("l{number}"), 1500, &[&format!("{network}.1/24")]),
             interface(&format!("r{b}"), &format!("l{number}"), 1500, &[&format!("{network}.2/24")])]
        }).collect();
        let scenario = scenario(nodes, links, shortest(), vec![]);
        let paths = Paths::new(&scenario);
        for link in &scenario.links {
            for target in &link.interfaces {
                for source in 0..count {
                    let path = paths.path(&format!("r{source}"), target.addresses[0].address()).unwrap();
                    let mut visited: Vec<&str> = path.iter().map(|interface| interface.node.as_str()).collect();
                    visited.sort_unstable();
                    let before = visited.len();
                    visited.dedup();
                    prop_assert_eq!(before, visited.len());
                }
            }
        }
    }
}
