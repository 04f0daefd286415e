"""Paths between switches: next hops, trees and the shortest paths of a pair."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice, pairwise

import networkx as nx


@dataclass
class Links:
    """The links between switches that a controller has found, each direction by itself."""

    _far: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)
    """The switch and the port at the far end of each port."""

    def add(self, near: tuple[int, int], far: tuple[int, int]) -> bool:
        """Notes that frames go from one switch's port to another's; returns whether it was not known."""
        known = self._far.get(near) == far
        self._far[near] = far
        return not known

    def remove(self, port: tuple[int, int]) -> bool:
        """Forgets the link at a switch's port, in both directions; returns whether there was one."""
        gone = [near for near, far in self._far.items() if port in (near, far)]
        for near in gone:
            del self._far[near]
        return bool(gone)

    def __len__(self) -> int:
        """The number of links of which both directions are known."""
        return sum(self._far.get(far) == near for near, far in self._far.items()) // 2

    def has(self, port: tuple[int, int]) -> bool:
        """Returns whether a link is at a switch's port."""
        return port in self._far or port in self._far.values()

    def graph(self) -> nx.Graph:
        """The switches with links, each edge with the port of one of its links at either end, in `ports`."""
        graph = nx.Graph()
        for (switch, port), (other, far) in sorted(self._far.items()):
            if self._far.get((other, far)) == (switch, port) and not graph.has_edge(switch, other):
                graph.add_edge(switch, other, ports={switch: port, other: far})
        return graph

    def ports(self, switch: int, other: int) -> list[int]:
        """The ports of a switch with a link to another, in order."""
        far = self._far.items()
        return sorted(port for (near, port), (there, _) in far if (near, there) == (switch, other))


def next_hops(graph: nx.Graph, destination: int) -> dict[int, list[int]]:
    """The neighbours of each switch that are one link nearer to a destination, in order."""
    if destination not in graph:
        return {}
    distance = nx.single_source_shortest_path_length(graph, destination)
    return {
        switch: sorted(other for other in graph[switch] if distance[other] == far - 1)
        for switch, far in distance.items()
        if far > 0
    }


def tree(graph: nx.Graph) -> set[tuple[int, int]]:
    """The ports, by switch, of a spanning tree of shortest paths from the first switch of each part."""
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
    """The shortest paths without a loop between two switches, at most `count` (Yen, Management Science
    17(11), 1971, by networkx). The other way they are the same, reversed."""
    first, last = min(source, destination), max(source, destination)
    if first == last:
        return [[source]]
    if first not in graph or last not in graph or not nx.has_path(graph, first, last):
        return []
    found = list(islice(nx.shortest_simple_paths(graph, first, last), count))
    return found if source == first else [path[::-1] for path in found]


def random_shortest_path(
    graph: nx.Graph, source: int, destination: int, draw: random.Random
) -> list[int] | None:
    """One of the shortest paths between two switches, at each switch any next hop with the same
    probability; None where there is none."""
    hops, path = next_hops(graph, destination), [source]
    while path[-1] != destination:
        if not hops.get(path[-1]):
            return None
        path.append(draw.choice(hops[path[-1]]))
    return path


def out_ports(links: Links, path: Sequence[int], last: int) -> Iterator[tuple[int, int]]:
    """Each switch of a path and the port by which a packet leaves it, `last` at the last one; of several
    links between two switches the first."""
    for switch, other in pairwise(path):
        yield switch, links.ports(switch, other)[0]
    yield path[-1], last
