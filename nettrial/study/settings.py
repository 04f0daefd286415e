"""The settings of one trial as a study file writes them: network, hosts, workload, measurement."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Literal

import networkx as nx
from pydantic import Field, model_validator

from nettrial.bounds import MOST_FLOWS
from nettrial.congestion import CONTROLS
from nettrial.fields import Name, Strict, SystemName, in_short, name_in, wrong
from nettrial.stacks import STACKS
from nettrial.study import base
from nettrial.study.base import GuestHardware, HostCost, Scheduler, SocketOptions, Transport
from nettrial.study.block import FIRST, Block
from nettrial.study.flows import EVERY, NEXT, OTHERS, PERMUTATION, Member, members
from nettrial.study.network import NetworkSettings
from nettrial.study.traffic import Seed, TrafficSettings
from nettrial.topology import CHANNEL, TOPOLOGIES, interfaces
from nettrial.units import Duration, Size


class HostSettings(Strict):
    """A host. What is said here goes before what its stack says."""

    stack: Annotated[str, name_in(STACKS)]
    """The stack profile: a name in `nettrial list stacks`."""
    congestion_control: Annotated[str, name_in(CONTROLS)] | None = None
    """Its congestion control, a name in `nettrial list congestion`; the stack's where absent."""
    ecn: bool | None = None
    """Ask for marks instead of drops on its connections (RFC 3168); on the simulator alone."""
    minimum_rto: Duration | None = None
    """The smallest retransmission timeout; 200 ms where absent, as Linux has it. On the simulator alone."""
    scheduler: Scheduler | None = None
    """The rule by which a subflow of an MPTCP connection takes the next data, of those whose window has room:
    the one with the smallest round-trip time, as Linux does, or each in turn. On the simulator alone."""
    cost: HostCost = HostCost()
    """The cost of packets to it; on the simulator alone."""
    machine: Name | None = None
    """The machine of one's own that stands for it, by its name in the inventory; where absent, the one that
    has the host among its `nodes` there. With `--backend hosts` alone."""
    system: SystemName | None = None
    """The operating system that it runs as a guest, a virtual machine on this one: a name in
    `nettrial systems list`. Where absent, the host has this machine's own kernel. In the lab alone."""
    guest: GuestHardware = GuestHardware()
    """The hardware of the guest, where it is one."""


class FlowSettings(Strict):
    """Traffic between two hosts, or a group of such flows. A response of the group combines its flows, as
    the metric says."""

    flow: Name
    """The flow's name, unique in the study. The flows of a group are called NAME-1, NAME-2, … (`count`),
    NAME-HOST (several hosts in `from`), NAME-forward and NAME-reverse (`both_directions`)."""
    from_: Annotated[str | list[str], Field(alias="from")]
    """The host that opens the connection and sends; a list of hosts; `others`: every host but `to`; or
    `every`: every host, where `to` is `next` or `permutation`."""
    to: str
    """The host that accepts it; or `next`: of several hosts in `from` each sends to the one after it, the
    last one to the first; or `permutation`: each sends to another one and hears from one, at random."""
    seed: Seed = 0
    """Gives the random numbers of a `permutation` and of `pairs`, together with the run's seed and the block:
    the same for all treatments of a block."""
    pairs: Literal["first", "random"] = "first"
    """The pair of its hosts' addresses that each flow begins with. With `random`, on the simulator
    alone, flows of TCP spread over the paths of `k_shortest_paths`."""
    transport: Transport
    """The protocol; only the tool `ping` speaks `icmp`."""
    start: Duration = "0 ns"
    """The time of the flow's start, after all are ready."""
    count: Annotated[int, Field(ge=0, le=MOST_FLOWS)] = 1
    """The number of such flows from each host; with 0 there is none."""
    stagger: Duration = "0 ns"
    """From the start of one flow of the group to the start of the next."""
    both_directions: bool = False
    """The same traffic the other way at the same time."""
    socket: SocketOptions = SocketOptions()
    """The options of its sockets."""
    traffic: TrafficSettings
    """The traffic that it sends."""


class CaptureSettings(Strict):
    """The packets that are captured, as pcapng files in the directory `captures` of the run."""

    trials: Literal["none", "first", "all"] = "none"
    """The trials: none, those of the first block (one of each treatment), or all."""
    interfaces: list[str] = []
    """The interfaces, each a node's name (all its interfaces) or `NODE:INTERFACE`; every interface where the
    list is empty. A radio channel is an interface of its access point, `INTERFACE-air`."""
    snap_length: Size = "128 B"
    """The bytes kept of each frame, Ethernet's header counted."""


class MeasurementSettings(base.Measurement):
    """The measurements made beside what every flow gives."""

    capture: CaptureSettings = CaptureSettings()
    """The packets that are captured."""


class Settings(Strict):
    """All settings of one trial."""

    network: NetworkSettings
    """The network."""
    hosts: Annotated[dict[Name, HostSettings], Field(min_length=1)]
    """The hosts by name, in the order the topology joins them. Where it makes its hosts: one entry `every`
    for all of them, beside which single ones may have entries of their own."""
    workload: Annotated[list[FlowSettings], Field(min_length=1)]
    """The flows."""
    measurement: MeasurementSettings
    """The measurements."""

    @model_validator(mode="after")
    def _hosts_fit(self) -> Settings:
        shape = self.network.topology
        topology = TOPOLOGIES[shape]
        for word in (OTHERS, NEXT, PERMUTATION):
            if word in self.hosts:
                raise wrong(("hosts", word), word, "another name", "in a flow it stands for other hosts")
        if topology.joins is None:
            names = self.host_names()
            for name in self.hosts:
                if name not in (EVERY, *names):
                    expected = f"{EVERY}, {in_short(names)}"
                    raise wrong(("hosts", name), name, expected, f"the topology {shape} makes its hosts")
            if EVERY not in self.hosts and len(self.hosts) < len(names):
                expected = f"an entry `{EVERY}`: the topology {shape} makes its hosts"
                raise wrong(("hosts",), in_short(self.hosts), expected)
            return self
        fewest, most = topology.joins
        if EVERY in self.hosts:
            expected = f"names of hosts: the topology {shape} joins those that are named here"
            raise wrong(("hosts", EVERY), EVERY, expected)
        stations = self.network.station_names()
        for name in stations:
            if name not in self.hosts:
                expected, hint = f"an entry for {name}", "each station is a host, and named as the others are"
                raise wrong(("hosts",), ", ".join(self.hosts), expected, hint)
        joined = len(self.hosts) - len(stations)
        if not fewest <= joined <= (most or joined):
            beside = " beside the stations" if stations else ""
            expected = f"{topology.hosts} hosts with the topology {shape}{beside}"
            raise wrong(("hosts",), ", ".join(self.hosts), expected)
        for name in self.hosts:
            if name in topology.devices:
                raise wrong(("hosts", name), name, "another name", f"the topology has a {name} of its own")
        return self

    def graph(self, block: Block = FIRST) -> nx.MultiGraph:
        """The network's graph in a block."""
        return self.network.graph(self.hosts, block)

    def host_names(self) -> list[str]:
        """The names of all hosts, in order."""
        return [node for node, kind in self.graph().nodes(data="kind") if kind == "host"]

    def host(self, name: str) -> HostSettings:
        """The settings of one host."""
        return self.hosts[name if name in self.hosts else EVERY]

    def members(self, flow: str, block: Block = FIRST) -> list[Member]:
        """The flows that the workload's entry of that name stands for in a block; none if there is no such
        entry."""
        entry = next((entry for entry in self.workload if entry.flow == flow), None)
        return members(entry, self.host_names(), block) if entry else []

    def stations(self) -> list[str]:
        """The nodes of radio channels."""
        edges = [edge for *edge, channel in self.graph().edges(data=CHANNEL) if channel is not None]
        return list(dict.fromkeys(node for edge in edges for node in edge))

    def ends(self) -> list[str]:
        """Names of the interfaces: NODE.INTERFACE, and the node's where it has one interface."""
        graph = self.graph()
        made = [end for link in interfaces(graph, self.network.ip) for end in link]
        count = Counter(end.node for end in made)
        single = [end.node for end in made if count[end.node] == 1]
        return [*single, *(f"{end.node}.{end.name}" for end in made)]

    @model_validator(mode="after")
    def _devices_fit(self) -> Settings:
        network, kinds = self.network, dict(self.graph().nodes(data="kind"))
        expected = "left out with the topology " + network.topology
        if network.icmp == "filtered" and "router" not in kinds.values():
            raise wrong(("network", "icmp"), network.icmp, expected, "it has no router")
        if network.system is not None and "router" not in kinds.values():
            raise wrong(("network", "system"), network.system, expected, "it has no router")
        self._radio_fits()
        given = network.links.fabric.model_dump(exclude_none=True)
        if given and all("host" in (kinds[one], kinds[other]) for one, other in self.graph().edges()):
            name, value = next(iter(given.items()))
            hint = "it has no link between routers or switches"
            raise wrong(("network", "links", "fabric", name), str(value), expected, hint)
        return self

    def _radio_fits(self) -> None:
        """Raises where the network has settings of a radio channel or of cables, and has none of these."""
        network, channels = self.network, [channel for *_, channel in self.graph().edges(data=CHANNEL)]
        expected = "left out with the topology " + network.topology
        if network.wlan is not None and set(channels) == {None}:
            raise wrong(("network", "wlan"), "given", expected, "it has no radio channel")
        if None not in channels:
            hint = "it has no cable: the radio channel's settings are those of `wlan`"
            of_cables = ("rate", "delay", "queue", "discipline", "impairment", "links")
            for name in of_cables:
                if getattr(network, name) != NetworkSettings.model_fields[name].default:
                    raise wrong(("network", name), "given", expected, hint)

    @model_validator(mode="after")
    def _flows_fit(self) -> Settings:
        there = self.host_names()
        names, hosts, known = in_short(there), "the hosts are under `hosts`", set(there)
        if TOPOLOGIES[self.network.topology].joins is None:
            hosts = f"the topology {self.network.topology} makes its hosts"
        taken: set[str] = set()
        total = 0
        for number, flow in enumerate(self.workload):
            at = ("workload", number)
            total += _flows_at_most(flow, len(there))
            if total > MOST_FLOWS:
                expected = f"up to {MOST_FLOWS} flows in a trial"
                raise wrong((*at, "count"), str(flow.count), expected, f"with this entry there are {total}")
            if flow.flow in [other.flow for other in self.workload[:number]]:
                raise wrong((*at, "flow"), flow.flow, "a name no other flow has")
            senders = [flow.from_] if isinstance(flow.from_, str) else flow.from_
            among = flow.to in (NEXT, PERMUTATION)
            word = EVERY if among else OTHERS
            words = (("from", word), ("to", NEXT), ("to", PERMUTATION))
            for end, host in [*(("from", host) for host in senders), ("to", flow.to)]:
                if host not in known and (end, host) not in words:
                    hint = (
                        f"where `to` is {flow.to}, `from` may be {word}" if host in (EVERY, OTHERS) else hosts
                    )
                    raise wrong((*at, end), host, names, hint)
            if among and len(senders) < 2 and senders != [EVERY]:
                raise wrong((*at, "to"), flow.to, names, "it takes several hosts in `from`, or every")
            if not senders or len(set(senders)) < len(senders):
                raise wrong((*at, "from"), ", ".join(senders) or "none", "one host or more, each once")
            made = [member.name for member in members(flow, there)]
            if not made and flow.count:
                raise wrong((*at, "from"), OTHERS, names, "there is no other host")
            for name in made:
                if name in taken:
                    raise wrong((*at, "flow"), name, "a name no other flow has", "a group makes such names")
            taken.update(made)
        for number, host in enumerate(self.measurement.cpu):
            if host not in known:
                raise wrong(("measurement", "cpu", number), host, names, hosts)
        return self


def _flows_at_most(flow: FlowSettings, hosts: int) -> int:
    """Returns the largest number of flows that an entry stands for, where there are so many hosts."""
    senders = (
        len(flow.from_) if isinstance(flow.from_, list) else hosts if flow.from_ in (OTHERS, EVERY) else 1
    )
    return senders * flow.count * (2 if flow.both_directions else 1)
