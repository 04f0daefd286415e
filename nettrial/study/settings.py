"""The settings of one trial as a study file writes them: network, hosts, workload, measurement."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from nettrial.stacks import STACKS
from nettrial.study.fields import Name, Strict, name_in, wrong
from nettrial.study.flows import OTHERS, Member, members
from nettrial.study.traffic import (
    Count,
    FileTransferSettings,
    PacketsSettings,
    RequestResponseSettings,
    Seed,
    SweepSettings,
    ToolSettings,
    TransferSettings,
)
from nettrial.topology import TOPOLOGIES, interfaces
from nettrial.units import Duration, Queue, Rate, Size

Probability = Annotated[float, Field(ge=0, le=1)]
"""How likely something is, from 0 to 1."""


class OffloadSettings(Strict):
    """Which work every interface does in larger pieces than a packet; none unless asked for."""

    tso: bool = False
    """TCP segmentation offload: the interface cuts segments."""
    gso: bool = False
    """Generic segmentation offload: the kernel cuts them just before the interface."""
    gro: bool = False
    """Generic receive offload: segments are joined before the stack sees them."""


class ImpairmentSettings(Strict):
    """What a link does to frames beside carrying them: in each direction, each frame by itself, after the
    queue."""

    loss: Probability = 0.0
    """The probability that a frame is lost."""
    duplication: Probability = 0.0
    """The probability that a frame arrives twice."""
    reordering: Probability = 0.0
    """The probability that a frame is held back by `reordering_delay`, so that later ones overtake it."""
    reordering_delay: Duration = "0 ns"
    """How long such a frame is held back."""
    jitter: Duration = "0 ns"
    """Each frame's delay is drawn evenly from the link's delay to this much more; the order is kept."""
    seed: Seed = 0
    """Where the random numbers start in the first block; each further block has others, the same for all
    of its treatments."""


class RoutingSettings(Strict):
    """How paths are chosen where there are several. Switches forward along one spanning tree in any case."""

    policy: Literal["shortest_path", "ecmp", "k_shortest_paths", "spanning_tree"] = "shortest_path"
    """`shortest_path`: the fewest links; `ecmp`: each flow takes one of the paths with the fewest links, by a
    hash of addresses and ports; `k_shortest_paths`: the i-th pair of addresses of two hosts takes the i-th
    shortest path; `spanning_tree`: the paths that are left where routers block every loop, as switches do."""
    seed: Seed = 0
    """What `ecmp`'s hash depends on in the first block; each further block has another, the same for all of
    its treatments."""
    paths: Annotated[int, Field(ge=1, le=1000)] = 8
    """How many paths `k_shortest_paths` uses at the most."""


class NetworkSettings(Strict):
    """The network; rate, delay, queue, impairment and MTU are those of every link."""

    topology: Annotated[str, name_in(TOPOLOGIES)]
    """The shape: a name in `nettrial list topologies`."""
    ip: Literal[4, 6]
    """The IP version of every address and flow."""
    mtu: Size
    """The largest IP packet."""
    middle_mtu: Size | None = None
    """The MTU of the link between routers, if it is not that of the others."""
    icmp: Literal["answered", "filtered"] = "answered"
    """Whether routers say by ICMP why they drop a packet."""
    rate: Rate | None = None
    """The line rate on the wire, preamble and gap counted; links are not shaped where absent."""
    delay: Duration = "0 ns"
    """Propagation delay, one way."""
    queue: Queue | None = None
    """What each transmit queue holds before it drops; absent only where the rate is."""
    impairment: ImpairmentSettings = ImpairmentSettings()
    """What every link does to frames."""
    routing: RoutingSettings = RoutingSettings()
    """How paths are chosen."""
    offloads: OffloadSettings = OffloadSettings()
    """Of every interface."""


class HostSettings(Strict):
    """A host."""

    stack: Annotated[str, name_in(STACKS)]
    """The stack profile: a name in `nettrial list stacks`."""


class SocketSettings(Strict):
    """How a flow's sockets are set up, at both hosts; what is left out is as the kernel has it."""

    mss: Size | None = None
    """The largest TCP segment to announce and to send, bytes of payload (TCP_MAXSEG, tcp(7))."""
    block: Size | None = None
    """Bytes handed to the kernel at a time by a transfer; 128 KiB where absent."""
    busy_poll: Duration | None = None
    """How long a read polls before it sleeps (SO_BUSY_POLL, socket(7))."""
    zerocopy: bool = False
    """Transfers over TCP send without copying (MSG_ZEROCOPY)."""
    udp_gso: bool = False
    """UDP packets leave in bundles that the kernel cuts (UDP_SEGMENT, udp(7))."""
    udp_gro: bool = False
    """UDP packets arrive in bundles that the kernel joined (UDP_GRO, udp(7))."""


class FlowSettings(Strict):
    """Traffic between two hosts, or a group of such flows. A response of the group combines its flows, as
    the metric says."""

    flow: Name
    """The flow's name, unique in the study. The flows of a group are called NAME-1, NAME-2, … (`count`),
    NAME-HOST (several hosts in `from`), NAME-forward and NAME-reverse (`both_directions`)."""
    from_: Annotated[str | list[str], Field(alias="from")]
    """The host that opens the connection and sends; a list of hosts; or `others`: every host but `to`."""
    to: str
    """The host that accepts it."""
    transport: Literal["tcp", "udp", "mptcp", "icmp"]
    """The protocol; only the tool `ping` speaks `icmp`."""
    start: Duration = "0 ns"
    """When the flow starts, after all are ready."""
    count: Count = 1
    """How many such flows from each host."""
    stagger: Duration = "0 ns"
    """From the start of one flow of the group to the start of the next."""
    both_directions: bool = False
    """The same traffic the other way at the same time."""
    socket: SocketSettings = SocketSettings()
    """How its sockets are set up."""
    traffic: Annotated[
        TransferSettings
        | FileTransferSettings
        | RequestResponseSettings
        | PacketsSettings
        | SweepSettings
        | ToolSettings,
        Field(discriminator="kind"),
    ]
    """What it sends."""


class MeasurementSettings(Strict):
    """What is measured beside what every flow gives."""

    interval: Duration
    """How often a flow's transport state is read."""
    cpu: list[str] = []
    """The hosts whose processor time is measured."""
    queue_drops: Literal["allowed", "unexpected"]
    """Whether a drop in a queue is warned of."""
    queue_interval: Duration | None = None
    """How often the length of each queue is read; not at all where absent. Only links with a rate queue."""
    packet_sizes: bool = False
    """Whether the packets that each link end sends are counted by size."""


class Settings(Strict):
    """All settings of one trial."""

    network: NetworkSettings
    """The network."""
    hosts: Annotated[dict[Name, HostSettings], Field(min_length=1)]
    """The hosts by name, in the order the topology joins them."""
    workload: Annotated[list[FlowSettings], Field(min_length=1)]
    """The flows."""
    measurement: MeasurementSettings
    """What is measured."""

    @model_validator(mode="after")
    def _hosts_fit(self) -> Settings:
        topology = TOPOLOGIES[self.network.topology]
        if not topology.fewest_hosts <= len(self.hosts) <= (topology.most_hosts or len(self.hosts)):
            legal = f"{topology.hosts} hosts with the topology {self.network.topology}"
            raise wrong(("hosts",), ", ".join(self.hosts), legal)
        for name in self.hosts:
            if name in topology.devices:
                raise wrong(("hosts", name), name, "another name", f"the topology has a {name} of its own")
        return self

    def members(self, flow: str) -> list[Member]:
        """The flows that the workload's entry of that name stands for; none if there is no such entry."""
        return next((members(entry, list(self.hosts)) for entry in self.workload if entry.flow == flow), [])

    def ends(self) -> list[str]:
        """Names of the link ends: NODE.INTERFACE, and the node's where it has one interface."""
        graph = TOPOLOGIES[self.network.topology].join(list(self.hosts))
        made = [end for pair in interfaces(graph, self.network.ip) for end in pair]
        single = [end.node for end in made if graph.degree[end.node] == 1]
        return [*single, *(f"{end.node}.{end.name}" for end in made)]

    @model_validator(mode="after")
    def _routers_fit(self) -> Settings:
        network, devices = self.network, TOPOLOGIES[self.network.topology].devices
        legal = "left out with the topology " + network.topology
        if network.middle_mtu and len(devices) < 2:
            raise wrong(
                ("network", "middle_mtu"), network.middle_mtu, legal, "it has no link between routers"
            )
        graph = TOPOLOGIES[network.topology].join(list(self.hosts))
        if network.icmp == "filtered" and "router" not in dict(graph.nodes(data="kind")).values():
            raise wrong(("network", "icmp"), network.icmp, legal, "it has no router")
        return self

    @model_validator(mode="after")
    def _flows_fit(self) -> Settings:
        names, hosts = ", ".join(self.hosts), "the hosts are under `hosts`"
        if OTHERS in self.hosts:
            raise wrong(("hosts", OTHERS), OTHERS, "another name", "in a flow's `from` it means the others")
        taken: list[str] = []
        for number, flow in enumerate(self.workload):
            at = ("workload", number)
            if flow.flow in [other.flow for other in self.workload[:number]]:
                raise wrong((*at, "flow"), flow.flow, "a name no other flow has")
            senders = [flow.from_] if isinstance(flow.from_, str) else flow.from_
            for end, host in [*(("from", host) for host in senders), ("to", flow.to)]:
                if host not in self.hosts and (end, host) != ("from", OTHERS):
                    raise wrong((*at, end), host, names, hosts)
            if not senders or len(set(senders)) < len(senders):
                raise wrong((*at, "from"), ", ".join(senders) or "none", "one host or more, each once")
            made = [member.name for member in members(flow, list(self.hosts))]
            if not made:
                raise wrong((*at, "from"), OTHERS, names, "there is no other host")
            for name in made:
                if name in taken:
                    raise wrong((*at, "flow"), name, "a name no other flow has", "a group makes such names")
            taken += made
        for number, host in enumerate(self.measurement.cpu):
            if host not in self.hosts:
                raise wrong(("measurement", "cpu", number), host, names, hosts)
        return self
