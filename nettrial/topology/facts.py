"""Facts about a network's graph: path lengths, how it can be cut in half, its spectrum."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

import networkx as nx
import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]

CUTS = 10
"""Random halves that Kernighan and Lin's method starts from, beside one out of the spectrum."""


@dataclass(frozen=True)
class Paths:
    """Shortest paths between each two nodes of a kind, in links. Hosts pass nothing on."""

    pairs: dict[int, int]
    """The number of pairs, by their distance."""

    @property
    def mean(self) -> float:
        """The mean length."""
        return sum(length * count for length, count in self.pairs.items()) / sum(self.pairs.values())

    @property
    def diameter(self) -> int:
        """The longest."""
        return max(self.pairs)


@dataclass(frozen=True)
class EqualPaths:
    """The number of shortest paths between two switches, over each two that a path joins: what routing by
    equal cost (ECMP) can choose from. Parallel links are paths of their own."""

    mean: float
    several: float
    """The share of pairs with more than one, from 0 to 1."""
    most: int
    """The most of a pair."""


@dataclass(frozen=True)
class Bisection:
    """The number of links to cut to part the switches into two halves of equal number (one more in one of
    them where the number is odd): an estimate, since the least cut is hard to find."""

    at_least: int
    """The bound by the spectrum: μ₂·|S|·|T|/n, μ₂ the Laplacian's second smallest eigenvalue (Fiedler 1973;
    Mohar, The Laplacian Spectrum of Graphs, 1991)."""
    at_most: int
    """The best cut found: Kernighan and Lin's method (1970), from random halves and the spectrum's."""
    per_host: float
    """`at_most` for each host of a half: 1 or more is full bisection, where all links have the same rate."""


@dataclass(frozen=True)
class Spectrum:
    """Eigenvalues of the adjacency matrix of the switches."""

    second: float
    """The second largest."""
    gap: float
    """The largest less the second largest: the larger, the better the network expands."""
    bound: float
    """2√(d − 1), d being the most links of a switch to others: the second largest can't stay below it in
    large regular graphs (Alon and Boppana; Nilli 1991)."""


@dataclass(frozen=True)
class Facts:
    """The facts told of a graph. What it has no part for is None."""

    switches: int
    """Routers and switches."""
    hosts: int
    host_links: int
    """Links with a host at one end."""
    fabric_links: int
    """Links between switches."""
    fewest_links: int
    """The fewest links of a switch to others."""
    most_links: int
    """The most links of a switch to others."""
    between_hosts: Paths | None
    between_switches: Paths | None
    equal_paths: EqualPaths | None
    bisection: Bisection | None
    spectrum: Spectrum | None


def facts_of(graph: nx.MultiGraph) -> Facts:
    """The facts of a graph whose nodes have a `kind`."""
    from scipy.sparse import csgraph  # it is slow to load, and drawing and showing alone need it

    kinds = dict(graph.nodes(data="kind"))
    hosts = [node for node, kind in kinds.items() if kind == "host"]
    devices = [node for node, kind in kinds.items() if kind != "host"]
    links: Matrix = (
        nx.to_numpy_array(graph.subgraph(devices), nodelist=devices, weight=None)
        if devices
        else np.zeros((0, 0))
    )
    fabric = int(links.sum()) // 2 if devices else 0
    degrees = links.sum(axis=0).astype(int).tolist() if devices else [0]
    apart: Matrix = csgraph.shortest_path(links, unweighted=True) if devices else np.zeros((0, 0))
    linked = len(devices) > 1 and fabric > 0
    return Facts(
        switches=len(devices),
        hosts=len(hosts),
        host_links=graph.number_of_edges() - fabric,
        fabric_links=fabric,
        fewest_links=min(degrees),
        most_links=max(degrees),
        between_hosts=_between_hosts(graph, hosts, devices, apart),
        between_switches=_paths(apart, np.ones(len(devices))) if linked else None,
        equal_paths=_equal_paths(links, apart) if linked else None,
        bisection=_bisection(links, len(hosts)) if linked else None,
        spectrum=_spectrum(links, max(degrees)) if linked else None,
    )


def switch_paths(graph: nx.MultiGraph) -> tuple[Paths, EqualPaths] | None:
    """The paths between the switches of a graph whose nodes have a `kind`; None where no link joins two."""
    from scipy.sparse import csgraph

    devices = [node for node, kind in graph.nodes(data="kind") if kind != "host"]
    links: Matrix = (
        nx.to_numpy_array(graph.subgraph(devices), nodelist=devices, weight=None)
        if devices
        else np.zeros((0, 0))
    )
    if not links.any():
        return None
    apart: Matrix = csgraph.shortest_path(links, unweighted=True)
    paths, equal = _paths(apart, np.ones(len(devices))), _equal_paths(links, apart)
    return (paths, equal) if paths and equal else None


def _paths(apart: Matrix, count: Matrix) -> Paths | None:
    """The lengths between each two of what stands at the places of a matrix, so many at each."""
    weight = np.outer(count, count)
    np.fill_diagonal(weight, count * (count - 1))
    reached = np.isfinite(apart)
    pairs = np.bincount(apart[reached].astype(int), weights=weight[reached])
    found = {length: round(twice / 2) for length, twice in enumerate(pairs) if twice}
    return Paths(found) if found else None


def _equal_paths(links: Matrix, apart: Matrix) -> EqualPaths | None:
    """Counts paths by their length: those of a length end with a link behind those of one link less."""
    count: Matrix = np.eye(len(links))
    longest = int(apart[np.isfinite(apart)].max())
    for length in range(1, longest + 1):
        before = np.where(apart == length - 1, count, 0)
        count = np.where(apart == length, before @ links, count)
    found = count[np.isfinite(apart) & (apart > 0)]
    if not found.size:
        return None
    return EqualPaths(float(found.mean()), float((found > 1).mean()), int(found.max()))


def _between_hosts(graph: nx.MultiGraph, hosts: list[str], devices: list[str], apart: Matrix) -> Paths | None:
    """From the lengths between devices: hosts on the same ones are the same to all others."""
    number = {device: place for place, device in enumerate(devices)}
    places = {host: tuple(sorted(number[node] for node in graph[host] if node in number)) for host in hosts}
    groups = Counter(places.values())
    if devices and () not in groups:
        from_group = np.stack([apart[list(group)].min(axis=0) for group in groups])
        between = np.stack([from_group[:, list(group)].min(axis=1) for group in groups]) + 2
        found = _paths(between, np.array(list(groups.values()), dtype=float))
        pairs = Counter(found.pairs) if found else Counter()
        order = {group: place for place, group in enumerate(groups)}
    else:
        between, pairs, order = None, Counter(), {}
    direct = {frozenset(link) for link in graph.edges() if all(node in places for node in link)}
    for one, other in map(tuple, direct):
        if between is not None and math.isfinite(length := between[order[places[one]], order[places[other]]]):
            pairs[int(length)] -= 1
        pairs[1] += 1
    return Paths(dict(sorted((+pairs).items()))) if +pairs else None


def _spectrum(links: Matrix, degree: int) -> Spectrum:
    values = np.linalg.eigvalsh(links)
    return Spectrum(float(values[-2]), float(values[-1] - values[-2]), 2 * math.sqrt(max(degree - 1, 0)))


def _bisection(links: Matrix, hosts: int) -> Bisection:
    count = len(links)
    values, vectors = np.linalg.eigh(np.diag(links.sum(axis=0)) - links)
    half = count // 2
    least = math.ceil(values[1] * half * (count - half) / count - 1e-6)
    graph = nx.Graph()  # of numbers: an order that is the same in every run
    graph.add_nodes_from(range(count))
    graph.add_weighted_edges_from(
        (int(a), int(b), int(links[a, b])) for a, b in np.argwhere(np.triu(links) > 0)
    )
    order = [int(place) for place in np.argsort(vectors[:, 1], kind="stable")]
    starts = [(set(order[:half]), set(order[half:])), *[None] * CUTS]
    cuts = [
        nx.cut_size(graph, *_improved(graph, start, seed), weight="weight")
        for seed, start in enumerate(starts)
    ]
    most = int(min(cuts))
    return Bisection(max(least, 0), most, most / (hosts / 2) if hosts else math.nan)


def _improved(
    graph: nx.Graph, start: tuple[set[int], set[int]] | None, seed: int
) -> tuple[set[int], set[int]]:
    """Two halves, between which no exchange makes the cut smaller."""
    one, other = nx.community.kernighan_lin_bisection(graph, start, weight="weight", seed=seed)
    return one, other
