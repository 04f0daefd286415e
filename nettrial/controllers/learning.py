"""The knowledge of learning switches: at which port of each an Ethernet address is, and the spanning tree
along which they flood."""

from __future__ import annotations

import networkx as nx

from nettrial.controllers.frames import Frame
from nettrial.controllers.paths import tree


class Learning:
    """The ports that all switches have learnt."""

    def __init__(self) -> None:
        self._ports: dict[tuple[int, str], int] = {}
        self._tree: set[tuple[int, int]] | None = None

    def forget(self) -> None:
        """Forgets everything: a link has come or gone."""
        self._ports.clear()
        self._tree = None

    def tree(self, graph: nx.Graph) -> set[tuple[int, int]]:
        """The ports of the spanning tree, by switch."""
        if self._tree is None:
            self._tree = tree(graph)
        return self._tree

    def learn(self, switch: int, port: int, frame: Frame) -> int | None:
        """Notes where a frame comes from; returns the port where it is to go, None where nobody knows."""
        self._ports[switch, frame.source] = port
        return None if frame.is_to_all else self._ports.get((switch, frame.destination))
