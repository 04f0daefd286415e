"""A topology from a graph in a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

import networkx as nx
from pydantic import ValidationInfo, model_validator

from nettrial.fields import wrong
from nettrial.topology.edges import SETTINGS, SOURCE
from nettrial.topology.graph_file import GraphData, GraphError, read
from nettrial.topology.topology import FABRIC, TOPOLOGIES, Topology, WithHosts

ANY = 10**6
"""A number of links to hosts beyond any node's possible number."""


class File(WithHosts):
    """A graph from a file. If none of its nodes is a host, each node gets hosts."""

    path: str
    """The file, in GraphML, GEXF, GML or node-link JSON, in the directory of the study file or below. A node
    may have a `kind`: host, router or switch. A link may have a `rate`, `delay`, `queue`, `loss` and
    `mtu`."""
    graph: GraphData | None = None
    """The content of the file, stored here when the study is read, so that a run does not need the file
    again."""

    @model_validator(mode="before")
    @classmethod
    def _read(cls, data: Any, info: ValidationInfo) -> Any:
        """Reads the file if its directory is known, as it is when a study is read."""
        if not isinstance(data, Mapping) or not isinstance(data.get("path"), str):
            return data
        context = info.context or {}
        name, graph, folder = data["path"], data.get("graph"), context.get("folder")
        if folder is not None:
            try:
                return {**data, "graph": read(Path(folder), name, context.get("is_of_study", True))}
            except GraphError as error:
                raise wrong(("path",), str(error), error.expected) from None
        source = graph.get("source") if isinstance(graph, Mapping) else getattr(graph, "source", None)
        if source != name:
            raise wrong(
                ("path",), name, "a file that is not a level of a factor", "it is read with the study"
            )
        return data

    @model_validator(mode="after")
    def _fits(self) -> File:
        if self.graph is None:
            return self
        devices = [node for node, kind in self.graph.nodes if kind != "host"]
        if len(devices) == len(self.graph.nodes):
            self.check_hosts(devices, ANY)
            return self
        for name in ("hosts_per_switch", "hosts", "hosts_at", "interfaces_per_host"):
            if name in self.model_fields_set:
                raise wrong((name,), str(getattr(self, name)), "left out: the graph contains hosts")
        return self


def build(parameters: File, _: Sequence[str] = ()) -> nx.MultiGraph:
    """Returns the file's graph, with added hosts if it has none."""
    assert parameters.graph is not None
    kinds = dict(parameters.graph.nodes)
    graph = nx.MultiGraph()
    if "host" not in kinds.values():
        parameters.attach(graph, list(kinds))
    for wanted in (True, False):  # hosts first
        graph.add_nodes_from(
            (node, {"kind": kind}) for node, kind in kinds.items() if (kind == "host") == wanted
        )
    links = parameters.graph.links
    for (one, other), settings in zip_longest(links, parameters.graph.settings):
        own = {} if settings is None else {SETTINGS: settings, SOURCE: one}
        graph.add_edge(one, other, None, **own)
    return graph


TOPOLOGIES.add("file", Topology("A graph from a file", build, File, forwarding=FABRIC))
