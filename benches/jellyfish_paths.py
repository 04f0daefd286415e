"""Counts the paths on each link of a Jellyfish whose hosts use the eight shortest paths of their pair.

    python benches/jellyfish_paths.py [PORTS ...]

Builds the Jellyfish of `jellyfish-supported-hosts` with 25% more hosts than the fat-tree of the same
switches, for each number of ports (default 8 14 20 34), and a random permutation of hosts. Prints the mean
length of the eight shortest paths in links, the mean number of paths of up to three links of a pair of
switches, and the spread of the number of paths on a link (its standard deviation over its mean): with equal
paths chosen as the engine chooses them, over the links named first, and with equal paths chosen at random.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from itertools import count, pairwise
from statistics import fmean, pstdev

from nettrial.topology import TOPOLOGIES
from nettrial.topology.jellyfish import Jellyfish

PATHS = 8
"""The number of paths of a pair of hosts."""
DETOUR_LINKS = 2
"""The number of links by which a path may be longer than without barred switches, as in the engine."""

Order = Callable[[int], Sequence[int]]
"""Returns the neighbours of a switch in the order in which they are tried."""


class Search:
    """A search for the shortest paths between two switches, as in `engine/routing/src/yen.rs`."""

    def __init__(self, order: Order, ahead: Sequence[int], start: int, target: int) -> None:
        """`ahead` has the distance of each switch from `target`."""
        self.order, self.ahead, self.start, self.target = order, ahead, start, target

    def paths(self) -> list[tuple[int, ...]]:
        """Returns the shortest paths, the shortest first."""
        numbers = count()
        first = self.finish((), self.start, self.ahead[self.start], frozenset())
        candidates = [(len(first or ()), next(numbers), first, 1)]
        shortest: list[tuple[int, ...]] = []
        while candidates:
            _, _, path, kept_first = heappop(candidates)
            if path is None:
                continue
            shortest.append(path)
            if len(shortest) == PATHS:
                break
            for kept in range(kept_first, len(path)):
                other = self.leave(path[:kept], shortest)
                heappush(candidates, (len(other or ()), next(numbers), other, kept))
        return shortest

    def leave(self, root: tuple[int, ...], shortest: Sequence[tuple[int, ...]]) -> tuple[int, ...] | None:
        """Returns the shortest path that begins with `root` and then deviates from those in `found`."""
        taken = {path[len(root)] for path in shortest if path[: len(root)] == root and len(path) > len(root)}
        fresh = [at for at in self.order(root[-1]) if at not in taken and at not in root]
        barred = frozenset(root)
        least = min((self.ahead[at] for at in fresh), default=0)
        for links in range(least, least + DETOUR_LINKS + 1):
            for at in fresh:
                if self.ahead[at] <= links and (path := self.finish(root, at, links, barred)):
                    return path
        return None

    def finish(
        self, root: tuple[int, ...], at: int, links: int, barred: frozenset[int]
    ) -> tuple[int, ...] | None:
        """Returns the first path of exactly `links` links from `at` to the target, behind `root`."""
        if links == 0:
            return (*root, at) if at == self.target else None
        for to in self.order(at):
            open_way = self.ahead[to] < links and to not in barred
            if open_way and (path := self.finish((*root, at), to, links - 1, barred)):
                return path
        return None


def line(ports: int, seed: int = 1) -> str:
    """Returns the line of the table for switches with that many ports."""
    fabric = Jellyfish(
        switches=5 * ports * ports // 4,
        ports=ports,
        degree=ports // 2,
        spare_ports=True,
        hosts_per_port=0.25,
        seed=seed,
    )
    graph = TOPOLOGIES["jellyfish"].graph(fabric)
    names = [f"switch-{number + 1}" for number in range(fabric.switches)]
    number_of = {name: number for number, name in enumerate(names)}
    neighbours = [sorted(number_of[other] for other in graph[name] if other in number_of) for name in names]
    hosts = fabric.host_count(fabric.switches)
    generator = random.Random(seed)
    receivers = generator.sample(range(hosts), hosts)
    by_target: dict[int, list[int]] = {}
    for sender, receiver in enumerate(receivers):
        by_target.setdefault(receiver % fabric.switches, []).append(sender % fabric.switches)

    lengths: list[float] = []
    short: list[int] = []
    loads: tuple[Counter[tuple[int, int]], Counter[tuple[int, int]]] = (Counter(), Counter())
    for target, starts in by_target.items():
        ahead = distances(neighbours, target)
        for start in starts:
            if start == target:
                continue
            short.append(
                sum(ahead[at] == 0 for at in neighbours[start]) + three_links(neighbours, start, target)
            )
            for load, order in zip(
                loads, (neighbours.__getitem__, shuffled(neighbours, generator)), strict=True
            ):
                paths = Search(order, ahead, start, target).paths()
                for path in paths:
                    load.update(pairwise(path))
            lengths.append(fmean(len(path) - 1 for path in paths))
    directions = sum(map(len, neighbours))
    spreads = []
    for load in loads:
        values = [*load.values(), *[0] * (directions - len(load))]
        spreads.append(pstdev(values) / fmean(values))
    named, drawn = spreads
    return f"| {ports} | {fmean(lengths):.2f} | {fmean(short):.1f} | {named:.2f} | {drawn:.2f} |"


def three_links(neighbours: Sequence[Sequence[int]], start: int, target: int) -> int:
    """Returns the number of paths of two and of three links between two switches."""
    last = set(neighbours[target]) - {start}
    paths = len(last.intersection(neighbours[start]))
    for at in neighbours[start]:
        if at != target:
            paths += len(last.intersection(neighbours[at]))
    return paths


def distances(neighbours: Sequence[Sequence[int]], target: int) -> list[int]:
    """Returns the distance of each switch from `target`, in links."""
    links_from = [len(neighbours)] * len(neighbours)
    links_from[target] = 0
    at, links = [target], 0
    while at:
        links += 1
        reached = {to for each in at for to in neighbours[each] if links_from[to] > links}
        for to in reached:
            links_from[to] = links
        at = list(reached)
    return links_from


def shuffled(neighbours: Sequence[Sequence[int]], generator: random.Random) -> Order:
    """Returns an order of neighbours that is random, and the same whenever a switch is asked for again."""
    known: dict[int, list[int]] = {}

    def order(at: int) -> list[int]:
        if at not in known:
            known[at] = generator.sample(neighbours[at], len(neighbours[at]))
        return known[at]

    return order


def main(arguments: Sequence[str]) -> None:
    """Prints the table."""
    print("| ports | links of a path | paths of up to three links | spread, links named first | at random |")
    print("| --- | --- | --- | --- | --- |")
    for ports in arguments or ("8", "14", "20", "34"):
        print(line(int(ports)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
