"""The settings of one trial as a study file writes them: network, hosts, workload, measurement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from nettrial.stacks import STACKS
from nettrial.study.fields import Name, Strict, name_in, wrong
from nettrial.topology import TOPOLOGIES
from nettrial.units import Duration, Queue, Rate, Size


class OffloadSettings(Strict):
    """Which work every interface does in larger pieces than a packet; none unless asked for."""

    tso: bool = False
    """TCP segmentation offload: the interface cuts segments."""
    gso: bool = False
    """Generic segmentation offload: the kernel cuts them just before the interface."""
    gro: bool = False
    """Generic receive offload: segments are joined before the stack sees them."""


class NetworkSettings(Strict):
    """The network; rate, delay, queue and MTU are those of every link."""

    topology: Annotated[str, name_in(TOPOLOGIES)]
    """The shape: a name in `nettrial list topologies`."""
    ip: Literal[4, 6]
    """The IP version of every address and flow."""
    mtu: Size
    """The largest IP packet."""
    rate: Rate | None = None
    """The line rate on the wire, preamble and gap counted; links are not shaped where absent."""
    delay: Duration = "0 ns"
    """Propagation delay, one way."""
    queue: Queue | None = None
    """What each transmit queue holds before it drops; absent only where the rate is."""
    offloads: OffloadSettings = OffloadSettings()
    """Of every interface."""


class HostSettings(Strict):
    """A host."""

    stack: Annotated[str, name_in(STACKS)]
    """The stack profile: a name in `nettrial list stacks`."""


class TransferSettings(Strict):
    """A bulk transfer: so many bytes, for so long, or with both one such transfer after the other."""

    kind: Literal["transfer"]
    """Says that it is a transfer."""
    size: Size | None = None
    """Bytes of one transfer."""
    duration: Duration | None = None
    """How long to go on."""


class RequestResponseSettings(Strict):
    """A small message and its answer, one in flight."""

    kind: Literal["request_response"]
    """Says that it is requests and responses."""
    request: Size
    """Bytes of a request, at least 24."""
    response: Size
    """Bytes of a response, at least 24."""
    duration: Duration
    """How long to go on."""
    interval: Duration | None = None
    """From one request to the next; without it the next follows the response at once."""


class FlowSettings(Strict):
    """Traffic between two hosts."""

    flow: Name
    """The flow's name, unique in the study."""
    from_: Annotated[str, Field(alias="from")]
    """The host that opens the connection and sends."""
    to: str
    """The host that accepts it."""
    transport: Literal["tcp", "udp", "mptcp"]
    """The protocol; the lab carries TCP so far."""
    start: Duration = "0 ns"
    """When the flow starts, after all are ready."""
    traffic: Annotated[TransferSettings | RequestResponseSettings, Field(discriminator="kind")]
    """What it sends."""


class MeasurementSettings(Strict):
    """What is measured beside what every flow gives."""

    interval: Duration
    """How often a flow's transport state is read."""
    cpu: list[str] = []
    """The hosts whose processor time is measured."""
    queue_drops: Literal["allowed", "unexpected"]
    """Whether a drop in a queue is warned of."""


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

    @model_validator(mode="after")
    def _flows_fit(self) -> Settings:
        names = ", ".join(self.hosts)
        for number, flow in enumerate(self.workload):
            if flow.flow in [other.flow for other in self.workload[:number]]:
                raise wrong(("workload", number, "flow"), flow.flow, "a name no other flow has")
            for end, host in (("from", flow.from_), ("to", flow.to)):
                if host not in self.hosts:
                    raise wrong(("workload", number, end), host, names, "the hosts are under `hosts`")
        for number, host in enumerate(self.measurement.cpu):
            if host not in self.hosts:
                raise wrong(("measurement", "cpu", number), host, names, "the hosts are under `hosts`")
        return self


class NoSuchSetting(LookupError):
    """A dotted path that leads to no setting."""

    def __init__(self, path: str, names: Sequence[str]) -> None:
        """`names` are those that could stand where the path goes wrong."""
        super().__init__(path)
        self.names = list(names)


def substitute(settings: dict[str, Any], path: str, value: Any) -> tuple[str | int, ...]:
    """Sets one setting of plain data by its dotted path, in which a flow goes by its name; gives the
    way to it. Raises NoSuchSetting if the path leaves the data (its last step may be new)."""
    *steps, last = path.split(".")
    parent: Any = settings
    place: list[str | int] = []
    for step in steps:
        key = _key(parent, step, path)
        parent = parent[key]
        place.append(key)
    if not isinstance(parent, dict) or not steps:
        raise NoSuchSetting(path, _names(parent))
    parent[last] = value
    return (*place, last)


def setting(settings: dict[str, Any], path: str) -> Any:
    """The value of one setting of plain data by its dotted path; raises NoSuchSetting."""
    value: Any = settings
    for step in path.split("."):
        value = value[_key(value, step, path)]
    return value


def _key(parent: Any, step: str, path: str) -> str | int:
    """The key or index that one step of a dotted path stands for."""
    if isinstance(parent, dict) and step in parent:
        return step
    if isinstance(parent, list):
        for number, flow in enumerate(parent):
            if isinstance(flow, dict) and flow.get("flow") == step:
                return number
    raise NoSuchSetting(path, _names(parent))


def _names(parent: Any) -> list[str]:
    if isinstance(parent, dict):
        return list(parent)
    if isinstance(parent, list):
        return [str(flow["flow"]) for flow in parent if isinstance(flow, dict) and "flow" in flow]
    return []
