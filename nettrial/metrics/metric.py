"""The type of metrics, and their registry."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal, TypeAlias

from nettrial.capabilities import CAPABILITIES
from nettrial.metrics.spans import Amount, Time, combined_rate, whole
from nettrial.registry import Registry
from nettrial.scenario import (
    ChannelRecord,
    ControllerRecord,
    Distribution,
    Figure,
    FlowRecord,
    HostRecord,
    InterfaceRecord,
    Record,
    Scenario,
    SizeRecord,
    StationRecord,
)

Better = Literal["higher", "lower"]
"""The direction of values that is better."""
Kind = Literal["flow", "group", "size", "host", "link", "station", "controller", "network"]
"""The kind of object of a metric; a `group` consists of flows, a `size` belongs to a sweep, as FLOW.BYTES,
and the `network` is a trial's graph."""
NEEDED: dict[Kind, Figure] = {
    "host": Figure("cpu"),
    "link": Figure("interfaces"),
    "station": Figure("channels"),
    "controller": Figure("controller"),
}
"""The figure of a record that all metrics of a kind need."""
WRITTEN_ANYWAY = (Figure("marks"), Figure("retransmissions"), Figure("round_trip_times"))
"""The figures that records of backends without them have as 0 or empty fields, or lack without a reason."""
Combination = Literal["sum", "rate", "mean", "maximum", "minimum", "none"]
"""The way in which figures of several flows are combined. A `rate` is the sum of the flows' amounts over the
union of their times; a `sum` adds counts."""
COMBINE: dict[str, Callable[[Sequence[float]], float]] = {
    "sum": sum,
    "mean": fmean,
    "maximum": max,
    "minimum": min,
}
"""The functions that combine the figures of a group's flows."""
Index: TypeAlias = Callable[["Group"], float | str]
"""A function that returns the figure of a group of flows, or the reason for its absence."""
Reader: TypeAlias = Callable[[Record, str, Mapping[str, FlowRecord] | None], float | str]
"""A function that returns the figure of an object of a record by its name; of a group's flows, which may be
many thousands, it is given the record's flows by name."""


@dataclass(frozen=True)
class Group:
    """A group of flows whose figure is computed."""

    values: Sequence[float]
    """The figure of each flow."""
    flows: Sequence[FlowRecord]
    """The flows."""
    senders: Sequence[str]
    """The host that sends each flow."""

    def by_sender(self) -> list[list[FlowRecord]]:
        """Returns the flows of each sending host."""
        flows: dict[str, list[FlowRecord]] = {}
        for flow, sender in zip(self.flows, self.senders, strict=True):
            flows.setdefault(sender, []).append(flow)
        return list(flows.values())


@dataclass(frozen=True)
class Metric:
    """A figure of a flow, a group of flows, a host, an interface, a radio station or the controller."""

    name: str
    """The name in study files."""
    unit: str
    """The unit of its values."""
    title: str
    """The name in reports."""
    definition: str
    """The definition in a sentence."""
    source: str
    """The RFC, standard or publication that defines it."""
    better: Better
    """The direction of values that is better."""
    of: Kind
    """The kind of object that it belongs to."""
    group: Combination
    """The way in which figures of several flows are combined; `none` if they can't be, such as
    percentiles."""
    reader: Reader
    """The function behind `read`."""
    index: Index | None = None
    """For a metric of a group, the function that returns its figure from the flows, or the reason for its
    absence."""
    of_senders: bool = False
    """True for a metric of a group that is computed from the flows of each sending host together."""
    amount: Amount | None = None
    """For a metric whose figures are combined as a rate, the function that returns the amount that a flow
    moved in its time."""
    time: Callable[[FlowRecord], Time | None] = whole
    """The function that returns that time."""
    needs: Figure | None = None
    """The figure that the record must contain in addition to those of every record."""
    network: Callable[[Scenario], float | None] | None = None
    """For a metric of a trial's network instead of its record, the function that returns the figure; None if
    the network has none."""

    def of_network(self, scenario: Scenario) -> float | str:
        """Returns the figure of a trial's network, or the reason for its absence."""
        value = self.network(scenario) if self.network else None
        return f"the network has no {self.title.lower()}" if value is None else value

    def backends(self) -> list[str]:
        """Returns the names of the backends whose capabilities allow this metric."""
        return [name for name in CAPABILITIES if self.needs in (None, *CAPABILITIES[name].figures)]

    def read(self, record: Record, of: str) -> float | str:
        """Returns the figure of the flow, host or interface of that name in `unit`, or the reason for its
        absence. For a metric of a group, it is a flow's contribution to the index."""
        return self.reader(record, of, None)

    def combined(self, record: Record, names: Sequence[str], senders: Sequence[str] = ()) -> float | str:
        """Returns the combined figure of several flows, or the reason for its absence; for a single flow, its
        own figure. All flows must have the figure, because part of a group does not represent the whole.
        `senders` are the flows' sending hosts, by default a different one for each flow."""
        flows = {flow.name: flow for flow in record.flows} if len(names) > 1 else None
        figures = [self.reader(record, name, flows) for name in names]
        values = [value for value in figures if not isinstance(value, str)]
        if len(values) < len(figures):
            return next(why for why in figures if isinstance(why, str))
        if self.index is not None:
            return self.index(Group(values, _flows(record, names, flows), senders or names))
        if len(values) == 1:
            return values[0]
        if self.amount is not None:
            return combined_rate(_flows(record, names, flows), self.amount, self.time)
        if self.group == "none":
            one = f"look at one of them, such as {names[0]}"
            return f"the {self.title.lower()} of {len(names)} flows can't be combined from theirs: {one}"
        return COMBINE[self.group](values)


def _flows(record: Record, names: Sequence[str], flows: Mapping[str, FlowRecord] | None) -> list[FlowRecord]:
    """Returns the records of the flows of those names; `flows` are all of the record, by name, if there are
    several names."""
    known = flows or {flow.name: flow for flow in record.flows}
    return [known[name] for name in names]


METRICS: Registry[Metric] = Registry("metric")
"""The metrics by name."""


def reason(record: Record, name: str, of: str, otherwise: str) -> str:
    """Returns the reason why the metric `name` of `of` is absent: the engine's, if it gives one, or else
    `otherwise`."""
    given = (absence.reason for absence in record.absent if (absence.metric, absence.object) == (name, of))
    return next(given, otherwise)


def add(
    name: str,
    unit: str,
    title: str,
    definition: str,
    source: str,
    better: Better,
    group: Combination = "none",
    flow: Callable[[FlowRecord], float | str | None] | None = None,
    size: Callable[[SizeRecord, Sequence[SizeRecord]], float | None] | None = None,
    host: Callable[[HostRecord], float | None] | None = None,
    link: Callable[[InterfaceRecord], float | None] | None = None,
    station: Callable[[ChannelRecord, StationRecord], float | None] | None = None,
    controller: Callable[[ControllerRecord], float | str | None] | None = None,
    index: Index | None = None,
    of_senders: bool = False,
    amount: Amount | None = None,
    time: Callable[[FlowRecord], Time | None] = whole,
    needs: Figure | None = None,
    network: Callable[[Scenario], float | None] | None = None,
) -> None:
    """Registers a metric that one of `flow`, `size`, `host`, `link`, `station` and `controller` reads from a
    record of its kind, for a station together with that of its channel, and for a size together with those of
    its sweep; if it returns a text, that is the reason for the absence. With `index` it is a metric of a
    group: the index of the flows and of what `flow` reads from each; `of_senders` tells that the index is one
    of the sending hosts. `amount` and `time` belong to the combination `rate`. With `network` it is computed
    from a trial's graph instead of a record. `needs` is a figure that not every record has; metrics of hosts,
    interfaces, stations and the controller have such a need anyway."""

    def read(record: Record, of: str, flows: Mapping[str, FlowRecord] | None) -> float | str:
        value: float | str | None = None
        if needs in WRITTEN_ANYWAY and not _has(record, needs):
            return reason(record, name, of, f"the backend {record.backend} has no {title.lower()}")
        if network is not None:
            value = f"{title.lower()} is read from a trial's network"
        elif flow is not None:
            known = flows.get(of) if flows else next((each for each in record.flows if each.name == of), None)
            value = flow(known) if known is not None else None
        elif size is not None:
            value = next((size(part, sizes) for part, sizes in _sizes(record, of)), None)
        elif host is not None:
            value = next((host(part) for part in record.hosts if part.name == of), None)
        elif link is not None:
            value = next((link(part) for part in _interfaces(record, of)), None)
        elif station is not None:
            value = next((station(*part) for part in _stations(record, of)), None)
        elif controller is not None and record.controller is not None:
            value = controller(record.controller)
        if isinstance(value, str):
            return reason(record, name, of, value)
        if value is None or not math.isfinite(value):
            absent = f"the record has no {title.lower()} of {of}"
            return reason(record, name, of, reason(record, needs.root, of, absent) if needs else absent)
        return value

    named: dict[Kind, object] = {"group": index, "flow": flow, "size": size, "host": host, "link": link}
    named |= {"network": network, "station": station}
    kind: Kind = next((kind for kind, reader in named.items() if reader), "controller")
    needs = needs or NEEDED.get(kind)
    METRICS.add(
        name,
        Metric(
            name,
            unit,
            title,
            definition,
            source,
            better,
            kind,
            group,
            read,
            index,
            of_senders,
            amount,
            time,
            needs,
            network,
        ),
    )


def _has(record: Record, figure: Figure) -> bool:
    """Returns true if the records of its backend have a figure; those of a backend that is not known do."""
    return record.backend not in CAPABILITIES or figure in CAPABILITIES[record.backend].figures


def _sizes(record: Record, of: str) -> list[tuple[SizeRecord, Sequence[SizeRecord]]]:
    """Returns the size of that name, FLOW.BYTES, with all sizes of its sweep, if it was measured."""
    flow, _, size = of.partition(".")
    sizes = next((each.sizes or [] for each in record.flows if each.name == flow), [])
    return [(each, sizes) for each in sizes if str(each.size_bytes) == size]


def _interfaces(record: Record, of: str) -> list[InterfaceRecord]:
    """Returns the interfaces of that name: NODE.INTERFACE, or a node with a single interface."""
    node, _, interface = of.partition(".")
    interfaces = [end for end in record.ends if end.node == node and interface in ("", end.interface)]
    return interfaces if len(interfaces) == 1 else []


def _stations(record: Record, of: str) -> list[tuple[ChannelRecord, StationRecord]]:
    """Returns the stations of that node, each with its channel."""
    channels = record.channels or []
    return [(channel, station) for channel in channels for station in channel.stations if station.node == of]


def mean_of(values: Distribution | None, divisor: float = 1000) -> float | None:
    """Returns the mean of a distribution divided by `divisor`; None if it has no values."""
    return values.mean / divisor if values and values.count else None


def scaled(value: float | None, divisor: float) -> float | None:
    """Converts a value to a larger unit; None stays None."""
    return None if value is None else value / divisor


def share(part: float, total: float) -> float | None:
    """Returns a part in percent of the whole; None if the whole is 0 or absent."""
    return 100 * part / total if total else None


PERCENTILES = {
    "p50": "median",
    "p90": "90th percentile",
    "p99": "99th percentile",
    "p99_9": "percentile 99.9",
    "p99_99": "percentile 99.99",
    "p99_999": "percentile 99.999",
}
"""The percentiles of a distribution, by field."""
VALUES_NEEDED = {"p99_9": 1000, "p99_99": 10_000, "p99_999": 100_000}
"""The number of values needed for a percentile: with fewer, it would be the largest value."""


def percentile(values: Distribution | None, field: str, divisor: float = 1000) -> float | str | None:
    """Returns a percentile divided by `divisor`, or the reason for its absence; None if there are no
    values."""
    if not values or not values.count:
        return None
    value: float | None = getattr(values, field)
    if value is None:
        return f"{values.count} values are too few: {VALUES_NEEDED[field]} are needed"
    return value / divisor
