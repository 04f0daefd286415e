import ipaddress
from itertools import chain

import networkx as nx
import pytest

from nettrial.topology import TOPOLOGIES, interfaces


def hosts_of(name):
    return [f"host{number}" for number in range(TOPOLOGIES[name].most_hosts or 5)]


@pytest.mark.parametrize("name", list(TOPOLOGIES))
@pytest.mark.parametrize("ip", [4, 6])
def test_every_topology_joins_its_hosts(name, ip):
    """The conformance test of every topology."""
    topology, hosts = TOPOLOGIES[name], hosts_of(name)
    graph = topology.join(hosts)
    kinds = dict(graph.nodes(data="kind"))
    assert [node for node, kind in kinds.items() if kind == "host"] == hosts
    assert tuple(node for node, kind in kinds.items() if kind != "host") == topology.devices
    assert set(kinds.values()) <= {"host", "router", "switch"}
    assert nx.is_connected(graph)

    ends = list(chain(*interfaces(graph, ip)))
    assert len({(end.node, end.name) for end in ends}) == len(ends)
    addressed = [ipaddress.ip_interface(end.address) for end in ends if end.address]
    assert {end.node for end in ends if not end.address} == {
        n for n, kind in kinds.items() if kind == "switch"
    }
    assert len({address.ip for address in addressed}) == len(addressed)
    assert {address.version for address in addressed} == {ip}
    assert all(address.is_private for address in addressed)
    assert all(address.ip not in (address.network[0], address.network[-1]) for address in addressed)


def networks(graph, ip):
    pairs = interfaces(graph, ip)
    return {
        (end.node, other.node): ipaddress.ip_interface(end.address).network
        for pair in pairs
        for end, other in (pair, pair[::-1])
        if end.address
    }


def test_a_router_separates_networks():
    found = networks(TOPOLOGIES["routed"].join(["sender", "receiver"]), 6)
    assert found["sender", "router"] == found["router", "sender"]
    assert found["receiver", "router"] == found["router", "receiver"]
    assert found["sender", "router"] != found["receiver", "router"]


def test_a_dumbbell_has_half_of_its_hosts_on_either_side():
    graph = TOPOLOGIES["dumbbell"].join(["a", "b", "c", "d", "e"])
    assert set(graph["left"]) == {"a", "b", "c", "right"}
    assert set(graph["right"]) == {"d", "e", "left"}


def test_a_switch_does_not():
    found = networks(TOPOLOGIES["switched"].join(hosts_of("switched")), 4)
    assert len(found) == 5
    assert len(set(found.values())) == 1


def test_parallel_links_are_networks_and_interfaces_of_their_own():
    (a, b), (c, d) = interfaces(TOPOLOGIES["parallel"].join(["sender", "receiver"]), 4)
    assert [(end.node, end.name) for end in (a, b, c, d)] == [
        ("sender", "eth0"),
        ("receiver", "eth0"),
        ("sender", "eth1"),
        ("receiver", "eth1"),
    ]
    first, other, second, last = (ipaddress.ip_interface(end.address).network for end in (a, b, c, d))
    assert first == other != second == last


def test_switches_in_a_row_are_one_network_and_a_router_ends_it():
    graph = nx.Graph()
    for node, kind in [("a", "host"), ("s", "switch"), ("t", "switch"), ("b", "host"), ("r", "router")]:
        graph.add_node(node, kind=kind)
    graph.add_edges_from([("a", "s"), ("s", "t"), ("t", "b"), ("t", "r"), ("r", "b")])
    found = networks(graph, 6)
    assert found["a", "s"] == found["b", "t"] == found["r", "t"]
    assert found["b", "r"] == found["r", "b"] != found["a", "s"]


def test_a_large_segment_has_room_for_every_host():
    graph = TOPOLOGIES["switched"].join([f"h{number}" for number in range(300)])
    addresses = [end.address for pair in interfaces(graph, 4) for end in pair if end.address]
    assert len(set(addresses)) == 300
    assert {address.split("/")[1] for address in addresses} == {"16"}
