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

from nettrial.analysis.changes import Change, corrected, in_percent
from nettrial.analysis.intervals import CONFIDENCE, Interval, around, holm, quantile

PRIOR = 0.5
"""The number of trials that the sequence expects, as a prior: it is narrowest for few trials where this is
small, for many where it is large. 0.5 suits 5 to 50 trials. It is fixed, because it must not
depend on the measurements."""


SEQUENCE = "confidence sequence"
"""The method of the interval of a mean or a change."""
NO_INTERVAL = "too few blocks, or equal values, for an interval that holds at any number of blocks"
"""Why a change has no interval."""


def widening(trials: int, confidence: float) -> float:
    """The half-width of the interval of a mean in standard errors (the sample's standard deviation over the
    square root of the number of trials), where Student's t interval has its quantile; infinite for too
    few trials.

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


def evidence(ratio: float, trials: int) -> float:
    """Returns how much more probable the mixture makes a t statistic of `ratio` than no effect does: what
    `widening` is the bound of. One over it is a p-value that holds at every number of trials at once."""
    shrink = PRIOR / (trials + PRIOR)
    square = ratio * ratio / (trials - 1)
    logs = math.log(shrink) / 2 + trials / 2 * (math.log1p(square) - math.log1p(shrink * square))
    return math.exp(min(logs, 700.0))


def widened(interval: Interval | None, trials: int, confidence: float = CONFIDENCE) -> Interval | None:
    """An interval by Student's t of the mean of so many trials, which is at `CONFIDENCE`, as one that holds
    at every number of them; None where they are too few, or all equal."""
    factor = widening(trials, confidence)
    if interval is None or math.isinf(factor) or interval.half_width == 0:
        return None
    middle = (interval.low + interval.high) / 2
    half = interval.half_width * factor / quantile(trials - 1)
    method = SEQUENCE if confidence == CONFIDENCE else f"{SEQUENCE}, at {100 * confidence:.4g}%"
    return Interval(middle - half, middle + half, method)


def family(changes: Sequence[Change], sequential: bool) -> list[Change]:
    """Changes within blocks that are one family, corrected for how many there are; `sequential`: with
    intervals and p-values that hold at every number of blocks at once."""
    found = corrected(changes)
    if not sequential:
        return found
    wide = [_widened(change) for change in found]
    p_values = iter(holm([change.p_value for change in wide if change.p_value is not None]))
    return [
        change if change.p_value is None else replace(change, p_corrected=next(p_values)) for change in wide
    ]


def _widened(change: Change) -> Change:
    if change.p_value is None:
        return change
    logs = None
    if change.log_ratio is not None and change.log_error is not None:
        logs = around(change.log_ratio, change.log_error.half_width())
    tested = logs or change.difference_interval
    together = 1 - (1 - CONFIDENCE) / max(1, change.family)
    p_value = None
    if tested is not None and tested.half_width > 0 and change.pairs > 1:
        error = tested.half_width / quantile(change.pairs - 1)
        p_value = min(1.0, 1 / evidence((tested.low + tested.high) / 2 / error, change.pairs))
    interval, simultaneous = (widened(logs, change.pairs, level) for level in (CONFIDENCE, together))
    return replace(
        change,
        interval=interval and in_percent(interval),
        difference_interval=widened(change.difference_interval, change.pairs),
        simultaneous=simultaneous and in_percent(simultaneous),
        simultaneous_difference=widened(change.difference_interval, change.pairs, together),
        p_value=p_value,
        p_corrected=None,
        absent=change.absent or (None if interval else NO_INTERVAL),
    )


def half_width(values: Sequence[float], confidence: float) -> float | None:
    """The half-width of the interval of the mean of `values`, in their unit; None where they are too few,
    or all equal: those hold no evidence of their spread, and would end any run at once."""
    factor = widening(len(values), confidence)
    if math.isinf(factor) or min(values) == max(values):
        return None
    return factor * stdev(values, fmean(values)) / math.sqrt(len(values))
