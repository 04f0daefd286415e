"""The type of a metric, and how one is registered."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from nettrial.capabilities import CAPABILITIES
from nettrial.registry import Registry
from nettrial.scenario import (
    ChannelRecord,
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
Kind = Literal["flow", "group", "size", "host", "link", "station", "network"]
"""The kind of object that a metric is of; a group is of flows, a size is one of a sweep's, FLOW.BYTES, and
the network is a trial's graph."""
NEEDED: dict[Kind, Figure] = {
    "host": Figure("cpu"),
    "link": Figure("interfaces"),
    "station": Figure("channels"),
}
"""The figure that every metric of a kind needs."""
Combination = Literal["sum", "mean", "maximum", "minimum", "none"]
COMBINE: dict[str, Callable[[Sequence[float]], float]] = {
    "sum": sum,
    "mean": fmean,
    "maximum": max,
    "minimum": min,
}
"""The functions that make one figure of those of a group's flows."""


@dataclass(frozen=True)
class Metric:
    """A figure of one flow, group of flows, host, interface or radio station in one trial."""

    name: str
    unit: str
    title: str
    definition: str
    source: str
    better: Better
    of: Kind
    group: Combination
    """The combination of the figures of several flows; `none` where they have none, as with percentiles."""
    read: Callable[[Record, str], float | str]
    """The figure of the flow, host or interface of that name, in `unit`; or why it is absent. Of a metric of
    a group: what its index takes of one of the flows."""
    index: Callable[[Sequence[float]], float | str] | None = None
    """The index of a metric of a group: its figure from those of the flows, or why there is none."""
    of_senders: bool = False
    """True of a metric of a group if it is from the sums of each sending host's flows."""
    needs: Figure | None = None
    """The figure that the record must have beside what every record has."""
    network: Callable[[Scenario], float | None] | None = None
    """The figure of a trial's network, of a metric that is of no record; None where the network has none."""

    def of_network(self, scenario: Scenario) -> float | str:
        """The figure of a trial's network, of a metric of that kind, or why it is absent."""
        found = self.network(scenario) if self.network else None
        return f"the network has no {self.title.lower()}" if found is None else found

    def backends(self) -> list[str]:
        """The names of the backends that can measure it, by their capabilities."""
        return [name for name in CAPABILITIES if self.needs in (None, *CAPABILITIES[name].figures)]

    def combined(self, record: Record, names: Sequence[str], senders: Sequence[str] = ()) -> float | str:
        """The figure of several flows in one, or why it is absent; of one flow its own. All of them must
        have it: part of a group says nothing of the whole. `senders` are the flows' sending hosts; without
        them each flow has its own."""
        found = [self.read(record, name) for name in names]
        values = [value for value in found if not isinstance(value, str)]
        if len(values) < len(found):
            return next(why for why in found if isinstance(why, str))
        if self.index is not None:
            return self.index(_sums(values, senders) if self.of_senders and senders else values)
        if len(values) == 1:
            return values[0]
        if self.group == "none":
            one = f"look at one of them, such as {names[0]}"
            return f"the {self.title.lower()} of {len(names)} flows is no combination of theirs: {one}"
        return COMBINE[self.group](values)


def _sums(values: Sequence[float], owners: Sequence[str]) -> list[float]:
    """The sum of each owner's values."""
    sums: dict[str, float] = {}
    for value, owner in zip(values, owners, strict=True):
        sums[owner] = sums.get(owner, 0.0) + value
    return list(sums.values())


METRICS: Registry[Metric] = Registry("metric")
"""Every metric by name."""


def reason(record: Record, name: str, of: str, otherwise: str) -> str:
    """Why `name` of `of` is absent: the engine's reason, where it gives one."""
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
    size: Callable[[SizeRecord], float] | None = None,
    host: Callable[[HostRecord], float | None] | None = None,
    link: Callable[[InterfaceRecord], float | None] | None = None,
    station: Callable[[ChannelRecord, StationRecord], float | None] | None = None,
    index: Callable[[Sequence[float]], float | str] | None = None,
    of_senders: bool = False,
    needs: Figure | None = None,
    network: Callable[[Scenario], float | None] | None = None,
) -> None:
    """Registers a metric that `flow`, `size`, `host`, `link` or `station` (one of them) takes from a record
    of its kind, with a station from that of its channel, too; a text from it is why there is none. With
    `index` it is of a group: the index of what `flow` takes from each of its flows, or with `of_senders` of
    the sums of each sending host's. With `network` it is of no record but of a trial's graph. `needs` is a
    figure that not every record has; the metrics of a host, an interface and a station need one by
    themselves."""

    def read(record: Record, of: str) -> float | str:
        value: float | str | None = None
        if network is not None:
            value = f"{title.lower()} is read from a trial's network"
        elif flow is not None:
            value = next((flow(found) for found in record.flows if found.name == of), None)
        elif size is not None:
            value = next((size(found) for found in _sizes(record, of)), None)
        elif host is not None:
            value = next((host(found) for found in record.hosts if found.name == of), None)
        elif link is not None:
            value = next((link(found) for found in _interfaces(record, of)), None)
        elif station is not None:
            value = next((station(*found) for found in _stations(record, of)), None)
        if isinstance(value, str):
            return reason(record, name, of, value)
        if value is None or not math.isfinite(value):
            return reason(record, name, of, f"the record has no {title.lower()} of {of}")
        return value

    named: dict[Kind, object] = {"group": index, "flow": flow, "size": size, "host": host, "link": link}
    named["network"] = network
    kind: Kind = next((kind for kind, reader in named.items() if reader), "station")
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
            needs,
            network,
        ),
    )


def _sizes(record: Record, of: str) -> list[SizeRecord]:
    """The size of that name, FLOW.BYTES, if it was measured."""
    flow, _, size = of.partition(".")
    sizes = next((found.sizes or [] for found in record.flows if found.name == flow), [])
    return [found for found in sizes if str(found.size_bytes) == size]


def _interfaces(record: Record, of: str) -> list[InterfaceRecord]:
    """The interfaces of that name: NODE.INTERFACE, or a node with one."""
    node, _, interface = of.partition(".")
    found = [found for found in record.ends if found.node == node and interface in ("", found.interface)]
    return found if len(found) == 1 else []


def _stations(record: Record, of: str) -> list[tuple[ChannelRecord, StationRecord]]:
    """The stations of that node, each with its channel."""
    channels = record.channels or []
    return [(channel, found) for channel in channels for found in channel.stations if found.node == of]


def mean_of(values: Distribution | None, divisor: float = 1000) -> float | None:
    """The mean of a distribution over `divisor`; None if it has no values."""
    return values.mean / divisor if values and values.count else None


def scaled(value: float | None, divisor: float) -> float | None:
    """A value in a larger unit; None stays."""
    return None if value is None else value / divisor


def share(part: float, whole: float) -> float | None:
    """A part in percent of the whole; None if there is no whole."""
    return 100 * part / whole if whole else None


PERCENTILES = {
    "p50": "median",
    "p90": "90th percentile",
    "p99": "99th percentile",
    "p99_9": "percentile 99.9",
    "p99_99": "percentile 99.99",
    "p99_999": "percentile 99.999",
}
"""The percentiles that a distribution has, by their field."""
VALUES_NEEDED = {"p99_9": 1000, "p99_99": 10_000, "p99_999": 100_000}
"""With fewer values such a percentile would be the largest of them."""


def percentile(values: Distribution | None, field: str, divisor: float = 1000) -> float | str | None:
    """A percentile over `divisor`, or why there is none; None if there are no values."""
    if not values or not values.count:
        return None
    value: float | None = getattr(values, field)
    if value is None:
        return f"{values.count} values are too few: it takes {VALUES_NEEDED[field]}"
    return value / divisor
