"""A picture of a network: where its nodes and links are drawn, and how large."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import networkx as nx

from nettrial.topology.layout import Layout, layout
from nettrial.topology.topology import CHANNEL

WIDTH = 720.0
MARGIN = 80
BOX_WIDTH, BOX_HEIGHT = 120, 56
LETTER = 7.2
"""The width of a letter, at most as a rule."""
SMALL_LETTER, LINE_HEIGHT = 6.2, 14
"""The size of names beside marks."""
MARK_MARGIN = 32
"""Around marks, their names included."""
BETWEEN_BOXES = 160
"""In a line, where links are written on."""
APART = 44
"""Between links that join the same two nodes."""
MOST_NAMED = 40
"""With more nodes, names would cover the links."""


@dataclass(frozen=True)
class DrawnNode:
    """A node at its place, in pixels."""

    x: float
    y: float
    width: float
    height: float
    name: str
    """Empty where it is not written."""
    kind: str
    detail: str
    """The further text: of a host, its stack; empty where there is no room."""


@dataclass(frozen=True)
class DrawnLink:
    """A link between two places, with what is written above and below its middle."""

    x1: float
    y1: float
    x2: float
    y2: float
    above: str
    below: str
    is_radio: bool = False
    """True if it is a station's part of a radio channel."""


@dataclass(frozen=True)
class Drawing:
    """A network to be drawn, in pixels."""

    width: float
    height: float
    nodes: list[DrawnNode]
    links: list[DrawnLink]
    captions: list[str]
    """The captions: what is not written on the nodes and links."""
    small: bool = False
    """True if nodes are marks instead of boxes, with their names beside them if at all."""

    @property
    def said(self) -> str:
        """Returns what the picture shows, for those who do not see it."""
        names = [node.name for node in self.nodes if node.name]
        return f"The network: {', '.join(names) if names else '; '.join(self.captions)}"


@dataclass(frozen=True)
class Words:
    """The words written in a picture."""

    details: Mapping[str, str]
    """The details of nodes, by name."""
    links: Sequence[tuple[str, str]]
    """The words above and below each link."""


def picture(graph: nx.MultiGraph, start: str | None = None, words: Words | None = None) -> Drawing:
    """The picture of a graph whose nodes have a `kind`. If it is a path that starts at `start`, it is a line
    with its links written on; else links are counted by what they are. Few nodes are boxes, many marks."""
    links = list(graph.edges())
    radio = [data.get(CHANNEL) is not None for _, _, data in graph.edges(data=True)]
    words = words or Words({}, [("", "")] * len(links))
    joined = Counter(map(frozenset, links))
    boxes = [_box(node, kind, words) for node, kind in graph.nodes(data="kind")]
    line = _line(graph, start)
    if line:
        step = BETWEEN_BOXES + max(box.width for box in boxes)
        size = (step * len(line), 56.0 + APART * max(joined.values()))
        places = {name: (step * (0.5 + number), size[1] / 2) for number, name in enumerate(line)}
        return Drawing(*size, _placed(boxes, places), _links(links, places, words, APART, radio), [])
    where = layout(graph)
    size = (WIDTH, WIDTH * where.height)
    texts = Counter(filter(None, (", ".join(filter(None, text)) for text in words.links)))
    captions = [f"{count} × {text}" for text, count in texts.items()]
    captions += ["Dashed: radio."] if any(radio) else []
    unwritten = Words({}, [("", "")] * len(links))
    places = _within(where, size, MARGIN, BOX_HEIGHT / 2 + 8)
    placed = _placed(boxes, places)
    if not _overlap(placed):
        return Drawing(*size, placed, _links(links, places, unwritten, APART, radio), captions)
    kinds = Counter(kind for _, kind in graph.nodes(data="kind"))
    captions.insert(0, ", ".join(f"{count} {_several(kind, count)}" for kind, count in kinds.items()))
    places = _within(where, size, MARK_MARGIN, MARK_MARGIN)
    marks = _placed([_mark(box, len(boxes)) for box in boxes], places)
    named = [node for of_hosts in (True, False) for node in _named(marks, of_hosts)]
    return Drawing(*size, named, _links(links, places, unwritten, 4, radio), captions, small=True)


Places = dict[str, tuple[float, float]]
"""In pixels, by name."""


def _within(where: Layout, size: tuple[float, float], margin_x: float, margin_y: float) -> Places:
    width, height = size[0] - 2 * margin_x, size[1] - 2 * margin_y
    return {name: (margin_x + width * x, margin_y + height * y) for name, (x, y) in where.places.items()}


def _placed(nodes: Sequence[DrawnNode], places: Places) -> list[DrawnNode]:
    return [replace(node, x=places[node.name][0], y=places[node.name][1]) for node in nodes]


def _several(kind: str, count: int) -> str:
    if kind == "host":
        return "hosts (squares)"
    return kind if count == 1 else "switches" if kind == "switch" else f"{kind}s"


def _box(name: str, kind: str, words: Words) -> DrawnNode:
    """A node as a box as wide as what is written in it."""
    detail = words.details.get(name, "" if name == kind else kind)
    width = max(BOX_WIDTH, LETTER * max(len(name), len(detail)) + 16)
    return DrawnNode(0, 0, width, BOX_HEIGHT, name, kind, detail)


def _mark(box: DrawnNode, count: int) -> DrawnNode:
    """A node as a mark: the smaller, the more nodes there are."""
    size = max(3.0, min(14.0, 700 / count))
    if box.kind == "host":
        size *= 0.75
    return replace(box, width=size, height=size, detail="")


def _named(marks: Sequence[DrawnNode], of_hosts: bool) -> list[DrawnNode]:
    """The hosts, or the others: with their names if these have room."""
    found = [mark for mark in marks if (mark.kind == "host") == of_hosts]
    crowded = len(marks) > MOST_NAMED or any(
        abs(one.x - other.x) < SMALL_LETTER * (len(one.name) + len(other.name)) / 2
        and abs(one.y - other.y) < LINE_HEIGHT + one.height
        for one, other in combinations(found, 2)
    )
    return [replace(mark, name="") for mark in found] if crowded else found


def _overlap(boxes: Sequence[DrawnNode]) -> bool:
    if len(boxes) > MOST_NAMED:
        return True
    return any(
        abs(one.x - other.x) < (one.width + other.width) / 2 + 8 and abs(one.y - other.y) < BOX_HEIGHT + 8
        for one, other in combinations(boxes, 2)
    ) or any(not box.width / 2 <= box.x <= WIDTH - box.width / 2 for box in boxes)


def _links(
    links: Sequence[tuple[str, str]], places: Places, words: Words, apart: float, radio: Sequence[bool]
) -> list[DrawnLink]:
    """The links, those that join the same two nodes side by side; `radio` says of each whether it is one."""
    joined, drawn = Counter(map(frozenset, links)), Counter[frozenset[str]]()
    made = []
    for link, text, is_radio in zip(links, words.links, radio, strict=True):
        pair = frozenset(link)
        distance = apart * (drawn[pair] - (joined[pair] - 1) / 2)
        drawn[pair] += 1
        first, second = _aside(places[link[0]], places[link[1]], distance)
        made.append(DrawnLink(*first, *second, *text, is_radio))
    return made


def _aside(
    first: tuple[float, float], second: tuple[float, float], distance: float
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Both ends moved at a right angle to the line between them."""
    along_x, along_y = second[0] - first[0], second[1] - first[1]
    length = math.hypot(along_x, along_y) or 1.0
    x, y = -along_y / length * distance, along_x / length * distance
    return (first[0] + x, first[1] + y), (second[0] + x, second[1] + y)


def _line(graph: nx.MultiGraph, start: str | None) -> list[str]:
    """The nodes in order from `start`, if the graph is a short path that starts there; else nothing."""
    simple: nx.Graph = nx.Graph(graph)
    ends = [name for name, degree in simple.degree() if degree == 1]
    if start not in ends or len(ends) != 2 or len(simple) > 6 or not nx.is_tree(simple):
        return []
    return list(nx.dfs_preorder_nodes(simple, start))
