//! Tests of links that join more than two interfaces.

use crate::common::{address, flow, interface, node, scenario};
use nettrial_routing::{Crossing, FiveTuple, Paths};
use nettrial_scenario::{IpVersion, Scenario};
use serde_json::{Value, json};
use std::net::IpAddr;

fn shortest() -> Value {
    json!({"policy": "shortest_path"})
}

/// Joins further interfaces to the scenario's first link.
fn share(scenario: &mut Scenario, further: &[Value]) {
    let interfaces = further.iter().map(|interface| serde_json::from_value(interface.clone()).unwrap());
    scenario.links[0].interfaces.extend(interfaces);
}

fn crossings(paths: &Paths, source: IpAddr, destination: IpAddr) -> Vec<(usize, usize)> {
    let flow = FiveTuple { source, destination, protocol: 6, source_port: 1, destination_port: 2 };
    paths.flow_path(&flow).unwrap().into_iter().map(|Crossing { out, into }| (out, into)).collect()
}

#[test]
fn all_stations_of_a_medium_reach_each_other_and_the_router_among_them() {
    let mut scenario = scenario(
        ["a", "b", "c", "d"]
            .map(|name| node(name, "host"))
            .into_iter()
            .chain([node("r", "router")])
            .collect(),
        vec![
            [interface("a", "w0", 1500, &["10.0.1.1/24"]), interface("r", "w0", 1400, &["10.0.1.9/24"])],
            [interface("r", "e0", 1500, &["10.0.2.9/24"]), interface("d", "e0", 1500, &["10.0.2.1/24"])],
        ],
        shortest(),
        vec![flow("a", "c", 4), flow("b", "d", 4)],
    );
    let further =
        [interface("b", "w0", 1500, &["10.0.1.2/24"]), interface("c", "w0", 1500, &["10.0.1.3/24"])];
    share(&mut scenario, &further);
    let paths = Paths::new(&scenario);
    let [a, b, c, d] = ["10.0.1.1", "10.0.1.2", "10.0.1.3", "10.0.2.1"].map(address);
    assert_eq!(crossings(&paths, a, c), [(0, 3)]);
    assert_eq!(crossings(&paths, c, b), [(3, 2)]);
    // The second link's interfaces are numbered after the four of the first.
    assert_eq!(crossings(&paths, b, d), [(2, 1), (4, 5)]);
    assert_eq!(crossings(&paths, d, b), [(5, 4), (1, 2)]);
    assert_eq!(paths.path_mtu("d", b), Some(1400));
    assert_eq!(paths.path_mtu("a", c), Some(1500));
    assert_eq!(paths.interfaces().others(1).collect::<Vec<_>>(), [0, 2, 3]);
    assert_eq!((paths.interfaces().link(3), paths.interfaces().of_link(1)), (0, 4..6));
    // Hosts of one network need no router between them.
    let mut entries: Vec<&str> = paths.routes().iter().map(|route| route.node).collect();
    entries.sort_unstable();
    assert_eq!(entries, ["b", "d"]);
    assert_eq!(paths.pairs("a", "c", IpVersion::V4), [(a, c)]);
}

#[test]
fn of_two_switches_on_a_medium_one_serves_its_stations() {
    let mut scenario = scenario(
        vec![
            node("a", "host"),
            node("b", "host"),
            node("s", "switch"),
            node("t", "switch"),
            node("c", "host"),
        ],
        vec![
            [interface("a", "w0", 1500, &["10.0.0.1/24"]), interface("s", "w0", 1500, &[])],
            [interface("s", "p0", 1500, &[]), interface("t", "p0", 1500, &[])],
            [interface("t", "p1", 1500, &[]), interface("c", "e0", 1500, &["10.0.0.3/24"])],
        ],
        shortest(),
        vec![flow("a", "c", 4)],
    );
    share(&mut scenario, &[interface("t", "w0", 1500, &[]), interface("b", "w0", 1500, &["10.0.0.2/24"])]);
    let paths = Paths::new(&scenario);
    let [a, b, c] = ["10.0.0.1", "10.0.0.2", "10.0.0.3"].map(address);
    // A medium and a cable join both switches; the medium, which comes first, is part of the tree.
    let blocked: Vec<usize> = (0..8).filter(|&interface| paths.is_blocked(interface)).collect();
    assert_eq!(blocked, [4, 5]);
    assert_eq!(crossings(&paths, a, c), [(0, 2), (6, 7)]);
    assert_eq!(crossings(&paths, c, b), [(7, 6), (2, 3)]);

    // If the cable comes first, the medium is blocked at the second switch, and the first one serves its stations.
    scenario.links.swap(0, 1);
    let paths = Paths::new(&scenario);
    let blocked: Vec<usize> = (0..8).filter(|&interface| paths.is_blocked(interface)).collect();
    assert_eq!(blocked, [4]);
    assert_eq!(crossings(&paths, a, c), [(2, 3), (0, 1), (6, 7)]);
    assert_eq!(crossings(&paths, c, b), [(7, 6), (1, 0), (3, 5)]);
    assert_eq!(crossings(&paths, b, a), [(5, 2)]);
}
