"""The positions of a graph's nodes in a picture: in layers, on a circle, or spread out."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass

import networkx as nx

Position = tuple[float, float]
"""A position from the left and from the top, both from 0 to 1."""

MOST_SPREAD = 60
"""The largest number of devices that are spread out; more are put on a circle, because spreading them out
takes long and results in a tangle."""
FEWEST_ON_CIRCLE = 12
"""The smallest number of evenly connected devices that are placed on a circle."""
CIRCLE, OUTER_CIRCLE = 0.38, 0.46
"""The radii of the devices' circle and of the hosts' circle around it."""
REACH = 0.09
"""The distance from a spread-out device to its hosts."""


@dataclass(frozen=True)
class Layout:
    """The positions of all nodes."""

    places: dict[str, Position]
    """The position of each node by its name."""
    height: float
    """The height of the picture, for a width of 1."""


def layout(graph: nx.Graph) -> Layout:
    """Returns the positions of the nodes, each of which has a `kind`."""
    kinds = dict(graph.nodes(data="kind"))
    devices = [node for node, kind in kinds.items() if kind != "host"]
    if rows := _row(graph, devices) or tiers(graph):
        return Layout(_in_rows(graph, rows), 0.61)
    if len(devices) > MOST_SPREAD or (len(devices) >= FEWEST_ON_CIRCLE and _is_even(graph, devices)):
        return Layout(_on_circle(graph, devices), 1.0)
    return Layout(_spread(graph, devices or list(graph)), 0.61)


def _row(graph: nx.Graph, devices: list[str]) -> list[list[str]]:
    """Returns the hosts, and the devices in order, if the devices form a chain; otherwise an empty list."""
    inner = nx.Graph(graph.subgraph(devices))
    ends = [node for node, degree in inner.degree() if degree == 1]
    if len(ends) != 2 or not nx.is_tree(inner) or len(devices) == len(graph):
        return []
    if any(not any(node in inner for node in graph[host]) for host in graph if host not in inner):
        return []
    return [[node for node in graph if node not in inner], list(nx.dfs_preorder_nodes(inner, ends[0]))]


def tiers(graph: nx.Graph) -> list[list[str]]:
    """Returns the nodes by their distance from the hosts, if no link connects two of the same distance;
    otherwise an empty list."""
    kinds = dict(graph.nodes(data="kind"))
    hosts = [node for node, kind in kinds.items() if kind == "host"]
    if not hosts:
        return []
    distance = dict.fromkeys(hosts, 0)
    reached = hosts
    while reached:
        further = [other for node in reached for other in graph[node] if other not in distance]
        for node in further:
            distance[node] = distance[reached[0]] + 1
        reached = list(dict.fromkeys(further))
    if len(distance) < len(kinds) or any(distance[one] == distance[other] for one, other in graph.edges()):
        return []
    rows: dict[int, list[str]] = defaultdict(list)
    for node in kinds:
        rows[distance[node]].append(node)
    return [rows[number] for number in sorted(rows)]


def _in_rows(graph: nx.Graph, rows: list[list[str]]) -> dict[str, Position]:
    """Returns positions with hosts at the bottom, each near its device."""
    order = {node: place for place, node in enumerate(rows[1])} if len(rows) > 1 else {}
    hosts = sorted(rows[0], key=lambda host: min(order[node] for node in graph[host] if node in order))
    return {
        node: ((place + 0.5) / len(row), 1 - (number + 0.5) / len(rows))
        for number, row in enumerate([hosts, *rows[1:]])
        for place, node in enumerate(row)
    }


def _is_even(graph: nx.Graph, devices: list[str]) -> bool:
    """Returns whether all devices have about the same number of links to others, and more than in a ring."""
    degrees = dict(graph.subgraph(devices).degree()).values()
    return bool(max(degrees) - min(degrees) <= 1 and max(degrees) > 2)


def _hosts_of(graph: nx.Graph, devices: list[str]) -> dict[str, list[str]]:
    """Returns the hosts to draw near each device; each host is drawn at one of its devices."""
    known = set(devices)
    hosts: dict[str, list[str]] = {device: [] for device in devices}
    for host in graph:
        if host not in known:
            hosts[next((node for node in graph[host] if node in known), devices[0])].append(host)
    return hosts


def _on_circle(graph: nx.Graph, devices: list[str]) -> dict[str, Position]:
    places: dict[str, Position] = {}
    slot = 2 * math.pi / len(devices)
    for number, (device, hosts) in enumerate(_hosts_of(graph, devices).items()):
        angle = number * slot - math.pi / 2
        places[device] = _at(0.5, 0.5, CIRCLE, angle)
        for place, host in enumerate(hosts):
            aside = ((place + 0.5) / len(hosts) - 0.5) * slot * 0.8
            places[host] = _at(0.5, 0.5, OUTER_CIRCLE, angle + aside)
    return places


def _spread(graph: nx.Graph, devices: list[str]) -> dict[str, Position]:
    """Returns Kamada and Kawai's layout of the devices, with their hosts around them on the outside."""
    unit = nx.kamada_kawai_layout(nx.Graph(graph.subgraph(devices)))
    margin = 0.12
    low = [min(float(place[axis]) for place in unit.values()) for axis in (0, 1)]
    wide = [max(float(place[axis]) for place in unit.values()) - low[axis] for axis in (0, 1)]
    places: dict[str, Position] = {}
    for device, hosts in _hosts_of(graph, devices).items():
        x, y = (
            margin + (1 - 2 * margin) * (float(unit[device][axis]) - low[axis]) / wide[axis]
            if wide[axis] > 1e-6
            else 0.5
            for axis in (0, 1)
        )
        places[device] = (x, y)
        outward = math.atan2(y - 0.5, x - 0.5) if len(devices) > 1 else -math.pi / 2
        fan = min(math.pi, 0.5 * len(hosts))
        for place, host in enumerate(hosts):
            angle = outward + ((place + 0.5) / len(hosts) - 0.5) * fan
            places[host] = _at(x, y, REACH, angle)
    return places


def _at(x: float, y: float, radius: float, angle: float) -> Position:
    return x + radius * math.cos(angle), y + radius * math.sin(angle)
