"""Every topology: its graph, addresses and routes."""

import ipaddress
from itertools import chain

import networkx as nx
import pytest

from nettrial.topology import TOPOLOGIES, interfaces

GRAPH = """{"nodes": [{"id": "a"}, {"id": "b"}, {"id": "c", "kind": "router"}],
            "links": [{"source": "a", "target": "b"}, {"source": "b", "target": "c"}]}"""


@pytest.fixture
def parameters(tmp_path):
    """Returns the smallest possible parameters of a topology."""
    (tmp_path / "graph.json").write_text(GRAPH)

    def make(name):
        given = {"path": "graph.json"} if name == "file" else {}
        return TOPOLOGIES[name].parameters.model_validate(given, context={"folder": tmp_path})

    return make


def hosts_of(topology):
    return [f"host{number}" for number in range(topology.joins[1] or 5)] if topology.joins else []


@pytest.mark.parametrize("name", list(TOPOLOGIES))
@pytest.mark.parametrize("ip", [4, 6])
def test_every_topology_is_a_network(name, ip, parameters):
    """Every topology has to pass this conformance test."""
    topology = TOPOLOGIES[name]
    for forwarding in topology.forwarding or (None,):
        graph = topology.graph(parameters(name), hosts_of(topology), forwarding)
        kinds = dict(graph.nodes(data="kind"))
        hosts = [node for node, kind in kinds.items() if kind == "host"]
        assert hosts == list(kinds)[: len(hosts)]
        assert all(kinds[link[0]] == "host" for link in list(graph.edges())[: len(hosts) - 1])
        if topology.joins:
            assert hosts == hosts_of(topology)
            assert tuple(node for node in kinds if node not in hosts) == topology.devices
        else:
            kind = "station" if name == "wlan" else "host"
            assert hosts == [f"{kind}-{number + 1}" for number in range(len(hosts))]
        assert len(hosts) >= 2
        assert nx.is_connected(graph)
        assert set(kinds.values()) <= {"host", "router", "switch"}
        if name != "file":
            assert set(kinds.values()) - {"host"} <= {"router" if forwarding == "routers" else "switch"}

        ends = list(chain(*interfaces(graph, ip)))
        assert len({(end.node, end.name) for end in ends}) == len(ends)
        addressed = [ipaddress.ip_interface(end.address) for end in ends if end.address]
        assert {end.node for end in ends if not end.address} == {
            n for n, kind in kinds.items() if kind == "switch"
        }
        assert len({address.ip for address in addressed}) == len(addressed)
        assert {address.version for address in addressed} <= {ip}
        assert all(address.is_private for address in addressed)
        assert all(address.ip not in (address.network[0], address.network[-1]) for address in addressed)


@pytest.mark.parametrize("name", list(TOPOLOGIES))
def test_every_topology_can_be_had_without_a_choice(name):
    fields = TOPOLOGIES[name].parameters.model_fields
    assert [field for field in fields if fields[field].is_required()] == (["path"] if name == "file" else [])


def networks(graph, ip):
    pairs = interfaces(graph, ip)
    return {
        (end.node, other.node): ipaddress.ip_interface(end.address).network
        for pair in pairs
        for end, other in (pair, pair[::-1])
        if end.address
    }


def test_a_router_separates_networks():
    found = networks(TOPOLOGIES["routed"].graph(hosts=["sender", "receiver"]), 6)
    assert found["sender", "router"] == found["router", "sender"]
    assert found["receiver", "router"] == found["router", "receiver"]
    assert found["sender", "router"] != found["receiver", "router"]


def test_a_dumbbell_has_half_of_its_hosts_on_either_side():
    graph = TOPOLOGIES["dumbbell"].graph(hosts=["a", "b", "c", "d", "e"])
    assert set(graph["left"]) == {"a", "b", "c", "right"}
    assert set(graph["right"]) == {"d", "e", "left"}


def test_a_switch_does_not():
    hosts = ["a", "b", "c", "d", "e"]
    found = networks(TOPOLOGIES["switched"].graph(hosts=hosts), 4)
    assert len(found) == 5
    assert len(set(found.values())) == 1


def test_parallel_links_are_networks_and_interfaces_of_their_own():
    (a, b), (c, d) = interfaces(TOPOLOGIES["parallel"].graph(hosts=["sender", "receiver"]), 4)
    assert [(end.node, end.name) for end in (a, b, c, d)] == [
        ("sender", "eth0"),
        ("receiver", "eth0"),
        ("sender", "eth1"),
        ("receiver", "eth1"),
    ]
    first, other, second, last = (ipaddress.ip_interface(end.address).network for end in (a, b, c, d))
    assert first == other != second == last


@pytest.mark.parametrize("name", ["routed", "dumbbell", "fat-tree", "jellyfish", "leaf-spine", "xpander"])
@pytest.mark.parametrize("forwarding", ["routers", "bridges", "openflow"])
def test_each_interface_of_a_host_has_a_network_of_its_own(name, forwarding):
    topology = TOPOLOGIES[name]
    if forwarding not in topology.forwarding:
        return
    parameters = topology.parameters(interfaces_per_host=2)
    graph = topology.graph(parameters, hosts_of(topology)[:2], forwarding)
    pairs = interfaces(graph, 6)
    host = next(node for node, kind in graph.nodes(data="kind") if kind == "host")
    addresses = [end.address for pair in pairs for end in pair if end.node == host]
    assert len({ipaddress.ip_interface(address).network for address in addresses}) == 2


def test_switches_in_a_row_are_one_network_and_a_router_ends_it():
    graph = nx.MultiGraph()
    for node, kind in [("a", "host"), ("s", "switch"), ("t", "switch"), ("b", "host"), ("r", "router")]:
        graph.add_node(node, kind=kind)
    graph.add_edges_from([("a", "s"), ("s", "t"), ("t", "b"), ("t", "r"), ("r", "b")])
    found = networks(graph, 6)
    assert found["a", "s"] == found["b", "t"] == found["r", "t"]
    assert found["b", "r"] == found["r", "b"] != found["a", "s"]


@pytest.mark.parametrize(("count", "prefix"), [(254, 24), (255, 23), (300, 23), (600, 22)])
def test_a_large_segment_has_room_for_every_host(count, prefix):
    graph = nx.MultiGraph()
    graph.add_nodes_from([f"h{number}" for number in range(count)], kind="host")
    graph.add_nodes_from("st", kind="switch")
    graph.add_nodes_from("xy", kind="router")
    graph.add_edge("x", "y")
    graph.add_edges_from((f"h{number}", "st"[number % 2]) for number in range(count))
    graph.add_edge("s", "t")
    found = networks(graph, 4)
    made = [
        ipaddress.ip_interface(end.address) for pair in interfaces(graph, 4) for end in pair if end.address
    ]
    assert len({address.ip for address in made}) == len(made) == count + 2
    assert found["h0", "s"] == found["h1", "t"]
    assert found["h0", "s"].prefixlen == prefix
    assert not found["h0", "s"].overlaps(found["x", "y"])


def test_a_graph_is_made_once_and_cannot_be_changed():
    jellyfish = TOPOLOGIES["jellyfish"]
    graph = jellyfish.graph(jellyfish.parameters(seed=3))
    assert jellyfish.graph(jellyfish.parameters(seed=3)) is graph
    with pytest.raises(nx.NetworkXError):
        graph.add_edge("switch-1", "switch-2")
