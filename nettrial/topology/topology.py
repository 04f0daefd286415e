"""Topologies: graphs of hosts, routers and switches, built from parameters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, Literal

import networkx as nx
from pydantic import BeforeValidator, Field, model_validator

from nettrial.fields import Strict, in_short, wrong
from nettrial.registry import Registry, near

Forwarding = Literal["routers", "bridges", "openflow"]
"""The kind of the devices: routers, which forward IP packets, or switches, which forward frames: learning
bridges, or Open vSwitch under a controller."""
FABRIC: tuple[Forwarding, ...] = ("routers", "bridges", "openflow")
"""The kinds that devices of a fabric can be."""
KINDS: dict[Forwarding, str] = {"routers": "router", "bridges": "switch", "openflow": "switch"}
"""The kind of a node with that forwarding."""
DEVICE = "device"
"""The kind of a node that is a router or a switch, depending on the study."""

CHANNEL = "channel"
"""The attribute of a graph's links that form a radio channel, with the channel's number. All have the same
access point."""

KEPT = "graph"
"""A parameter that users can't set, with the content read from a file."""

MOST_SWITCHES = 8000
"""The largest number of switches with any backend: a fat-tree of 74 ports has 6845."""
MOST_HOSTS = 110_000
"""The largest number of hosts with any backend: that fat-tree has 101,306. The capabilities of most backends
state a lower limit of nodes."""
MOST_INTERFACES = 8
"""The largest number of interfaces of a host, which equals the largest number of subflows of a Linux MPTCP
connection."""


def _place(value: Any) -> Any:
    """Returns a node's name, which may be a number in a graph's file."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


Place = Annotated[str, BeforeValidator(_place, json_schema_input_type=str | int)]
"""The name of the node that a host is linked to."""
Interfaces = Annotated[int, Field(ge=1, le=MOST_INTERFACES)]
"""The number of interfaces of a host."""


class Parameters(Strict):
    """The parameters of a topology that has none."""


class WithInterfaces(Parameters):
    """The parameters of a topology whose hosts may have several links."""

    interfaces_per_host: Interfaces = 1
    """The number of links between a host and its switch or router, each with its own address."""


class WithHosts(WithInterfaces):
    """The parameters of a topology that makes its hosts: `host-1`, `host-2`, …, which are distributed in turn
    over the switches that have hosts."""

    hosts_per_switch: Annotated[int, Field(ge=1, le=MOST_HOSTS)] | None = None
    """The number of hosts on each switch that has hosts; 1 if neither this nor `hosts` is given."""
    hosts: Annotated[int, Field(ge=2, le=MOST_HOSTS)] | None = None
    """The total number of hosts, instead of `hosts_per_switch`."""
    hosts_at: Annotated[tuple[Place, ...], Field(min_length=2, max_length=MOST_HOSTS)] | None = None
    """The switch of each host in order, instead of either: `[leaf-1, leaf-1, leaf-3]` is three hosts on two
    switches."""

    @model_validator(mode="after")
    def _hosts_said_once(self) -> WithHosts:
        if self.hosts is not None and self.hosts_per_switch is not None:
            raise wrong(("hosts",), str(self.hosts), "one of hosts and hosts_per_switch")
        if self.hosts_at is not None and (self.hosts or self.hosts_per_switch) is not None:
            said = f"{len(self.hosts_at)} switches"
            raise wrong(("hosts_at",), said, "one of hosts, hosts_per_switch and hosts_at")
        return self

    def host_count(self, switches: int) -> int:
        """Returns the total number of hosts on that many switches."""
        return self.hosts or switches * (self.hosts_per_switch or 1)

    def counts(self, switches: Sequence[str]) -> list[int]:
        """Returns the number of hosts on each of the switches."""
        if self.hosts_at is not None:
            on = Counter(self.hosts_at)
            return [on[switch] for switch in switches]
        each, more = divmod(self.host_count(len(switches)), len(switches))
        return [each + (number < more) for number in range(len(switches))]

    def check_hosts(self, names: Sequence[str], ports: int) -> None:
        """Raises an error if the hosts on the switches of these names need more than the `ports` of each
        switch for hosts, or are fewer than two, or are at other nodes."""
        known = set(names)
        for number, name in enumerate(self.hosts_at or ()):
            if name not in known:
                expected = f"a node that can have hosts: {in_short(names)}"
                raise wrong(("hosts_at", number), name, expected, near(name, names))
        switches = len(names)
        count = len(self.hosts_at) if self.hosts_at is not None else self.host_count(switches)
        if count < 2:
            raise wrong(("hosts_per_switch",), str(self.hosts_per_switch), "2 hosts or more altogether")
        if count > MOST_HOSTS:
            raise wrong(("hosts_per_switch",), str(self.hosts_per_switch), f"up to {MOST_HOSTS} hosts")
        needed = max(self.counts(names)) * self.interfaces_per_host
        if needed > ports:
            fields = ("hosts", "hosts_at", "hosts_per_port")
            given = (name for name in fields if getattr(self, name, None) is not None)
            name = next(given, "hosts_per_switch")
            asked = f"{count} hosts on {switches} switches"
            if self.interfaces_per_host > 1:
                asked += f" with {self.interfaces_per_host} interfaces each"
            expected = f"up to {ports} links to hosts on a switch"
            hint = f"these hosts need {needed} links on a switch, whose other ports are in use"
            raise wrong((name,), asked, expected, hint)

    def attach(self, graph: nx.MultiGraph, switches: Sequence[str]) -> None:
        """Adds the switches, which are not in `graph` yet, and their hosts."""
        count = self.host_count(len(switches))
        at = self.hosts_at or [switches[number % len(switches)] for number in range(count)]
        hosts = [f"host-{number + 1}" for number in range(len(at))]
        graph.add_nodes_from(hosts, kind="host")
        for host, switch in zip(hosts, at, strict=True):
            graph.add_edges_from([(host, switch)] * self.interfaces_per_host)

    def graph_of(self, switches: Sequence[str], links: Iterable[tuple[str, str]]) -> nx.MultiGraph:
        """Returns the graph of switches, the hosts on all of them, and these links between switches."""
        graph = nx.MultiGraph()
        self.attach(graph, switches)
        graph.add_nodes_from(switches, kind=DEVICE)
        graph.add_edges_from(links)
        return graph


def switch_names(count: int) -> list[str]:
    """Returns the names of that many switches of a topology with switches of one kind."""
    return [f"switch-{number + 1}" for number in range(count)]


@dataclass(frozen=True)
class Topology:
    """A topology that connects the hosts named by a study, in the order in which it names them, or makes its
    own hosts."""

    title: str
    """A description in a few words."""
    build: Callable[[Any, Sequence[str]], nx.MultiGraph]
    """A function that returns the graph for parameters and, if the topology connects hosts, these hosts. Each
    node has a `kind`: host, router, switch, or DEVICE."""
    parameters: type[Parameters] = Parameters
    """The model of its parameters."""
    joins: tuple[int, int | None] | None = None
    """The smallest and the largest number of hosts that it connects (None for no limit); None if it makes its
    own hosts."""
    devices: tuple[str, ...] = ()
    """The names of its other nodes, if it connects hosts; no host may have one of these names."""
    forwarding: tuple[Forwarding, ...] = ()
    """The possible kinds of its devices, the default first; empty if it has no devices."""

    @property
    def hosts(self) -> str:
        """Returns the number of hosts that it connects, in words."""
        if self.joins is None:
            return "makes them"
        fewest, most = self.joins
        return f"{fewest}" if most == fewest else f"{fewest} or more"

    def settable(self) -> list[str]:
        """Returns the names of the parameters that users may set, with those of the hosts last."""
        own = [name for name in self.parameters.model_fields if name in self.parameters.__annotations__]
        return [name for name in dict.fromkeys([*own, *self.parameters.model_fields]) if name != KEPT]

    def graph(
        self,
        parameters: Parameters | None = None,
        hosts: Iterable[str] = (),
        forwarding: Forwarding | None = None,
    ) -> nx.MultiGraph:
        """Returns the graph, which is immutable: the same parameters give the same graph. Hosts and their
        links come first. Parameters have defaults."""
        return _graph(self, parameters or self.parameters(), tuple(hosts), forwarding)


@lru_cache(maxsize=4)  # the largest take 300 MB each
def _graph(
    topology: Topology, parameters: Parameters, hosts: tuple[str, ...], forwarding: Forwarding | None
) -> nx.MultiGraph:
    graph = topology.build(parameters, hosts)
    for node in graph:
        if graph.nodes[node]["kind"] == DEVICE:
            graph.nodes[node]["kind"] = KINDS[forwarding or topology.forwarding[0]]
    return nx.freeze(graph)


TOPOLOGIES: Registry[Topology] = Registry("topology")
"""The topologies by name."""
