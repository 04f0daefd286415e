"""The effect of the order of a run's trials on each response.

Everything is told from residuals: each trial's value, less the mean of its treatment. The residuals of a
treatment add up to zero, so they vary less than the values did and depend on each other. Each test allows for
that."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from statistics import fmean
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import special

from nettrial.analysis.intervals import Floats
from nettrial.analysis.skewness import skewness
from nettrial.analysis.summary import ResponseSummary, Summary
from nettrial.study import Response

Integers: TypeAlias = npt.NDArray[np.intp]
FEWEST = 20
"""Trials of a response that order can be told of."""


@dataclass(frozen=True)
class Order:
    """The effect of the run's order on one response, told from the residuals, in standard deviations within
    treatments; and how skewed the values of its treatments are."""

    response: Response
    trials: tuple[int, ...]
    """The trials' numbers, in the run's order."""
    residuals: tuple[float, ...]
    autocorrelation: float | None = None
    """The autocorrelation of neighbours (lag 1); None for fewer than `FEWEST` trials, or where nothing
    varies."""
    autocorrelation_p: float | None = None
    """The p-value of its normal approximation with the exact mean and variance that independent values give
    it."""
    halves: float | None = None
    """The excess of values of the run's second half over those of the first of the same treatment."""
    halves_p: float | None = None
    """The p-value of the t test of that effect beside the treatments' means, allowing for neighbours that are
    alike."""
    halves_percent: float | None = None
    """The same in percent of the response's mean."""
    drift: float | None = None
    """The rise of a straight line through the values of each treatment, of the same slope: from the run's
    start to its end."""
    drift_p: float | None = None
    """The p-value of the t test of the line's slope, allowing for the same."""
    drift_percent: float | None = None
    """The same in percent of the response's mean."""
    skewness: float | None = None
    """The mean over treatments; None where none has three values that differ."""
    skewness_p: float | None = None
    """The p-value of the test of `nettrial.analysis.skewness`."""


def orders(summary: Summary) -> tuple[Order, ...]:
    """Returns the effect of the run's order on each response."""
    return tuple(order(response) for response in summary.responses)


def order(summary: ResponseSummary) -> Order:
    """Returns the effect of the run's order on a response."""
    cells = [cell for cell in summary.cells if cell.n > 1]
    rows = sorted(
        (cell.trials[block], number, value - cell.mean, value)
        for number, cell in enumerate(cells)
        if cell.mean is not None
        for block, value in cell.values.items()
    )
    trials = tuple(row[0] for row in rows)
    raw = np.array([row[2] for row in rows])
    freedom = sum(cell.n - 1 for cell in cells)
    spread = math.sqrt(float((raw**2).sum()) / freedom) if freedom else 0.0
    size = max((abs(row[3]) for row in rows), default=0.0)
    if spread <= 1e-12 * size:
        return Order(summary.response, trials, tuple(0.0 for _ in rows))
    residuals = raw / spread
    skewed = skewness([list(cell.values.values()) for cell in cells])
    found = Order(
        summary.response,
        trials,
        tuple(residuals.tolist()),
        skewness=skewed.mean if skewed else None,
        skewness_p=skewed.p_value if skewed else None,
    )
    if len(rows) < FEWEST:
        return found
    mean = fmean(row[3] for row in rows)
    relative = 100 * spread / abs(mean) if mean else None
    return _tested(found, _Residuals(residuals, np.array([row[1] for row in rows])), relative)


@dataclass(frozen=True)
class _Residuals:
    """Residuals in the run's order, each with the number of its treatment."""

    values: Floats
    treatments: Integers

    @property
    def freedom(self) -> int:
        """Trials less treatments."""
        return len(self.values) - int(self.treatments.max()) - 1

    def within(self, regressor: Floats) -> Floats:
        """A regressor less its mean over each treatment's trials."""
        means = np.bincount(self.treatments, regressor) / np.bincount(self.treatments)
        made: Floats = regressor - means[self.treatments]
        return made


def _tested(found: Order, residuals: _Residuals, relative: float | None) -> Order:
    """With the figures and tests of order; `relative` is a standard deviation in percent of the mean."""
    trials = np.array(found.trials, dtype=float)
    second = (np.arange(len(trials)) >= (len(trials) + 1) // 2).astype(float)
    correlation, alike = _neighbours(residuals)
    halves, halves_p = _effect(residuals, second)
    drift, drift_p = _effect(residuals, (trials - trials[0]) / (trials[-1] - trials[0]))

    def percent(deviations: float) -> float | None:
        return None if relative is None else deviations * relative

    return replace(
        found,
        autocorrelation=correlation,
        autocorrelation_p=alike,
        halves=halves,
        halves_p=halves_p,
        halves_percent=percent(halves),
        drift=drift,
        drift_p=drift_p,
        drift_percent=percent(drift),
    )


def _effect(residuals: _Residuals, regressor: Floats) -> tuple[float, float]:
    """The effect of a regressor beside the treatments' means, by least squares, and the p-value of its t
    test, two-sided. Both sides less the treatments' means give the same as all of them together (Frisch and
    Waugh 1933). Neighbours that correlate by r count as (1 - r)/(1 + r) trials each (Zwiers and von Storch
    1995)."""
    inner = residuals.within(regressor)
    squares = float((inner**2).sum())
    if squares <= 1e-12:
        return 0.0, 1.0
    effect = float((inner * residuals.values).sum()) / squares
    left = residuals.values - effect * inner
    freedom = residuals.freedom - 1
    error = math.sqrt(float((left**2).sum()) / freedom / squares)
    if error == 0:
        return effect, 0.0
    correlation = min(max(0.0, _neighbours(replace(residuals, values=left))[0]), 0.99)
    worth = (1 - correlation) / (1 + correlation)
    ratio = abs(effect) / error * math.sqrt(worth)
    return effect, float(2 * special.stdtr(max(1.0, freedom * worth), -ratio))


def _neighbours(residuals: _Residuals) -> tuple[float, float]:
    """The correlation of neighbours, and its p-value, two-sided.

    The correlation is a ratio of quadratic forms in the values' errors. Its mean and variance under
    independent normal errors follow from traces (Durbin and Watson, Biometrika 37, 1950; Cliff and Ord,
    Spatial Processes, 1981, section 8.3) of M = I - P, where P gives the mean of each trial's treatment, and
    A, which has 1/2 where two trials are neighbours and else 0.
    """
    values, treatments = residuals.values, residuals.treatments
    whole = float((values**2).sum())
    if whole == 0:
        return 0.0, 1.0
    correlation = float((values[1:] * values[:-1]).sum()) / whole
    first, second, third = _traces(treatments)
    freedom = residuals.freedom
    mean = first / freedom
    variance = 2 * (freedom * (second + third) - first**2) / (freedom**2 * (freedom + 2))
    return correlation, float(special.chdtrc(1, (correlation - mean) ** 2 / variance))


def _traces(treatments: Integers) -> tuple[float, float, float]:
    """tr(MA), tr(AA) - 2 tr(PAA) and tr(PAPA) of `_neighbours`, from which treatments are neighbours."""
    share = 1 / np.bincount(treatments)
    one, other = treatments[:-1], treatments[1:]
    alike = one == other
    first = -float(share[one[alike]].sum())
    before, after = treatments[:-2], treatments[2:]
    around = (
        np.where(before == after, 1.0, 0.25) * share[before]
        + np.where(before == after, 0, 0.25) * share[after]
    )
    ends = (share[treatments[1]] + share[treatments[-2]]) / 4
    second = len(one) / 2 - 2 * float(around.sum() + ends)
    low, high = np.minimum(one, other), np.maximum(one, other)
    pairs, counts = np.unique(low * len(share) + high, return_counts=True)
    low, high = pairs // len(share), pairs % len(share)
    # of two treatments the matrix has 1/2 of the count at both places, of one with itself the count at one
    weights = np.where(low == high, 1.0, 0.5)
    third = float((weights * counts**2 * share[low] * share[high]).sum())
    return first, second, third
