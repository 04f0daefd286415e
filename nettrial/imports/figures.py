"""Records of measurements by other programs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import AfterValidator

from nettrial.scenario import Flow, FlowRecord, Record
from nettrial.texts import one_line

FLOW = "measured"
"""The name of the flow in a record."""
NONE = {"count": 0, **dict.fromkeys(("mean", "deviation", "minimum", "maximum", "p50", "p90", "p99"), 0.0)}
"""A distribution without values."""
LONGEST_SECONDS = 1e6
"""The longest measurement that is read, in seconds."""
MOST = 2**53
"""The largest number that is read."""
_QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}


Text = Annotated[str, AfterValidator(one_line)]
"""A text of a source, on one line and without characters that a terminal would interpret."""


class Unusable(Exception):
    """The error for a measurement that can't become a record."""

    def __init__(self, value: str, expected: str, place: str = "") -> None:
        """Creates the error about a value; `place` is its place in the document, if it is a field's."""
        super().__init__(value, expected, place)
        self.value, self.expected, self.place = value, expected, place


@dataclass(frozen=True)
class Imported:
    """A measurement as a record."""

    title: str
    """The kind of measurement, and its direction."""
    flows: tuple[Flow, ...]
    """The traffic of each direction, as far as the source describes it."""
    record: Record
    """The record, as of a trial with these flows."""
    system: str
    """The system of the host that measured, if the source has it."""

    @classmethod
    def of(cls, title: str, sources: Sequence[FigureSource]) -> Imported:
        """Returns the directions of a measurement as a record."""
        flows = tuple(source.flow() for source in sources)
        return cls(title, flows, together(sources), sources[0].system)


@dataclass
class FigureSource:
    """A measurement as a source describes it. `record` has the fields of the flow's record that it measured,
    and `absent` the reasons for metrics that it lacks."""

    title: str
    """The kind of measurement, and its direction."""
    program: str
    """The program and its version."""
    transport: str
    """The transport, such as `tcp`."""
    ip: int
    """The version of IP."""
    command: str
    """The program's name."""
    seconds: float
    """The duration of the measurement in seconds."""
    record: dict[str, Any]
    """The fields of the flow's record that the source has."""
    absent: dict[str, str] = field(default_factory=dict)
    """The reasons for metrics that the source lacks, by metric."""
    warnings: list[dict[str, str]] = field(default_factory=list)
    """The warnings of the record."""
    reverse: bool = False
    """True if the server sent."""
    started_s: float = 0.0
    """The beginning of the measurement, in seconds since 1970-01-01 UTC."""
    system: str = ""
    """The system of the host that measured, if the source has it."""
    name: str = FLOW
    """The name of the flow in the record."""
    silence: str = "did not report it"
    """The reason for metrics that are neither in `record` nor in `absent`; it follows the program's name."""

    def imported(self) -> Imported:
        """Returns the measurement as a record."""
        return Imported.of(self.title, [self])

    def flow(self) -> Flow:
        """Returns the traffic, as far as the source describes it."""
        ends = ("server", "client") if self.reverse else ("client", "server")
        flow = {"name": self.name, "from": ends[0], "to": ends[1], "transport": self.transport, "ip": self.ip}
        traffic = {"kind": "tool", "tool": "exec", "arguments": [self.command]}
        return Flow.model_validate({**flow, "traffic": traffic})

    def flow_record(self) -> dict[str, Any]:
        """Returns the flow's record."""
        blank = {
            "congestion_control": "",
            "connect_us": NONE,
            "connections": 0,
            "intervals": [],
            "mss_bytes": 0,
            "srtt_us": NONE,
            "bytes": 0,
        }
        made = FlowRecord.model_validate(
            {
                "name": self.name,
                "transport": self.transport,
                "ip": self.ip,
                "active_ns": round(self.seconds * 1e9),
                **blank,
                **self.record,
            }
        )
        return made.model_dump(by_alias=True, exclude_none=True)

    def absences(self) -> list[dict[str, str]]:
        """Returns the reasons for metrics that the record lacks."""
        absent = dict(self.absent)
        for metric, needed in _NEEDED.items():
            if needed not in self.record:
                absent.setdefault(metric, f"{self.program} {self.silence}")
        return [
            {"metric": metric, "object": self.name, "reason": reason} for metric, reason in absent.items()
        ]


def together(sources: Sequence[FigureSource], backend: str = "imported") -> Record:
    """Returns parts of one measurement, such as its directions, as one record; each is a flow."""
    first = sources[0]
    return Record.model_validate(
        {
            "format": 1,
            "backend": backend,
            "engine_version": first.program,
            "started_unix_ns": round(first.started_s * 1e9),
            "phases": {
                "network_ns": 0,
                "checks_ns": 0,
                "traffic_ns": round(max(each.seconds for each in sources) * 1e9),
                "tear_down_ns": 0,
            },
            "flows": [each.flow_record() for each in sources],
            "hosts": [],
            "ends": [],
            "checks": [],
            "warnings": [{"object": each.name, **warning} for each in sources for warning in each.warnings],
            "absent": [absence for each in sources for absence in each.absences()],
        }
    )


_NEEDED = {
    "goodput": "goodput_bps",
    "srtt": "srtt_us",
    "min_rtt": "min_rtt_us",
    "connect_time": "connect_us",
    "retransmissions": "retransmissions_pkts",
    "cwnd": "intervals",
}
"""The metrics whose fields a record always has, with these fields."""


def distribution(values: Sequence[float], counts: Sequence[int] | None = None) -> dict[str, Any]:
    """Returns the distribution of values, each of which occurred `counts` times (once by default), in their
    unit. Percentiles are values that occurred (nearest rank)."""
    pairs = sorted(zip(values, counts or [1] * len(values), strict=True))
    total = sum(count for _, count in pairs)
    if not total:
        return dict(NONE)
    mean = math.fsum(value * count for value, count in pairs) / total
    square = math.fsum((value - mean) ** 2 * count for value, count in pairs)
    figures: dict[str, Any] = {
        "count": total,
        "mean": mean,
        "deviation": math.sqrt(square / (total - 1)) if total > 1 else 0.0,
        "minimum": pairs[0][0],
        "maximum": pairs[-1][0],
    }
    for name, share in _QUANTILES.items():
        rank, passed = math.ceil(share * total), 0
        for value, count in pairs:
            passed += count
            if passed >= rank:
                figures[name] = value
                break
    return figures
