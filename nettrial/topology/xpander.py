"""Xpander, an expander made by a random lift, after Valadarsky, Shahaf, Dinitz and Schapira, Xpander: Towards
Optimal-Performance Datacenters, CoNEXT 2016."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import combinations
from typing import Annotated

import networkx as nx
from pydantic import Field, model_validator

from nettrial.fields import wrong
from nettrial.topology.jellyfish import Seed
from nettrial.topology.topology import (
    FABRIC,
    MOST_SWITCHES,
    TOPOLOGIES,
    Topology,
    WithHosts,
    switch_names,
)


class Xpander(WithHosts):
    """A random expander: degree + 1 groups of switches, of which every two are connected by a random
    one-to-one matching, so that each switch has one link to every other group."""

    switches: Annotated[int, Field(ge=4, le=MOST_SWITCHES)] = 20
    """The number of switches: a multiple of degree + 1."""
    ports: Annotated[int, Field(ge=4, le=1024)] = 6
    """The number of ports of each switch; ports beyond `degree` are for hosts."""
    degree: Annotated[int, Field(ge=3, le=1023)] = 4
    """The number of ports of each switch for links to other switches."""
    seed: Seed = 1
    """The seed of the graph; in a study, it is combined with the run's seed and the block, so that each block
    has a different graph."""

    @model_validator(mode="after")
    def _fits(self) -> Xpander:
        if self.degree >= self.ports:
            raise wrong(
                ("degree",),
                str(self.degree),
                f"below {self.ports}",
                "a switch needs at least one port for hosts",
            )
        if self.switches % (self.degree + 1):
            below = self.switches - self.switches % (self.degree + 1)
            near = " or ".join(str(count) for count in (below, below + self.degree + 1) if count)
            expected = f"a multiple of {self.degree + 1} (degree + 1), such as {near}"
            raise wrong(("switches",), str(self.switches), expected)
        self.check_hosts(switch_names(self.switches), self.ports - self.degree)
        return self


def build(parameters: Xpander, _: Sequence[str] = ()) -> nx.MultiGraph:
    """Returns the graph of `switch-1`, … group by group: a random lift of the complete graph of degree + 1
    nodes, redrawn until it is connected."""
    generator = random.Random(parameters.seed)
    groups = parameters.degree + 1
    size = parameters.switches // groups
    while True:
        links = nx.Graph()
        links.add_nodes_from(range(parameters.switches))
        for one, other in combinations(range(groups), 2):
            matched = generator.sample(range(size), size)
            links.add_edges_from((one * size + a, other * size + b) for a, b in enumerate(matched))
        if nx.is_connected(links):
            break
    switches = switch_names(parameters.switches)
    return parameters.graph_of(switches, ((switches[a], switches[b]) for a, b in links.edges))


TOPOLOGIES.add(
    "xpander",
    Topology(
        "Groups of switches, every two of which are connected by a random matching",
        build,
        Xpander,
        forwarding=FABRIC,
    ),
)
