"""Jellyfish, a random graph of switches, after Singla, Hong, Popa and Godfrey, Jellyfish: Networking Data
Centers Randomly, NSDI 2012."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Annotated

import networkx as nx
from pydantic import Field, model_validator

from nettrial.fields import wrong
from nettrial.topology.random_links import RandomLinks
from nettrial.topology.topology import (
    FABRIC,
    MOST_SWITCHES,
    TOPOLOGIES,
    Topology,
    WithHosts,
    switch_names,
)

ROUNDING = 1e-9
"""The error of a product of floating-point numbers that counts as a whole number."""
Seed = Annotated[int, Field(ge=0, le=2**63 - 1)]
"""The seed of a topology's random numbers."""


class Jellyfish(WithHosts):
    """A random graph in which each switch has `degree` links to others. If switches × degree is odd, one port
    of one switch stays free."""

    switches: Annotated[int, Field(ge=3, le=MOST_SWITCHES)] = 20
    """The number of switches."""
    ports: Annotated[int, Field(ge=3, le=1024)] = 6
    """The number of ports of each switch; ports beyond `degree` are for hosts."""
    degree: Annotated[int, Field(ge=2, le=1023)] = 4
    """The number of ports of each switch for links to other switches."""
    hosts_per_port: Annotated[float, Field(gt=0, lt=1)] | None = None
    """The number of hosts for each port of all switches, instead of `hosts` or `hosts_per_switch`; a fat-tree
    has 0.2, and ports are a measure of what a network costs."""
    spare_ports: bool = False
    """True to use ports left free by hosts for links between switches, too, so that switches with fewer hosts
    have more links."""
    initial_switches: Annotated[int, Field(ge=3, le=MOST_SWITCHES)] | None = None
    """The number of switches with which it was built, before it grew by one at a time; by default, all."""
    seed: Seed = 1
    """The seed of the graph; in a study, it is combined with the run's seed and the block, so that each block
    has a different graph."""

    def host_count(self, switches: int) -> int:
        """Returns the total number of hosts, rounded down if it is given for each port."""
        if self.hosts_per_port is None:
            return super().host_count(switches)
        return int(switches * self.ports * self.hosts_per_port + ROUNDING)

    @model_validator(mode="after")
    def _fits(self) -> Jellyfish:
        if (
            self.hosts_per_port is not None
            and (self.hosts or self.hosts_per_switch or self.hosts_at) is not None
        ):
            expected = "one of hosts, hosts_per_switch, hosts_at and hosts_per_port"
            raise wrong(("hosts_per_port",), str(self.hosts_per_port), expected)
        initial = self.initial_switches or self.switches
        if initial > self.switches:
            raise wrong(
                ("initial_switches",), str(initial), f"up to {self.switches}, the final number of switches"
            )
        if self.degree >= min(self.ports, initial):
            expected = f"below {min(self.ports, initial)}"
            hint = (
                "a switch needs at least one port for hosts"
                if self.ports <= initial
                else "there are no more other switches"
            )
            raise wrong(("degree",), str(self.degree), expected, hint)
        self.check_hosts(switch_names(self.switches), self.ports - self.degree)
        return self


def build(parameters: Jellyfish, _: Sequence[str] = ()) -> nx.MultiGraph:
    """Returns a random graph of `switch-1`, …, which is connected, and regular except for at most one free
    port."""
    switches = switch_names(parameters.switches)
    return parameters.graph_of(switches, ((switches[a], switches[b]) for a, b in _links(parameters)))


def _links(parameters: Jellyfish) -> list[tuple[int, int]]:
    """Returns pairs of switches by number. A graph that is not connected, or that has usable ports left, is
    discarded, which happens with few switches or degree 2, and otherwise hardly ever."""
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
    """Returns the number of ports of each switch beyond `degree` for links between switches."""
    if not parameters.spare_ports:
        return []
    ports = parameters.ports - parameters.degree
    on_each = parameters.counts(switch_names(parameters.switches))
    return [ports - on * parameters.interfaces_per_host for on in on_each]


TOPOLOGIES.add(
    "jellyfish",
    Topology("A random graph of switches", build, Jellyfish, forwarding=FABRIC),
)
