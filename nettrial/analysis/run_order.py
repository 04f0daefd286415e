"""The effect of the order of a run's trials on each response.

The analysis is based on residuals: each trial's value minus the mean of its treatment. The residuals of a
treatment add up to zero, so they vary less than the values and depend on each other. Each test accounts for
that. If several sets of machines share a run, the mean is that of the treatment on the trial's set: otherwise
the sets' differences would look like correlated neighbours."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from statistics import fmean
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import special

from nettrial.analysis.intervals import Floats
from nettrial.analysis.skewness import skewness
from nettrial.analysis.summary import ResponseSummary, Summary, by_set
from nettrial.study import Response

Integers: TypeAlias = npt.NDArray[np.intp]
"""An array of indexes."""
FEWEST = 20
"""The least number of trials of a response for which the order is analysed."""


@dataclass(frozen=True)
class Order:
    """The effect of the run order on a response, estimated from the residuals in standard deviations within
    treatments, and the skewness of the values within treatments."""

    response: Response
    """The response whose values were analysed."""
    trials: tuple[int, ...]
    """The numbers of the trials, in run order."""
    residuals: tuple[float, ...]
    """The residual of each trial, in standard deviations within treatments."""
    autocorrelation: float | None = None
    """The autocorrelation of neighbours (lag 1); None for fewer than `FEWEST` trials, or if nothing
    varies."""
    autocorrelation_p: float | None = None
    """The p-value of the autocorrelation, by the normal approximation with the exact mean and variance under
    independent values."""
    halves: float | None = None
    """The mean difference between values of the run's second half and values of its first half, within
    treatments."""
    halves_p: float | None = None
    """The p-value of the t test of that difference, adjusted for the treatments' means and for the
    correlation of neighbours."""
    halves_percent: float | None = None
    """The same quantity in percent of the response's mean."""
    drift: float | None = None
    """The drift: the rise from the start to the end of the run of straight lines fitted to the values of each
    treatment with a common slope."""
    drift_p: float | None = None
    """The p-value of the t test of that slope, with the same adjustments."""
    drift_percent: float | None = None
    """The same quantity in percent of the response's mean."""
    skewness: float | None = None
    """The mean skewness over treatments; None if no treatment has three different values."""
    skewness_p: float | None = None
    """The p-value of the test of `nettrial.analysis.skewness`."""


def orders(summary: Summary) -> tuple[Order, ...]:
    """Returns the effect of the run order on each response."""
    return tuple(order(response, summary.sets) for response in summary.responses)


def order(summary: ResponseSummary, sets: Mapping[int, str] | None = None) -> Order:
    """Returns the effect of the run order on a response; `sets` has the set of machines of each trial, by its
    number, if there are sets."""
    groups = [
        [(cell.trials[block], cell.values[block]) for block in blocks]
        for cell in summary.cells
        for blocks in by_set(cell.trials, sets or {})
        if len(blocks) > 1
    ]
    means = [float(np.mean([value for _, value in group])) for group in groups]
    rows = sorted(
        (trial, number, value - means[number], value)
        for number, group in enumerate(groups)
        for trial, value in group
    )
    trials = tuple(row[0] for row in rows)
    raw = np.array([row[2] for row in rows])
    freedom = sum(len(group) - 1 for group in groups)
    spread = math.sqrt(float((raw**2).sum()) / freedom) if freedom else 0.0
    size = max((abs(row[3]) for row in rows), default=0.0)
    if spread <= 1e-12 * size:
        return Order(summary.response, trials, tuple(0.0 for _ in rows))
    residuals = raw / spread
    skewed = skewness([[value for _, value in group] for group in groups])
    untested = Order(
        summary.response,
        trials,
        tuple(residuals.tolist()),
        skewness=skewed.mean if skewed else None,
        skewness_p=skewed.p_value if skewed else None,
    )
    if len(rows) < FEWEST:
        return untested
    mean = fmean(row[3] for row in rows)
    relative = 100 * spread / abs(mean) if mean else None
    return _tested(untested, _Residuals(residuals, np.array([row[1] for row in rows])), relative)


@dataclass(frozen=True)
class _Residuals:
    """The residuals in run order, each with the number of its treatment."""

    values: Floats
    treatments: Integers

    @property
    def freedom(self) -> int:
        """Returns the degrees of freedom: the number of trials minus that of treatments."""
        return len(self.values) - int(self.treatments.max()) - 1

    def within(self, regressor: Floats) -> Floats:
        """Returns a regressor minus its mean over each treatment's trials."""
        means = np.bincount(self.treatments, regressor) / np.bincount(self.treatments)
        made: Floats = regressor - means[self.treatments]
        return made


def _tested(untested: Order, residuals: _Residuals, relative: float | None) -> Order:
    """Returns `untested` with the figures and tests of the order; `relative` is a standard deviation in
    percent of the mean."""
    trials = np.array(untested.trials, dtype=float)
    second = (np.arange(len(trials)) >= (len(trials) + 1) // 2).astype(float)
    correlation, alike = _neighbours(residuals)
    halves, halves_p = _effect(residuals, second)
    drift, drift_p = _effect(residuals, (trials - trials[0]) / (trials[-1] - trials[0]))

    def percent(deviations: float) -> float | None:
        return None if relative is None else deviations * relative

    return replace(
        untested,
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
    """Returns the effect of a regressor together with the treatments' means, by least squares, and the
    p-value of its two-sided t test. Subtracting the treatments' means from both sides is equivalent to
    including them in the regression (Frisch and Waugh 1933). If neighbours have a correlation of r, each
    trial counts as (1 - r)/(1 + r) trials (Zwiers and von Storch 1995)."""
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
    """Returns the correlation of neighbours, and its two-sided p-value.

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
    """Returns tr(MA), tr(AA) - 2 tr(PAA) and tr(PAPA) of `_neighbours`, computed from the pairs of
    neighbouring treatments."""
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
    # the matrix has half the count of two different treatments at both places, and the count of equal ones at
    # one
    weights = np.where(low == high, 1.0, 0.5)
    third = float((weights * counts**2 * share[low] * share[high]).sum())
    return first, second, third
