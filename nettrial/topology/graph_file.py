"""Graphs from untrusted files: GraphML, GEXF, GML, and the node-link JSON of networkx and d3. Anything other
than a plain network is an error; nothing in a file is executed, fetched or expanded."""

from __future__ import annotations

import io
import json
import re
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal
from xml.parsers import expat

import networkx as nx

from nettrial.fields import Strict
from nettrial.files import Unreadable, Unsuitable, beside, read_bytes
from nettrial.topology.edge_attributes import REVERSE, BadAttribute, is_relevant, settings_of
from nettrial.topology.edges import OF_DIRECTION, EdgeDirection, EdgeSettings

MOST_BYTES = 16 * 2**20
"""The largest size of a graph's file."""
MOST_NODES = 4000
"""The largest number of nodes of a graph."""
MOST_LINKS = 20_000
"""The largest number of links of a graph."""
MOST_DEPTH = 32
"""The largest depth of nested elements; GraphML without nested graphs has five."""
GEXF = re.compile(rb"<gexf[\s>]")
"""The beginning of a file in GEXF."""
GML = re.compile(rb"^\s*(Creator\b.*\s+)?(Version\b.*\s+)?graph\s*\[", re.MULTILINE)
"""The beginning of a file in GML."""
FORMATS = "GraphML, GEXF, GML, or node-link JSON"
"""The formats that are read, in words."""
OTHER_FORMATS = {
    "DOT": (
        re.compile(rb"^\s*(strict\s+)?(di)?graph\b[^\[{]*\{", re.MULTILINE),
        f"{FORMATS}: networkx and Gephi convert between formats of graphs",
    ),
    "containerlab's YAML": (
        re.compile(rb"^topology:\s*$", re.MULTILINE),
        "a graph: `nettrial init --from-containerlab` makes one, and a study, of such a file",
    ),
}
"""The beginnings of files with graphs in other formats, and what is expected instead, by format."""
BEGINNING = 4096
"""The number of bytes of a file in which its format is recognised."""
SOURCE = "source of the edge"
"""The attribute of an edge with its source, where the file says it."""
MERGED = "settings of both edges"
"""The attribute of a link with its settings, if the file has an edge for each of its directions."""

Kind = Literal["host", "router", "switch", "device"]
"""The kind of a node; `device` if the file doesn't state it, which stands for the kind given by the study's
`forwarding`."""


class GraphError(Unsuitable):
    """The error for a file without a valid network, with the fault and the expectation."""


class GraphData(Strict):
    """The content of a file, stored with the study so that a run does not depend on the file."""

    source: str
    """The file, as named by the study."""
    nodes: tuple[tuple[str, Kind], ...]
    """The name and kind of each node."""
    links: tuple[tuple[str, str], ...]
    """The two nodes of each link; a pair may occur more than once."""
    settings: tuple[EdgeSettings | None, ...] = ()
    """The settings of each link, if any has some; in the direction from its first node to its second."""


def read(folder: Path, name: str, is_of_study: bool = True) -> GraphData:
    """Returns the graph in a file, whose name is relative to the directory; raises GraphError. A study, which
    may be somebody else's, can name only files in its directory and below."""
    try:
        content = read_bytes(beside(folder, name) if is_of_study else folder / name, MOST_BYTES)
    except Unreadable as why:
        raise GraphError(f"{name}: {why}", f"a readable file of up to {MOST_BYTES} bytes") from None
    try:
        _refuse_other_formats(content)
        return _checked(name, _parsed(content))
    except GraphError as error:
        raise GraphError(f"{name}: {error}", error.expected) from None


def _refuse_other_formats(content: bytes) -> None:
    """Raises GraphError for the formats of graphs that are not read, by their names."""
    for name, (begins, expected) in OTHER_FORMATS.items():
        if begins.search(content[:BEGINNING]):
            raise GraphError(f"the file has the format {name}", expected)


def _parsed(content: bytes) -> nx.Graph:
    """Returns the graph as the file's format has it."""
    if content.lstrip()[:1] == b"{":
        return _json(content)
    if GML.search(content[:BEGINNING]) and content.lstrip()[:1] != b"<":
        return _by_networkx("GML", lambda: nx.parse_gml(content.decode(), label="id"))
    _refuse_traps(content)
    if GEXF.search(content[:BEGINNING]):
        return _by_networkx("GEXF", lambda: nx.read_gexf(io.BytesIO(content)))
    return _by_networkx("GraphML", lambda: nx.parse_graphml(content.decode()))


def _by_networkx(name: str, parse: Callable[[], nx.Graph]) -> nx.Graph:
    """Returns the graph that networkx reads from a file of the format `name`."""
    try:
        with warnings.catch_warnings():  # about attributes without a key, which have no effect
            warnings.simplefilter("ignore")
            return parse()
    except Exception as error:  # networkx may raise any error for hostile input
        raise GraphError(f"not {name}: {_line(error)}", FORMATS) from None


def _refuse_traps(content: bytes) -> None:
    """Raises GraphError if the XML declares entities, which could grow without bound or refer to other files,
    is nested too deeply, or is malformed; and if it contains a node twice, which networkx would
    merge."""
    parser = expat.ParserCreate(namespace_separator=" ")
    depth = 0
    nodes: set[str] = set()

    def begin(name: str, attributes: Mapping[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > MOST_DEPTH:
            raise GraphError("elements nested too deeply", f"up to {MOST_DEPTH} levels")
        if name.rpartition(" ")[2] == "node" and "id" in attributes:
            if attributes["id"] in nodes:
                raise GraphError(f"the node {_short(attributes['id'])} occurs twice", "each node once")
            nodes.add(attributes["id"])

    def end(name: str) -> None:
        nonlocal depth
        depth -= 1

    def entity(*_: object) -> int:
        raise GraphError("the XML declares entities", "XML without a document type declaration")

    parser.StartElementHandler = begin
    parser.EndElementHandler = end
    parser.EntityDeclHandler = entity
    parser.ExternalEntityRefHandler = entity
    try:
        parser.Parse(content, True)
    except GraphError:
        raise
    except (expat.ExpatError, ValueError, LookupError) as error:  # LookupError: an unknown encoding
        raise GraphError(f"neither JSON nor XML: {_line(error)}", FORMATS) from None


def _json(content: bytes) -> nx.Graph:
    """Returns the graph of a node-link document, which has `nodes` with `id`s and `links` (or `edges`) with
    `source` and `target`."""
    try:
        document = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise GraphError(f"not JSON: {_line(error)}", FORMATS) from None
    nodes, links = _entries(document, "nodes"), _entries(document, "links", "edges")
    graph = nx.MultiDiGraph() if document.get("directed") else nx.MultiGraph()
    for node in nodes:
        name = _name(node.get("id"))
        if name in graph:
            raise GraphError(f"node {name} occurs twice", "each node once")
        graph.add_node(name, **_plain(node))
    for link in links:
        ends = _name(link.get("source")), _name(link.get("target"))
        for end in ends:
            if end not in graph:
                raise GraphError(f"a link refers to the node {end}, which does not exist", "a node's id")
        graph.add_edge(*ends, None, **{**_plain(link), SOURCE: ends[0]})
    return graph


def _entries(document: Mapping[str, Any], *names: str) -> list[Mapping[str, Any]]:
    entries = next((document[name] for name in names if name in document), None)
    if not isinstance(entries, list) or not all(isinstance(entry, Mapping) for entry in entries):
        raise GraphError(
            f"there is no list of {names[0]}",
            "node-link JSON: nodes with an id, links with source and target",
        )
    return entries


def _plain(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the relevant attributes."""
    return {
        name: value for name, value in entry.items() if name in ("kind", "label", SOURCE) or is_relevant(name)
    }


def _name(value: object) -> str:
    """Returns a node's name; raises GraphError if it is invalid."""
    text = str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", text):
        raise GraphError(f"the node {_short(value)}", "names of letters, digits, - and _, up to 64")
    return text


def _checked(source: str, graph: nx.Graph) -> GraphData:
    """Returns the graph as data; raises GraphError if it is not a valid network."""
    if graph.is_directed():
        graph = _undirected(graph)
    for count, most, what in (
        (graph.number_of_nodes(), MOST_NODES, "nodes"),
        (graph.number_of_edges(), MOST_LINKS, "links"),
    ):
        if count > most:
            raise GraphError(f"{count} {what}", f"up to {most} {what}")
    nodes = tuple(
        (_name(node), _kind(node, attributes.get("kind", "device")))
        for node, attributes in graph.nodes.items()
    )
    if len(nodes) < 2:
        raise GraphError(f"{len(nodes)} nodes", "2 nodes or more")
    links: list[tuple[str, str]] = []
    settings: list[EdgeSettings | None] = []
    for one, other, attributes in graph.edges(data=True):
        if one == other:
            raise GraphError(f"a link connects {_called(graph, one)} to itself", "links between two nodes")
        ends = (one, other) if attributes.get(SOURCE, one) == one else (other, one)
        links.append((_name(ends[0]), _name(ends[1])))
        settings.append(_settings(graph, ends, attributes))
    parts = list(nx.connected_components(graph))
    if len(parts) > 1:
        alone = min(parts, key=len)
        one, other = (next(node for node in graph if (node in alone) is inside) for inside in (True, False))
        names = f"{_called(graph, one)} and {_called(graph, other)}"
        raise GraphError(f"some nodes are not connected, such as {names}", "a connected graph")
    _check_hosts(dict(nodes))
    return GraphData(
        source=source, nodes=nodes, links=tuple(links), settings=tuple(settings) if any(settings) else ()
    )


def _settings(graph: nx.Graph, ends: tuple[str, str], attributes: Mapping[str, Any]) -> EdgeSettings | None:
    """Returns the settings of a link from its source to its target, by its attributes."""
    if isinstance(merged := attributes.get(MERGED), EdgeSettings):
        return merged
    settings = _of_edge(graph, ends, attributes)
    if settings is not None and settings.reverse is not None and SOURCE not in attributes:
        name = next(str(name) for name in attributes if str(name).lower().startswith(REVERSE))
        expected = "a directed graph, or JSON: other undirected graphs do not say where a link begins"
        raise GraphError(f"the link {_between(graph, ends)} has the attribute {name}", expected)
    return settings


def _of_edge(graph: nx.Graph, ends: tuple[str, str], attributes: Mapping[str, Any]) -> EdgeSettings | None:
    """Returns the settings that an edge's attributes give."""
    try:
        return settings_of(attributes)
    except BadAttribute as error:
        raise GraphError(f"the link {_between(graph, ends)} {error}", error.expected) from None


def _undirected(graph: nx.MultiDiGraph) -> nx.MultiGraph:
    """Returns a directed graph's links, which carry traffic in both directions. If every edge has a reverse
    one, the two are a link. Otherwise, the direction is that in which an editor drew the link: each edge is
    one. Raises GraphError if only some edges, half of them or more, have a reverse one."""
    edges = Counter((one, other) for one, other, _ in graph.edges(data=True))
    lone = [(one, other) for (one, other), count in edges.items() if edges[other, one] < count]
    with_reverse = sum(min(count, edges[other, one]) for (one, other), count in edges.items())
    if lone and 2 * with_reverse >= edges.total():
        one, other = (_called(graph, node) for node in lone[0])
        value = f"the graph is directed, and the link {one} - {other} is missing in the reverse direction"
        raise GraphError(value, "an undirected graph, or each link once, or each link in both directions")
    made = nx.MultiGraph()
    made.add_nodes_from(graph.nodes(data=True))
    order = {node: number for number, node in enumerate(graph)}
    reverse: dict[tuple[object, object], list[Mapping[str, Any]]] = defaultdict(list)
    for one, other, attributes in graph.edges(data=True):
        reverse[other, one].append(attributes)
    for one, other, attributes in graph.edges(data=True):
        plain = {**_plain(attributes), SOURCE: one}
        if lone:
            made.add_edge(one, other, None, **plain)
        elif order[one] <= order[other]:
            pair = plain, reverse[one, other].pop(0) if one != other else plain
            made.add_edge(one, other, None, **{**plain, MERGED: _merged(graph, (one, other), pair)})
    return made


def _merged(
    graph: nx.Graph, ends: tuple[str, str], pair: tuple[Mapping[str, Any], Mapping[str, Any]]
) -> EdgeSettings | None:
    """Returns the settings of a link that a directed graph has as two edges, one in each direction."""
    forward, back = (
        _of_edge(graph, nodes, attributes) or EdgeSettings()
        for nodes, attributes in zip((ends, ends[::-1]), pair, strict=True)
    )
    for settings in (forward, back):
        if settings.reverse is not None:
            expected = "no such attribute: the graph has an edge in the reverse direction"
            raise GraphError(
                f"the link {_between(graph, ends)} has an attribute that begins with {REVERSE}", expected
            )
    if forward.mtu != back.mtu:
        values = f"{forward.mtu or 'none'} and {back.mtu or 'none'}"
        raise GraphError(
            f"the mtu of the link {_between(graph, ends)} is {values}", "the same in both directions"
        )
    apart = {name: getattr(back, name) for name in OF_DIRECTION}
    for name, value in apart.items():
        if (value is None) != (getattr(forward, name) is None):
            fault = f"the link {_between(graph, ends)} has a {name} in one direction"
            raise GraphError(fault, f"a {name} in both directions, or in none")
    differing = {name: value for name, value in apart.items() if value != getattr(forward, name)}
    if not differing:
        return forward if forward != EdgeSettings() else None
    return forward.model_copy(update={"reverse": EdgeDirection.model_validate(differing)})


def _between(graph: nx.Graph, ends: tuple[str, str]) -> str:
    """Returns a link in words."""
    return f"{_called(graph, ends[0])} - {_called(graph, ends[1])}"


def _called(graph: nx.Graph, node: object) -> str:
    """Returns a node's name for messages, with its label if that is another."""
    label = graph.nodes[node].get("label")
    name = str(node) if len(str(node)) <= 40 else _short(node)
    return name if label is None or str(label) == name else f"{name} ({_short(label)})"


def _check_hosts(kinds: Mapping[str, str]) -> None:
    count = Counter(kinds.values())["host"]
    if count == 1:
        only = next(node for node, kind in kinds.items() if kind == "host")
        raise GraphError(f"1 host, {only}", "2 hosts or more, or none, in which case each node gets hosts")
    made = [node for node in kinds if re.fullmatch(r"host-[0-9]+", node)]
    if not count and made:
        raise GraphError(f"the node {made[0]} is not a host", "kind host, or another name")


def _kind(node: object, kind: object) -> Any:
    if kind not in ("host", "router", "switch", "device"):
        raise GraphError(f"the node {_short(node)} is a {_short(kind)}", "a kind of host, router or switch")
    return kind


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:39] + "…"


def _line(error: BaseException) -> str:
    """Returns the text of an error on one line of limited length."""
    return " ".join(str(error).split())[:80] or type(error).__name__
