"""The fields of a mesh file, without the rules that depend on kinds of measurements."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, PlainValidator

from nettrial.fields import Name, Strict, wrong
from nettrial.units import DURATION, PERIOD, SIZE, Duration, Period, Rate, Size

_SHARE = re.compile(r"([0-9]{1,3}(?:\.[0-9]{1,3})?) ?%")
_LIMIT = re.compile(r"([<>]) *(-?[0-9]{1,15}(?:\.[0-9]{1,9})?)")


def _share(value: Any) -> str:
    match = _SHARE.fullmatch(value) if isinstance(value, str) else None
    if match is None or not 0 < float(match[1]) <= 100:
        raise wrong(expected='a percentage above 0 and up to 100, such as "10%"')
    return f"{match[1]}%"


def _number(share: str) -> float:
    """Returns a percentage as a number."""
    return float(share.removesuffix("%")) / 100


def _shortest(text: str) -> str:
    if PERIOD.parse(text) < SHORTEST_INTERVAL_SECONDS:
        raise wrong(expected=f"{SHORTEST_INTERVAL_SECONDS} s or more")
    return text


def _positive(text: str) -> str:
    if PERIOD.parse(text) == 0:
        raise wrong(expected="more than 0 s")
    return text


SHORTEST_INTERVAL_SECONDS = 10
"""The shortest interval of a measurement, in seconds."""
LONGEST_SECONDS = 600
"""The longest duration of a measurement's traffic, in seconds."""


@dataclass(frozen=True)
class MetricBound:
    """A bound of a metric."""

    sign: str
    """The side of the bound on which a value is bad: < or >."""
    value: float
    """The bound, in the metric's unit."""

    def holds(self, value: float) -> bool:
        """Returns whether the value is on the bad side of the bound."""
        return value < self.value if self.sign == "<" else value > self.value

    def __str__(self) -> str:
        return f"{self.sign} {self.value:.15g}"


def limit_of(value: Any) -> MetricBound:
    """Returns the bound that a text such as "< 900" describes; raises pydantic's error for other values."""
    match = _LIMIT.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise wrong(expected='< or > and a number in the unit of the metric, such as "< 900"')
    return MetricBound(match[1], float(match[2]))


Bound = Annotated[MetricBound, PlainValidator(limit_of)]
Share = Annotated[str, BeforeValidator(_share)]
Kept = Annotated[Period, AfterValidator(_positive)]


class Threshold(Strict):
    """The bounds of a metric. Values beyond them colour the pair, and cause alerts."""

    warning: Bound | None = None
    """The bound of a warning, such as `"< 900"`."""
    alarm: Bound | None = None
    """The bound of an alarm, such as `"< 500"`."""

    def texts(self) -> dict[str, str]:
        """Returns the bounds as texts, by level."""
        levels = {"warning": self.warning, "alarm": self.alarm}
        return {name: str(bound) for name, bound in levels.items() if bound}


class LimitsSettings(Strict):
    """The load that measurements may put on a host."""

    share: Share = "10%"
    """The share of each hour (UTC) for which a host may be measured."""
    bytes_a_day: Size | None = None
    """The bytes of measured traffic of a day (UTC) that a host may send and receive. Without it, there is no
    limit."""

    @property
    def most_time(self) -> float:
        """Returns the share as a number."""
        return _number(self.share)

    @property
    def most_bytes(self) -> int | None:
        """Returns the bytes of a day, if they are limited."""
        return None if self.bytes_a_day is None else SIZE.parse(self.bytes_a_day)


class HostSettings(Strict):
    """A host of the mesh. Without `address` and `machine`, it is the machine that runs the monitor."""

    address: str | None = None
    """The host's name or address."""
    serves: Literal["nettrial", "iperf3", "ndt7", "stamp"] | None = None
    """The server that runs there: `nettrial serve`, an iperf3 server, an ndt7 server, or a reflector of STAMP
    or TWAMP Light. Without one, only its path can be examined from this machine."""
    port: Annotated[int, Field(ge=1, le=65535)] | None = None
    """The port of that server: by default 5210, for iperf3 5201, for ndt7 4443, for STAMP 862."""
    tls: Literal["verified", "unverified", "none"] = "verified"
    """The connection to an ndt7 server: with TLS and a certificate that is verified or not, or without
    TLS."""
    token_file: Path | None = None
    """The file with the token of `nettrial serve`, or with the key of STAMP's authenticated mode, relative to
    the mesh file's directory."""
    machine: Name | None = None
    """The machine's name in the inventory (`machines`). Two hosts with `machine` are measured by agents,
    which nettrial starts there for each measurement: traffic, and the path MTU."""
    limits: LimitsSettings | None = None
    """The limits of this host, instead of those of the mesh."""

    @property
    def is_here(self) -> bool:
        """Returns whether it is the machine that runs the monitor."""
        return self.address is None and self.machine is None


class MeasurementSettings(Strict):
    """A measurement that is repeated between pairs of hosts."""

    kind: str
    """The kind of measurement."""
    from_: Annotated[list[Name], Field(alias="from", min_length=1)]
    """The hosts that send."""
    to: Annotated[list[Name], Field(min_length=1)]
    """The hosts that receive. Each sender is paired with each receiver."""
    both_directions: bool = False
    """Measure each pair in the opposite direction, too."""
    every: Annotated[Period, AfterValidator(_shortest)]
    """The length of an interval. Each interval has one measurement of each pair, at a random moment of its
    first half."""
    probability: Share = "100%"
    """The probability that a pair is measured in an interval. Each pair and interval has its own random
    number. A low probability limits the load of a large mesh."""
    duration: Duration | None = None
    """The duration of the traffic, by default 5 s."""
    rate: Rate | None = None
    """The rate of each stream."""
    size: Size | None = None
    """The size of each packet, message or write; for `path`, of the largest packet to try."""
    streams: Annotated[int, Field(ge=1, le=128)] | None = None
    """The number of streams at the same time."""
    ip: Literal[4, 6] | None = None
    """The IP version."""
    thresholds: dict[str, Threshold] = {}
    """The thresholds by metric."""

    @property
    def every_s(self) -> int:
        """Returns the interval in seconds."""
        return PERIOD.parse(self.every)

    @property
    def chance(self) -> float:
        """Returns the probability as a number."""
        return _number(self.probability)

    def seconds(self, default: str) -> float:
        """Returns the duration of the traffic in seconds."""
        return DURATION.parse(self.duration or default) / 1e9


class KeepSettings(Strict):
    """The times for which the archive keeps data."""

    records: Kept = "7 d"
    """The time for complete records."""
    values: Kept = "60 d"
    """The time for the values of each measurement. Older values are merged by hour: number, mean, standard
    deviation, smallest and largest value."""
    hours: Kept = "730 d"
    """The time for values by hour, gaps and events."""


class ChangesSettings(Strict):
    """The search for changes."""

    one_false_alarm_in: Kept = "90 d"
    """If nothing changes, at most one change of the whole mesh is reported in this time on average."""
