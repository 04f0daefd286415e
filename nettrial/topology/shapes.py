"""The shapes of networks: graphs of named nodes, each a host, a router or a switch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import networkx as nx

from nettrial.registry import Registry


@dataclass(frozen=True)
class Topology:
    """A shape that joins the hosts a study names, in the order it names them."""

    title: str
    fewest_hosts: int
    most_hosts: int | None
    """None: any number."""
    devices: tuple[str, ...]
    """Names of the nodes that are no hosts; no host may have one of them."""
    join: Callable[[Sequence[str]], nx.Graph]
    """The graph for these hosts; a multigraph where several links join the same two nodes."""

    @property
    def hosts(self) -> str:
        """How many hosts it joins, in words."""
        if self.most_hosts == self.fewest_hosts:
            return f"{self.fewest_hosts}"
        return f"{self.fewest_hosts} or more"


TOPOLOGIES: Registry[Topology] = Registry("topology")
"""Every topology by name."""


def _graph(hosts: Sequence[str], devices: dict[str, str]) -> nx.Graph:
    graph = nx.Graph()
    graph.add_nodes_from(hosts, kind="host")
    for name, kind in devices.items():
        graph.add_node(name, kind=kind)
    return graph


def _pair(hosts: Sequence[str]) -> nx.Graph:
    graph = _graph(hosts, {})
    graph.add_edge(hosts[0], hosts[1])
    return graph


def _parallel(hosts: Sequence[str]) -> nx.Graph:
    graph = nx.MultiGraph(_graph(hosts, {}))
    graph.add_edges_from([(hosts[0], hosts[1])] * 2)
    return graph


def _around(device: str) -> Callable[[Sequence[str]], nx.Graph]:
    """Every host with one link to the one device, which is named after its kind."""

    def join(hosts: Sequence[str]) -> nx.Graph:
        graph = _graph(hosts, {device: device})
        graph.add_edges_from((host, device) for host in hosts)
        return graph

    return join


def _dumbbell(hosts: Sequence[str]) -> nx.Graph:
    """The first half of the hosts on the left router, the others on the right one."""
    graph = _graph(hosts, {"left": "router", "right": "router"})
    half = (len(hosts) + 1) // 2
    graph.add_edges_from((host, "left") for host in hosts[:half])
    graph.add_edge("left", "right")
    graph.add_edges_from(("right", host) for host in hosts[half:])
    return graph


TOPOLOGIES.add("pair", Topology("Two hosts, one link", 2, 2, (), _pair))
TOPOLOGIES.add("parallel", Topology("Two hosts, two links", 2, 2, (), _parallel))
TOPOLOGIES.add(
    "routed", Topology("Two hosts with a router between them", 2, 2, ("router",), _around("router"))
)
TOPOLOGIES.add("switched", Topology("Hosts on one switch", 2, None, ("switch",), _around("switch")))
TOPOLOGIES.add(
    "dumbbell",
    Topology("Hosts on two routers with a link between them", 2, None, ("left", "right"), _dumbbell),
)
