"""The graph of another tool's network."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

from nettrial.errors import BadInput

READING = "reading the network"
"""The current action, for error messages."""


@dataclass
class ForeignGraph:
    """A network that another tool describes, in nettrial's terms."""

    source: str
    """The file, as the user named it."""
    nodes: dict[str, str] = field(default_factory=dict)
    """The kind of each node by its name: host, router or switch."""
    links: list[dict[str, Any]] = field(default_factory=list)
    """The links: source, target, and the attributes that a graph's file may have."""
    ignored: set[str] = field(default_factory=set)
    """The settings of the file that have no effect on what nettrial measures, in words."""

    def add_node(self, name: str, kind: str) -> None:
        """Adds a node; raises BadInput for a name that nettrial's nodes can't have."""
        if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name):
            raise self.bad(f"the node {name[:40]!r}", "names of letters, digits, - and _, up to 64")
        self.nodes[name] = kind

    def bad(self, value: str, expected: str, hint: str = "") -> BadInput:
        """Returns the error for something that has no counterpart in nettrial."""
        return BadInput(READING, self.source, value, expected, hint)

    @property
    def hosts(self) -> list[str]:
        """The names of the hosts."""
        return [name for name, kind in self.nodes.items() if kind == "host"]

    def as_json(self) -> str:
        """Returns the graph as a file that the topology `file` reads."""
        nodes = [{"id": name, "kind": kind} for name, kind in self.nodes.items()]
        lines = [f"  {json.dumps(each)}" for each in nodes]
        links = [f"  {json.dumps(each)}" for each in self.links]
        return '{"nodes": [\n' + ",\n".join(lines) + '\n], "links": [\n' + ",\n".join(links) + "\n]}\n"
