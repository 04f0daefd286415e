"""Intervals that hold at all numbers of trials simultaneously, so that a run may stop when they are narrow.

An interval by Student's t holds at a number of trials that was fixed beforehand. Stopping when it has become
narrow selects a moment at which the spread looks small, so that its coverage is lower than stated. A
confidence sequence holds, with the stated probability, at all numbers of trials simultaneously, and therefore
also at the end of a run, whatever ends it. The price is its width: about 1.7 times that of Student's t."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean, stdev

from nettrial.analysis.changes import Change, corrected, in_percent
from nettrial.analysis.intervals import CONFIDENCE, Interval, around, holm, quantile

PRIOR = 0.5
"""The prior number of trials of the sequence: small values make it narrow for few trials, large values for
many. 0.5 suits 5 to 50 trials. It is a constant, because it must not depend on the measured values."""


SEQUENCE = "confidence sequence"
"""The method of the interval of a mean or a change."""
NO_INTERVAL = (
    "there are too few blocks, or only equal values, for an interval that holds at any number of blocks"
)
"""The reason why a change has no interval."""


def widening(trials: int, confidence: float) -> float:
    """Returns the half-width of the interval of a mean in standard errors (the sample's standard deviation
    over the square root of the number of trials), which replaces the quantile of Student's t interval;
    infinite for too few trials.

    The mixture of t statistics over normally distributed effects is a test martingale for normal data of any
    variance (H. Wang and A. Ramdas, "Anytime-valid t-tests and confidence sequences for Gaussian means with
    unknown variance", arXiv:2310.03722, after T. L. Lai, "On confidence sequences", Annals of Statistics 4,
    1976). By Ville's inequality, the probability that it ever reaches 1/(1 - confidence) is at most 1 -
    confidence. The result is this bound, solved for t."""
    if trials < 2:
        return math.inf
    shrink = PRIOR / (trials + PRIOR)
    bound = (1 / ((1 - confidence) * math.sqrt(shrink))) ** (2 / trials)
    if bound * shrink >= 1:
        return math.inf
    return math.sqrt((trials - 1) * (bound - 1) / (1 - bound * shrink))


def evidence(ratio: float, trials: int) -> float:
    """Returns the likelihood ratio of a t statistic of `ratio` under the mixture and under no effect, which
    `widening` bounds. Its reciprocal is a p-value that holds at all numbers of trials simultaneously."""
    shrink = PRIOR / (trials + PRIOR)
    square = ratio * ratio / (trials - 1)
    logs = math.log(shrink) / 2 + trials / 2 * (math.log1p(square) - math.log1p(shrink * square))
    return math.exp(min(logs, 700.0))


def widened(interval: Interval | None, trials: int, confidence: float = CONFIDENCE) -> Interval | None:
    """Converts an interval of the mean of that many trials by Student's t at `CONFIDENCE` into one that holds
    at all numbers of trials; None if there are too few trials, or if all are equal."""
    factor = widening(trials, confidence)
    if interval is None or math.isinf(factor) or interval.half_width == 0:
        return None
    middle = (interval.low + interval.high) / 2
    half = interval.half_width * factor / quantile(trials - 1)
    method = SEQUENCE if confidence == CONFIDENCE else f"{SEQUENCE}, at {100 * confidence:.4g}%"
    return Interval(middle - half, middle + half, method)


def family(changes: Sequence[Change], sequential: bool) -> list[Change]:
    """Returns the changes within blocks of one family, corrected for their number; with `sequential`, the
    intervals and p-values hold at all numbers of blocks simultaneously."""
    fixed = corrected(changes)
    if not sequential:
        return fixed
    wide = [_widened(change) for change in fixed]
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
    """Returns the half-width of the interval of the mean of `values`, in their unit; None if there are too
    few, or if all are equal: equal values are no evidence of their spread, and would end any run at once."""
    factor = widening(len(values), confidence)
    if math.isinf(factor) or min(values) == max(values):
        return None
    return factor * stdev(values, fmean(values)) / math.sqrt(len(values))
