"""Intervals of a mean, of a median and of a difference of means, and corrections for many comparisons.

docs/explanation/statistics.md has the source of each formula."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from statistics import fmean
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import special

Floats: TypeAlias = npt.NDArray[np.float64]
"""An array of numbers."""

CONFIDENCE = 0.95
"""The confidence level of every interval."""
STUDENT = "Student's t"
"""The method of the interval of a mean."""
ORDER = "order statistics"
"""The method of the interval of a median."""


@dataclass(frozen=True)
class Interval:
    """A two-sided confidence interval, in the unit of the bounded quantity."""

    low: float
    """The lower bound."""
    high: float
    """The upper bound."""
    method: str = field(default="", compare=False)
    """The method by which the interval was computed."""

    def contains(self, value: float) -> bool:
        """Returns whether `value` lies between the bounds or on one of them."""
        return self.low <= value <= self.high

    def only_itself_below_0(self, values: Iterable[float]) -> bool:
        """Returns whether the interval extends below 0 although none of the `values` behind it does."""
        return self.low < 0 <= min(values, default=-1)

    @property
    def side(self) -> int:
        """Returns 1 or -1 if the interval lies above or below 0, and otherwise 0."""
        return 0 if self.contains(0) else 1 if self.low > 0 else -1

    @property
    def half_width(self) -> float:
        """Returns half the distance between the bounds."""
        return (self.high - self.low) / 2


@dataclass(frozen=True)
class StandardError:
    """The estimated standard error of a mean, or of the difference of two independent means."""

    parts: tuple[tuple[float, float], ...]
    """The standard error and the degrees of freedom of each independent mean."""

    def half_width(self, comparisons: int = 1) -> float:
        """Returns the half-width of the interval that holds together with `comparisons` - 1 others
        (Bonferroni).

        For one mean it is Student's t interval. For the difference of two means it is the interval of S. K.
        Banerjee ("On confidence interval for two-means problem based on separate estimates of variances and
        tabulated values of t-table", Sankhya A 23, 1961): the root of the sum of the squares of both
        half-widths. It is conservative at any level for normal values, whatever the ratio of their variances:
        the distribution function of chi-squared with one degree of freedom is concave, so the coverage is at
        least the mean of each part's own coverage, weighted by the parts' true variances. Welch's t estimates
        its degrees of freedom and has no such guarantee far out in the tail, where Bonferroni's correction
        needs it."""
        return math.hypot(*(quantile(freedom, comparisons) * error for error, freedom in self.parts))

    def p_value(self, middle: float) -> float:
        """Returns the p-value of the two-sided test that the true value is 0: the level whose interval around
        `middle` ends at 0. It is 0 for values without spread that are not 0."""
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
    """Returns the half-width in standard errors of Student's t interval that holds together with
    `comparisons` - 1 others (Bonferroni)."""
    return float(special.stdtrit(freedom, 1 - (1 - CONFIDENCE) / (2 * comparisons)))


def mean_interval(values: Sequence[float]) -> Interval | None:
    """Returns the interval of the mean of independent `values`; None for fewer than two.

    Equal values give an interval of width 0, because they are no evidence of their spread."""
    if len(values) < 2:
        return None
    if min(values) == max(values):
        return Interval(values[0], values[0], STUDENT)
    half = quantile(len(values) - 1) * error_of(values)
    mean = fmean(values)
    return Interval(mean - half, mean + half, STUDENT)


def median_interval(values: Sequence[float]) -> Interval | None:
    """Returns the interval of the median, by order statistics whose ranks follow from the binomial
    distribution (Conover, Practical Nonparametric Statistics, section 3.2).

    It assumes nothing about the values' distribution, and contains the median with at least the probability
    `CONFIDENCE`. Returns None for fewer than 6 values, whose extremes contain it less often."""
    count = len(values)
    rank = _lowest_rank(count)
    if rank < 1:
        return None
    ordered = sorted(values)
    return Interval(ordered[rank - 1], ordered[count - rank], ORDER)


@lru_cache(maxsize=4096)
def _lowest_rank(count: int) -> int:
    """Returns the largest rank whose value lies above the median with a probability of at most (1 -
    `CONFIDENCE`) / 2; 0 if there is none."""
    if count < 1:
        return 0
    below = special.bdtr(np.arange(count // 2 + 1), count, 0.5)
    return int(np.searchsorted(below, (1 - CONFIDENCE) / 2, side="right"))


def holm(p_values: Sequence[float]) -> list[float]:
    """Returns p-values corrected for their number by Holm's step-down method (Holm 1979).

    The result equals that of multipletests in statsmodels, which is not used because it runs a full garbage
    collection in each call: most of a second in a process that holds a run."""
    if not p_values:
        return []
    values = np.asarray(p_values, dtype=float)
    order = np.argsort(values)
    steps = np.arange(len(values), 0, -1)
    adjusted = np.empty_like(values)
    adjusted[order] = np.minimum(1, np.maximum.accumulate(values[order] * steps))
    return [float(p_value) for p_value in adjusted]


def around(middle: float, half: float, method: str = "") -> Interval:
    """Returns the interval around its middle."""
    return Interval(middle - half, middle + half, method)


def error_of(values: Sequence[float]) -> float:
    """Returns the standard error of a mean, which is exactly 0 for equal values."""
    if min(values) == max(values):
        return 0.0
    return float(np.std(values, ddof=1)) / math.sqrt(len(values))


def part(values: Sequence[float]) -> tuple[float, int]:
    """Returns the standard error of the mean of independent values, and its degrees of freedom."""
    return error_of(values), len(values) - 1
