"""The outcome of a measurement: its figures, or the reason for a gap."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

Reason: TypeAlias = Literal[
    "host gone",
    "refused",
    "failed",
    "collided",
    "budget spent",
    "disk full",
    "clock step",
    "not running",
    "not drawn",
]
"""The reason why an interval has no measurement: the host did not answer; the host refused; the measurement
began and failed; a host was busy with another measurement; a limit of a host was reached; the archive could
not be written; the clock was set; no monitor ran, or the machine slept; the interval was not drawn, with the
measurement's probability."""
REASONS: tuple[Reason, ...] = get_args(Reason)
"""All reasons."""
NOT_DRAWN: Reason = "not drawn"
"""The reason that is no fault: neither pages nor alerts count it as a gap."""


@dataclass(frozen=True)
class MeasuredValue:
    """A figure of a measurement."""

    name: str
    """The name of the metric."""
    title: str
    """The metric in words."""
    unit: str
    """The unit of the value."""
    value: float
    """The value."""


@dataclass(frozen=True)
class MeasuredValues:
    """The outcome of a measurement that succeeded."""

    figures: list[MeasuredValue]
    """The figures of the measurement."""
    bytes: int
    """The bytes that the measurement sent, which count towards the limits of both hosts."""
    document: str
    """The complete record as JSON, with the reasons for absent figures."""
    states: Mapping[str, str] = field(default_factory=dict)
    """Properties whose changes are events, by name: the route, the path MTU."""


class Missed(Exception):
    """The error for a measurement that gave no figures."""

    def __init__(self, reason: Reason, detail: str) -> None:
        """Creates the error; `detail` explains the reason."""
        super().__init__(detail)
        self.reason: Reason = reason
        self.detail = detail
