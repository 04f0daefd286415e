"""Topologies: graphs of named nodes, each a host, a router or a switch, made from parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, Literal

import networkx as nx
from pydantic import Field, model_validator

from nettrial.fields import Strict, wrong
from nettrial.registry import Registry

Forwarding = Literal["routers", "bridges"]
"""The kind of the devices: routers, which forward IP packets, or learning bridges, which forward frames."""
KINDS: dict[Forwarding, str] = {"routers": "router", "bridges": "switch"}
"""The kind of a node that forwards so."""
DEVICE = "device"
"""The kind of a node that is a router or a switch, whichever is asked for."""

CHANNEL = "channel"
"""The attribute of a graph's links that are one radio channel: its number. All are of one access point."""

KEPT = "graph"
"""A parameter that nobody sets: what was read from a file."""

MOST_SWITCHES = 2000
MOST_HOSTS = 10_000
MOST_INTERFACES = 8
"""The largest number of interfaces of a host: as many subflows as a Linux MPTCP connection can have."""

Interfaces = Annotated[int, Field(ge=1, le=MOST_INTERFACES)]
"""The number of interfaces of a host."""


class Parameters(Strict):
    """A topology that has no parameters."""


class WithInterfaces(Parameters):
    """Its hosts may have several links."""

    interfaces_per_host: Interfaces = 1
    """The number of links that join a host to its switch or router, each with an address of its own."""


class WithHosts(WithInterfaces):
    """It makes its hosts: `host-1`, `host-2`, … in turn on the switches that take hosts, the first on the
    first."""

    hosts_per_switch: Annotated[int, Field(ge=1, le=MOST_HOSTS)] | None = None
    """Hosts on each switch that takes hosts; 1 where absent and `hosts` is, too."""
    hosts: Annotated[int, Field(ge=2, le=MOST_HOSTS)] | None = None
    """Hosts altogether, instead of `hosts_per_switch`."""

    @model_validator(mode="after")
    def _hosts_said_once(self) -> WithHosts:
        if self.hosts is not None and self.hosts_per_switch is not None:
            raise wrong(("hosts",), str(self.hosts), "one of hosts and hosts_per_switch")
        return self

    def host_count(self, switches: int) -> int:
        """Returns the number of hosts on so many switches that take hosts."""
        return self.hosts or switches * (self.hosts_per_switch or 1)

    def check_hosts(self, switches: int, ports: int) -> None:
        """Raises where the hosts on so many switches need more than the `ports` each has for them, or are
        fewer than two."""
        count = self.host_count(switches)
        if count < 2:
            raise wrong(("hosts_per_switch",), str(self.hosts_per_switch), "2 hosts or more altogether")
        if count > MOST_HOSTS:
            raise wrong(("hosts_per_switch",), str(self.hosts_per_switch), f"up to {MOST_HOSTS} hosts")
        needed = -(-count // switches) * self.interfaces_per_host
        if needed > ports:
            name = "hosts" if self.hosts is not None else "hosts_per_switch"
            asked = f"{count} hosts on {switches} switches"
            if self.interfaces_per_host > 1:
                asked += f" with {self.interfaces_per_host} interfaces each"
            expected = f"up to {ports} links to hosts on a switch"
            raise wrong((name,), asked, expected, f"they need {needed}: the rest of its ports is taken")

    def attach(self, graph: nx.MultiGraph, switches: Sequence[str]) -> None:
        """Gives the switches, which are not in `graph` yet, their hosts."""
        hosts = [f"host-{number + 1}" for number in range(self.host_count(len(switches)))]
        graph.add_nodes_from(hosts, kind="host")
        for number, host in enumerate(hosts):
            graph.add_edges_from([(host, switches[number % len(switches)])] * self.interfaces_per_host)


@dataclass(frozen=True)
class Topology:
    """A shape that joins the hosts a study names, in the order it names them, or makes hosts of its own."""

    title: str
    build: Callable[[Any, Sequence[str]], nx.MultiGraph]
    """The graph for these parameters and, where it joins hosts, these hosts. Each node has a `kind`: host,
    router, switch, or DEVICE."""
    parameters: type[Parameters] = Parameters
    joins: tuple[int, int | None] | None = None
    """The fewest and the most hosts it joins (None: any number); None where it makes its own."""
    devices: tuple[str, ...] = ()
    """The names of its other nodes, where it joins hosts; no host may have one of them."""
    forwarding: tuple[Forwarding, ...] = ()
    """The kinds that its devices can be, the default first; none where it has no devices."""

    @property
    def hosts(self) -> str:
        """Returns the number of hosts that it joins, in words."""
        if self.joins is None:
            return "makes them"
        fewest, most = self.joins
        return f"{fewest}" if most == fewest else f"{fewest} or more"

    def settable(self) -> list[str]:
        """The names of the parameters that a user may set, its own before those of its hosts."""
        own = [name for name in self.parameters.model_fields if name in self.parameters.__annotations__]
        return [name for name in dict.fromkeys([*own, *self.parameters.model_fields]) if name != KEPT]

    def graph(
        self,
        parameters: Parameters | None = None,
        hosts: Iterable[str] = (),
        forwarding: Forwarding | None = None,
    ) -> nx.MultiGraph:
        """The graph, which can't be changed: the same parameters give the same one. Hosts come first, and so
        do their links. Without parameters it has its defaults."""
        return _graph(self, parameters or self.parameters(), tuple(hosts), forwarding)


@lru_cache(maxsize=8)
def _graph(
    topology: Topology, parameters: Parameters, hosts: tuple[str, ...], forwarding: Forwarding | None
) -> nx.MultiGraph:
    graph = topology.build(parameters, hosts)
    for node in graph:
        if graph.nodes[node]["kind"] == DEVICE:
            graph.nodes[node]["kind"] = KINDS[forwarding or topology.forwarding[0]]
    return nx.freeze(graph)


TOPOLOGIES: Registry[Topology] = Registry("topology")
"""Every topology by name."""
