"""Figures of one measurement with another program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class MetricValue:
    """A metric of one measurement in one direction."""

    direction: str
    """The direction, such as `download`."""
    metric: str
    """The metric's name."""
    title: str
    """The metric in words."""
    unit: str
    """The unit of the value."""
    value: float | str
    """The value, or the reason why it is absent."""


@dataclass(frozen=True)
class ProtocolOutcome:
    """The outcome of one measurement."""

    figures: Sequence[MetricValue]
    """The figures in all directions."""
    warnings: Sequence[str]
    """Observations that limit what the figures say, in words."""
