"""The tables of learning switches: the port of each Ethernet address at each switch, and the spanning tree
along which they flood."""

from __future__ import annotations

import networkx as nx

from nettrial.controllers.frames import Frame
from nettrial.controllers.paths import tree


class Learning:
    """The ports that all switches have learned."""

    def __init__(self) -> None:
        """Creates empty tables."""
        self._ports: dict[tuple[int, str], int] = {}
        self._tree: set[tuple[int, int]] | None = None

    def forget(self) -> None:
        """Clears all tables, because a link has appeared or disappeared."""
        self._ports.clear()
        self._tree = None

    def tree(self, graph: nx.Graph) -> set[tuple[int, int]]:
        """Returns the ports of the spanning tree by switch."""
        if self._tree is None:
            self._tree = tree(graph)
        return self._tree

    def learn(self, switch: int, port: int, frame: Frame) -> int | None:
        """Learns the port of a frame's source, and returns the port to its destination; None if that is
        unknown."""
        self._ports[switch, frame.source] = port
        return None if frame.is_to_all else self._ports.get((switch, frame.destination))
