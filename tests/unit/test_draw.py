"""Facts about networks, and their drawings."""

import json
import math
import xml.etree.ElementTree as ET
from itertools import combinations, pairwise

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nettrial.cli.documents.draw import DrawDocument
from nettrial.report.network_page import as_png, as_svg
from nettrial.report.picture import picture
from nettrial.topology import TOPOLOGIES
from nettrial.topology.facts import facts_of
from nettrial.topology.layout import layout


def made(name, **parameters):
    return TOPOLOGIES[name].graph(TOPOLOGIES[name].parameters(**parameters))


def with_hosts(links):
    """Returns a network of switches with these links and a host on each switch."""
    graph = nx.MultiGraph(links)
    nx.set_node_attributes(graph, "router", "kind")
    for node in list(graph):
        graph.add_node(f"host-{node}", kind="host")
        graph.add_edge(f"host-{node}", node)
    return graph


def test_facts_of_a_fat_tree_are_the_known_ones():
    facts = facts_of(made("fat-tree", k=4))
    assert (facts.switches, facts.hosts, facts.host_links, facts.fabric_links) == (20, 16, 16, 32)
    # Two core switches of different groups have a shortest path through each of two edge switches in each of
    # four pods.
    assert facts.equal_paths.most == 8
    # The two hosts of 8 pairs share an edge switch, those of 16 pairs are in the same pod, and those of the
    # other 96 of 120 pairs communicate through the core.
    assert facts.between_hosts.pairs == {2: 8, 4: 16, 6: 96}
    assert facts.between_hosts.diameter == 6
    assert facts.between_hosts.mean == pytest.approx((8 * 2 + 16 * 4 + 96 * 6) / 120)
    assert (facts.bisection.at_most, facts.bisection.per_host) == (8, 1.0)


def test_facts_of_a_complete_graph_and_a_ring():
    facts = facts_of(with_hosts(nx.complete_graph(6).edges))
    assert facts.between_switches.pairs == {1: 15}
    assert (facts.equal_paths.mean, facts.equal_paths.several, facts.equal_paths.most) == (1, 0, 1)
    assert (facts.bisection.at_least, facts.bisection.at_most) == (9, 9)
    assert facts.spectrum.second == pytest.approx(-1)
    assert facts.spectrum.gap == pytest.approx(6)
    facts = facts_of(with_hosts(nx.cycle_graph(12).edges))
    assert facts.between_switches.diameter == 6
    # Only the 6 pairs of opposite switches have a shortest path in both directions around the ring.
    assert (facts.equal_paths.mean, facts.equal_paths.several) == pytest.approx((72 / 66, 6 / 66))
    assert facts.bisection.at_most == 2
    assert facts.spectrum.second == pytest.approx(2 * math.cos(math.pi / 6))


def test_parallel_links_count_in_a_cut():
    facts = facts_of(with_hosts([(0, 1), (0, 1), (0, 1)]))
    assert facts.fabric_links == 3
    assert facts.equal_paths.mean == 3
    assert (facts.bisection.at_least, facts.bisection.at_most) == (3, 3)


def test_hosts_pass_nothing_on():
    """Both hosts have links to both switches. Every path between the switches passes through a host."""
    graph = nx.MultiGraph()
    graph.add_nodes_from(["a", "b"], kind="host")
    graph.add_nodes_from(["x", "y"], kind="router")
    graph.add_edges_from([("a", "x"), ("a", "y"), ("b", "x"), ("b", "y")])
    facts = facts_of(graph)
    assert facts.between_hosts.pairs == {2: 1}
    assert (facts.between_switches, facts.bisection, facts.spectrum) == (None, None, None)


def test_hosts_that_are_linked_are_one_link_apart():
    assert facts_of(TOPOLOGIES["pair"].graph(hosts=["a", "b"])).between_hosts.pairs == {1: 1}


@given(switches=st.integers(5, 24), degree=st.integers(2, 4), seed=st.integers(0, 2**32))
@settings(max_examples=40, deadline=None)
def test_facts_agree_with_each_other_and_with_networkx(switches, degree, seed):
    graph = made("jellyfish", switches=switches, degree=degree, ports=degree + 1, seed=seed)
    facts = facts_of(graph)
    simple = nx.Graph(graph)
    lengths = {
        frozenset((one, other)): length
        for one, found in nx.shortest_path_length(simple)
        for other, length in found.items()
        if one != other and one.startswith("host") and other.startswith("host")
    }
    assert sum(facts.between_hosts.pairs.values()) == len(lengths)
    assert facts.between_hosts.mean == pytest.approx(sum(lengths.values()) / len(lengths))
    assert facts.between_hosts.diameter == max(lengths.values())
    assert 1 <= facts.bisection.at_least <= facts.bisection.at_most <= facts.fabric_links
    assert facts.spectrum.gap > 0
    assert facts_of(graph) == facts


@pytest.mark.parametrize("switches", [8, 10])
def test_the_cuts_bound_the_least_one(switches):
    """The smallest cut of all halves can be found by trying each, because there are few switches."""
    for seed in range(5):
        graph = made("jellyfish", switches=switches, degree=3, ports=4, seed=seed)
        inner = nx.Graph(graph.subgraph([node for node in graph if node.startswith("switch")]))
        least = min(nx.cut_size(inner, half) for half in combinations(inner, switches // 2))
        found = facts_of(graph).bisection
        assert found.at_least <= least <= found.at_most


@pytest.mark.parametrize(
    "graph",
    [
        made("fat-tree", k=4),
        made("leaf-spine", leaves=8, hosts_per_switch=3),
        made("parking-lot", switches=5, hosts_per_switch=2),
        made("jellyfish", switches=90),
        made("xpander", switches=20, hosts=40),
        made("jellyfish", switches=6, degree=3),
        TOPOLOGIES["dumbbell"].graph(hosts=[f"h{n}" for n in range(9)]),
        TOPOLOGIES["switched"].graph(hosts=["a", "b", "c"]),
        TOPOLOGIES["pair"].graph(hosts=["a", "b"]),
    ],
    ids=range(9),
)
def test_every_node_has_a_place_of_its_own_in_the_picture(graph):
    places = layout(graph).places
    assert set(places) == set(graph)
    assert len({(round(x, 4), round(y, 4)) for x, y in places.values()}) == len(graph)
    drawing = picture(graph)
    for node in drawing.nodes:
        assert 0 <= node.x - node.width / 2 <= node.x + node.width / 2 <= drawing.width
        assert 0 <= node.y - node.height / 2 <= node.y + node.height / 2 <= drawing.height
    marks = sorted(drawing.nodes, key=lambda node: (node.x, node.y))
    for one, other in pairwise(marks):
        apart = max(abs(one.x - other.x), abs(one.y - other.y))
        assert apart >= min(one.width, one.height) / 2, "two nodes cover each other"
    assert len(drawing.links) == graph.number_of_edges()


def test_a_fabric_is_drawn_as_marks_without_names():
    drawing = picture(made("jellyfish", switches=90))
    assert drawing.small
    assert {node.name for node in drawing.nodes} == {""}
    assert drawing.captions == ["90 hosts (squares), 90 routers"]
    assert drawing.said == "The network: 90 hosts (squares), 90 routers"


def test_a_picture_is_well_formed_and_without_requests():
    text = as_svg(made("jellyfish", switches=20))
    root = ET.fromstring(text)
    assert len(root.findall(".//{*}line")) == 60
    assert len(root.findall(".//{*}rect")) == 40
    assert "href" not in text
    assert "url(" not in text


def test_a_png_is_large_enough_to_print():
    data = as_png(made("fat-tree", k=4))
    assert data.startswith(b"\x89PNG")
    assert int.from_bytes(data[16:20], "big") == 3000


def test_draw_prints_facts(nettrial, golden):
    done = nettrial("draw", "fat-tree", "--set", "k=4")
    assert (done.returncode, done.stderr) == (0, "")
    golden("draw", done.stdout)
    assert list(nettrial.directory.iterdir()) == []


def test_draw_prints_a_document(nettrial):
    done = nettrial("draw", "jellyfish", "--set", "switches=45", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    document = DrawDocument.model_validate_json(done.stdout)
    assert (document.topology, document.study, document.fabric_links) == ("jellyfish", None, 90)
    assert document.parameters is not None
    assert document.parameters["switches"] == 45
    assert document.between_switches is not None
    assert document.between_switches.diameter == max(document.between_switches.pairs)


@pytest.mark.parametrize(
    ("suffix", "begin"), [("svg", "<svg"), ("html", "<!doctype html>"), ("png", "\x89PNG")]
)
def test_draw_writes_a_picture_or_a_page(nettrial, suffix, begin):
    done = nettrial("draw", "jellyfish", "--set", "switches=25", "--out", f"mine.{suffix}")
    assert (done.returncode, done.stderr) == (0, f"picture: mine.{suffix}\n")
    data = (nettrial.directory / f"mine.{suffix}").read_bytes().decode("latin-1")
    assert data.startswith(begin)
    assert [path.name for path in nettrial.directory.iterdir()] == [f"mine.{suffix}"]
    if suffix == "html":
        assert "<script" not in data
        assert "spectral gap" in data


def test_draw_takes_a_file_of_the_working_directory(nettrial):
    nx.write_graphml(nx.cycle_graph(["a", "b", "c"]), nettrial.directory / "ring.graphml")
    done = nettrial("draw", "file", "--set", "path=ring.graphml", "--json")
    document = json.loads(done.stdout)
    assert document["parameters"] == {"path": "ring.graphml", "interfaces_per_host": 1}
    assert document["switches"] == 3


@pytest.mark.parametrize("name", [name for name in TOPOLOGIES if name != "file"])
def test_every_topology_can_be_drawn(nettrial, name):
    done = nettrial("draw", name, "--out", "mine.svg")
    assert (done.returncode, done.stderr) == (0, "picture: mine.svg\n")
    ET.parse(nettrial.directory / "mine.svg")
