"""Relative changes with their intervals, effect sizes, and the correction of a family of them.

docs/explanation/statistics.md has the source of each formula."""

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
"""The method of the interval of a change within blocks, from its own pair alone."""
MODEL = "Student's t within blocks, with the spread of all treatments"
"""The method of the interval of a difference within blocks (`nettrial.analysis.run_model`)."""
MODEL_LOGS = f"{MODEL}, of logarithms"
"""The method of the interval of a change within blocks."""
BANERJEE = "Banerjee's t"
"""The method of the interval of a difference between two runs (`StandardError.half_width`)."""
BANERJEE_LOGS = f"{BANERJEE} of the logarithms"
"""The method of the interval of a change between two runs."""
SESSIONS = "Student's t over sessions"
"""The method of the interval of a difference between a run and several sessions."""
SESSIONS_LOGS = f"{SESSIONS}, of logarithms"
"""The method of the interval of a change from several sessions to a run."""
SAME_SESSIONS = "the means of all sessions are equal, which is no evidence of their spread"
"""The reason for the absence of an interval if sessions do not differ."""
NO_RATIO = "a value of 0 or less has no ratio"
"""The reason for the absence of a change if a value allows no ratio."""
ALIKE = "all blocks have the same change, which is no evidence of its spread"
"""The reason for the absence of an interval if the values of no block differ from those of another."""
EQUAL = "all values of each side are equal, which is no evidence of their spread"
"""The reason for the absence of an interval between two runs if no value differs within either."""
ROUNDING = 1e-12
"""The relative difference up to which values count as equal: rounding leaves about 1e-16."""
UNCLEAR_PERCENT = 1e4
"""The change in percent from which on a result is unclear: its interval is based on too few values, or on
values near 0."""
CORRECTION = "Bonferroni"
"""The method by which intervals are corrected for the number of comparisons; p-values are corrected by Holm's
method."""


@dataclass(frozen=True)
class Change:
    """The change of a response from the baseline, in percent of the baseline."""

    percent: float | None
    """The geometric mean of the paired ratios minus one, times 100."""
    interval: Interval | None
    """The individual interval of `percent` at `CONFIDENCE`, in percent."""
    pairs: int
    """The number of blocks in which both sides gave a value; for an unpaired change, the smaller number of
    values."""
    absent: str | None
    """The reason why the change, or only its interval, is absent."""
    difference: float | None = None
    """The mean of the differences, in the response's unit; present even if a value of 0 allows no ratio."""
    difference_interval: Interval | None = None
    """The individual interval of `difference` at `CONFIDENCE`, in the response's unit."""
    p_value: float | None = None
    """The p-value under the hypothesis of no change, by the test that corresponds to `interval` or, without a
    ratio, to `difference_interval`."""
    log_ratio: float | None = None
    """The natural logarithm of the ratio that `percent` expresses."""
    log_error: StandardError | None = None
    """The standard error of `log_ratio`; None without a ratio or an interval."""
    difference_error: StandardError | None = None
    """The standard error of `difference`; None without an interval."""
    effect: float | None = None
    """Hedges' g of the values in the response's unit, for paired values g_av; absent if nothing varies."""
    paired: bool = True
    """True if the values were compared within blocks."""
    simultaneous: Interval | None = None
    """The interval in percent that holds together with all others of its family at `CONFIDENCE` (Bonferroni);
    None before `corrected`, and without a ratio."""
    simultaneous_difference: Interval | None = None
    """The simultaneous interval of the difference, in the response's unit."""
    p_corrected: float | None = None
    """The p-value corrected for the family (Holm); None before `corrected`."""
    family: int = 0
    """The number of comparisons that `simultaneous` and `p_corrected` allow for; 0 before `corrected`."""

    @property
    def is_unclear(self) -> bool:
        """Returns whether the change in percent, or its individual interval, is too wide to be shown as a
        result."""
        if self.interval is None:
            return self.percent is not None and self.percent >= UNCLEAR_PERCENT
        return self.interval.high >= UNCLEAR_PERCENT

    @property
    def has_no_spread(self) -> bool:
        """Returns whether the change is known to be the same in every block, except for rounding."""
        error = self.log_error or self.difference_error
        scale = 1.0 if self.log_error or self.difference is None else abs(self.difference)
        return error is not None and all(each <= ROUNDING * scale for each, _ in error.parts)

    @property
    def relative(self) -> Interval | None:
        """Returns the simultaneous interval in percent; None without a ratio, and if the interval is so wide
        that its middle is meaningless. Reports then state the difference."""
        bounds = self.simultaneous
        return None if bounds is None or bounds.high >= UNCLEAR_PERCENT else bounds

    @property
    def stated(self) -> Interval | None:
        """Returns the simultaneous interval that reports state: `relative` or, if that is None, the interval
        of the difference; None without either."""
        return self.relative or self.simultaneous_difference

    def is_smaller_than(self, percent: float) -> bool:
        """Returns whether the change is known to be smaller than `percent` in size, by two one-sided tests:
        the simultaneous interval lies within these bounds (D. J. Schuirmann, Journal of Pharmacokinetics and
        Biopharmaceutics 15, 1987)."""
        bounds = self.simultaneous
        return bounds is not None and -percent < bounds.low and bounds.high < percent

    @property
    def shown(self) -> int:
        """Returns 1 or -1 if the interval that reports state lies above or below 0, so that a change is
        shown, and otherwise 0."""
        return 0 if self.stated is None else self.stated.side


def change(pairs: Sequence[tuple[float, float]], exact: bool = False) -> Change:
    """Returns the relative change over `pairs` of (baseline value, value), one pair for each block.

    The interval is a t interval of the mean of log(value / baseline), exponentiated: an influence of a block
    on both of its values cancels, and the bounds are those of a ratio. Blocks with the same ratio have an
    interval, of width zero, only if the values are `exact`, as those of a deterministic backend are: equal
    measurements are no evidence of their spread."""
    if not pairs:
        return Change(None, None, 0, "it was not measured here and at the baseline in the same block")
    table = np.asarray(pairs, dtype=float)
    differences, scale = (table[:, 1] - table[:, 0]).tolist(), float(abs(table).max())
    effect = _hedges(table[:, 0], table[:, 1])
    if (table <= 0).any():
        return _on(differences, scale, None, effect, exact)
    return _on(differences, scale, np.log(table[:, 1] / table[:, 0]).tolist(), effect, exact)


def averaged_change(places: Sequence[Mapping[int, tuple[float, float]]], exact: bool = False) -> Change:
    """Returns the change averaged over `places`, each of which has pairs of (baseline value, value) by block.

    A block counts once, by the mean over its places (of the logarithms of ratios, and of the differences):
    places of one block are not replicates of each other. Blocks that lack a place are left out, and so are
    places without any pair. `exact` is as for `change`."""
    kept = [pairs for pairs in places if pairs]
    blocks = sorted(set.intersection(*(set(pairs) for pairs in kept))) if kept else []
    if len(kept) == 1:
        return change([kept[0][block] for block in blocks], exact)
    if not blocks:
        absent = "no block is complete: none has a value of every treatment compared"
        return Change(None, None, 0, absent if kept else change([]).absent)
    table = np.array([[pairs[block] for pairs in kept] for block in blocks], dtype=float)
    means = table.mean(axis=1)
    effect = _hedges(means[:, 0], means[:, 1])
    differences, scale = (means[:, 1] - means[:, 0]).tolist(), float(abs(table).max())
    if (table <= 0).any():
        return _on(differences, scale, None, effect, exact)
    logs = np.log(table[:, :, 1] / table[:, :, 0]).mean(axis=1)
    return _on(differences, scale, logs.tolist(), effect, exact)


def _on(
    differences: Sequence[float],
    scale: float,
    logs: Sequence[float] | None,
    effect: float | None,
    exact: bool,
) -> Change:
    """Returns a paired change from the differences of values up to `scale` and, if there are ratios, their
    logarithms."""
    count = len(differences)
    log_ratio = None if logs is None else fmean(logs)
    absent = NO_RATIO if logs is None else None
    change_of_pairs = Change(
        _percent(log_ratio), None, count, absent, fmean(differences), log_ratio=log_ratio
    )
    if count < 2:
        return replace(change_of_pairs, absent=absent or "one block gives no interval")
    log_error = None if logs is None else _error([logs], 1.0, exact)
    change_of_pairs = replace(
        change_of_pairs, log_error=log_error, difference_error=_error([differences], scale, exact)
    )
    return replace(_with_intervals(change_of_pairs, PAIRED_LOGS, STUDENT, ALIKE), effect=effect)


def _error(sides: Sequence[Sequence[float]], scale: float, exact: bool) -> StandardError | None:
    """Returns the standard error of a mean or of the difference of two; None if the values of no side differ
    from each other, except for rounding, and are not `exact`."""
    if not exact and all(max(side) - min(side) <= ROUNDING * scale for side in sides):
        return None
    return StandardError(tuple(part(side) for side in sides))


def _with_intervals(raw: Change, log_method: str, method: str, without_spread: str) -> Change:
    """Returns a change with the intervals and the p-value that follow from its standard errors, or else with
    the reason why there are none."""
    assert raw.difference is not None
    interval = difference = p_value = None
    absent = raw.absent
    if raw.difference_error is not None:
        p_value = raw.difference_error.p_value(raw.difference)
        difference = around(raw.difference, raw.difference_error.half_width(), method)
    elif raw.log_ratio is None:
        absent = without_spread
    if raw.log_ratio is not None and raw.log_error is not None:
        interval = in_percent(around(raw.log_ratio, raw.log_error.half_width(), log_method))
        p_value = raw.log_error.p_value(raw.log_ratio)
    elif raw.log_ratio is not None:
        absent = without_spread
    return replace(raw, interval=interval, difference_interval=difference, p_value=p_value, absent=absent)


def with_error(estimate: Change, error: StandardError) -> Change:
    """Returns a change within blocks with another standard error of its ratio or, without a ratio, of its
    difference, and the intervals that follow from it."""
    if estimate.log_ratio is None:
        return _with_intervals(
            replace(estimate, difference_error=error, absent=NO_RATIO), MODEL_LOGS, MODEL, ALIKE
        )
    return _with_intervals(replace(estimate, log_error=error, absent=None), MODEL_LOGS, STUDENT, ALIKE)


def unpaired_change(base: Sequence[float], values: Sequence[float], exact: bool = False) -> Change:
    """Returns the relative change from the geometric mean of `base` to that of `values`, which are
    independent of each other. The interval is Banerjee's t interval of the logarithms, exponentiated; the
    difference is that of the means. `exact` is as for `change`."""
    pairs = min(len(base), len(values))
    if not pairs:
        return Change(None, None, 0, "one side has no value", paired=False)
    difference = _mean(values) - _mean(base)
    ratio = min(*base, *values) > 0
    logs = [[math.log(value) for value in side] for side in (base, values)] if ratio else None
    log_ratio = None if logs is None else _mean(logs[1]) - _mean(logs[0])
    absent = None if ratio else NO_RATIO
    of_means = Change(_percent(log_ratio), None, pairs, absent, difference, log_ratio=log_ratio, paired=False)
    if pairs < 2:
        return replace(of_means, absent=absent or "one value gives no interval")
    of_means = replace(
        of_means,
        log_error=None if logs is None else _error(logs, 1.0, exact),
        difference_error=_error([base, values], max(map(abs, [*base, *values])), exact),
        effect=_hedges(np.asarray(base), np.asarray(values)),
    )
    return _with_intervals(of_means, BANERJEE_LOGS, BANERJEE, EQUAL)


def session_change(
    sessions: Sequence[Sequence[float]], values: Sequence[float], exact: bool = False
) -> Change:
    """Returns the relative change from the geometric mean of several `sessions` of one system to that of
    `values`, which are those of one more session of the same or of another system.

    A session counts once, by its mean: the variance of the difference is that of sessions' means, times 1 +
    1/n for n sessions, with n - 1 degrees of freedom. If the last session has fewer trials than the others,
    its mean varies more, and the missing part of its own variance is added. `exact` is as for `change`."""
    if len(sessions) < 2 or not values or not all(sessions):
        return unpaired_change([value for one in sessions for value in one], values, exact)
    ratio = min(*values, *(value for one in sessions for value in one)) > 0
    means, here = [fmean(one) for one in sessions], _mean(values)
    difference, log_ratio, log_error = here - fmean(means), None, None
    if ratio:
        logs = [fmean(map(math.log, one)) for one in sessions]
        log_values = [math.log(value) for value in values]
        log_ratio = fmean(log_values) - fmean(logs)
        log_error = _session_error(logs, sessions, log_values, 1.0, exact)
    of_means = Change(
        _percent(log_ratio),
        None,
        len(sessions),
        None if ratio else NO_RATIO,
        difference,
        log_ratio=log_ratio,
        log_error=log_error,
        difference_error=_session_error(means, sessions, values, max(map(abs, [*means, here])), exact),
        paired=False,
    )
    return _with_intervals(of_means, SESSIONS_LOGS, SESSIONS, SAME_SESSIONS)


def _session_error(
    means: Sequence[float],
    sessions: Sequence[Sequence[float]],
    values: Sequence[float],
    scale: float,
    exact: bool,
) -> StandardError | None:
    """Returns the standard error of the difference between one more session's mean and that of the means of
    `sessions`; None if these do not differ from each other, except for rounding, and are not `exact`."""
    if not exact and max(means) - min(means) <= ROUNDING * scale:
        return None
    error, freedom = part(means)
    parts = [(error * math.sqrt(len(means) + 1), freedom)]
    missing = 1 - len(values) / fmean(map(len, sessions))
    if missing > 0 and len(values) > 1:
        of_values, its_freedom = part(values)
        parts.append((of_values * math.sqrt(missing), its_freedom))
    return StandardError(tuple(parts))


def in_percent(logs: Interval) -> Interval:
    """Converts an interval of the logarithm of a ratio into one of a change in percent, of the same
    method."""
    low, high = _percent(logs.low), _percent(logs.high)
    assert low is not None
    assert high is not None
    return Interval(low, high, logs.method)


def corrected(changes: Sequence[Change]) -> list[Change]:
    """Returns the changes of one family, each with its simultaneous intervals (Bonferroni) and its corrected
    p-value (Holm). Changes without an interval do not count as comparisons, and stay unchanged."""
    tested = [each for each in changes if each.p_value is not None]
    if not tested:
        return list(changes)
    p_values = iter(holm([each.p_value for each in tested if each.p_value is not None]))
    return [
        each if each.p_value is None else _corrected(each, next(p_values), len(tested)) for each in changes
    ]


def _corrected(raw: Change, p_value: float, family: int) -> Change:
    simultaneous = difference = None
    if raw.interval is not None and raw.log_ratio is not None and raw.log_error is not None:
        method = f"{raw.interval.method}, {CORRECTION} for {family}"
        simultaneous = in_percent(around(raw.log_ratio, raw.log_error.half_width(family), method))
    if raw.difference_interval is not None and raw.difference is not None and raw.difference_error:
        method = f"{raw.difference_interval.method}, {CORRECTION} for {family}"
        difference = around(raw.difference, raw.difference_error.half_width(family), method)
    return replace(
        raw,
        simultaneous=simultaneous,
        simultaneous_difference=difference,
        p_corrected=p_value,
        family=family,
    )


def _percent(log_ratio: float | None) -> float | None:
    """Returns a change in percent from the logarithm of its ratio, or the largest float if it exceeds
    that."""
    if log_ratio is None:
        return None
    try:
        return 100 * math.expm1(log_ratio)
    except OverflowError:
        return sys.float_info.max


def _mean(values: Sequence[float]) -> float:
    """Returns the mean. The mean of equal values is exactly that value, so that equal sides have no
    difference."""
    return values[0] if min(values) == max(values) else fmean(values)


def _hedges(base: Floats, values: Floats) -> float | None:
    """Returns Hedges' g: the difference of means over the root of the mean of both variances, times Hedges'
    correction for small samples; None if nothing varies, or if a side has only one value.

    With equally many values on both sides this is g_s and, for paired values, g_av with the root mean square
    of both deviations (Lakens 2013, equations 4 and 10)."""
    counts = len(base), len(values)
    if min(counts) < 2:
        return None
    weights = [(count - 1) / (sum(counts) - 2) for count in counts]
    spread = math.sqrt(weights[0] * base.var(ddof=1) + weights[1] * values.var(ddof=1))
    if spread <= ROUNDING * max(abs(base).max(), abs(values).max()):
        return None
    freedom = sum(counts) - 2
    correction = math.exp(
        special.gammaln(freedom / 2) - special.gammaln((freedom - 1) / 2) - math.log(freedom / 2) / 2
    )
    return float((values.mean() - base.mean()) / spread * correction)
