"""Intervals of a mean and of a relative change, by Student's t."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from scipy import stats

CONFIDENCE = 0.95
"""The level of every interval."""


@dataclass(frozen=True)
class Interval:
    """A two-sided confidence interval, in the unit of what it bounds."""

    low: float
    high: float

    def contains(self, value: float) -> bool:
        """Whether `value` lies between the bounds, which belong to the interval."""
        return self.low <= value <= self.high

    @property
    def half_width(self) -> float:
        """Half the distance between the bounds."""
        return (self.high - self.low) / 2


@dataclass(frozen=True)
class Change:
    """How a response changes from the baseline level to another, in percent of the baseline."""

    percent: float | None
    """The geometric mean of the paired ratios, less one, times 100."""
    interval: Interval | None
    """Its interval, in percent."""
    pairs: int
    """Blocks in which both levels gave a value."""
    absent: str | None
    """Why the change, or only its interval, is absent."""


def mean_interval(values: Sequence[float]) -> Interval | None:
    """The interval of the mean of independent `values`; None for fewer than two.

    Equal values give an interval of no width: they hold no evidence of their spread.
    """
    if len(values) < 2:
        return None
    if min(values) == max(values):
        return Interval(values[0], values[0])
    error = stats.sem(values)
    low, high = stats.t.interval(CONFIDENCE, len(values) - 1, loc=fmean(values), scale=error)
    return Interval(float(low), float(high))


def change(pairs: Sequence[tuple[float, float]]) -> Change:
    """The relative change over `pairs` of (baseline value, value), one pair for each block.

    A t interval of the mean of log(value / baseline), exponentiated: what a block does to both of
    its values cancels, and the bounds are those of a ratio.
    """
    if not pairs:
        return Change(None, None, 0, "no block has a value both here and at the baseline")
    if any(value <= 0 for pair in pairs for value in pair):
        return Change(None, None, len(pairs), "a value of 0 or less has no ratio")
    logs = [math.log(value / base) for base, value in pairs]
    percent = 100 * math.expm1(fmean(logs))
    bounds = mean_interval(logs)
    if bounds is None:
        return Change(percent, None, 1, "one block gives no interval")
    interval = Interval(100 * math.expm1(bounds.low), 100 * math.expm1(bounds.high))
    return Change(percent, interval, len(pairs), None)
