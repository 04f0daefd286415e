"""Jellyfish: switches joined at random, of Singla, Hong, Popa and Godfrey, Jellyfish: Networking Data Centers
Randomly, NSDI 2012."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Annotated

import networkx as nx
from pydantic import Field, model_validator

from nettrial.fields import wrong
from nettrial.topology.random_links import RandomLinks
from nettrial.topology.topology import DEVICE, MOST_SWITCHES, TOPOLOGIES, Topology, WithHosts

Seed = Annotated[int, Field(ge=0, le=2**63 - 1)]
"""The seed of a topology's random numbers."""


class Jellyfish(WithHosts):
    """A random graph in which each switch has `degree` links to others. Where
    switches × degree is odd, one port of one switch stays free."""

    switches: Annotated[int, Field(ge=3, le=MOST_SWITCHES)] = 20
    """The number of switches."""
    ports: Annotated[int, Field(ge=3, le=1024)] = 6
    """The ports of each switch; what `degree` leaves is for hosts."""
    degree: Annotated[int, Field(ge=2, le=1023)] = 4
    """Ports of each switch for links to other switches."""
    spare_ports: bool = False
    """Use ports that hosts leave free for links between switches, too: switches with fewer hosts then
    have more links."""
    initial_switches: Annotated[int, Field(ge=3, le=MOST_SWITCHES)] | None = None
    """The number of switches it was built with, before it grew by one at a time; all where absent."""
    seed: Seed = 1
    """Gives the graph; in a study together with the run's seed and the block, each of which has another."""

    @model_validator(mode="after")
    def _fits(self) -> Jellyfish:
        initial = self.initial_switches or self.switches
        if initial > self.switches:
            raise wrong(
                ("initial_switches",), str(initial), f"up to {self.switches}, the switches in the end"
            )
        if self.degree >= min(self.ports, initial):
            expected = f"below {min(self.ports, initial)}"
            hint = (
                "a switch needs a port for hosts" if self.ports <= initial else "a switch has no more others"
            )
            raise wrong(("degree",), str(self.degree), expected, hint)
        self.check_hosts(self.switches, self.ports - self.degree)
        return self


def build(parameters: Jellyfish, _: Sequence[str] = ()) -> nx.MultiGraph:
    """`switch-1`, … joined at random: regular but for at most one free port, and connected."""
    switches = [f"switch-{number + 1}" for number in range(parameters.switches)]
    graph = nx.MultiGraph()
    parameters.attach(graph, switches)
    graph.add_nodes_from(switches, kind=DEVICE)
    graph.add_edges_from((switches[a], switches[b]) for a, b in _links(parameters))
    return graph


def _links(parameters: Jellyfish) -> list[tuple[int, int]]:
    """Pairs of switches by number. A graph that isn't connected, or has ports left that could be used, is
    thrown away: with few switches or degree 2 that happens, else hardly ever."""
    generator = random.Random(parameters.seed)
    initial = parameters.initial_switches or parameters.switches
    while True:
        network = RandomLinks(initial, parameters.degree, generator, _spare(parameters))
        network.join_random_pairs()
        network.use_free_ports()
        for _ in range(parameters.switches - initial):
            network.add_switch()
        if len(network.free_ports()) <= 1 and network.is_connected():
            return sorted(network.links)


def _spare(parameters: Jellyfish) -> list[int]:
    """The ports of each switch that are for links between switches beyond `degree`."""
    if not parameters.spare_ports:
        return []
    count, ports = parameters.switches, parameters.ports - parameters.degree
    hosts = parameters.host_count(count)
    on_each = [hosts // count + (number < hosts % count) for number in range(count)]
    return [ports - on * parameters.interfaces_per_host for on in on_each]


TOPOLOGIES.add(
    "jellyfish",
    Topology("Switches joined at random", build, Jellyfish, forwarding=("routers", "bridges")),
)
