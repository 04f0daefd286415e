"""What in a run's order, and in its values, makes intervals less sure than they look.

Each finding says what was seen and what to do, in the form of a warning; none is part of a record."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import special

from nettrial.analysis.cautions import WarningGroup
from nettrial.analysis.intervals import holm
from nettrial.analysis.summary import Cell, ResponseSummary, Summary
from nettrial.study import Response

Floats: TypeAlias = npt.NDArray[np.float64]
FEWEST = 20
"""Trials of a response that order can be told of."""
LEVEL = 0.01
"""A test counts where its p-value is below, corrected for every test of order, or of skewness, of the run
(Holm)."""
AUTOCORRELATION = 0.2
"""Neighbours less alike than that hardly touch an interval."""
HALVES = 0.5
"""The halves' distance, in standard deviations within treatments, from which it counts."""
SKEWNESS = 0.5
"""Of the values within treatments, from which it counts."""


@dataclass(frozen=True)
class Order:
    """What the run's order does to one response, told from the residuals: each trial's value, less the
    mean of its treatment, in standard deviations within treatments."""

    response: Response
    trials: tuple[int, ...]
    """The trials' numbers, in the run's order."""
    residuals: tuple[float, ...]
    autocorrelation: float | None
    """Of neighbours (lag 1); None for fewer than `FEWEST` trials, or where nothing varies."""
    autocorrelation_p: float | None
    """Of Ljung and Box's test with one lag."""
    halves: float | None
    """The mean of the run's second half less that of the first, in standard deviations."""
    halves_p: float | None
    """Of Welch's t test, allowing for neighbours that are alike."""
    halves_percent: float | None
    """The same in percent of the response's mean."""
    drift: float | None
    """Of a straight line through the residuals: from the run's start to its end, in standard deviations."""
    drift_p: float | None
    """Of the t test of the line's slope, allowing for the same."""
    drift_percent: float | None
    """The same in percent of the response's mean."""
    skewness: float | None
    """Of the residuals."""
    skewness_p: float | None
    """Of D'Agostino's test."""


def order(summary: ResponseSummary) -> Order:
    """What the run's order does to a response."""
    cells = [cell for cell in summary.cells if cell.n > 1]
    rows = sorted(
        (cell.trials[block], value - cell.mean, value)
        for cell in cells
        if cell.mean is not None
        for block, value in cell.values.items()
    )
    trials = tuple(row[0] for row in rows)
    raw = np.array([row[1] for row in rows])
    freedom = sum(cell.n - 1 for cell in cells)
    spread = math.sqrt(float((raw**2).sum()) / freedom) if freedom else 0.0
    nothing: dict[str, float | None] = dict.fromkeys(_FIGURES)
    size = max((abs(row[2]) for row in rows), default=0.0)
    if spread <= 1e-12 * size:
        return Order(summary.response, trials, tuple(0.0 for _ in rows), **nothing)
    residuals = raw / spread
    found = Order(summary.response, trials, tuple(residuals.tolist()), **nothing)
    if len(rows) < FEWEST:
        return found
    mean = fmean(row[2] for row in rows)
    relative = 100 * spread / abs(mean) if mean else None
    return _tested(found, residuals, np.array(trials, dtype=float), relative)


_FIGURES = (
    *("autocorrelation", "autocorrelation_p", "halves", "halves_p", "halves_percent"),
    *("drift", "drift_p", "drift_percent", "skewness", "skewness_p"),
)


def _tested(found: Order, residuals: Floats, trials: Floats, relative: float | None) -> Order:
    """With the figures and tests of order; `relative` is a standard deviation in percent of the mean."""
    from scipy import stats  # here: it takes a second to import

    correlation, alike = _ljung_box(residuals)
    first, second = np.array_split(residuals, 2)
    welch = stats.ttest_ind(second, first, equal_var=False)
    halves = float(second.mean() - first.mean())
    line = stats.linregress(trials, residuals)
    drift = float(line.slope * (trials[-1] - trials[0]))
    straight = residuals - line.intercept - line.slope * trials
    stepped = np.concatenate([first - first.mean(), second - second.mean()])

    def percent(deviations: float) -> float | None:
        return None if relative is None else deviations * relative

    return replace(
        found,
        autocorrelation=correlation,
        autocorrelation_p=alike,
        halves=halves,
        halves_p=_p_value(float(welch.statistic), stepped),
        halves_percent=percent(halves),
        drift=drift,
        drift_p=_p_value(float(line.slope / line.stderr), straight),
        drift_percent=percent(drift),
        skewness=float(stats.skew(residuals)),
        skewness_p=float(stats.skewtest(residuals).pvalue),
    )


def _ljung_box(residuals: Floats) -> tuple[float, float]:
    """The correlation of neighbours, and the p-value of Ljung and Box's test with that one lag."""
    count = len(residuals)
    centred = residuals - residuals.mean()
    whole = float((centred**2).sum())
    correlation = float((centred[1:] * centred[:-1]).sum()) / whole if whole else 0.0
    return correlation, float(special.chdtrc(1, count * (count + 2) * correlation**2 / (count - 1)))


def _p_value(statistic: float, left: Floats) -> float:
    """Of a t statistic, two-sided, allowing for what is `left` in order beside it: neighbours that correlate
    by r count as (1 - r) / (1 + r) trials each (Zwiers and von Storch 1995)."""
    correlation = min(max(0.0, _ljung_box(left)[0]), 0.99)
    worth = (1 - correlation) / (1 + correlation)
    freedom = max(1.0, len(left) * worth - 2)
    return float(2 * special.stdtr(freedom, -abs(statistic) * math.sqrt(worth)))


def orders(summary: Summary) -> tuple[Order, ...]:
    """What the run's order does to each response."""
    return tuple(order(response) for response in summary.responses)


def noise(summary: Summary, found: Sequence[Order], simulated: bool = False) -> list[WarningGroup]:
    """Warnings of drift, of neighbours alike, of skewed values and of values without spread; each about one
    response, in the order of responses. Of simulated trials skewness alone: neither when nor after which
    others they ran can matter, and values without spread are no fault of measuring."""
    if simulated:
        return _skewness_alone(summary, found)
    p_values = [p for each in found for p in (each.autocorrelation_p, each.drift_p, each.halves_p)]
    corrected = iter(holm([p for p in p_values if p is not None]))
    skewed = iter(holm([each.skewness_p for each in found if each.skewness_p is not None]))
    warned = []
    for response, each in zip(summary.responses, found, strict=True):
        if each.drift_p is not None:
            alike, drift, halves = next(corrected), next(corrected), next(corrected)
            warned += _of_order(response, each, alike, min(drift, halves))
            warned += _of_skewness(response, each, next(skewed))
        warned += _of_equal_values(response)
    return warned


def _skewness_alone(summary: Summary, found: Sequence[Order]) -> list[WarningGroup]:
    corrected = iter(holm([each.skewness_p for each in found if each.skewness_p is not None]))
    warned = []
    for response, each in zip(summary.responses, found, strict=True):
        if each.skewness_p is not None:
            warned += _of_skewness(response, each, next(corrected))
    return warned


def _of_order(response: ResponseSummary, found: Order, alike: float, moved: float) -> list[WarningGroup]:
    """The warnings of drift, or else of neighbours alike, which drift makes, too."""
    assert found.autocorrelation is not None
    assert found.halves is not None
    assert found.drift is not None
    if moved < LEVEL and max(abs(found.halves), abs(found.drift) / 2) >= HALVES:
        way = "rose" if found.drift > 0 else "fell"
        message = f"values {way} from the run's start to its end"
        if found.drift_percent is not None and found.halves_percent is not None:
            message += (
                f" by {abs(found.drift_percent):.2g}% of the mean (the second half of the run against the "
                f"first: {found.halves_percent:+.2g}%)"
            )
        consequence = (
            "changes are compared within blocks and hardly touched, but means and their intervals are not: "
            "let the machine warm up longer (warmup), stop other work, and look at the run's order"
        )
        return [_group("drift", response, message, consequence)]
    if alike < LEVEL and found.autocorrelation >= AUTOCORRELATION:
        consequence = (
            "trials close in time are alike, so the intervals of means may be too narrow; changes are "
            "compared within blocks: rest on those, use more blocks, and stop other work on the machine"
        )
        message = f"neighbouring trials correlate by {found.autocorrelation:.2f} beyond their treatments"
        return [_group("autocorrelation", response, message, consequence)]
    return []


def _of_skewness(response: ResponseSummary, found: Order, skewed: float) -> list[WarningGroup]:
    assert found.skewness is not None
    if skewed >= LEVEL or abs(found.skewness) < SKEWNESS:
        return []
    consequence = (
        "Student's t interval of a mean holds the truth less often than 95% where few values are skewed: "
        "look at the medians and their intervals, or use more replicates"
    )
    message = f"values within treatments are skewed ({found.skewness:+.1f})"
    return [_group("skewed_values", response, message, consequence)]


def _of_equal_values(response: ResponseSummary) -> list[WarningGroup]:
    equal = [cell for cell in response.cells if cell.n > 1 and cell.deviation == 0]
    if not equal:
        return []
    consequence = (
        "an interval without width is no evidence of precision: the metric may be coarser than it varies, or "
        "the trials are no independent repeats"
    )
    message = "all values of a treatment are equal"
    return [_group("equal_values", response, message, consequence, equal)]


def _group(
    code: str,
    response: ResponseSummary,
    message: str,
    consequence: str,
    cells: Sequence[Cell] | None = None,
) -> WarningGroup:
    """A warning about a response, seen over the trials of `cells`, or of all."""
    concerned = [cell for cell in (response.cells if cells is None else cells) if cell.n]
    treatments = tuple(cell.treatment for cell in concerned)
    trials = sum(cell.n for cell in concerned)
    about = response.response
    return WarningGroup(code, about.title, message, consequence, trials, treatments, about.name)
