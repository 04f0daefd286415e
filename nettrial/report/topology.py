"""A picture of a trial's network: where its nodes stand, and what its links are."""

import math
from collections import Counter
from dataclasses import dataclass

import networkx as nx

from nettrial.scenario import Impairment, Link, Node, Scenario
from nettrial.study import Study

_STEP = 280
_WIDTH = 720
_HEIGHT = 440
_MARGIN = 80
_APART = 44
"""Between links that join the same two nodes."""


@dataclass(frozen=True)
class DrawnNode:
    """A node at its place, in pixels."""

    x: float
    y: float
    name: str
    kind: str
    detail: str
    """Its kind and, of a host, its stack; empty where the name says it."""


@dataclass(frozen=True)
class DrawnLink:
    """A link between two places, with what is written above and below its middle."""

    x1: float
    y1: float
    x2: float
    y2: float
    above: str
    below: str


@dataclass(frozen=True)
class Drawing:
    """A network to be drawn, in pixels."""

    width: float
    height: float
    nodes: list[DrawnNode]
    links: list[DrawnLink]
    captions: list[str]
    """The kinds of links there are, where they are not written on the links."""


def draw(study: Study, scenario: Scenario) -> Drawing:
    """The network of a scenario; settings that are factors of the study are named so, not by a level.

    A path is drawn as a line that starts at the first flow's sender, links written on; any other graph
    by Kamada and Kawai's layout.
    """
    graph: nx.Graph[str] = nx.Graph()
    graph.add_nodes_from(node.name for node in scenario.nodes)
    graph.add_edges_from((link.ends[0].node, link.ends[1].node) for link in scenario.links)
    line = _line(graph, scenario.workload[0].from_)
    joined = Counter(_pair(link) for link in scenario.links)
    if line:
        height = 56 + _APART * max(joined.values())
        places: dict[str, tuple[float, float]] = {
            name: (_MARGIN + _STEP * i, height / 2) for i, name in enumerate(line)
        }
        width = 2 * _MARGIN + _STEP * (len(line) - 1)
    else:
        places = _spread(graph)
        width, height = _WIDTH, _HEIGHT
    sets = {factor.sets for factor in study.factors.values()}
    texts = [_link(link, sets) for link in scenario.links]
    links = []
    drawn: Counter[frozenset[str]] = Counter()
    for link, (above, below) in zip(scenario.links, texts, strict=True):
        pair = _pair(link)
        distance = _APART * (drawn[pair] - (joined[pair] - 1) / 2)
        near, far = (places[end.node] for end in link.ends)
        first, second = _aside(near, far, distance)
        drawn[pair] += 1
        links.append(DrawnLink(*first, *second, above if line else "", below if line else ""))
    nodes = [
        DrawnNode(*places[node.name], node.name, node.kind.root, _detail(node, sets))
        for node in scenario.nodes
    ]
    kinds = Counter(f"{above}, {below}" for above, below in texts)
    captions = [] if line else [f"{count} × {text}" for text, count in kinds.items()]
    return Drawing(width, height, nodes, links, captions)


def _pair(link: Link) -> frozenset[str]:
    return frozenset(end.node for end in link.ends)


def _aside(
    first: tuple[float, float], second: tuple[float, float], distance: float
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Both ends moved at a right angle to the line between them."""
    along_x, along_y = second[0] - first[0], second[1] - first[1]
    length = math.hypot(along_x, along_y)
    x, y = -along_y / length * distance, along_x / length * distance
    return (first[0] + x, first[1] + y), (second[0] + x, second[1] + y)


def _line(graph: "nx.Graph[str]", start: str) -> list[str]:
    """The nodes in order from `start`, if the graph is a path that starts there; else nothing."""
    ends = [name for name, degree in graph.degree() if degree == 1]
    if not nx.is_connected(graph) or not nx.is_tree(graph) or len(ends) != 2 or start not in ends:
        return []
    return list(nx.dfs_preorder_nodes(graph, start))


def _spread(graph: "nx.Graph[str]") -> dict[str, tuple[float, float]]:
    unit = nx.kamada_kawai_layout(graph)
    half_width, half_height = _WIDTH / 2 - _MARGIN, _HEIGHT / 2 - _MARGIN
    return {
        name: (_WIDTH / 2 + half_width * float(x), _HEIGHT / 2 + half_height * float(y))
        for name, (x, y) in unit.items()
    }


def _link(link: Link, sets: set[str]) -> tuple[str, str]:
    """What a link is: rate, delay and impairment; MTU."""
    rate = link.rate.root if link.rate else "not shaped"
    delay = link.delay.root if link.delay else ""
    mtus = list(dict.fromkeys(end.mtu.root for end in link.ends))
    parts = [
        "rate: factor" if "network.rate" in sets else rate,
        "delay: factor" if "network.delay" in sets else "" if delay.startswith("0 ") else delay,
        *_impairment(link.impairment, sets),
    ]
    return ", ".join(
        filter(None, parts)
    ), "MTU: factor" if "network.mtu" in sets else f"MTU {' / '.join(mtus)}"


def _impairment(impairment: Impairment | None, sets: set[str]) -> list[str]:
    """What a link does to frames beside carrying them, as far as it does."""
    factors = {path.rsplit(".", 1)[1] for path in sets if path.startswith("network.impairment.")}
    said = [f"{name}: factor" for name in ("loss", "duplication", "reordering", "jitter") if name in factors]
    if impairment is None:
        return said
    chances = {
        "loss": impairment.loss,
        "duplication": impairment.duplication,
        "reordering": impairment.reordering,
    }
    said += [
        f"{name} {100 * chance:g}%" for name, chance in chances.items() if chance and name not in factors
    ]
    jitter = impairment.jitter.root if impairment.jitter else "0 ns"
    return said if jitter.startswith("0 ") or "jitter" in factors else [*said, f"jitter {jitter}"]


def _detail(node: Node, sets: set[str]) -> str:
    if node.stack is None:
        return "" if node.name == node.kind.root else node.kind.root
    is_factor = {f"hosts.{node.name}.{setting}" for setting in ("stack", "congestion_control")} & sets
    stack = "factor" if is_factor else node.stack.name
    return f"{node.kind.root}, stack: {stack}"
