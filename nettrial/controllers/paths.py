"""Paths between switches: next hops, trees and the shortest paths of a pair."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice, pairwise

import networkx as nx


@dataclass
class Links:
    """The links between switches that a controller has discovered, with separate directions."""

    _far: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)
    """The switch and the port at the far end of each port."""

    def add(self, near: tuple[int, int], far: tuple[int, int]) -> bool:
        """Adds a link from one switch's port to another's; returns whether it is new."""
        known = self._far.get(near) == far
        self._far[near] = far
        return not known

    def remove(self, port: tuple[int, int]) -> bool:
        """Removes the link at a switch's port in both directions; returns whether there was one."""
        gone = [near for near, far in self._far.items() if port in (near, far)]
        for near in gone:
            del self._far[near]
        return bool(gone)

    def __len__(self) -> int:
        """Returns the number of links of which both directions are known."""
        return sum(self._far.get(far) == near for near, far in self._far.items()) // 2

    def has(self, port: tuple[int, int]) -> bool:
        """Returns whether a switch's port has a link."""
        return port in self._far or port in self._far.values()

    def graph(self) -> nx.Graph:
        """Returns the graph of switches; the `ports` of an edge are the ports of one of its links at both
        ends."""
        graph = nx.Graph()
        for (switch, port), (other, far) in sorted(self._far.items()):
            if self._far.get((other, far)) == (switch, port) and not graph.has_edge(switch, other):
                graph.add_edge(switch, other, ports={switch: port, other: far})
        return graph

    def ports(self, switch: int, other: int) -> list[int]:
        """Returns the ports of a switch that have a link to another switch, in order."""
        far = self._far.items()
        return sorted(port for (near, port), (there, _) in far if (near, there) == (switch, other))


def next_hops(graph: nx.Graph, destination: int) -> dict[int, list[int]]:
    """Returns the neighbours of each switch that are one link nearer to a destination, in order."""
    if destination not in graph:
        return {}
    distance = nx.single_source_shortest_path_length(graph, destination)
    return {
        switch: sorted(other for other in graph[switch] if distance[other] == far - 1)
        for switch, far in distance.items()
        if far > 0
    }


def tree(graph: nx.Graph) -> set[tuple[int, int]]:
    """Returns the ports by switch of a spanning tree of shortest paths from the first switch of each
    connected part."""
    ports: set[tuple[int, int]] = set()
    seen: set[int] = set()
    for root in sorted(graph):
        if root in seen:
            continue
        seen.add(root)
        for near, far in nx.bfs_edges(graph, root, sort_neighbors=sorted):
            seen.add(far)
            of = graph.edges[near, far]["ports"]
            ports |= {(near, of[near]), (far, of[far])}
    return ports


def shortest_paths(graph: nx.Graph, source: int, destination: int, count: int) -> list[list[int]]:
    """Returns the shortest loop-free paths between two switches, at most `count` (Yen, Management Science
    17(11), 1971, by networkx). Those in the opposite direction are the same paths, reversed."""
    first, last = min(source, destination), max(source, destination)
    if first == last:
        return [[source]]
    if first not in graph or last not in graph or not nx.has_path(graph, first, last):
        return []
    paths = list(islice(nx.shortest_simple_paths(graph, first, last), count))
    return paths if source == first else [path[::-1] for path in paths]


def random_shortest_path(
    graph: nx.Graph, source: int, destination: int, draw: random.Random
) -> list[int] | None:
    """Returns one of the shortest paths between two switches; at each switch, every next hop has the same
    probability. Returns None if there is no path."""
    hops, path = next_hops(graph, destination), [source]
    while path[-1] != destination:
        if not hops.get(path[-1]):
            return None
        path.append(draw.choice(hops[path[-1]]))
    return path


def out_ports(links: Links, path: Sequence[int], last: int) -> Iterator[tuple[int, int]]:
    """Returns each switch of a path with the port through which a packet leaves it: `last` at the last
    switch, and that of the first of several links between two switches."""
    for switch, other in pairwise(path):
        yield switch, links.ports(switch, other)[0]
    yield path[-1], last
