"""Random links between switches, drawn by Jellyfish's algorithm (Singla et al., NSDI 2012)."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import combinations

import networkx as nx

TRIES = 50
"""The number of failed draws after which all remaining pairs are enumerated, because few are left then."""

Link = tuple[int, int]
"""A link, as the numbers of its two switches, the lower first."""


class RandomLinks:
    """Random links between switches with numbers from 0, each with a number of ports for links to others."""

    def __init__(
        self, switches: int, degree: int, generator: random.Random, further: Sequence[int] = ()
    ) -> None:
        """Begins with all ports free. `further` has the number of ports beyond `degree` of each switch,
        including switches to be added."""
        self._degree = degree
        self._further = further
        self._random = generator
        self._neighbours: list[set[int]] = [set() for _ in range(switches)]
        self.links: list[Link] = []
        """The links, in arbitrary order."""

    def free_ports(self) -> list[int]:
        """Returns the switch of each free port."""
        return [
            switch
            for switch, neighbours in enumerate(self._neighbours)
            for _ in range(self._ports(switch) - len(neighbours))
        ]

    def is_connected(self) -> bool:
        """Returns whether there is a path between every two switches."""
        graph = nx.Graph(self.links)
        return len(graph) == len(self._neighbours) and nx.is_connected(graph)

    def join_random_pairs(self) -> None:
        """Connects random pairs of non-neighbouring switches with free ports until there are none (section
        3)."""
        able = sorted(set(self.free_ports()))
        while pair := self._pair(able):
            self._join(*pair)
            for switch in pair:
                if len(self._neighbours[switch]) == self._ports(switch):
                    able.remove(switch)

    def use_free_ports(self) -> None:
        """Uses free ports two at a time, as far as possible: a random link is removed, and each of its ends
        is connected to one of the ports (sections 3 and 4.2)."""
        while len(free := self.free_ports()) >= 2:
            one, other = free[0], free[1]
            if one != other and other not in self._neighbours[one]:
                self._join(one, other)
            elif not self._splice(one, other):
                return

    def add_switch(self) -> None:
        """Adds a switch and uses its ports, by the incremental expansion of section 4.2. A single odd port is
        connected to another free port, if there is one, and otherwise left free."""
        self._neighbours.append(set())
        self.use_free_ports()

    def _ports(self, switch: int) -> int:
        return self._degree + (self._further[switch] if self._further else 0)

    def _join(self, one: int, other: int) -> None:
        self._neighbours[one].add(other)
        self._neighbours[other].add(one)
        self.links.append((min(one, other), max(one, other)))

    def _pair(self, able: list[int]) -> Link | None:
        """Returns two of these switches that are not neighbours, with all such pairs equally likely."""
        for _ in range(TRIES if len(able) > 1 else 0):
            one, other = self._random.sample(able, 2)
            if other not in self._neighbours[one]:
                return one, other
        left = [(one, other) for one, other in combinations(able, 2) if other not in self._neighbours[one]]
        return self._random.choice(left) if left else None

    def _splice(self, one: int, other: int) -> bool:
        """Replaces a random link by one from its first end to `one` and one from its second end to `other`
        (or vice versa); returns whether there was such a link."""

        def fits(near: int, far: int) -> bool:
            return (
                one not in self._neighbours[near]
                and other not in self._neighbours[far]
                and one != near
                and other != far
            )

        for _ in range(TRIES if self.links else 0):
            place = self._random.randrange(len(self.links))
            near, far = self._random.sample(self.links[place], 2)
            if fits(near, far):
                break
        else:
            ways = [
                (place, near, far)
                for place, link in enumerate(self.links)
                for near, far in (link, link[::-1])
                if fits(near, far)
            ]
            if not ways:
                return False
            place, near, far = self._random.choice(ways)
        self.links[place] = self.links[-1]
        self.links.pop()
        self._neighbours[near].discard(far)
        self._neighbours[far].discard(near)
        self._join(one, near)
        self._join(other, far)
        return True
