//! Tests the guarantee of each policy on random graphs: packets follow the tables as in a kernel.

use crate::common::{Edges, Tables, address, fabric, flow, graphs, interface, node, scenario};
use nettrial_routing::{FiveTuple, NextHop, Paths};
use nettrial_scenario::{IpVersion, Scenario};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::net::IpAddr;

const VERSIONS: [IpVersion; 2] = [IpVersion::V4, IpVersion::V6];

fn tables<'a>(scenario: &'a Scenario, paths: &Paths<'a>) -> Tables<'a> {
    Tables { scenario, routes: paths.routes() }
}

/// Returns every two hosts by number, in both directions, with a pair of their addresses.
fn directions(paths: &Paths, nodes: usize) -> Vec<(usize, usize, IpAddr, IpAddr)> {
    let mut all = Vec::new();
    for (from, to) in (0..nodes).flat_map(|a| (0..nodes).map(move |b| (a, b))).filter(|(a, b)| a != b) {
        for version in VERSIONS {
            let pairs = paths.pairs(&format!("h{from}"), &format!("h{to}"), version);
            all.extend(pairs.into_iter().map(|(source, destination)| (from, to, source, destination)));
        }
    }
    all
}

fn host(scenario: &Scenario, number: usize) -> &str {
    &scenario.nodes[number].name
}

/// Returns the interfaces through which a flow's packets leave. Both ends of a link have its name.
fn flow_path<'a>(paths: &Paths<'a>, source: IpAddr, destination: IpAddr) -> Vec<&'a str> {
    let flow = FiveTuple { source, destination, protocol: 6, source_port: 40_000, destination_port: 5001 };
    let crossings = paths.flow_path(&flow).unwrap();
    crossings.into_iter().map(|crossing| paths.interfaces().get(crossing.out).name.as_str()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn shortest_paths_are_shortest_and_as_foretold(edges in graphs(9, 8), interfaces in 1..3usize) {
        let scenario = fabric(&edges, "router", interfaces, json!({"policy": "shortest_path"}));
        let paths = Paths::new(&scenario);
        let tables = tables(&scenario, &paths);
        for (from, to, source, destination) in directions(&paths, edges.nodes) {
            let walks = tables.paths(host(&scenario, from), source, destination);
            prop_assert_eq!(walks.len(), 1);
            prop_assert_eq!(walks[0].len(), edges.distances(to)[from] + 2);
            let foretold = paths.path(host(&scenario, from), destination).unwrap();
            let taken: Vec<&str> = walks[0].iter().map(|(interface, _)| *interface).collect();
            prop_assert_eq!(foretold.iter().map(|interface| interface.name.as_str()).collect::<Vec<_>>(), &taken[..]);
            prop_assert_eq!(flow_path(&paths, source, destination), taken);
        }
    }

    #[test]
    fn equal_paths_are_all_the_shortest_ones(edges in graphs(8, 8)) {
        let scenario = fabric(&edges, "router", 1, json!({"policy": "ecmp", "seed": 3}));
        let paths = Paths::new(&scenario);
        let tables = tables(&scenario, &paths);
        for (from, to, source, destination) in directions(&paths, edges.nodes) {
            let walks = tables.paths(host(&scenario, from), source, destination);
            let lengths = edges.path_lengths(from, to);
            let shortest = lengths.iter().filter(|length| **length == lengths[0]).count();
            prop_assert_eq!(walks.len(), shortest);
            prop_assert!(walks.iter().all(|path| path.len() == lengths[0] + 2));
            let taken = flow_path(&paths, source, destination);
            prop_assert!(walks.iter().any(|path| path.iter().map(|(interface, _)| *interface).eq(taken.clone())));
        }
    }

    #[test]
    fn pairs_of_addresses_take_the_k_shortest_paths(
        edges in graphs(7, 6), interfaces in 1..5usize, count in 1..6usize
    ) {
        let routing = json!({"policy": "k_shortest_paths", "paths": count});
        let scenario = fabric(&edges, "router", interfaces, routing);
        let paths = Paths::new(&scenario);
        let tables = tables(&scenario, &paths);
        for from in 0..edges.nodes {
            for to in (0..edges.nodes).filter(|&to| to != from) {
                for version in VERSIONS {
                    let pairs = paths.pairs(host(&scenario, from), host(&scenario, to), version);
                    let mut seen = HashSet::new();
                    let mut lengths = Vec::new();
                    for (source, destination) in pairs {
                        let walks = tables.paths(host(&scenario, from), source, destination);
                        prop_assert_eq!(walks.len(), 1);
                        let back = tables.paths(host(&scenario, to), destination, source);
                        prop_assert_eq!(back.len(), 1);
                        // Both ends of a link have its name.
                        let taken: Vec<&str> = walks[0].iter().map(|(interface, _)| *interface).collect();
                        let returned: Vec<&str> = back[0].iter().rev().map(|(interface, _)| *interface).collect();
                        prop_assert_eq!(&returned, &taken);
                        let foretold = paths.path(host(&scenario, from), destination).unwrap();
                        let names = foretold.iter().map(|interface| interface.name.as_str()).collect::<Vec<_>>();
                        prop_assert_eq!(&names, &taken);
                        prop_assert_eq!(&flow_path(&paths, source, destination), &taken);
                        // Host links differ from pair to pair.
                        seen.insert(taken[1..].to_vec());
                        lengths.push(taken.len() - 2);
                    }
                    let all = edges.path_lengths(from, to);
                    let used = interfaces.min(count).min(all.len());
                    let expected: Vec<usize> =
                        (0..interfaces).map(|pair| all[pair % count % used.max(1)]).collect();
                    prop_assert_eq!(&lengths, &expected);
                    let last_links_too = seen.iter().map(|path| &path[..path.len() - 1]).collect::<HashSet<_>>();
                    prop_assert_eq!(last_links_too.len(), used);
                }
            }
        }
    }

    #[test]
    fn a_spanning_tree_of_routers_spans_and_has_no_loop(edges in graphs(9, 10)) {
        let scenario = fabric(&edges, "router", 1, json!({"policy": "spanning_tree"}));
        let paths = Paths::new(&scenario);
        let tables = tables(&scenario, &paths);
        let mut used = HashSet::new();
        let to_root = edges.distances(0);
        for (from, to, source, destination) in directions(&paths, edges.nodes) {
            let walks = tables.paths(host(&scenario, from), source, destination);
            prop_assert_eq!(walks.len(), 1);
            used.extend(walks[0][1..walks[0].len() - 1].iter().map(|(interface, _)| (*interface).to_owned()));
            if to == 0 {
                prop_assert_eq!(walks[0].len(), to_root[from] + 2);
            }
        }
        prop_assert_eq!(used.len(), edges.nodes - 1);
    }

    #[test]
    fn switches_block_what_would_close_a_loop(edges in graphs(9, 10)) {
        let scenario = fabric(&edges, "switch", 1, json!({"policy": "shortest_path"}));
        let paths = Paths::new(&scenario);
        prop_assert!(paths.routes().is_empty());
        let is_open = |link: &usize| {
            let open: HashSet<bool> =
                paths.interfaces().of_link(*link).map(|interface| !paths.is_blocked(interface)).collect();
            assert_eq!(open.len(), 1, "both ends of a cable are blocked, or neither");
            open.contains(&true)
        };
        prop_assert_eq!((0..scenario.links.len()).filter(is_open).count(), edges.nodes + edges.nodes - 1);
        let to_root = edges.distances(0);
        for (from, to, _, destination) in directions(&paths, edges.nodes) {
            let path = paths.path(host(&scenario, from), destination).unwrap();
            if to == 0 {
                prop_assert_eq!(path.len(), to_root[from] + 2);
            }
            let visited: HashSet<&str> = path.iter().map(|interface| interface.node.as_str()).collect();
            prop_assert_eq!(visited.len(), path.len());
        }
    }
}

fn two_paths(routing: Value, flows: Vec<Value>) -> Scenario {
    let mtu = |a: &str, b: &str, name: &str, network: u8, mtu: u32| {
        [(a, 1), (b, 2)]
            .map(|(node, last)| interface(node, name, mtu, &[&format!("10.0.{network}.{last}/24")]))
    };
    scenario(
        ["a", "b"]
            .map(|name| node(name, "host"))
            .into_iter()
            .chain(["l", "u", "v", "r"].map(|name| node(name, "router")))
            .collect(),
        vec![
            mtu("a", "l", "al", 0, 9000),
            mtu("l", "u", "lu", 1, 9000),
            mtu("l", "v", "lv", 2, 4000),
            mtu("u", "r", "ur", 3, 9000),
            mtu("v", "r", "vr", 4, 1500),
            mtu("r", "b", "rb", 5, 9000),
        ],
        routing,
        flows,
    )
}

#[test]
fn the_path_mtu_is_that_of_the_worst_of_several_equal_paths() {
    let far = address("10.0.5.2");
    let one = two_paths(json!({"policy": "shortest_path"}), vec![flow("a", "b", 4)]);
    assert_eq!(Paths::new(&one).path_mtu("a", far), Some(9000));
    let mut all = two_paths(json!({"policy": "ecmp"}), vec![flow("a", "b", 4)]);
    assert_eq!(Paths::new(&all).path_mtu("a", far), Some(1500));
    assert_eq!(Paths::new(&all).known_mtu("a", far), Some(1500));
    all.nodes.iter_mut().find(|node| node.name == "v").unwrap().filters_icmp = true;
    assert_eq!(Paths::new(&all).known_mtu("a", far), Some(4000));
}

#[test]
fn only_what_the_flows_need_has_an_entry() {
    let of = |flows: Vec<Value>| {
        let scenario = two_paths(json!({"policy": "shortest_path"}), flows);
        Paths::new(&scenario).routes().len()
    };
    assert_eq!(of(vec![]), 0);
    // Each host has its default route; each router has one route per direction.
    assert_eq!(of(vec![flow("a", "b", 4)]), 2 + 2 + 2);
    assert_eq!(of(vec![flow("a", "b", 4), flow("b", "a", 4)]), 6);
}

#[test]
fn routers_on_the_way_can_send_errors_back() {
    // The forward path uses u and the reverse path uses v, but u must know the reverse path, too.
    let mut scenario = two_paths(json!({"policy": "shortest_path"}), vec![flow("a", "b", 4)]);
    scenario.links.swap(3, 4);
    let paths = Paths::new(&scenario);
    let there = paths.path("a", address("10.0.5.2")).unwrap();
    let back = paths.path("b", address("10.0.0.1")).unwrap();
    assert_eq!((there[1].name.as_str(), back[1].name.as_str()), ("lu", "vr"));
    let tables = tables(&scenario, &paths);
    assert_eq!(tables.next("u", address("10.0.1.2"), address("10.0.0.1")), [("lu", "l")]);
}

#[test]
fn a_host_with_two_interfaces_answers_by_the_one_that_was_asked() {
    // Two separate routers join a and b; the second pair must not use the first router.
    let link = |a: &str, b: &str, network: u8| {
        [(a, 1), (b, 2)].map(|(node, last)| {
            interface(node, &format!("e{network}"), 1500, &[&format!("fd00:{network}::{last}/64")])
        })
    };
    let scenario = scenario(
        vec![node("a", "host"), node("b", "host"), node("r", "router"), node("s", "router")],
        vec![link("a", "r", 0), link("a", "s", 1), link("b", "r", 2), link("b", "s", 3)],
        json!({"policy": "shortest_path"}),
        vec![flow("a", "b", 6)],
    );
    let paths = Paths::new(&scenario);
    let pairs = paths.pairs("a", "b", IpVersion::V6);
    let expected = [("fd00:0::1", "fd00:2::1"), ("fd00:1::1", "fd00:3::1")];
    assert_eq!(pairs, expected.map(|(a, b)| (address(a), address(b))));
    let tables = tables(&scenario, &paths);
    for ((source, destination), router) in pairs.into_iter().zip(["r", "s"]) {
        for (from, source, destination) in [("a", source, destination), ("b", destination, source)] {
            let walks = tables.paths(from, source, destination);
            assert_eq!(walks.iter().map(|path| path[0].1).collect::<Vec<_>>(), [router]);
        }
        // A connection without a given source address gets that of the pair.
        let route = tables.routes.iter().find(|route| route.destination == destination.into()).unwrap();
        assert_eq!((route.node, route.preferred_source, route.source), ("a", Some(source), None));
    }
    assert_eq!(paths.path("a", address("fd00:3::1")).unwrap()[0].name, "e1");
}

#[test]
fn a_connection_to_the_second_address_of_a_link_has_the_second_source() {
    let interfaces = [
        interface("a", "e", 1500, &["10.0.0.1/24", "10.0.0.2/24"]),
        interface("r", "e0", 1500, &["10.0.0.3/24"]),
        interface("r", "e1", 1500, &["10.0.1.3/24"]),
        interface("b", "e", 1500, &["10.0.1.1/24", "10.0.1.2/24"]),
    ];
    let [a, near, far, b] = interfaces;
    let scenario = scenario(
        vec![node("a", "host"), node("b", "host"), node("r", "router")],
        vec![[a, near], [far, b]],
        json!({"policy": "shortest_path"}),
        vec![flow("a", "b", 4)],
    );
    let paths = Paths::new(&scenario);
    let tables = tables(&scenario, &paths);
    for (source, destination) in paths.pairs("a", "b", IpVersion::V4) {
        let route = tables.routes.iter().find(|route| route.destination == destination.into()).unwrap();
        assert_eq!((route.node, route.preferred_source, route.source), ("a", Some(source), None));
    }
}

#[test]
fn two_links_between_two_hosts_carry_a_pair_each() {
    let link = |name: &str, network: u8| {
        [("a", 1), ("b", 2)]
            .map(|(node, last)| interface(node, name, 1500, &[&format!("10.0.{network}.{last}/24")]))
    };
    let scenario = scenario(
        vec![node("a", "host"), node("b", "host")],
        vec![link("e0", 0), link("e1", 1)],
        json!({"policy": "shortest_path"}),
        vec![flow("a", "b", 4)],
    );
    let paths = Paths::new(&scenario);
    let tables = tables(&scenario, &paths);
    for (interface, (source, destination)) in
        ["e0", "e1"].into_iter().zip(paths.pairs("a", "b", IpVersion::V4))
    {
        assert_eq!(tables.paths("a", source, destination), [[(interface, "b")]]);
        assert_eq!(paths.path("a", destination).unwrap()[0].name, interface);
        let route =
            tables.routes.iter().find(|route| route.destination == destination.into() && route.node == "a");
        let next_hop = NextHop { gateway: None, interface };
        assert_eq!(route.unwrap().next_hops, [next_hop]);
    }
}

#[test]
fn a_graph_of_one_link_has_one_path_for_all_pairs() {
    let edges = Edges { nodes: 2, edges: vec![(0, 1)] };
    let scenario = fabric(&edges, "router", 3, json!({"policy": "k_shortest_paths", "paths": 8}));
    let paths = Paths::new(&scenario);
    let tables = tables(&scenario, &paths);
    for (source, destination) in paths.pairs("h0", "h1", IpVersion::V4) {
        assert_eq!(tables.paths("h0", source, destination).len(), 1);
    }
}

#[test]
fn where_one_host_has_fewer_addresses_they_start_over() {
    let edges = Edges { nodes: 2, edges: vec![(0, 1), (0, 1), (0, 1)] };
    let mut scenario = fabric(&edges, "router", 3, json!({"policy": "k_shortest_paths", "paths": 2}));
    // h0 keeps one of its three links.
    scenario.links.drain(..2);
    let paths = Paths::new(&scenario);
    let tables = tables(&scenario, &paths);
    let [near, far] = [paths.pairs("h0", "h1", IpVersion::V4), paths.pairs("h1", "h0", IpVersion::V4)];
    assert_eq!((near.len(), far.len()), (3, 1));
    let own = near[0].0;
    assert!(near.iter().all(|(source, _)| *source == own));
    let path = |(source, destination)| tables.paths("h0", source, destination)[0][1].0;
    let taken: Vec<&str> = near.into_iter().map(path).collect();
    // Two of three paths are used, and then the first again.
    assert!(taken[0] != taken[1] && taken[0] == taken[2], "{taken:?}");
}
