"""Properties of fabrics, for many parameters and seeds."""

import math

import networkx as nx
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from nettrial.fields import Wrong
from nettrial.topology import TOPOLOGIES

SEEDS = st.integers(0, 2**63 - 1)


def made(name, **parameters):
    return TOPOLOGIES[name].graph(TOPOLOGIES[name].parameters(**parameters))


def fabric(graph):
    """Returns the graph of switches and the links between them. Fails if it is not a simple graph."""
    devices = [node for node, kind in graph.nodes(data="kind") if kind != "host"]
    inner = graph.subgraph(devices)
    simple = nx.Graph(inner)
    assert simple.number_of_edges() == inner.number_of_edges(), "two links join the same two switches"
    assert nx.number_of_selfloops(simple) == 0
    return simple


def hosts(graph):
    return [node for node, kind in graph.nodes(data="kind") if kind == "host"]


def is_regular(graph, degree):
    """Returns whether all nodes have this degree. If that is not possible, one node may have one link
    less."""
    missing = sorted(degree - found for _, found in graph.degree())
    return missing == [0] * (len(graph) - 1) + [len(graph) * degree % 2]


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_jellyfish_is_regular_and_connected(data):
    switches = data.draw(st.integers(3, 60))
    degree = data.draw(st.integers(2, min(8, switches - 1)))
    graph = fabric(
        made("jellyfish", switches=switches, degree=degree, ports=degree + 1, seed=data.draw(SEEDS))
    )
    assert len(graph) == switches
    assert nx.is_connected(graph)
    assert is_regular(graph, degree)


@given(st.data())
@settings(max_examples=100, deadline=None)
def test_expansion_keeps_jellyfish_regular_and_connected(data):
    switches = data.draw(st.integers(4, 50))
    initial = data.draw(st.integers(3, switches))
    degree = data.draw(st.integers(2, min(7, initial - 1)))
    seed = data.draw(SEEDS)
    parameters = {"switches": switches, "degree": degree, "ports": degree + 2, "seed": seed}
    graph = fabric(made("jellyfish", initial_switches=initial, **parameters))
    assert len(graph) == switches
    assert nx.is_connected(graph)
    assert is_regular(graph, degree)


@given(seed=SEEDS)
@settings(max_examples=30, deadline=None)
def test_a_switch_more_moves_few_links(seed):
    """This is the purpose of expansion (section 4.2): a new switch of degree 6 replaces three links."""
    parameters = {"degree": 6, "ports": 8, "seed": seed}
    before = fabric(made("jellyfish", switches=30, initial_switches=30, **parameters))
    after = fabric(made("jellyfish", switches=31, initial_switches=30, **parameters))
    kept = {frozenset(link) for link in before.edges} & {frozenset(link) for link in after.edges}
    assert len(kept) == before.number_of_edges() - 3


@given(seed=SEEDS, other=SEEDS)
@settings(max_examples=30, deadline=None)
@pytest.mark.parametrize("name", ["jellyfish", "xpander"])
def test_the_seed_alone_gives_the_graph(name, seed, other):
    assume(seed != other)
    first = set(fabric(made(name, seed=seed)).edges)
    again = TOPOLOGIES[name].build(TOPOLOGIES[name].parameters(seed=seed), ())
    assert {link for link in again.edges() if "host" not in link[0]} == first
    assert set(fabric(made(name, seed=other)).edges) != first


def test_a_seed_keeps_its_meaning():
    """A published seed must give the same graph in later versions, too."""
    jellyfish = fabric(made("jellyfish", switches=6, degree=3, seed=7))
    assert sorted(jellyfish["switch-1"]) == ["switch-3", "switch-4", "switch-5"]
    xpander = fabric(made("xpander", switches=12, degree=3, seed=7))
    assert sorted(xpander["switch-1"]) == ["switch-12", "switch-5", "switch-9"]


def test_every_link_of_jellyfish_is_as_likely():
    """Each pair of 10 switches is linked in 4/9 of the graphs on average, which a chi-squared statistic of 45
    cells tests."""
    count = {}
    graphs = 1200
    for seed in range(graphs):
        for link in fabric(made("jellyfish", switches=10, degree=4, seed=seed)).edges:
            count[frozenset(link)] = count.get(frozenset(link), 0) + 1
    expected = graphs * 4 / 9
    assert len(count) == 45
    # A link's number has the variance of a binomial distribution. The links of one graph depend on each other
    # a little.
    statistic = sum((found - expected) ** 2 for found in count.values()) / (expected * 5 / 9)
    assert 20 < statistic < 90


@given(k=st.integers(1, 8).map(lambda half: 2 * half))
@settings(max_examples=8, deadline=None)
def test_a_fat_tree_has_as_many_switches_and_hosts_as_it_should(k):
    graph = made("fat-tree", k=k)
    inner = fabric(graph)
    assert len(hosts(graph)) == k**3 // 4
    assert len(inner) == 5 * k**2 // 4
    assert inner.number_of_edges() == k**3 // 2
    assert {graph.degree[node] for node in inner} == {k}
    cores = [node for node in inner if node.startswith("core")]
    pods = list(nx.connected_components(inner.subgraph(set(inner) - set(cores))))
    assert [len(pod) for pod in pods] == [k] * k
    for core in cores:
        assert [len(pod & set(inner[core])) for pod in pods] == [1] * k


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_xpander_is_regular_connected_and_has_one_link_into_each_group(data):
    degree = data.draw(st.integers(3, 8))
    size = data.draw(st.integers(1, 8))
    switches = size * (degree + 1)
    graph = fabric(made("xpander", switches=switches, degree=degree, ports=degree + 1, seed=data.draw(SEEDS)))
    assert nx.is_connected(graph)
    assert {found for _, found in graph.degree()} == {degree}
    group = {f"switch-{number + 1}": number // size for number in range(switches)}
    for node in graph:
        assert sorted(group[other] for other in graph[node]) == sorted(set(range(degree + 1)) - {group[node]})


@pytest.mark.parametrize(("degree", "switches"), [(4, 200), (6, 210), (8, 207)])
def test_xpander_is_almost_ramanujan(degree, switches):
    """The second eigenvalue of a random lift is at most 2√(d − 1) + o(1) (Friedman and Kohler 2014; Bordenave
    2015), and can't be much smaller (Alon and Boppana). The test allows a difference of 10%."""
    for seed in range(1, 4):
        graph = fabric(made("xpander", degree=degree, ports=degree + 1, switches=switches, seed=seed))
        values = np.linalg.eigvalsh(nx.to_numpy_array(graph))
        assert values[-1] == pytest.approx(degree)
        assert values[-2] == pytest.approx(2 * math.sqrt(degree - 1), rel=0.1)


def test_leaf_spine_and_parking_lot():
    graph = made("leaf-spine", leaves=5, spines=3, hosts_per_switch=4)
    assert len(hosts(graph)) == 20
    assert nx.is_bipartite(fabric(graph))
    assert fabric(graph).number_of_edges() == 15
    graph = made("parking-lot", switches=6, hosts_per_switch=2)
    assert len(hosts(graph)) == 12
    assert nx.is_path(fabric(graph), [f"switch-{number + 1}" for number in range(6)])


@given(
    switches=st.integers(5, 30),
    count=st.integers(2, 120),
    interfaces=st.integers(1, 8),
    seed=SEEDS,
)
@settings(max_examples=80, deadline=None)
def test_hosts_are_spread_evenly_with_their_interfaces(switches, count, interfaces, seed):
    graph = made(
        "jellyfish",
        switches=switches,
        hosts=count,
        interfaces_per_host=interfaces,
        ports=1000,
        seed=seed,
    )
    assert hosts(graph) == [f"host-{number + 1}" for number in range(count)]
    assert {graph.degree[host] for host in hosts(graph)} == {interfaces}
    on = [sum(node.startswith("host") for node in graph[f"switch-{n + 1}"]) for n in range(switches)]
    assert sum(on) == count
    assert max(on) - min(on) <= 1


@pytest.mark.parametrize(
    ("name", "parameters", "place", "expected"),
    [
        ("jellyfish", {"switchs": 25}, "switchs", "hosts_per_switch"),
        ("jellyfish", {"switches": 2}, "switches", "greater than or equal to 3"),
        ("jellyfish", {"switches": 10**6}, "switches", "less than or equal to 8000"),
        ("jellyfish", {"switches": "many"}, "switches", "whole number"),
        ("jellyfish", {"degree": 6}, "degree", "below 6"),
        ("jellyfish", {"switches": 4, "degree": 4}, "degree", "below 4"),
        ("jellyfish", {"hosts": 80}, "hosts", "up to 2 links to hosts"),
        ("jellyfish", {"hosts": 1}, "hosts", "greater than or equal to 2"),
        ("jellyfish", {"hosts": 20, "hosts_per_switch": 1}, "hosts", "one of hosts and hosts_per_switch"),
        ("jellyfish", {"hosts_per_switch": 2, "interfaces_per_host": 2}, "hosts_per_switch", "up to 2 links"),
        ("jellyfish", {"interfaces_per_host": 9}, "interfaces_per_host", "less than or equal to 8"),
        ("jellyfish", {"initial_switches": 21}, "initial_switches", "up to 20"),
        ("jellyfish", {"seed": -1}, "seed", "greater than or equal to 0"),
        ("xpander", {"switches": 21}, "switches", "a multiple of 5 (degree + 1), such as 20 or 25"),
        ("xpander", {"switches": 4}, "switches", "such as 5"),
        ("xpander", {"degree": 6}, "degree", "below 6"),
        ("fat-tree", {"k": 5}, "k", "an even number"),
        ("fat-tree", {"k": 4, "interfaces_per_host": 3}, "interfaces_per_host", "up to 2"),
        ("fat-tree", {"k": 4, "hosts_per_switch": 3}, "hosts_per_switch", "up to 2 links"),
        ("leaf-spine", {"hosts_at": ["leaf-1", "leaf-9"]}, "hosts_at", "a node that can have hosts: leaf-1"),
        ("leaf-spine", {"hosts_at": ["leaf-1"] * 3, "ports": 4}, "hosts_at", "up to 2 links to hosts"),
        ("fat-tree", {"hosts_at": ["edge-1"] * 2, "hosts": 2}, "hosts_at", "one of hosts, hosts_per_switch"),
        ("jellyfish", {"hosts_at": ["switch-1"] * 2, "hosts_per_port": 0.1}, "hosts_per_port", "hosts_at"),
        ("leaf-spine", {"spines": 64}, "hosts_per_switch", "up to 0 links"),
        ("leaf-spine", {"leaves": 1}, "hosts_per_switch", "2 hosts or more"),
    ],
)
def test_what_cannot_be_built_is_refused(name, parameters, place, expected):
    with pytest.raises(ValidationError) as caught:
        TOPOLOGIES[name].parameters(**parameters)
    found = Wrong.of(caught.value)[0]
    assert found.place[0] == place
    assert expected in found.expected


def test_hosts_are_at_the_switches_that_are_chosen():
    for name, switches in {
        "leaf-spine": ["leaf-3", "leaf-1", "leaf-3"],
        "fat-tree": ["edge-8", "edge-1"],
        "jellyfish": ["switch-2", "switch-2"],
        "xpander": ["switch-7", "switch-7"],
        "parking-lot": ["switch-4", "switch-1"],
    }.items():
        graph = made(name, hosts_at=switches, interfaces_per_host=1)
        assert {host: list(graph[host]) for host in hosts(graph)} == {
            f"host-{number}": [switch] for number, switch in enumerate(switches, start=1)
        }
