"""The settings of a trial in the notation of study files: network, hosts, workload, measurement."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Any, Literal

import networkx as nx
from pydantic import Field, model_validator

from nettrial.bounds import MOST_FLOWS
from nettrial.congestion import CONTROLS
from nettrial.fields import Name, Strict, SysctlName, SysctlValue, SystemName, in_short, name_in, wrong
from nettrial.registry import near
from nettrial.stacks import STACKS
from nettrial.study import base
from nettrial.study.base import GuestHardware, HostCost, Scheduler, SocketOptions, Transport
from nettrial.study.block import FIRST, Block
from nettrial.study.flows import EVERY, NEXT, OTHERS, PERMUTATION, Member, members
from nettrial.study.links import link_kinds
from nettrial.study.network import NetworkSettings
from nettrial.study.traffic import Seed, TrafficSettings
from nettrial.topology import CHANNEL, TOPOLOGIES, interfaces
from nettrial.units import Duration, Size


class BufferSettings(Strict):
    """The sizes of a socket buffer, which the kernel chooses between (tcp_rmem and tcp_wmem)."""

    minimum: Size
    """The size that each socket keeps even under memory pressure."""
    initial: Size
    """The size with which a socket starts."""
    maximum: Size
    """The largest size that automatic sizing may reach."""


class StackSettings(Strict):
    """A stack of the study's own: another one, with these settings changed."""

    like: Annotated[str, name_in(STACKS)]
    """The stack whose settings it has otherwise: a name in `nettrial list stacks`."""
    congestion_control: Annotated[str, name_in(CONTROLS)] | None = None
    """The congestion control, a name in `nettrial list congestion`."""
    receive_buffer: BufferSettings | None = None
    """The receive buffer."""
    send_buffer: BufferSettings | None = None
    """The send buffer."""
    window_scaling: bool | None = None
    """True for window scaling (RFC 7323 section 2)."""
    sack: bool | None = None
    """True for selective acknowledgments (RFC 2018)."""
    timestamps: bool | None = None
    """True for timestamps (RFC 7323 section 3), which take 12 bytes of every segment."""
    mtu_probing: bool | None = None
    """True to search for the path MTU with the host's own segments once a connection stalls (RFC 4821)."""


OF_STACK = {
    "net.ipv4.tcp_congestion_control": "congestion_control",
    "net.ipv4.tcp_window_scaling": "window_scaling",
    "net.ipv4.tcp_sack": "sack",
    "net.ipv4.tcp_timestamps": "timestamps",
    "net.ipv4.tcp_mtu_probing": "mtu_probing",
}
"""The sysctls that a stack has as settings of its own, whose effect on connections is checked."""


class HostSettings(Strict):
    """A host. These settings override those of its stack."""

    stack: str
    """The stack: a name in `nettrial list stacks`, or one of the study's own `stacks`."""
    congestion_control: Annotated[str, name_in(CONTROLS)] | None = None
    """The congestion control, a name in `nettrial list congestion`; by default, the stack's."""
    ecn: bool | None = None
    """True to negotiate ECN on its connections, so that queues mark packets instead of dropping them (RFC
    3168); only in the simulator."""
    minimum_rto: Duration | None = None
    """The smallest retransmission timeout; by default 200 ms, as in Linux. Only in the simulator."""
    small_queues: bool | None = None
    """False for a host without TCP small queues, like Linux before 3.6: the congestion window alone limits
    the data that a connection has in the queue of the host's interface. Only in the simulator."""
    sysctls: dict[SysctlName, SysctlValue] = {}
    """Sysctls of the host by name, such as `net.ipv4.tcp_rmem: "4096 131072 67108864"`, which override what
    its stack sets. In the lab and in virtual time, they are those of the host's network namespace, and
    sysctls of the whole machine are refused; machines of the user's own restore theirs afterwards."""
    scheduler: Scheduler | None = None
    """The scheduler that chooses the subflow of an MPTCP connection for the next data: that of Linux's own
    MPTCP (`linux`, the default), which assigns data before it leaves, or one of those of the out-of-tree
    MPTCP, which choose when a segment leaves, among the subflows whose window has room: the one with the
    smallest round-trip time (`lowest_rtt`), or each in turn (`round_robin`). Other backends than the
    simulator have only `linux`; the fluid model takes all, which have no effect there."""
    cost: HostCost = HostCost()
    """The CPU cost of packets on this host; only in the simulator."""
    machine: Name | None = None
    """The user's machine that takes its role, by its name in the inventory; by default, the machine that
    lists the host under `nodes` there. With `--backend hosts`, and on the lab's links."""
    system: SystemName | None = None
    """The operating system that it runs as a guest, in a virtual machine: a name in `nettrial systems list`.
    By default, the host uses this machine's own kernel. Only in the lab."""
    guest: GuestHardware = GuestHardware()
    """The hardware of the guest, if it is one."""


class FlowSettings(Strict):
    """Traffic between two hosts, or a group of such flows. A response of the group combines its flows, in the
    way that the metric defines."""

    flow: Name
    """The flow's name, unique in the study. The flows of a group are called NAME-1, NAME-2, … (`count`),
    NAME-HOST (several hosts in `from`), NAME-forward and NAME-reverse (`both_directions`)."""
    from_: Annotated[str | list[str], Field(alias="from")]
    """The host that opens the connection and sends; a list of hosts; `others`: every host but `to`; or
    `every`: every host, where `to` is `next` or `permutation`."""
    to: str
    """The host that accepts the connection; or `next`: each of several hosts in `from` sends to the one after
    it, the last one to the first; or `permutation`: each sends to another random host and receives from
    exactly one."""
    seed: Seed = 0
    """The seed of the random numbers of a `permutation` and of `pairs`, used together with the run's seed and
    the block, so that all treatments of a block share them."""
    pairs: Literal["first", "random"] = "first"
    """The pair of its hosts' addresses with which each flow begins. With `random`, only in the simulator, TCP
    flows spread over the paths of `k_shortest_paths`."""
    transport: Transport
    """The transport protocol; only the tool `ping` uses `icmp`."""
    start: Duration = "0 ns"
    """The time of the flow's start, after all hosts are ready."""
    count: Annotated[int, Field(ge=0, le=MOST_FLOWS)] = 1
    """The number of such flows from each host; with 0 there are none."""
    stagger: Duration = "0 ns"
    """The time from the start of one flow of the group to the start of the next."""
    both_directions: bool = False
    """True for the same traffic in the reverse direction at the same time."""
    socket: SocketOptions = SocketOptions()
    """The socket options of the flow."""
    traffic: TrafficSettings
    """The traffic that the flow sends."""


class CaptureSettings(Strict):
    """The packets that are captured, as pcapng files in the directory `captures` of the run."""

    trials: Literal["none", "first", "all"] = "none"
    """The trials with captures: none, those of the first block (one of each treatment), or all."""
    interfaces: list[str] = []
    """The interfaces, each given as a node's name (all its interfaces) or as `NODE:INTERFACE`; an empty list
    stands for every interface. A radio channel is an interface of its access point, `INTERFACE-air`."""
    snap_length: Size = "128 B"
    """The number of bytes stored of each frame, including the Ethernet header."""


class MeasurementSettings(base.Measurement):
    """The measurements in addition to those of every flow."""

    capture: CaptureSettings = CaptureSettings()
    """The packets that are captured."""


class Settings(Strict):
    """All settings of a trial."""

    network: NetworkSettings | None
    """The network."""  # None for measurements between hosts that nobody described
    stacks: dict[Name, StackSettings] = {}
    """Stacks of the study's own, by name."""
    hosts: dict[Name, HostSettings]
    """The hosts by name, in the order in which the topology connects them. If the topology makes its hosts:
    one entry `every` for all of them; individual hosts may have their own entries in addition."""
    workload: Annotated[list[FlowSettings], Field(min_length=1)]
    """The flows."""
    measurement: MeasurementSettings | None
    """The measurements."""  # None for measurements that are no trials

    @property
    def known_network(self) -> NetworkSettings:
        """The network; raises ValueError for measurements, whose network nobody described."""
        if self.network is None:
            raise ValueError("the network of a measurement is not known")
        return self.network

    @property
    def known_measurement(self) -> MeasurementSettings:
        """The measurements in addition to those of every flow; raises ValueError for measurements that are no
        trials."""
        if self.measurement is None:
            raise ValueError("a measurement that is no trial has no settings of one")
        return self.measurement

    def stack(self, host: HostSettings) -> dict[str, Any]:
        """Returns the settings of a host's stack in the form of a scenario, without the host's own."""
        own = self.stacks.get(host.stack)
        if own is None:
            return STACKS[host.stack].stack.model_dump()
        changes = own.model_dump(exclude={"like"}, exclude_none=True)
        return {**STACKS[own.like].stack.model_dump(), **changes, "name": host.stack}

    @model_validator(mode="after")
    def _stacks_fit(self) -> Settings:
        for name in self.stacks:
            if name in STACKS:
                raise wrong(("stacks", name), name, "another name", "nettrial has a stack of this name")
        names = [*self.stacks, *STACKS]
        for name, host in self.hosts.items():
            if host.stack not in names:
                at = ("hosts", name, "stack")
                raise wrong(at, f"unknown stack {host.stack!r}", ", ".join(names), near(host.stack, names))
            for sysctl in host.sysctls:
                if sysctl in OF_STACK:
                    expected = f"`{OF_STACK[sysctl]}` of a stack of your own, under `stacks`"
                    raise wrong(("hosts", name, "sysctls", sysctl), host.sysctls[sysctl], expected)
        return self

    @model_validator(mode="after")
    def _hosts_fit(self) -> Settings:
        if self.network is None:
            return self
        if not self.hosts:
            raise wrong(("hosts",), "none", "one host or more")
        shape = self.network.topology
        topology = TOPOLOGIES[shape]
        for word in (OTHERS, NEXT, PERMUTATION):
            if word in self.hosts:
                raise wrong(("hosts", word), word, "another name", "it has a special meaning in flows")
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
            expected = f"names of hosts: the topology {shape} connects the hosts named here"
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
                raise wrong(("hosts", name), name, "another name", f"the topology itself has a node {name}")
        return self

    def graph(self, block: Block = FIRST) -> nx.MultiGraph:
        """Returns the network's graph in a block; of an unknown network the hosts that flows name, without a
        link."""
        if self.network is not None:
            return self.network.graph(self.hosts, block)
        graph = nx.MultiGraph()
        for flow in self.workload:
            senders = [flow.from_] if isinstance(flow.from_, str) else flow.from_
            graph.add_nodes_from([*senders, flow.to], kind="host")
        return graph

    def host_names(self) -> list[str]:
        """Returns the names of all hosts, in order."""
        return [node for node, kind in self.graph().nodes(data="kind") if kind == "host"]

    def host(self, name: str) -> HostSettings:
        """Returns the settings of a host."""
        return self.hosts[name if name in self.hosts else EVERY]

    def members(self, flow: str, block: Block = FIRST) -> list[Member]:
        """Returns the flows of the workload's entry of that name in a block; empty if there is no such
        entry."""
        entry = next((entry for entry in self.workload if entry.flow == flow), None)
        return members(entry, self.host_names(), block) if entry else []

    def flow_counts(self) -> list[int]:
        """Returns the largest number of flows that each entry of the workload can have."""
        hosts = len(self.host_names())
        return [_flows_at_most(flow, hosts) for flow in self.workload]

    def stations(self) -> list[str]:
        """Returns the nodes of radio channels."""
        edges = [edge for *edge, channel in self.graph().edges(data=CHANNEL) if channel is not None]
        return list(dict.fromkeys(node for edge in edges for node in edge))

    def ends(self) -> list[str]:
        """Returns the names of the interfaces: NODE.INTERFACE, and also the node's name if it has one
        interface."""
        if self.network is None:
            return []
        made = [end for link in interfaces(self.graph(), self.network.ip) for end in link]
        count = Counter(end.node for end in made)
        single = [end.node for end in made if count[end.node] == 1]
        return [*single, *(f"{end.node}.{end.name}" for end in made)]

    @model_validator(mode="after")
    def _devices_fit(self) -> Settings:
        if self.network is None:
            return self
        network, kinds = self.network, dict(self.graph().nodes(data="kind"))
        expected = "left out with the topology " + network.topology
        if network.icmp == "filtered" and "router" not in kinds.values():
            raise wrong(("network", "icmp"), network.icmp, expected, "it has no router")
        if network.system is not None and "router" not in kinds.values():
            raise wrong(("network", "system"), network.system, expected, "it has no router")
        self._radio_fits(network)
        kinds_of_links = link_kinds(self.graph())
        for _ in network.cables(self.graph(), kinds_of_links):  # raises for links that do not exist
            pass
        given = network.links.fabric.model_dump(exclude_none=True)
        if given and "fabric" not in kinds_of_links:
            name, value = next(iter(given.items()))
            hint = "it has no link between routers or switches"
            raise wrong(("network", "links", "fabric", name), str(value), expected, hint)
        return self

    def _radio_fits(self, network: NetworkSettings) -> None:
        """Raises an error if the network has settings of a radio channel or of cables without having any."""
        channels = [channel for *_, channel in self.graph().edges(data=CHANNEL)]
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
        if self.network and TOPOLOGIES[self.network.topology].joins is None:
            hosts = f"the topology {self.network.topology} makes its hosts"
        taken: set[str] = set()
        total = 0
        for number, (flow, count) in enumerate(zip(self.workload, self.flow_counts(), strict=True)):
            at = ("workload", number)
            total += count
            if total > MOST_FLOWS:
                expected = f"up to {MOST_FLOWS} flows in a trial"
                raise wrong((*at, "count"), str(flow.count), expected, f"this entry makes it {total}")
            if flow.flow in [other.flow for other in self.workload[:number]]:
                raise wrong((*at, "flow"), flow.flow, "a name that no other flow has")
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
                raise wrong((*at, "from"), ", ".join(senders) or "none", "one or more hosts, each once")
            made = [member.name for member in members(flow, there)]
            if not made and flow.count:
                raise wrong((*at, "from"), OTHERS, names, "there is no other host")
            for name in made:
                if name in taken:
                    raise wrong(
                        (*at, "flow"),
                        name,
                        "a name that no other flow has",
                        "the flows of a group have such names",
                    )
            taken.update(made)
        for number, host in enumerate(self.measurement.cpu if self.measurement else ()):
            if host not in known:
                raise wrong(("measurement", "cpu", number), host, names, hosts)
        return self


def _flows_at_most(flow: FlowSettings, hosts: int) -> int:
    """Returns the largest number of flows that an entry can have with that many hosts."""
    senders = (
        len(flow.from_) if isinstance(flow.from_, list) else hosts if flow.from_ in (OTHERS, EVERY) else 1
    )
    return senders * flow.count * (2 if flow.both_directions else 1)
