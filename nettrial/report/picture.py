"""The picture of a network: the positions and sizes of its nodes and links."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

import networkx as nx

from nettrial.topology.layout import Layout, layout, tiers
from nettrial.topology.topology import CHANNEL

WIDTH = 720.0
"""The width of a drawing in pixels."""
MARGIN = 80
"""The margin of a drawing in pixels."""
BOX_WIDTH, BOX_HEIGHT = 120, 56
LETTER = 7.2
"""The usual upper limit of a letter's width in pixels."""
SMALL_LETTER, LINE_HEIGHT = 6.2, 14
"""The width of a letter and the height of a line of the names next to marks, in pixels."""
MARK_MARGIN = 32
"""The margin around marks including their names, in pixels."""
BETWEEN_BOXES = 160
"""The distance of boxes in a line, between which links have labels, in pixels."""
APART = 44
"""The distance between links that connect the same two nodes, in pixels."""
MOST_NAMED = 40
"""The largest number of named nodes: more names would cover the links."""
MOST_LINES = 200
"""The largest number of links between devices drawn as lines: with more, tiers or the adjacency matrix are
drawn."""
MATRIX = 560.0
"""The width of an adjacency matrix in pixels."""
MOST_MESHED = 12
"""The largest number of stations with direct links of which each pair is connected by a line: more lines
would hide everything else."""
ROOM = 0.25
"""The margin around stations with positions, as a fraction of their extent."""


@dataclass(frozen=True)
class DrawnNode:
    """A node with its position, in pixels."""

    x: float
    """The horizontal position of the centre."""
    y: float
    """The vertical position of the centre."""
    width: float
    """The width of its box."""
    height: float
    """The height of its box."""
    name: str
    """The node's name; empty if it is not shown."""
    kind: str
    """The kind of node: host, router or switch."""
    detail: str
    """A further text, such as a host's stack; empty if there is no room."""


@dataclass(frozen=True)
class DrawnLink:
    """A link between two positions, with the labels above and below its middle."""

    x1: float
    """The horizontal position of the first end."""
    y1: float
    """The vertical position of the first end."""
    x2: float
    """The horizontal position of the second end."""
    y2: float
    """The vertical position of the second end."""
    above: str
    """The label above the middle."""
    below: str
    """The label below the middle."""
    is_radio: bool = False
    """True if it stands for a station's access to a radio channel."""


@dataclass(frozen=True)
class DrawnRange:
    """A station's carrier sense range: a circle, which may extend beyond the picture."""

    x: float
    """The horizontal position of the centre."""
    y: float
    """The vertical position of the centre."""
    radius: float
    """The radius of the circle."""


@dataclass(frozen=True)
class Ground:
    """The positions of the stations of a radio channel, in metres."""

    places: Mapping[str, tuple[float, float]]
    """The position of each station, by name."""
    ranges: Mapping[str, float]
    """The distance at which other stations sense each station's transmissions, by name."""


@dataclass(frozen=True)
class Matrix:
    """The adjacency matrix of a network's devices."""

    side: float
    """The width and height of a cell in pixels."""
    count: int
    """The number of devices."""
    cells: list[tuple[int, int]]
    """The row and column of each cell whose devices are connected by a link."""


@dataclass(frozen=True)
class Drawing:
    """A network with its layout, in pixels."""

    width: float
    """The width of the picture."""
    height: float
    """The height of the picture."""
    nodes: list[DrawnNode]
    """The nodes."""
    links: list[DrawnLink]
    """The links."""
    captions: list[str]
    """The captions, which contain what is not written on nodes and links."""
    small: bool = False
    """True if nodes are drawn as marks, with their names next to them or omitted, instead of as boxes."""
    ranges: list[DrawnRange] = field(default_factory=list)
    """The carrier sense ranges of stations."""
    matrix: Matrix | None = None
    """The adjacency matrix that is drawn instead of nodes and links; None for a drawing of these."""

    @property
    def said(self) -> str:
        """Returns a description of the picture for people who can't see it."""
        names = [node.name for node in self.nodes if node.name]
        return f"The network: {', '.join(names) if names else '; '.join(self.captions)}"


@dataclass(frozen=True)
class Words:
    """The labels in a picture."""

    details: Mapping[str, str]
    """The details of nodes, by name."""
    links: Sequence[tuple[str, str]]
    """The labels above and below each link."""


def picture(graph: nx.MultiGraph, start: str | None = None, words: Words | None = None) -> Drawing:
    """Returns the picture of a graph whose nodes have a `kind`. A path that starts at `start` is drawn as a
    line with labelled links; otherwise links are counted by kind. A few nodes are drawn as boxes, many as
    marks. Stations that reach each other directly are connected in pairs."""
    graph, words = _meshed(graph, words)
    links = list(graph.edges())
    radio = [attributes.get(CHANNEL) is not None for _, _, attributes in graph.edges(data=True)]
    words = words or Words({}, [("", "")] * len(links))
    joined = Counter(map(frozenset, links))
    boxes = [_box(node, kind, words) for node, kind in graph.nodes(data="kind")]
    line = _line(graph, start)
    if line:
        step = BETWEEN_BOXES + max(box.width for box in boxes)
        size = (step * len(line), 56.0 + APART * max(joined.values()))
        places = {name: (step * (0.5 + number), size[1] / 2) for number, name in enumerate(line)}
        return Drawing(*size, _placed(boxes, places), _links(links, places, words, APART, radio), [])
    devices = [name for name, kind in graph.nodes(data="kind") if kind != "host"]
    if graph.subgraph(devices).number_of_edges() > MOST_LINES:
        return _in_tiers(graph, words) or _as_matrix(graph, devices, words)
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


def _captions(graph: nx.MultiGraph, words: Words) -> list[str]:
    """Returns captions with the number of nodes of each kind, and of links with each label."""
    kinds = Counter(kind for _, kind in graph.nodes(data="kind"))
    texts = Counter(filter(None, (", ".join(filter(None, text)) for text in words.links)))
    nodes = ", ".join(f"{count} {_several(kind, count)}" for kind, count in kinds.items())
    return [nodes.replace(" (squares)", ""), *(f"{count} × {text}" for text, count in texts.items())]


def _in_tiers(graph: nx.MultiGraph, words: Words) -> Drawing | None:
    """Returns a fabric with many links as a line of its tiers, beginning with the hosts; None if it has no
    tiers."""
    rows = tiers(graph)
    if len(rows) < 2:
        return None
    kinds = dict(graph.nodes(data="kind"))
    tier = {name: number for number, row in enumerate(rows) for name in row}
    names = [f"{len(row)} {_several(kinds[row[0]], len(row))}".replace(" (squares)", "") for row in rows]
    counts = Counter(min(tier[one], tier[other]) for one, other in graph.edges())
    step = BETWEEN_BOXES + BOX_WIDTH
    places = [(step * (0.5 + number), float(BOX_HEIGHT)) for number in range(len(rows))]
    nodes = [
        DrawnNode(
            *places[number],
            BOX_WIDTH,
            BOX_HEIGHT,
            names[number],
            kinds[row[0]],
            f"tier {number}" * (number > 0),
        )
        for number, row in enumerate(rows)
    ]
    links = [
        DrawnLink(*places[number], *places[number + 1], f"{count} links", "")
        for number, count in sorted(counts.items())
    ]
    return Drawing(step * len(rows), 2.0 * BOX_HEIGHT, nodes, links, _captions(graph, words))


def _as_matrix(graph: nx.MultiGraph, devices: Sequence[str], words: Words) -> Drawing:
    """Returns a fabric with many links as the adjacency matrix of its devices."""
    number = {name: at for at, name in enumerate(devices)}
    pairs = {(number[one], number[other]) for one, other in graph.subgraph(devices).edges()}
    cells = sorted(pairs | {(column, row) for row, column in pairs})
    matrix = Matrix(MATRIX / len(devices), len(devices), cells)
    captions = [
        *_captions(graph, words),
        "The adjacency matrix of the devices, without hosts: a filled cell is a link between the devices of "
        "its row and of its column.",
    ]
    return Drawing(MATRIX, MATRIX, [], [], captions, small=True, matrix=matrix)


def on_ground(graph: nx.MultiGraph, ground: Ground, words: Words) -> Drawing:
    """Returns the picture of a graph whose stations have positions: each station is drawn at its position, to
    scale, with its carrier sense range, and the other nodes in a row above."""
    graph, own = _meshed(graph, words)
    words = own or words
    links = list(graph.edges())
    radio = [attributes.get(CHANNEL) is not None for _, _, attributes in graph.edges(data=True)]
    xs, ys = zip(*ground.places.values(), strict=True)
    across = max(max(xs) - min(xs), max(ys) - min(ys), 1.0)
    left, low = min(xs) - ROOM * across, min(ys) - ROOM * across
    metres = (max(xs) - min(xs) + 2 * ROOM * across, max(ys) - min(ys) + 2 * ROOM * across)
    scale = WIDTH / metres[0] if metres[0] >= metres[1] / 2 else 2 * WIDTH / metres[1]
    others = [name for name in graph if name not in ground.places]
    above = 2 * LINE_HEIGHT + BOX_HEIGHT / 2 if others else 0.0
    height = above + scale * metres[1]

    def place(x: float, y: float) -> tuple[float, float]:
        return WIDTH / 2 + scale * (x - left - metres[0] / 2), height - scale * (y - low)

    places = {name: place(*at) for name, at in ground.places.items()}
    places |= {
        name: (WIDTH * (number + 0.5) / len(others), LINE_HEIGHT + 8.0) for number, name in enumerate(others)
    }
    boxes = [_box(node, kind, words) for node, kind in graph.nodes(data="kind")]
    marks = _placed([_mark(box, len(boxes)) for box in boxes], places)
    named = [node for of_hosts in (True, False) for node in _named(marks, of_hosts)]
    ranges = [DrawnRange(*places[name], scale * metres) for name, metres in ground.ranges.items()]
    reach = sorted({f"{metres:.3g}" for metres in ground.ranges.values()}, key=float)
    texts = Counter(filter(None, (", ".join(filter(None, text)) for text in words.links)))
    captions = [
        *(f"{count} × {text}" for text, count in texts.items()),
        f"Stations are drawn at their positions; the picture is {metres[0]:.3g} m wide. Dotted: carrier "
        "sense, "
        f"with a range of {' to '.join(dict.fromkeys((reach[0], reach[-1])))} m. Dashed: radio.",
    ]
    unwritten = Words({}, [("", "")] * len(links))
    drawn = _links(links, places, unwritten, 4, radio)
    return Drawing(WIDTH, height, named, drawn, captions, small=True, ranges=ranges)


def _meshed(graph: nx.MultiGraph, words: Words | None) -> tuple[nx.MultiGraph, Words | None]:
    """Returns the graph with a link between each pair of stations of a channel without an access point, and
    its labels. In the given graph, all links of such a channel start at its first station."""
    channels: dict[int, list[tuple[str, str]]] = {}
    for first, second, channel in graph.edges(data=CHANNEL):
        if channel is not None:
            channels.setdefault(channel, []).append((first, second))
    direct = {
        channel: links
        for channel, links in channels.items()
        if all(graph.nodes[name]["kind"] == "host" for link in links for name in link)
        and 1 < len(links) < MOST_MESHED
    }
    if not direct:
        return graph, words
    made: nx.MultiGraph = nx.MultiGraph()
    made.add_nodes_from(graph.nodes(data=True))
    texts, of_channel = [], {}
    for (first, second, attributes), text in zip(
        graph.edges(data=True), words.links if words else [("", "")] * graph.number_of_edges(), strict=True
    ):
        if attributes.get(CHANNEL) in direct:
            of_channel[attributes[CHANNEL]] = text
        else:
            made.add_edge(first, second, **attributes)
            texts.append((frozenset((first, second)), text))
    for channel, links in direct.items():
        stations = list(dict.fromkeys(name for link in links for name in link))
        for pair in combinations(stations, 2):
            made.add_edge(*pair, **{CHANNEL: channel})
            texts.append((frozenset(pair), of_channel[channel]))
    if words is None:
        return made, None
    # A graph yields its links in the order of its nodes.
    left = list(texts)
    ordered = []
    for first, second in made.edges():
        place = next(number for number, (pair, _) in enumerate(left) if pair == frozenset((first, second)))
        ordered.append(left.pop(place)[1])
    return made, Words(words.details, ordered)


Places = dict[str, tuple[float, float]]
"""The positions of nodes in pixels, by name."""


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
    """Returns a node as a box as wide as its text."""
    detail = words.details.get(name, "" if name == kind else kind)
    width = max(BOX_WIDTH, LETTER * max(len(name), len(detail)) + 16)
    return DrawnNode(0, 0, width, BOX_HEIGHT, name, kind, detail)


def _mark(box: DrawnNode, count: int) -> DrawnNode:
    """Returns a node as a mark, which is smaller the more nodes there are."""
    size = max(3.0, min(14.0, 700 / count))
    if box.kind == "host":
        size *= 0.75
    return replace(box, width=size, height=size, detail="")


def _named(marks: Sequence[DrawnNode], of_hosts: bool) -> list[DrawnNode]:
    """Returns the hosts, or the other nodes, with their names if there is room for them."""
    chosen = [mark for mark in marks if (mark.kind == "host") == of_hosts]
    crowded = len(marks) > MOST_NAMED or any(
        abs(one.x - other.x) < SMALL_LETTER * (len(one.name) + len(other.name)) / 2
        and abs(one.y - other.y) < LINE_HEIGHT + one.height
        for one, other in combinations(chosen, 2)
    )
    return [replace(mark, name="") for mark in chosen] if crowded else chosen


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
    """Returns the links as lines, with links between the same two nodes side by side; `radio` has a flag for
    each link, true for radio links."""
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
    """Returns both ends moved perpendicularly to the line between them."""
    along_x, along_y = second[0] - first[0], second[1] - first[1]
    length = math.hypot(along_x, along_y) or 1.0
    x, y = -along_y / length * distance, along_x / length * distance
    return (first[0] + x, first[1] + y), (second[0] + x, second[1] + y)


def _line(graph: nx.MultiGraph, start: str | None) -> list[str]:
    """Returns the nodes in order from `start` if the graph is a short path that starts there; otherwise an
    empty list."""
    simple: nx.Graph = nx.Graph(graph)
    ends = [name for name, degree in simple.degree() if degree == 1]
    if start not in ends or len(ends) != 2 or len(simple) > 6 or not nx.is_tree(simple):
        return []
    return list(nx.dfs_preorder_nodes(simple, start))
