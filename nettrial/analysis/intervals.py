"""Intervals of a mean, of a median and of a difference of means, and corrections for many comparisons.

Each formula stands with its source in docs/explanation/statistics.md."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from statistics import fmean
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import special

Floats: TypeAlias = npt.NDArray[np.float64]

CONFIDENCE = 0.95
"""The level of every interval."""
STUDENT = "Student's t"
"""The method of the interval of a mean."""
ORDER = "order statistics"
"""The method of the interval of a median."""


@dataclass(frozen=True)
class Interval:
    """A two-sided confidence interval, in the unit of what it bounds."""

    low: float
    high: float
    method: str = field(default="", compare=False)
    """The method by which it was computed."""

    def contains(self, value: float) -> bool:
        """Returns whether `value` lies between the bounds, which belong to the interval."""
        return self.low <= value <= self.high

    @property
    def half_width(self) -> float:
        """Half the distance between the bounds."""
        return (self.high - self.low) / 2


@dataclass(frozen=True)
class StandardError:
    """The estimated standard error of a mean, or of the difference of two independent means."""

    parts: tuple[tuple[float, int], ...]
    """The standard error of each independent mean, and its degrees of freedom."""

    def half_width(self, comparisons: int = 1) -> float:
        """The half-width of the interval that holds together with `comparisons` - 1 others (Bonferroni).

        Of one mean that is Student's t interval. Of the difference of two means it is that of S. K. Banerjee
        ("On confidence interval for two-means problem based on separate estimates of variances and tabulated
        values of t-table", Sankhya A 23, 1961): the root of the sum of the squares of both half-widths. It
        holds at least as often as it says at any level, for normal values whatever the ratio of their
        variances: the distribution function of chi-squared with one degree of freedom is concave, so the
        chance of holding is at least the mean of each part's own chance, weighted by the parts' true
        variances. Welch's t estimates its degrees of freedom and has no such bound far out in the tail, where
        Bonferroni's correction needs it.
        """
        return math.hypot(*(quantile(freedom, comparisons) * error for error, freedom in self.parts))

    def p_value(self, middle: float) -> float:
        """Returns the p-value of the two-sided test that the truth is 0: the level whose interval about
        `middle` ends at 0. Values without spread that are not 0 give 0."""
        error = math.hypot(*(error for error, _ in self.parts))
        if error == 0:
            return 1.0 if middle == 0 else 0.0
        ratio = abs(middle) / error
        low, high = (2 * float(special.stdtr(most(f for _, f in self.parts), -ratio)) for most in (max, min))
        while high - low > 1e-9 * high and high > sys.float_info.min:
            level = (low + high) / 2
            reach = math.hypot(*(float(special.stdtrit(f, level / 2)) * e for e, f in self.parts))
            low, high = (level, high) if reach > abs(middle) else (low, level)
        return high


@lru_cache(maxsize=4096)
def quantile(freedom: float, comparisons: int = 1) -> float:
    """Returns the number of standard errors from the middle to either bound of Student's t interval, which
    holds together with `comparisons` - 1 others (Bonferroni)."""
    return float(special.stdtrit(freedom, 1 - (1 - CONFIDENCE) / (2 * comparisons)))


def mean_interval(values: Sequence[float]) -> Interval | None:
    """The interval of the mean of independent `values`; None for fewer than two.

    Equal values give an interval of no width: they hold no evidence of their spread.
    """
    if len(values) < 2:
        return None
    if min(values) == max(values):
        return Interval(values[0], values[0], STUDENT)
    half = quantile(len(values) - 1) * error_of(values)
    mean = fmean(values)
    return Interval(mean - half, mean + half, STUDENT)


def median_interval(values: Sequence[float]) -> Interval | None:
    """The interval of the median by the order statistics whose ranks the binomial distribution gives
    (Conover, Practical Nonparametric Statistics, section 3.2).

    It supposes nothing of the values' distribution, and holds the median at least as often as
    `CONFIDENCE` says. None for fewer than 6 values: their extremes hold it less often.
    """
    count = len(values)
    rank = _lowest_rank(count)
    if rank < 1:
        return None
    ordered = sorted(values)
    return Interval(ordered[rank - 1], ordered[count - rank], ORDER)


@lru_cache(maxsize=4096)
def _lowest_rank(count: int) -> int:
    """The largest rank whose value lies above the median with a chance of at most half of what
    `CONFIDENCE` leaves; 0 where there is none."""
    if count < 1:
        return 0
    below = special.bdtr(np.arange(count // 2 + 1), count, 0.5)
    return int(np.searchsorted(below, (1 - CONFIDENCE) / 2, side="right"))


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values corrected for how many there are by Holm's step-down method (Holm 1979).

    As statsmodels' multipletests has it, which is not used for the whole collection of garbage that it
    makes at each call: most of a second in a process that holds a run.
    """
    if not p_values:
        return []
    found = np.asarray(p_values, dtype=float)
    order = np.argsort(found)
    steps = np.arange(len(found), 0, -1)
    adjusted = np.empty_like(found)
    adjusted[order] = np.minimum(1, np.maximum.accumulate(found[order] * steps))
    return [float(p_value) for p_value in adjusted]


def around(middle: float, half: float, method: str = "") -> Interval:
    """The interval about its middle."""
    return Interval(middle - half, middle + half, method)


def error_of(values: Sequence[float]) -> float:
    """The standard error of a mean; exactly 0 of equal values."""
    if min(values) == max(values):
        return 0.0
    return float(np.std(values, ddof=1)) / math.sqrt(len(values))


def part(values: Sequence[float]) -> tuple[float, int]:
    """The standard error of the mean of independent values, and its degrees of freedom."""
    return error_of(values), len(values) - 1
