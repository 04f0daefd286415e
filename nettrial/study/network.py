"""The settings of the network in a study file: topology, links and forwarding."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

import networkx as nx
from pydantic import Field, ValidationError, ValidationInfo, model_validator
from pydantic_core import PydanticCustomError

from nettrial.fields import UNKNOWN_FIELD, Strict, SystemName, Wrong, in_short, name_in, wrong
from nettrial.registry import near
from nettrial.study import base
from nettrial.study.base import GuestHardware, Offloads, Outage, Tunnel, Wlan
from nettrial.study.block import FIRST, Block
from nettrial.study.delay_trace import DelaySettings
from nettrial.study.links import (
    OF_BOTH,
    OF_DIRECTION,
    Cable,
    ImpairmentSettings,
    Layer,
    LinkKind,
    LinkKinds,
    LinkSettings,
    layers_of,
)
from nettrial.study.queues import DROP_TAIL, DisciplineSettings
from nettrial.study.rate_trace import RateSettings
from nettrial.study.traffic import Seed
from nettrial.topology import CHANNEL, MOST_INTERFACES, TOPOLOGIES, Forwarding, Parameters
from nettrial.topology.wlan import ACCESS_POINT, MOST_STATIONS, station_names, with_stations
from nettrial.units import Queue, Size

OF_FILE = ("network", "parameters", "path")
"""The place in a study of the settings that a graph's file gives links."""


class RoutingSettings(Strict):
    """The policy that chooses among several paths. Switches always forward along one spanning tree."""

    policy: Literal["shortest_path", "ecmp", "k_shortest_paths", "spanning_tree"] = "shortest_path"
    """The policy. `shortest_path`: the path with the fewest links; `ecmp`: each flow takes one of the paths
    with the fewest links, chosen by a hash of addresses and ports; `k_shortest_paths`: the i-th pair of
    addresses of two hosts takes the i-th shortest path; `spanning_tree`: routers block every loop, as
    switches do, and use the remaining paths."""
    seed: Seed = 0
    """The seed of `ecmp`'s hash, used together with the run's seed and the block, so that all treatments of a
    block share it."""
    paths: Annotated[int, Field(ge=1, le=1000)] = 8
    """The largest number of paths that `k_shortest_paths` uses."""


class ControllerSettings(base.Controller):
    """The OpenFlow controller of the switches, where `forwarding` is `openflow`."""

    application: base.ControllerApplication | None = None
    """An application of nettrial's; `shortest_path` without a `command` or an `address`. `learning`: each
    switch learns where hosts are, and floods along a spanning tree until then; `shortest_path`: the fewest
    links; `ecmp`: each flow takes one of the paths with the fewest links; `k_shortest_paths`: the i-th pair
    of addresses of two hosts takes the i-th shortest path."""
    seed: Seed = 0
    """Gives the choices of `ecmp`, together with the run's seed and the block: the same for all treatments of
    a block."""

    @model_validator(mode="after")
    def _is_one(self) -> ControllerSettings:
        own = [name for name in ("command", "address") if getattr(self, name)]
        settings = ("application", "mode", "paths", "seed")
        defaults = {name: type(self).model_fields[name].default for name in settings}
        of_applications = [name for name in settings if getattr(self, name) != defaults[name]]
        if len(own) > 1:
            hint = "the controller is a program that is started, or one that listens already"
            raise wrong(("address",), "given beside a command", "one of the two", hint)
        if own and of_applications:
            hint = f"it is for nettrial's applications, and the controller is the {own[0]}"
            raise wrong((of_applications[0],), "given", f"none beside `{own[0]}`", hint)
        return self


class StationsSettings(Strict):
    """Stations that share a radio channel, on an access point that is added to the topology: a bridge between
    the channel and a cable."""

    at: str
    """The router or switch of the topology that the cable of `access-point` leads to."""
    count: Annotated[int, Field(ge=1, le=MOST_STATIONS)] = 1
    """The number of stations: `station-1`, `station-2`, …"""


class NetworkSettings(Strict):
    """The network. Rate, delay, queue, discipline, impairment and MTU apply to every cable unless `links`
    overrides them. A radio channel has this MTU, and its own settings."""

    topology: Annotated[str, name_in(TOPOLOGIES)]
    """The topology: a name in `nettrial list topologies`."""
    parameters: dict[str, Any] = {}
    """The topology's parameters by name, as documented in the reference of topologies. If the topology is a
    factor, parameters of only one topology stand under its name."""
    forwarding: Forwarding | None = None
    """The kind of devices of a topology that can have several: `routers`, the default; `bridges`, which
    learn; or `openflow`, switches under a controller, in the lab alone."""
    controller: ControllerSettings | None = None
    """The controller of the switches, where `forwarding` is `openflow`; one of shortest paths if absent."""
    ip: Literal[4, 6]
    """The IP version of every address and flow."""
    mtu: Size
    """The largest IP packet, with the header of a tunnel."""
    tunnel: Tunnel | None = None
    """The tunnel between the two nodes of each cable, which carries its packets in packets of the other
    version of IP: `6in4`, IPv6 in IPv4 (20 bytes more), or `4in6`, IPv4 in IPv6 (40 bytes more). With
    `nat64`, at links of hosts, a host has IPv4 alone, and its router translates (20 bytes less). It is
    usually a setting of `links`, because a tunnel is between routers, and hosts are on links without
    one."""
    addresses: Annotated[int, Field(ge=1, le=MOST_INTERFACES)] = 1
    """The number of addresses of each interface of a host: MPTCP opens a subflow for each pair of addresses,
    and with `k_shortest_paths` each subflow takes its own path, even if hosts have only one link."""
    icmp: Literal["answered", "filtered"] = "answered"
    """The reaction of routers that drop a packet: they report the reason by ICMP (`answered`), or send
    nothing (`filtered`)."""
    system: SystemName | None = None
    """The operating system that routers run as guests, in virtual machines: a name in `nettrial systems
    list`. By default, routers use this machine's own kernel. Only in the lab."""
    guest: GuestHardware = GuestHardware()
    """The hardware of these guests."""
    rate: RateSettings | None = None
    """The line rate on the wire, including preamble and gap, or the trace that it follows: `{trace: FILE}`,
    with `loop: true` again and again. If absent, links are not shaped."""
    delay: DelaySettings = "0 ns"
    """The propagation delay in one direction, or the trace that it follows: `{trace: FILE}`, with
    `loop: true` again and again."""
    queue: Queue | None = None
    """The limit of each transmit queue, beyond which it drops packets; absent only if the rate is."""
    discipline: DisciplineSettings = DROP_TAIL
    """The discipline of each transmit queue, which may act before the queue is full. `nettrial list backends`
    says which backends have which."""
    impairment: ImpairmentSettings = ImpairmentSettings()
    """The impairments of every link."""
    routing: RoutingSettings = RoutingSettings()
    """The routing policy."""
    offloads: Offloads = Offloads()
    """The offloads of every interface."""
    links: LinkKinds = LinkKinds()
    """The settings of particular kinds of cables, and of single ones."""
    events: list[Outage] = []
    """The links and nodes that fail during the traffic, and the times of failure and recovery."""
    stations: StationsSettings | None = None
    """The stations of a radio channel that are added to the hosts of a topology without one."""
    wlan: Wlan | None = None
    """The settings of the radio channel, if there is one: that of the topology `wlan`, or of `stations`."""

    def cables(self, graph: nx.MultiGraph, kinds: Sequence[LinkKind]) -> Iterator[Cable]:
        """Yields the settings of each link of the graph, of which each has a kind; links with the same
        settings share them. Raises a validator's error for the name of a link that does not exist."""
        settings = {name: getattr(self, name) for name in (*OF_DIRECTION, *OF_BOTH)}
        last = Layer(LinkSettings.model_construct(**settings), ("network",))
        known: dict[LinkKind, Cable] = {}
        for layers, kind in zip(layers_of(graph, kinds, self.links, OF_FILE), kinds, strict=True):
            if len(layers) > 1:
                yield Cable.of([*layers, last])
                continue
            if kind not in known:
                known[kind] = Cable.of([*layers, last])
            yield known[kind]

    def radio(self) -> Wlan:
        """Returns the settings of radio channels."""
        return self.wlan or Wlan()

    def shape(self, block: Block = FIRST) -> Parameters:
        """Returns the topology's parameters in a block: a random topology has a different seed in each."""
        parameters = TOPOLOGIES[self.topology].parameters.model_validate(self._given())
        seed = getattr(parameters, "seed", None)
        if seed is None:
            return parameters
        return parameters.model_copy(update={"seed": block.seed("topology", seed)})

    def graph(self, hosts: Iterable[str], block: Block = FIRST) -> nx.MultiGraph:
        """Returns the network's graph in a block; `hosts` are the hosts named by the study."""
        topology = TOPOLOGIES[self.topology]
        added = set(self.station_names())
        own = [host for host in hosts if host not in added]
        graph = topology.graph(self.shape(block), own if topology.joins else (), self.forwarding)
        return self._with_stations(graph, self.stations) if self.stations else graph

    def station_names(self) -> list[str]:
        """The names of the stations that are added to the topology."""
        return station_names(self.stations.count) if self.stations else []

    def _with_stations(self, graph: nx.MultiGraph, stations: StationsSettings) -> nx.MultiGraph:
        if any(channel is not None for *_, channel in graph.edges(data=CHANNEL)):
            hint = "it has stations of its own: say how many in `parameters`"
            raise wrong(("network", "stations"), "given", f"left out with the topology {self.topology}", hint)
        devices = [node for node, kind in graph.nodes(data="kind") if kind != "host"]
        if stations.at not in devices:
            expected = in_short(devices) if devices else f"a topology other than {self.topology}"
            hint = near(stations.at, devices) or "an access point is joined to a router or a switch"
            raise wrong(("network", "stations", "at"), stations.at, expected, hint)
        for name in (ACCESS_POINT, *self.station_names()):
            if name in graph:
                hint = f"the topology {self.topology} has a {name} of its own"
                raise wrong(("network", "stations"), name, "a topology without a node of that name", hint)
        return with_stations(graph, stations.at, stations.count)

    def _given(self) -> dict[str, Any]:
        """Returns the parameters that the study sets for its topology."""
        common = {name: value for name, value in self.parameters.items() if name not in TOPOLOGIES}
        return {**common, **self.parameters.get(self.topology, {})}

    @model_validator(mode="after")
    def _parameters_fit(self, info: ValidationInfo) -> NetworkSettings:
        """Converts parameters to their canonical form."""
        for name in [name for name in self.parameters if name in TOPOLOGIES]:
            own, known = self.parameters[name], TOPOLOGIES[name].parameters.model_fields
            if not isinstance(own, Mapping):
                raise wrong(("parameters", name), str(own), f"the parameters of the topology {name}")
            for unknown in [field for field in own if field not in known]:
                at = ("parameters", name, unknown)
                raise wrong(at, UNKNOWN_FIELD, ", ".join(known) or "none", near(unknown, known))
            for twice in [field for field in own if field in self.parameters]:
                at, hint = ("parameters", name, twice), "it is also set for every topology"
                raise wrong(at, str(own[twice]), "each parameter in one place", hint)
        own = self.parameters.get(self.topology, {})
        try:
            made = TOPOLOGIES[self.topology].parameters.model_validate(self._given(), context=info.context)
        except ValidationError as error:
            raise self._wrong(Wrong.of(error)[0]) from None
        values = made.model_dump(exclude_unset=True)
        if own:
            apart = {name: value for name, value in values.items() if name not in self.parameters}
            self.parameters[self.topology] = apart
            values = {name: value for name, value in values.items() if name not in apart}
        self.parameters.update(values)
        return self

    def _wrong(self, mistake: Wrong) -> PydanticCustomError:
        """Returns the error for a parameter, at its place."""
        own = self.parameters.get(self.topology, {})
        inside = (self.topology,) if mistake.place and mistake.place[0] in own else ()
        expected, hint = mistake.expected, mistake.hint
        if mistake.unknown_field:
            if not TOPOLOGIES[self.topology].settable():
                expected = f"no such parameter with the topology {self.topology}"
            hint = hint or f"the topology {self.topology} has no such parameter"
        return wrong(("parameters", *inside, *mistake.place), mistake.value, expected, hint)

    @model_validator(mode="after")
    def _forwarding_fits(self) -> NetworkSettings:
        expected = TOPOLOGIES[self.topology].forwarding
        if self.forwarding and self.forwarding not in expected:
            said = " or ".join(expected) or f"left out with the topology {self.topology}"
            raise wrong(("forwarding",), self.forwarding, said)
        if self.controller is not None and self.forwarding != "openflow":
            hint = "routers and bridges have no controller"
            raise wrong(("controller",), "given", "none without forwarding: openflow", hint)
        return self
