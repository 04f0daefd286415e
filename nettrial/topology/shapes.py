"""Small topologies, which connect the hosts named by a study."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated

import networkx as nx
from pydantic import Field

from nettrial.topology.topology import DEVICE, TOPOLOGIES, Parameters, Topology, WithInterfaces

MOST_LINKS = 64
"""The largest number of parallel links."""


class Parallel(Parameters):
    """Two hosts that are directly connected by several links."""

    links: Annotated[int, Field(ge=1, le=MOST_LINKS)] = 2
    """The number of links between the two hosts, each with its own addresses."""


def _graph(hosts: Sequence[str], *devices: str) -> nx.MultiGraph:
    graph = nx.MultiGraph()
    graph.add_nodes_from(hosts, kind="host")
    graph.add_nodes_from(devices, kind=DEVICE)
    return graph


def _pair(_: Parameters, hosts: Sequence[str]) -> nx.MultiGraph:
    return _parallel(Parallel(links=1), hosts)


def _parallel(parameters: Parallel, hosts: Sequence[str]) -> nx.MultiGraph:
    graph = _graph(hosts)
    graph.add_edges_from([(hosts[0], hosts[1])] * parameters.links)
    return graph


def _around(device: str) -> Callable[[Parameters, Sequence[str]], nx.MultiGraph]:
    """Returns a function that builds a graph in which every host is connected to the given device."""

    def build(parameters: Parameters, hosts: Sequence[str]) -> nx.MultiGraph:
        graph = _graph(hosts, device)
        graph.add_edges_from((host, device) for host in hosts for _ in _interfaces(parameters))
        return graph

    return build


def _dumbbell(parameters: WithInterfaces, hosts: Sequence[str]) -> nx.MultiGraph:
    """Returns a graph with the first half of the hosts on the left router, and the others on the right
    one."""
    graph = _graph(hosts, "left", "right")
    half = (len(hosts) + 1) // 2
    sides = {host: "left" if number < half else "right" for number, host in enumerate(hosts)}
    graph.add_edges_from((host, side) for host, side in sides.items() for _ in _interfaces(parameters))
    graph.add_edge("left", "right")
    return graph


def _interfaces(parameters: Parameters) -> range:
    return range(parameters.interfaces_per_host if isinstance(parameters, WithInterfaces) else 1)


TOPOLOGIES.add("pair", Topology("Two hosts, one link", _pair, joins=(2, 2)))
TOPOLOGIES.add("parallel", Topology("Two hosts, several links", _parallel, Parallel, joins=(2, 2)))
TOPOLOGIES.add(
    "routed",
    Topology(
        "Two hosts with a router between them",
        _around("router"),
        WithInterfaces,
        joins=(2, 2),
        devices=("router",),
        forwarding=("routers",),
    ),
)
TOPOLOGIES.add(
    "switched",
    Topology(
        "Hosts on one switch",
        _around("switch"),
        joins=(2, None),
        devices=("switch",),
        forwarding=("bridges", "openflow"),
    ),
)
TOPOLOGIES.add(
    "dumbbell",
    Topology(
        "Hosts on two routers with a link between them",
        _dumbbell,
        WithInterfaces,
        joins=(2, None),
        devices=("left", "right"),
        forwarding=("routers",),
    ),
)
