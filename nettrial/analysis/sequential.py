"""Intervals that hold at every number of trials at once, so that a run may stop when they are narrow.

An interval by Student's t holds at a number of trials that was decided beforehand. Stopping when it has
become narrow picks the moment at which the spread looks small, and it holds less often than it says. A
confidence sequence holds, with the stated probability, at all numbers of trials together: whatever ends a
run, it holds there, too. The price is its width: about 1.7 times that of Student's t."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean, stdev

from scipy import stats

from nettrial.analysis.intervals import CONFIDENCE, Change, Interval

PRIOR = 0.5
"""How much the sequence expects, in trials: it is narrowest for few trials where this is small, for many
where it is large. 0.5 suits 5 to 50 trials. It is fixed, for it must not follow from what was measured."""


NO_INTERVAL = "too few blocks, or equal values, for an interval that holds at any number of blocks"
"""Why a change has no interval."""


def widening(trials: int, confidence: float) -> float:
    """Half of the interval of a mean in standard errors (the sample's standard deviation over the square
    root of the number of trials), where Student's t interval has its quantile; infinite for too few trials.

    The mixture of t statistics over normally distributed effects is a test martingale for normal data of any
    variance (H. Wang and A. Ramdas, "Anytime-valid t-tests and confidence sequences for Gaussian means with
    unknown variance", arXiv:2310.03722, after T. L. Lai, "On confidence sequences", Annals of Statistics 4,
    1976). By Ville's inequality it reaches 1/(1 - confidence) at any number of trials with no larger
    probability than 1 - confidence. This is its bound, solved for t."""
    if trials < 2:
        return math.inf
    shrink = PRIOR / (trials + PRIOR)
    bound = (1 / ((1 - confidence) * math.sqrt(shrink))) ** (2 / trials)
    if bound * shrink >= 1:
        return math.inf
    return math.sqrt((trials - 1) * (bound - 1) / (1 - bound * shrink))


def widened(interval: Interval | None, trials: int) -> Interval | None:
    """An interval by Student's t of the mean of so many trials, as one that holds at every number of them;
    None where they are too few, or all equal."""
    factor = widening(trials, CONFIDENCE)
    if interval is None or math.isinf(factor) or interval.half_width == 0:
        return None
    middle = (interval.low + interval.high) / 2
    half = interval.half_width * factor / _student(trials)
    return Interval(middle - half, middle + half)


def widened_change(found: Change) -> Change:
    """The same of a change; its interval is one of logarithms of ratios."""
    if found.interval is None:
        return found
    logs = Interval(math.log1p(found.interval.low / 100), math.log1p(found.interval.high / 100))
    wide = widened(logs, found.pairs)
    if wide is None:
        return replace(found, interval=None, absent=NO_INTERVAL)
    return replace(found, interval=Interval(100 * math.expm1(wide.low), 100 * math.expm1(wide.high)))


def _student(trials: int) -> float:
    return float(stats.t.ppf((1 + CONFIDENCE) / 2, trials - 1))


def half_width(values: Sequence[float], confidence: float) -> float | None:
    """Half of the interval of the mean of `values`, in their unit; None where they are too few, or all equal:
    those hold no evidence of their spread, and would end any run at once."""
    factor = widening(len(values), confidence)
    if math.isinf(factor) or min(values) == max(values):
        return None
    return factor * stdev(values, fmean(values)) / math.sqrt(len(values))
