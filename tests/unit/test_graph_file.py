"""Graphs from files, including hostile ones: each gives a network or an error that says what is wrong."""

import json
import tempfile
from pathlib import Path

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nettrial.topology.edges import EdgeDirection, EdgeSettings
from nettrial.topology.graph_file import GraphData, GraphError, read

CASES = Path(__file__).parents[1] / "graphs"
RING = nx.cycle_graph(["a", "b", "c", "d"])


def graph_of(tmp_path, text):
    data = text if isinstance(text, bytes) else text.encode()
    (tmp_path / "graph").write_bytes(data)
    return read(tmp_path, "graph")


def graphml(graph):
    return "\n".join(nx.generate_graphml(graph))


def test_graphml_and_json_are_the_same_network(tmp_path):
    from_xml = graph_of(tmp_path, graphml(RING))
    from_json = graph_of(tmp_path, json.dumps(nx.node_link_data(RING, edges="links")))
    assert from_xml == from_json
    assert from_xml.nodes == (("a", "device"), ("b", "device"), ("c", "device"), ("d", "device"))
    assert {frozenset(link) for link in from_xml.links} == {frozenset(link) for link in RING.edges}


@pytest.mark.parametrize("name", ["../secret", "/etc/hostname", "link", "."])
def test_a_study_reads_no_graph_outside_its_directory(tmp_path, name):
    folder = tmp_path / "study"
    folder.mkdir()
    (tmp_path / "secret").write_text(graphml(RING))
    (folder / "link").symlink_to(tmp_path / "secret")
    with pytest.raises(GraphError, match=r"it is (outside the directory of the study|not a regular) file"):
        read(folder, name)
    if name in ("../secret", "link"):  # A user may name any file on the command line.
        assert len(read(folder, name, is_of_study=False).links) == 4


def test_the_newer_name_of_links_is_read_too(tmp_path):
    text = json.dumps(nx.node_link_data(RING, edges="edges"))
    assert len(graph_of(tmp_path, text).links) == 4


def test_kinds_and_parallel_links_are_kept(tmp_path):
    graph = nx.MultiGraph()
    graph.add_nodes_from([("one", {"kind": "host"}), ("two", {"kind": "host"}), ("s", {"kind": "switch"})])
    graph.add_edges_from([("one", "s"), ("one", "s"), ("two", "s")])
    for text in (graphml(graph), json.dumps(nx.node_link_data(graph, edges="links"))):
        found = graph_of(tmp_path, text)
        assert dict(found.nodes) == {"one": "host", "two": "host", "s": "switch"}
        assert len(found.links) == 3


def test_a_directed_graph_has_a_link_for_each_edge_or_pair_of_edges(tmp_path):
    once = nx.DiGraph([("a", "b"), ("c", "b"), ("a", "c")])
    twice = once.to_undirected().to_directed()
    for graph in (once, twice):
        for text in (graphml(graph), json.dumps(nx.node_link_data(graph, edges="links"))):
            found = graph_of(tmp_path, text)
            assert sorted(sorted(link) for link in found.links) == [["a", "b"], ["a", "c"], ["b", "c"]]


def test_parallel_links_of_a_directed_graph_are_kept(tmp_path):
    """An editor draws two links between the same nodes in any directions."""
    graph = nx.MultiDiGraph([("a", "b"), ("b", "a"), ("b", "c"), ("c", "d"), ("d", "e"), ("e", "f")])
    assert len(graph_of(tmp_path, graphml(graph)).links) == 6
    graph = nx.MultiDiGraph([("a", "b"), ("a", "b"), ("b", "a"), ("b", "a")])
    assert len(graph_of(tmp_path, graphml(graph)).links) == 2


FORMATS = {
    "graphml": graphml,
    "gml": lambda graph: "\n".join(nx.generate_gml(graph)),
    "gexf": lambda graph: "\n".join(nx.generate_gexf(graph)),
    "json": lambda graph: json.dumps(nx.node_link_data(graph, edges="links")),
}


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(
    ("attributes", "settings"),
    [
        ({"rate": "10 Mbit/s", "delay": "5ms", "queue": "64 kB", "loss": "1%", "mtu": 1400}, {
            "rate": "10 Mbit/s", "delay": "5 ms", "queue": "64000 B", "loss": 0.01, "mtu": "1400 B"}),
        ({"bw": "10 Mbit/s", "latency": "5 ms", "max_queue_size": 100}, {
            "rate": "10 Mbit/s", "delay": "5 ms", "queue": "100 packets"}),
        ({"LinkSpeedRaw": 1e10, "LinkSpeed": "10", "LinkSpeedUnits": "G"}, {"rate": "10 Gbit/s"}),
        ({"LinkSpeed": "155", "LinkSpeedUnits": "M", "LinkLabel": "OC3"}, {"rate": "155 Mbit/s"}),
        ({"Bandwidth": "1 Gbit/s", "name": "core", "weight": 3}, {"rate": "1 Gbit/s", "name": "core"}),
        ({"name": "New York - Boston", "label": "x"}, None),
    ],
    ids=range(6),
)  # fmt: skip
def test_links_have_the_settings_of_their_attributes(tmp_path, form, attributes, settings):
    graph = nx.Graph()
    graph.add_edge("a", "b", **attributes)
    graph.add_edge("b", "c")
    if form == "gml":
        nx.set_node_attributes(graph, {node: node for node in graph}, "label")
    found = graph_of(tmp_path, FORMATS[form](graph))
    if settings is None:
        assert found.settings == ()
    else:
        assert found.settings == (EdgeSettings.model_validate(settings), None)


@pytest.mark.parametrize(
    ("attributes", "told"),
    [
        ({"bw": 10}, "the link a - b has the bw 10, without a unit"),
        ({"bandwidth": "10"}, "the link a - b has the bandwidth '10', without a unit"),
        ({"capacity": 10.5}, "has the capacity 10.5, without a unit"),
        ({"delay": 5}, "has the delay 5, without a unit"),
        ({"loss": 2}, "has the loss 2"),
        ({"rate": "10 Mbps"}, "has the rate '10 Mbps'"),
        ({"LinkSpeed": "10"}, "has the LinkSpeed '10', without a unit"),
        ({"LinkSpeed": "45-155", "LinkSpeedUnits": "M"}, "the LinkSpeed '45-155' with LinkSpeedUnits 'M'"),
        ({"bw": "1 Mbit/s", "capacity": "2 Mbit/s"}, "has both bw and capacity"),
        ({"impairment": "x"}, "has the attribute impairment"),
        ({"jitter": "1 ms"}, "has the attribute jitter"),
        ({"reverse_rate": "1 Mbit/s"}, "has the attribute reverse_rate"),
    ],
    ids=range(12),
)
def test_an_attribute_whose_meaning_is_uncertain_is_refused_by_name(tmp_path, attributes, told):
    graph = nx.Graph()
    graph.add_edge("a", "b", **attributes)
    with pytest.raises(GraphError) as caught:
        graph_of(tmp_path, graphml(graph))
    assert told in str(caught.value)
    assert caught.value.expected


def test_the_edges_of_a_directed_graph_have_the_settings_of_its_directions(tmp_path):
    down, up = {"rate": "10 Mbit/s", "delay": "5 ms"}, {"rate": "1 Mbit/s", "delay": "5 ms"}
    both = EdgeSettings(**down, reverse=EdgeDirection(rate="1 Mbit/s"))
    pair, once = nx.DiGraph(), nx.DiGraph()
    pair.add_edge("isp", "home", **down)
    pair.add_edge("home", "isp", **up)
    once.add_edge("isp", "home", **down, reverse_rate="1 Mbit/s")
    for graph in (pair, once):
        for write in FORMATS.values():
            if write is FORMATS["gml"]:
                nx.set_node_attributes(graph, {node: node for node in graph}, "label")
            found = graph_of(tmp_path, write(graph))
            assert (found.links[0][1], found.settings) in (("home", (both,)), ("1", (both,)))
    text = '{"nodes": [{"id": "a"}, {"id": "b"}], "links": [{"source": "b", "target": "a", %s}]}'
    found = graph_of(tmp_path, text % '"rate": "10 Mbit/s", "delay": "5 ms", "reverse_rate": "1 Mbit/s"')
    assert (found.links, found.settings) == ((("b", "a"),), (both,))
    pair.add_edge("home", "isp", mtu=9000)
    with pytest.raises(GraphError, match="the mtu of the link isp - home is none and 9000 B"):
        graph_of(tmp_path, graphml(pair))
    pair = nx.DiGraph([("a", "b")])
    pair.add_edge("b", "a", loss=0.1)
    with pytest.raises(GraphError, match="the link a - b has a loss in one direction"):
        graph_of(tmp_path, graphml(pair))


def test_a_graph_that_yed_wrote_is_read(tmp_path):
    found = graph_of(tmp_path, (CASES / "yed.graphml").read_text())
    assert found.nodes == (("n0", "device"), ("n1", "device"), ("n2", "device"))
    assert found.links == (("n0", "n1"), ("n2", "n1"))


def bomb():
    entities = ['<!ENTITY a0 "x">']
    entities += [f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 12)]
    return f"<!DOCTYPE g [{''.join(entities)}]><graphml><graph><node id='&a11;'/></graph></graphml>"


TWO = '"nodes": [{"id": "a"}, {"id": "b"}]'


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "neither JSON nor XML"),
        ("nodes", "neither JSON nor XML"),
        (b"\xff\xfe\x00", "neither JSON nor XML"),
        ("{", "not JSON"),
        ("[" * 100_000, "neither JSON nor XML"),
        ('{"nodes": ' + "[" * 100_000, "not JSON"),
        ("{}", "there is no list of nodes"),
        ('{"nodes": 1, "links": []}', "there is no list of nodes"),
        ('{"nodes": ["a"], "links": []}', "there is no list of nodes"),
        (f"{{{TWO}}}", "there is no list of links"),
        ('{"nodes": [{"name": "a"}], "links": []}', "the node None"),
        ('{"nodes": [{"id": true}], "links": []}', "the node True"),
        ('{"nodes": [{"id": "a b"}], "links": []}', "the node 'a b'"),
        ('{"nodes": [{"id": "../../etc"}], "links": []}', "the node '../../etc'"),
        ('{"nodes": [{"id": "a"}, {"id": "a"}], "links": []}', "node a occurs twice"),
        (f'{{{TWO}, "links": [{{"source": "a", "target": "c"}}]}}', "the node c, which does not exist"),
        (f'{{{TWO}, "links": [{{"source": "a", "target": "a"}}]}}', "connects a to itself"),
        (f'{{{TWO}, "links": []}}', "some nodes are not connected"),
        (f'{{"directed": true, {TWO}, "links": []}}', "some nodes are not connected, such as a and b"),
        (
            graphml(nx.DiGraph([("a", "b"), ("b", "a"), ("b", "c")])),
            "the link b - c is missing in the reverse direction",
        ),
        ((CASES / "graph.gexf").read_text(), "the link 1 - 2 has the capacity 10, without a unit"),
        ((CASES / "graph.gml").read_text(), "has the capacity 10, without a unit"),
        ('Creator "yFiles"\nVersion "2.20"\ngraph\n[\n hierarchic 1\n]', "0 nodes"),
        ("digraph net {\n a -> b\n}", "the file has the format DOT"),
        ((CASES / "clab.yml").read_text(), "the file has the format containerlab's YAML"),
        (
            '{"nodes": [{"id": "n0", "label": "Chicago"}, {"id": "n1"}], '
            '"links": [{"source": "n0", "target": "n0"}]}',
            "a link connects n0 ('Chicago') to itself",
        ),
        (
            f'{{{TWO}, "links": [{{"source": "a", "target": "b", "rate": 1}}]}}',
            "the link a - b has the rate 1, without",
        ),
        ('{"nodes": [{"id": "a", "kind": "hub"}], "links": []}', "is a 'hub'"),
        ('{"nodes": [{"id": "a", "kind": ["host"]}], "links": []}', "is a ['host']"),
        ('{"nodes": [{"id": "a"}], "links": []}', "1 nodes"),
        ('{"nodes": [{"id": ' + "9" * 5000 + '}], "links": []}', "not JSON"),
        (json.dumps({"nodes": [{"id": n} for n in range(4001)], "links": []}), "4001 nodes"),
        (
            '{"nodes": [{"id": "a", "kind": "host"}, {"id": 1}], "links": [{"source": "a", "target": 1}]}',
            "1 host",
        ),
        (
            '{"nodes": [{"id": "host-1"}, {"id": "b"}], "links": [{"source": "host-1", "target": "b"}]}',
            "the node host-1 is not a host",
        ),
        (bomb(), "the XML declares entities"),
        (
            '<!DOCTYPE g [<!ENTITY x SYSTEM "file:///etc/passwd">]><graphml><a>&x;</a></graphml>',
            "the XML declares entities",
        ),
        ("<a>" * 100_000, "nested too deeply"),
        ("<html/>", "not GraphML"),
        (graphml(RING)[:-20], "neither JSON nor XML"),
        (graphml(nx.Graph([("a", "b b")])), "the node 'b b'"),
        (graphml(nx.Graph([("a", "b", {"delay": 1})])), "the link a - b has the delay 1, without a unit"),
    ],
    ids=range(41),
)
def test_what_is_no_network_is_refused(tmp_path, text, told):
    with pytest.raises(GraphError) as caught:
        graph_of(tmp_path, text)
    assert told in str(caught.value)
    assert str(caught.value).startswith("graph: ")
    assert len(str(caught.value)) < 200
    assert caught.value.expected


def test_a_file_that_is_not_there_or_too_large_is_refused(tmp_path):
    with pytest.raises(GraphError, match="No such file"):
        read(tmp_path, "missing")
    with pytest.raises(GraphError):
        read(tmp_path, ".")
    with pytest.raises(GraphError):
        read(tmp_path, "a\0b")
    with (tmp_path / "large").open("wb") as file:
        file.truncate(2**30)
    with pytest.raises(GraphError, match="more than 16777216 bytes"):
        read(tmp_path, "large")


def outcome(data):
    """Returns the network or the error that a file with these bytes gives."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "graph").write_bytes(data)
        try:
            found = read(Path(folder), "graph")
        except GraphError as error:
            return error
    assert isinstance(found, GraphData)
    graph = nx.MultiGraph(found.links)
    assert len(graph) == len(found.nodes) >= 2
    assert nx.is_connected(graph)
    return found


@given(data=st.binary(max_size=300))
@settings(max_examples=300, deadline=None)
def test_any_bytes_have_an_outcome(data):
    outcome(data)


SAMPLES = [
    graphml(RING).encode(),
    graphml(nx.MultiGraph([("a", "b"), ("a", "b"), ("b", "c")])).encode(),
    json.dumps(nx.node_link_data(RING, edges="links")).encode(),
]
PIECES = [
    b"<", b">", b'"', b"{", b"}", b"[", b"]", b"null", b"1e999", b"-1", b"<node id='x'/>", b"<port/>",
    b"<hyperedge/>", b"<graph>", b"</graph>", b"directed", b"<data key='d9'>x</data>", b"\0", b"\xff",
    b'<key id="d0" for="node" attr.name="kind" attr.type="int"/>', b"<!DOCTYPE x>", b"&amp;", b"&x;",
]  # fmt: skip


@given(st.data())
@settings(max_examples=500, deadline=None)
def test_damaged_files_have_an_outcome(data):
    text = bytearray(data.draw(st.sampled_from(SAMPLES)))
    for _ in range(data.draw(st.integers(1, 6))):
        place = data.draw(st.integers(0, len(text)))
        length = data.draw(st.integers(0, 30))
        text[place : place + length] = data.draw(st.sampled_from(PIECES))
    outcome(bytes(text))


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.floats(),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(
                st.sampled_from(["nodes", "links", "edges", "id", "source", "target", "kind", "directed"]),
                inner,
                max_size=4,
            )
        ),
        max_leaves=20,
    )
)
@settings(max_examples=300, deadline=None)
def test_any_json_has_an_outcome(document):
    outcome(json.dumps(document).encode())


def test_an_encoding_that_nobody_knows_is_told(tmp_path):
    with pytest.raises(GraphError, match="neither JSON nor XML: unknown encoding: UTF-18"):
        graph_of(tmp_path, '<?xml version="1.0" encoding="UTF-18"?><graphml/>')


@pytest.mark.filterwarnings("error")
def test_a_key_without_a_type_prints_nothing(tmp_path):
    text = graphml(RING).replace("<graph ", '<key id="d9" for="node" attr.name="label"/><graph ', 1)
    text = text.replace('<node id="a" />', '<node id="a"><data key="d9">1</data></node>')
    assert text.count("d9") == 2
    assert len(graph_of(tmp_path, text).nodes) == 4
