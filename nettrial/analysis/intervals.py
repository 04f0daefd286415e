"""Intervals of a mean, a median and a relative change; effect sizes; corrections for many comparisons.

Each formula stands with its source in docs/explanation/statistics.md."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
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
PAIRED_LOGS = "Student's t of the logarithms of the ratios within blocks"
"""The method of the interval of a change within blocks."""
WELCH_LOGS = "Welch's t of the logarithms"
"""The method of the interval of a change between two runs."""
NO_RATIO = "a value of 0 or less has no ratio"
"""Why a change is absent where a value does not allow one."""
ORDER = "order statistics"
"""The method of the interval of a median."""
CORRECTION = "Bonferroni"
"""How intervals allow for the number of comparisons; p-values are corrected by Holm's method."""


@dataclass(frozen=True)
class Interval:
    """A two-sided confidence interval, in the unit of what it bounds."""

    low: float
    high: float
    method: str = field(default="", compare=False)
    """How it was computed."""

    def contains(self, value: float) -> bool:
        """Whether `value` lies between the bounds, which belong to the interval."""
        return self.low <= value <= self.high

    @property
    def half_width(self) -> float:
        """Half the distance between the bounds."""
        return (self.high - self.low) / 2


@dataclass(frozen=True)
class Change:
    """How a response changes from the baseline to something else, in percent of the baseline."""

    percent: float | None
    """The geometric mean of the paired ratios, less one, times 100."""
    interval: Interval | None
    """Its interval at `CONFIDENCE`, for itself alone, in percent."""
    pairs: int
    """Blocks in which both sides gave a value; of an unpaired change the smaller number of values."""
    absent: str | None
    """Why the change, or only its interval, is absent."""
    difference: float | None = None
    """The mean of the differences, in the response's unit; there where a value of 0 allows no ratio, too."""
    difference_interval: Interval | None = None
    """Its interval at `CONFIDENCE`, for itself alone, in the response's unit."""
    p_value: float | None = None
    """Of no change: the t test that belongs to `interval`, or where there is no ratio to
    `difference_interval`."""
    freedom: float | None = None
    """Degrees of freedom of that test."""
    effect: float | None = None
    """Hedges' g of the values in the response's unit; paired: g_av. Absent where nothing varies."""
    paired: bool = True
    """Whether the values were compared within blocks."""
    simultaneous: Interval | None = None
    """The interval in percent that holds together with all others of its family at `CONFIDENCE`
    (Bonferroni); None before `corrected`, or where there is no ratio."""
    simultaneous_difference: Interval | None = None
    """The same of the difference, in the response's unit."""
    p_corrected: float | None = None
    """The p-value corrected for the family (Holm); None before `corrected`."""
    family: int = 0
    """How many comparisons `simultaneous` and `p_corrected` allow for; 0 before `corrected`."""

    @property
    def shown(self) -> int:
        """1 or -1 where the simultaneous interval lies above or below 0, so that a change is shown; else 0.
        Without a ratio that of the difference decides."""
        bounds = self.simultaneous or self.simultaneous_difference
        if bounds is None or bounds.contains(0):
            return 0
        return 1 if bounds.low > 0 else -1


@lru_cache(maxsize=4096)
def quantile(freedom: float, comparisons: int = 1) -> float:
    """How many standard errors reach from the middle to either bound of Student's t interval, which holds
    together with `comparisons` - 1 others (Bonferroni)."""
    return float(special.stdtrit(freedom, 1 - (1 - CONFIDENCE) / (2 * comparisons)))


def mean_interval(values: Sequence[float]) -> Interval | None:
    """The interval of the mean of independent `values`; None for fewer than two.

    Equal values give an interval of no width: they hold no evidence of their spread.
    """
    if len(values) < 2:
        return None
    if min(values) == max(values):
        return Interval(values[0], values[0], STUDENT)
    half = quantile(len(values) - 1) * _error(values)
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


def change(pairs: Sequence[tuple[float, float]]) -> Change:
    """The relative change over `pairs` of (baseline value, value), one pair for each block.

    A t interval of the mean of log(value / baseline), exponentiated: what a block does to both of
    its values cancels, and the bounds are those of a ratio.
    """
    if not pairs:
        return Change(None, None, 0, "no block has a value both here and at the baseline")
    data = np.asarray(pairs, dtype=float)
    differences = (data[:, 1] - data[:, 0]).tolist()
    effect = _hedges(data[:, 0], data[:, 1])
    if (data <= 0).any():
        return _on(differences, None, NO_RATIO, effect)
    return _on(differences, np.log(data[:, 1] / data[:, 0]).tolist(), None, effect)


def averaged_change(places: Sequence[Mapping[int, tuple[float, float]]]) -> Change:
    """The change averaged over `places`, each of which has pairs of (baseline value, value) by block.

    A block counts once, by the mean of what its places show (of logarithms of ratios, and of differences):
    places of one block are no replicates of each other. Blocks that lack a place are left out, and places
    without any pair.
    """
    kept = [pairs for pairs in places if pairs]
    blocks = sorted(set.intersection(*(set(pairs) for pairs in kept))) if kept else []
    if len(kept) == 1:
        return change([kept[0][block] for block in blocks])
    if not blocks:
        absent = "no block is complete: none has a value of every treatment compared"
        return Change(None, None, 0, absent if kept else change([]).absent)
    data = np.array([[pairs[block] for pairs in kept] for block in blocks], dtype=float)
    means = data.mean(axis=1)
    effect = _hedges(means[:, 0], means[:, 1])
    differences = (means[:, 1] - means[:, 0]).tolist()
    if (data <= 0).any():
        return _on(differences, None, NO_RATIO, effect)
    logs = np.log(data[:, :, 1] / data[:, :, 0]).mean(axis=1)
    return _on(differences, logs.tolist(), None, effect)


def _on(
    differences: Sequence[float], logs: Sequence[float] | None, absent: str | None, effect: float | None
) -> Change:
    """A paired change from its differences and, where there are ratios, their logarithms."""
    count = len(differences)
    percent = None if logs is None else 100 * math.expm1(fmean(logs))
    found = Change(percent, None, count, absent, fmean(differences))
    if count < 2:
        return replace(found, absent=absent or "one block gives no interval")
    bounds = None if logs is None else mean_interval(logs)
    tested = differences if logs is None else logs
    return replace(
        found,
        interval=None if bounds is None else _percent(bounds, PAIRED_LOGS),
        difference_interval=mean_interval(differences),
        p_value=_p_value(fmean(tested), _error(tested), count - 1),
        freedom=count - 1,
        effect=effect,
    )


def unpaired_change(base: Sequence[float], values: Sequence[float]) -> Change:
    """The relative change from the geometric mean of `base` to that of `values`, which are independent of
    each other: Welch's t of the logarithms, exponentiated; the difference is that of the means."""
    pairs = min(len(base), len(values))
    if not pairs:
        return Change(None, None, 0, "one side has no value", paired=False)
    difference = fmean(values) - fmean(base)
    ratio = min(*base, *values) > 0
    sides = [[math.log(value) for value in side] for side in (base, values)] if ratio else [base, values]
    middle = _mean(sides[1]) - _mean(sides[0])
    absent = None if ratio else NO_RATIO
    percent = 100 * math.expm1(middle) if ratio else None
    found = Change(percent, None, pairs, absent, difference, paired=False)
    if pairs < 2:
        return replace(found, absent=absent or "one value gives no interval")
    error, freedom = _welch(*sides)
    half = quantile(freedom) * error
    plain, plain_freedom = _welch(base, values)
    plain_half = quantile(plain_freedom) * plain
    return replace(
        found,
        interval=_percent(Interval(middle - half, middle + half), WELCH_LOGS) if ratio else None,
        difference_interval=Interval(difference - plain_half, difference + plain_half, "Welch's t"),
        p_value=_p_value(middle, error, freedom),
        freedom=freedom,
        effect=_hedges(np.asarray(base), np.asarray(values)),
    )


def corrected(changes: Sequence[Change]) -> list[Change]:
    """Changes that are one family, each with its simultaneous intervals (Bonferroni) and its corrected
    p-value (Holm). Those without an interval are no comparisons, and stay as they are."""
    tested = [found for found in changes if found.p_value is not None]
    if not tested:
        return list(changes)
    p_values = iter(holm([found.p_value for found in tested if found.p_value is not None]))
    return [
        found if found.p_value is None else _corrected(found, next(p_values), len(tested))
        for found in changes
    ]


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


def _corrected(found: Change, p_value: float, family: int) -> Change:
    assert found.freedom is not None
    wider = quantile(found.freedom, family) / quantile(found.freedom)
    simultaneous = None
    if found.interval is not None and found.percent is not None:
        middle = math.log1p(found.percent / 100)
        half = wider * (math.log1p(found.interval.high / 100) - middle)
        method = f"{found.interval.method}, {CORRECTION} for {family}"
        simultaneous = _percent(Interval(middle - half, middle + half), method)
    difference = None
    if found.difference_interval is not None and found.difference is not None:
        half = wider * found.difference_interval.half_width
        method = f"{found.difference_interval.method}, {CORRECTION} for {family}"
        difference = Interval(found.difference - half, found.difference + half, method)
    return replace(
        found,
        simultaneous=simultaneous,
        simultaneous_difference=difference,
        p_corrected=p_value,
        family=family,
    )


def _percent(logs: Interval, method: str) -> Interval:
    """An interval of a logarithm of a ratio as one of a change in percent."""
    return Interval(100 * math.expm1(logs.low), 100 * math.expm1(logs.high), method)


def _mean(values: Sequence[float]) -> float:
    """The mean; of equal values exactly theirs, so that sides that are alike differ by nothing."""
    return values[0] if min(values) == max(values) else fmean(values)


def _error(values: Sequence[float]) -> float:
    """The standard error of a mean; exactly 0 of equal values."""
    if min(values) == max(values):
        return 0.0
    return float(np.std(values, ddof=1)) / math.sqrt(len(values))


def _welch(base: Sequence[float], values: Sequence[float]) -> tuple[float, float]:
    """The standard error of the difference of two means, and its degrees of freedom (Welch-Satterthwaite)."""
    first, second = _error(base) ** 2, _error(values) ** 2
    both = first + second
    if both == 0:
        return 0.0, float(len(base) + len(values) - 2)
    parts = first**2 / (len(base) - 1) + second**2 / (len(values) - 1)
    return math.sqrt(both), both**2 / parts


def _p_value(middle: float, error: float, freedom: float) -> float:
    """Of the t test that the truth is 0, two-sided. Values without spread that are not 0 give 0."""
    if error == 0:
        return 1.0 if middle == 0 else 0.0
    return float(2 * special.stdtr(freedom, -abs(middle) / error))


def _hedges(base: Floats, values: Floats) -> float | None:
    """Hedges' g: the difference of means over the root of the mean of both variances, times Hedges'
    correction for small samples; None where nothing varies, or a side has one value.

    With as many values on either side this is g_s and, of paired values, g_av with the root mean square
    of both deviations (Lakens 2013, equations 4 and 10).
    """
    counts = len(base), len(values)
    if min(counts) < 2:
        return None
    weights = [(count - 1) / (sum(counts) - 2) for count in counts]
    spread = math.sqrt(weights[0] * base.var(ddof=1) + weights[1] * values.var(ddof=1))
    # rounding leaves a spread of about 1e-16 where all values are equal
    if spread <= 1e-12 * max(abs(base).max(), abs(values).max()):
        return None
    freedom = sum(counts) - 2
    correction = math.exp(
        special.gammaln(freedom / 2) - special.gammaln((freedom - 1) / 2) - math.log(freedom / 2) / 2
    )
    return float((values.mean() - base.mean()) / spread * correction)
