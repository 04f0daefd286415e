"""A picture of a network: where its nodes and links are drawn, and how large."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import networkx as nx

from nettrial.topology.layout import layout

WIDTH = 720
MARGIN = 80
BOX_WIDTH, BOX_HEIGHT = 120, 56
LETTER = 7.2
"""The width of a letter, at most as a rule."""
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
    """What else is written: of a host, its stack; empty where there is no room."""


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
    """What is not written on the nodes and links."""
    small: bool = False
    """Whether nodes are marks instead of boxes, with their names beside them if at all."""

    @property
    def said(self) -> str:
        """What the picture shows, for those who do not see it."""
        names = [node.name for node in self.nodes if node.name]
        return f"The network: {', '.join(names) if names else '; '.join(self.captions)}"


@dataclass(frozen=True)
class Words:
    """What is written in a picture."""

    details: Mapping[str, str]
    """Of nodes, by name."""
    links: Sequence[tuple[str, str]]
    """Of each link, above and below it."""


def picture(graph: nx.MultiGraph, start: str | None = None, words: Words | None = None) -> Drawing:
    """The picture of a graph whose nodes have a `kind`. If it is a path that starts at `start`, it is a line
    with its links written on; else links are counted by what they are. Few nodes are boxes, many marks."""
    links = list(graph.edges())
    words = words or Words({}, [("", "")] * len(links))
    joined = Counter(map(frozenset, links))
    boxes = [_box(node, kind, words) for node, kind in graph.nodes(data="kind")]
    line = _line(graph, start)
    if line:
        step = BETWEEN_BOXES + max(box.width for box in boxes)
        height = 56.0 + APART * max(joined.values(), default=1)
        places = {name: (step * (0.5 + number), height / 2) for number, name in enumerate(line)}
        width = step * len(line)
    else:
        where = layout(graph)
        width, height = float(WIDTH), WIDTH * where.height
        places = {
            name: (MARGIN + (width - 2 * MARGIN) * x, MARGIN / 2 + (height - MARGIN) * y)
            for name, (x, y) in where.places.items()
        }
    boxes = [replace(box, x=places[box.name][0], y=places[box.name][1]) for box in boxes]
    small = not line and _overlap(boxes)
    kinds = Counter(kind for _, kind in graph.nodes(data="kind"))
    texts = Counter(filter(None, map(_together, words.links)))
    counted = [f"{count} × {text}" for text, count in texts.items()] if not line else []
    if small:
        counted.insert(0, ", ".join(f"{count} {_several(kind, count)}" for kind, count in kinds.items()))
    return Drawing(
        width,
        height,
        [_mark(box, len(boxes)) for box in boxes] if small else boxes,
        _links(links, joined, places, words, bool(line), 4.0 if small else APART),
        counted,
        small,
    )


def _several(kind: str, count: int) -> str:
    return kind if count == 1 else "switches" if kind == "switch" else f"{kind}s"


def _together(text: tuple[str, str]) -> str:
    return ", ".join(filter(None, text))


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
    return replace(box, width=size, height=size, name=box.name if count <= MOST_NAMED else "", detail="")


def _overlap(boxes: Sequence[DrawnNode]) -> bool:
    if len(boxes) > MOST_NAMED:
        return True
    return any(
        abs(one.x - other.x) < (one.width + other.width) / 2 + 8 and abs(one.y - other.y) < BOX_HEIGHT + 8
        for one, other in combinations(boxes, 2)
    ) or any(not box.width / 2 <= box.x <= WIDTH - box.width / 2 for box in boxes)


def _links(
    links: Sequence[tuple[str, str]],
    joined: Mapping[frozenset[str], int],
    places: Mapping[str, tuple[float, float]],
    words: Words,
    written: bool,
    apart: float,
) -> list[DrawnLink]:
    """The links, those that join the same two nodes side by side."""
    drawn: Counter[frozenset[str]] = Counter()
    made = []
    for link, (above, below) in zip(links, words.links, strict=True):
        pair = frozenset(link)
        distance = apart * (drawn[pair] - (joined[pair] - 1) / 2)
        drawn[pair] += 1
        first, second = _aside(places[link[0]], places[link[1]], distance)
        made.append(DrawnLink(*first, *second, above if written else "", below if written else ""))
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
