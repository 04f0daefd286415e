"""The properties of a network's graph: path lengths, bisection, spectrum."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

import networkx as nx
import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
"""A matrix of numbers."""

CUTS = 10
"""The number of random halves from which Kernighan and Lin's method starts, in addition to those from the
spectrum."""


@dataclass(frozen=True)
class Paths:
    """The shortest paths between every two nodes of a kind, in links. Hosts do not forward packets."""

    pairs: dict[int, int]
    """The number of pairs by distance."""

    @property
    def mean(self) -> float:
        """Returns the mean path length."""
        return sum(length * count for length, count in self.pairs.items()) / sum(self.pairs.values())

    @property
    def diameter(self) -> int:
        """Returns the longest path length."""
        return max(self.pairs)


@dataclass(frozen=True)
class EqualPaths:
    """The number of shortest paths between two switches, over all connected pairs: the paths among which
    equal-cost multipath routing (ECMP) chooses. Parallel links count as separate paths."""

    mean: float
    """The mean number of paths of a pair."""
    several: float
    """The share of pairs with more than one path, from 0 to 1."""
    most: int
    """The largest number of paths of a pair."""


@dataclass(frozen=True)
class Bisection:
    """The number of links that must be cut to split the switches into two halves of equal size (or with a
    difference of one if the number is odd). It is given by bounds, because the smallest cut is hard to
    find."""

    at_least: int
    """The lower bound from the spectrum: μ₂·|S|·|T|/n with the Laplacian's second smallest eigenvalue μ₂
    (Fiedler 1973; Mohar, The Laplacian Spectrum of Graphs, 1991)."""
    at_most: int
    """The best cut found by Kernighan and Lin's method (1970), starting from random halves and from those of
    the spectrum."""
    per_host: float
    """`at_most` divided by the number of hosts in a half: 1 or more is full bisection bandwidth, if all links
    have the same rate."""


@dataclass(frozen=True)
class Spectrum:
    """The eigenvalues of the switches' adjacency matrix."""

    second: float
    """The second largest eigenvalue."""
    gap: float
    """The largest eigenvalue minus the second largest: the larger the gap, the better the network expands."""
    bound: float
    """2√(d − 1), where d is the largest number of links from a switch to others: in large regular graphs, the
    second largest eigenvalue can't stay below it (Alon and Boppana; Nilli 1991)."""


@dataclass(frozen=True)
class Facts:
    """The properties of a graph. Properties that do not apply are None."""

    switches: int
    """The number of routers and switches."""
    hosts: int
    """The number of hosts."""
    host_links: int
    """The number of links with a host at one end."""
    fabric_links: int
    """The number of links between switches."""
    fewest_links: int
    """The smallest number of links from a switch to other switches."""
    most_links: int
    """The largest number of links from a switch to other switches."""
    between_hosts: Paths | None
    """The lengths of shortest paths between hosts."""
    between_switches: Paths | None
    """The lengths of shortest paths between switches."""
    equal_paths: EqualPaths | None
    """The numbers of shortest paths between switches."""
    bisection: Bisection | None
    """The bounds of the bisection."""
    spectrum: Spectrum | None
    """The eigenvalues that tell how well the graph expands."""


def facts_of(graph: nx.MultiGraph) -> Facts:
    """Returns the properties of a graph whose nodes have a `kind`."""
    from scipy.sparse import (
        csgraph,
    )  # imported here: it is slow to load, and only drawing and showing need it

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
    """Returns the path lengths between every two nodes, from the distances `apart` of groups of equivalent
    nodes and the pair `count` of each two groups."""
    weight = np.outer(count, count)
    np.fill_diagonal(weight, count * (count - 1))
    reached = np.isfinite(apart)
    pairs = np.bincount(apart[reached].astype(int), weights=weight[reached])
    counts = {length: round(twice / 2) for length, twice in enumerate(pairs) if twice}
    return Paths(counts) if counts else None


def _equal_paths(links: Matrix, apart: Matrix) -> EqualPaths | None:
    """Counts shortest paths by length: each path of a length extends a path that is one link shorter."""
    count: Matrix = np.eye(len(links))
    longest = int(apart[np.isfinite(apart)].max())
    for length in range(1, longest + 1):
        before = np.where(apart == length - 1, count, 0)
        count = np.where(apart == length, before @ links, count)
    counts = count[np.isfinite(apart) & (apart > 0)]
    if not counts.size:
        return None
    return EqualPaths(float(counts.mean()), float((counts > 1).mean()), int(counts.max()))


def _between_hosts(graph: nx.MultiGraph, hosts: list[str], devices: list[str], apart: Matrix) -> Paths | None:
    """Returns the paths between hosts from the distances of devices: hosts on the same devices have the same
    distances to all others."""
    number = {device: place for place, device in enumerate(devices)}
    places = {host: tuple(sorted(number[node] for node in graph[host] if node in number)) for host in hosts}
    groups = Counter(places.values())
    if devices and () not in groups:
        from_group = np.stack([apart[list(group)].min(axis=0) for group in groups])
        between = np.stack([from_group[:, list(group)].min(axis=1) for group in groups]) + 2
        paths = _paths(between, np.array(list(groups.values()), dtype=float))
        pairs = Counter(paths.pairs) if paths else Counter()
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
    graph = nx.Graph()  # nodes are numbers, so that the order is the same in every run
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
    """Returns two halves between which no exchange makes the cut smaller."""
    one, other = nx.community.kernighan_lin_bisection(graph, start, weight="weight", seed=seed)
    return one, other
