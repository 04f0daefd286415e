"""Relative changes with their intervals, effect sizes, and the correction of a family of them.

Each formula stands with its source in docs/explanation/statistics.md."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

import numpy as np
from scipy import special

from nettrial.analysis.intervals import STUDENT, Floats, Interval, StandardError, around, holm, part

PAIRED_LOGS = "Student's t of the logarithms of the ratios within blocks"
"""The method of the interval of a change within blocks."""
BANERJEE = "Banerjee's t"
"""The method of the interval of a difference between two runs (`StandardError.half_width`)."""
BANERJEE_LOGS = f"{BANERJEE} of the logarithms"
"""The method of the interval of a change between two runs."""
NO_RATIO = "a value of 0 or less has no ratio"
"""Why a change is absent where a value does not allow one."""
CORRECTION = "Bonferroni"
"""The way in which intervals allow for the number of comparisons; p-values are corrected by Holm's method."""


@dataclass(frozen=True)
class Change:
    """The change of a response from the baseline to something else, in percent of the baseline."""

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
    """The p-value of no change, by the test that belongs to `interval`, or where there is no ratio to
    `difference_interval`."""
    log_ratio: float | None = None
    """The natural logarithm of the ratio that `percent` is of."""
    log_error: StandardError | None = None
    """The interval of `log_ratio`; None where there is no ratio, or no interval."""
    difference_error: StandardError | None = None
    """The interval of `difference`; None where there is no interval."""
    effect: float | None = None
    """Hedges' g of the values in the response's unit; paired: g_av. Absent where nothing varies."""
    paired: bool = True
    """True where the values were compared within blocks."""
    simultaneous: Interval | None = None
    """The interval in percent that holds together with all others of its family at `CONFIDENCE`
    (Bonferroni); None before `corrected`, or where there is no ratio."""
    simultaneous_difference: Interval | None = None
    """The same of the difference, in the response's unit."""
    p_corrected: float | None = None
    """The p-value corrected for the family (Holm); None before `corrected`."""
    family: int = 0
    """The number of comparisons that `simultaneous` and `p_corrected` allow for; 0 before `corrected`."""

    @property
    def shown(self) -> int:
        """1 or -1 where the simultaneous interval lies above or below 0, so that a change is shown; else 0.
        Without a ratio that of the difference decides."""
        bounds = self.simultaneous or self.simultaneous_difference
        if bounds is None or bounds.contains(0):
            return 0
        return 1 if bounds.low > 0 else -1


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
    log_ratio = None if logs is None else fmean(logs)
    found = Change(_percent(log_ratio), None, count, absent, fmean(differences), log_ratio=log_ratio)
    if count < 2:
        return replace(found, absent=absent or "one block gives no interval")
    log_error = None if logs is None else StandardError((part(logs),))
    found = replace(found, log_error=log_error, difference_error=StandardError((part(differences),)))
    return replace(_with_intervals(found, PAIRED_LOGS, STUDENT), effect=effect)


def _with_intervals(found: Change, log_method: str, method: str) -> Change:
    """A change that has its standard errors, with its intervals and its p-value."""
    assert found.difference is not None
    assert found.difference_error is not None
    interval = None
    p_value = found.difference_error.p_value(found.difference)
    if found.log_ratio is not None and found.log_error is not None:
        interval = in_percent(around(found.log_ratio, found.log_error.half_width(), log_method))
        p_value = found.log_error.p_value(found.log_ratio)
    difference = around(found.difference, found.difference_error.half_width(), method)
    return replace(found, interval=interval, difference_interval=difference, p_value=p_value)


def unpaired_change(base: Sequence[float], values: Sequence[float]) -> Change:
    """The relative change from the geometric mean of `base` to that of `values`, which are independent of
    each other: Banerjee's t of the logarithms, exponentiated; the difference is that of the means."""
    pairs = min(len(base), len(values))
    if not pairs:
        return Change(None, None, 0, "one side has no value", paired=False)
    difference = _mean(values) - _mean(base)
    ratio = min(*base, *values) > 0
    logs = [[math.log(value) for value in side] for side in (base, values)] if ratio else None
    log_ratio = None if logs is None else _mean(logs[1]) - _mean(logs[0])
    absent = None if ratio else NO_RATIO
    found = Change(_percent(log_ratio), None, pairs, absent, difference, log_ratio=log_ratio, paired=False)
    if pairs < 2:
        return replace(found, absent=absent or "one value gives no interval")
    found = replace(
        found,
        log_error=None if logs is None else StandardError((part(logs[0]), part(logs[1]))),
        difference_error=StandardError((part(base), part(values))),
        effect=_hedges(np.asarray(base), np.asarray(values)),
    )
    return _with_intervals(found, BANERJEE_LOGS, BANERJEE)


def in_percent(logs: Interval) -> Interval:
    """An interval of the logarithm of a ratio as one of a change in percent, by the same method."""
    low, high = _percent(logs.low), _percent(logs.high)
    assert low is not None
    assert high is not None
    return Interval(low, high, logs.method)


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


def _corrected(found: Change, p_value: float, family: int) -> Change:
    simultaneous = difference = None
    if found.interval is not None and found.log_ratio is not None and found.log_error is not None:
        method = f"{found.interval.method}, {CORRECTION} for {family}"
        simultaneous = in_percent(around(found.log_ratio, found.log_error.half_width(family), method))
    if found.difference_interval is not None and found.difference is not None and found.difference_error:
        method = f"{found.difference_interval.method}, {CORRECTION} for {family}"
        difference = around(found.difference, found.difference_error.half_width(family), method)
    return replace(
        found,
        simultaneous=simultaneous,
        simultaneous_difference=difference,
        p_corrected=p_value,
        family=family,
    )


def _percent(log_ratio: float | None) -> float | None:
    """A change in percent from the logarithm of its ratio; where it exceeds every float, the largest one."""
    if log_ratio is None:
        return None
    try:
        return 100 * math.expm1(log_ratio)
    except OverflowError:
        return sys.float_info.max


def _mean(values: Sequence[float]) -> float:
    """The mean; of equal values exactly theirs, so that sides that are alike differ by nothing."""
    return values[0] if min(values) == max(values) else fmean(values)


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
