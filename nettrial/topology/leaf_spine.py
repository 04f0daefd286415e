"""Leaf-spine: two layers of switches, with a link from each leaf to each spine (a folded Clos network)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import networkx as nx
from pydantic import Field, model_validator

from nettrial.topology.topology import DEVICE, FABRIC, TOPOLOGIES, Topology, WithHosts

MOST_PER_LAYER = 256
"""The largest number of leaves and of spines."""


class LeafSpine(WithHosts):
    """Two layers of switches, with a link from each leaf to each spine. The leaves have the hosts."""

    leaves: Annotated[int, Field(ge=1, le=MOST_PER_LAYER)] = 4
    """The number of leaves."""
    spines: Annotated[int, Field(ge=1, le=MOST_PER_LAYER)] = 2
    """The number of spines."""
    ports: Annotated[int, Field(ge=2, le=1024)] = 64
    """The number of ports of a leaf, which limits its links to spines and hosts together."""

    @model_validator(mode="after")
    def _fits(self) -> LeafSpine:
        self.check_hosts(_leaves(self), self.ports - self.spines)
        return self


def _leaves(parameters: LeafSpine) -> list[str]:
    return [f"leaf-{number + 1}" for number in range(parameters.leaves)]


def build(parameters: LeafSpine, _: Sequence[str] = ()) -> nx.MultiGraph:
    """Returns the graph of `leaf-1`, …, each with a link to each of `spine-1`, …."""
    leaves = _leaves(parameters)
    spines = [f"spine-{number + 1}" for number in range(parameters.spines)]
    graph = nx.MultiGraph()
    parameters.attach(graph, leaves)
    graph.add_nodes_from([*leaves, *spines], kind=DEVICE)
    graph.add_edges_from((leaf, spine) for leaf in leaves for spine in spines)
    return graph


TOPOLOGIES.add(
    "leaf-spine",
    Topology(
        "Two layers of switches, with a link from each leaf to each spine",
        build,
        LeafSpine,
        forwarding=FABRIC,
    ),
)
