"""The fat-tree of Al-Fares, Loukissas and Vahdat, A Scalable, Commodity Data Center Network Architecture,
SIGCOMM 2008, section 3: three layers of equal switches with k ports, k³/4 hosts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import networkx as nx
from pydantic import Field, model_validator

from nettrial.fields import wrong
from nettrial.topology.topology import DEVICE, FABRIC, TOPOLOGIES, Topology, WithHosts


class FatTree(WithHosts):
    """k pods of k/2 edge and k/2 aggregation switches, and (k/2)² core switches. The edge switches have the
    hosts: as many as their ports allow, unless fewer are requested."""

    k: Annotated[int, Field(ge=2, le=74)] = 4
    """The number of ports of each switch, which is even."""

    def host_count(self, switches: int) -> int:
        """Returns the number of hosts: one for each free port of the edge switches, unless fewer are
        requested."""
        each = self.hosts_per_switch or self.k // 2 // self.interfaces_per_host
        return self.hosts or switches * each

    @model_validator(mode="after")
    def _fits(self) -> FatTree:
        if self.k % 2:
            raise wrong(("k",), str(self.k), "an even number of ports")
        if self.interfaces_per_host > self.k // 2:
            expected = f"up to {self.k // 2}: the ports of an edge switch for hosts"
            raise wrong(("interfaces_per_host",), str(self.interfaces_per_host), expected)
        self.check_hosts(_edges(self), self.k // 2)
        return self


def _edges(parameters: FatTree) -> list[str]:
    return [f"edge-{number + 1}" for number in range(parameters.k * parameters.k // 2)]


def build(parameters: FatTree, _: Sequence[str] = ()) -> nx.MultiGraph:
    """Returns the graph of `edge-1`, …, `aggregation-1`, … pod by pod, and `core-1`, …. Aggregation switch j
    of each pod is connected to the core switches of group j (section 3.1)."""
    half = parameters.k // 2
    pods = range(parameters.k)
    edges = _edges(parameters)
    aggregations = [f"aggregation-{number + 1}" for number in range(parameters.k * half)]
    cores = [f"core-{number + 1}" for number in range(half * half)]
    graph = nx.MultiGraph()
    parameters.attach(graph, edges)
    graph.add_nodes_from([*edges, *aggregations, *cores], kind=DEVICE)
    for pod in pods:
        inside = slice(pod * half, (pod + 1) * half)
        graph.add_edges_from((edge, upper) for edge in edges[inside] for upper in aggregations[inside])
    for number, aggregation in enumerate(aggregations):
        group = number % half
        graph.add_edges_from((aggregation, core) for core in cores[group * half : (group + 1) * half])
    return graph


TOPOLOGIES.add(
    "fat-tree",
    Topology("Three layers of switches with k ports", build, FatTree, forwarding=FABRIC),
)
