"""The comparison of a measured standard deviation with a published one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from nettrial.analysis.intervals import CONFIDENCE, Interval
from nettrial.analysis.summary import Cell

METHOD = "F test with degrees of freedom from the kurtosis"
"""The method of the interval and of the p-value: Fisher's F, with fewer degrees of freedom if the values of
all treatments have a larger kurtosis than normal ones (L. H. Shoemaker, "Fixing the F test for equal
variances", The American Statistician 57, 2003). Levene's test assumes less, but needs every value, which
publications do not print."""
NORMAL = 3.0
"""The kurtosis of a normal distribution."""


@dataclass(frozen=True)
class SpreadComparison:
    """The standard deviation over our trials compared with that over the source's trials."""

    measured: float | None
    """The measured standard deviation; absent for fewer than two trials."""
    published: float
    """The published standard deviation."""
    ratio: float | None
    """The measured standard deviation over the published one; None if either is absent, or if the published
    one is 0."""
    interval: Interval | None
    """The 95% interval of the ratio."""
    p_value: float | None
    """The two-sided p-value under the hypothesis of equal spreads."""
    absent: str | None
    """The reason why the test is absent."""

    @property
    def verdict(self) -> str:
        """Returns `larger` or `smaller` if the interval of the ratio excludes 1, `no difference shown` if it
        does not, or the reason why there is no test."""
        if self.interval is None:
            return self.absent or ""
        if self.interval.contains(1):
            return "no difference shown"
        return "larger" if self.interval.low > 1 else "smaller"


def compare_spreads(
    cell: Cell, published: float, trials: int | None, kurtosis: float = NORMAL
) -> SpreadComparison:
    """Compares a cell's standard deviation with a published one over `trials` trials; `kurtosis` is that of
    the values of either side (`kurtosis_of`). tests/unit/test_spreads.py has the coverage."""
    measured = cell.deviation
    ratio = None if measured is None or published == 0 else measured / published
    absent = _absent(cell, published, trials)
    if absent or ratio is None or trials is None:
        return SpreadComparison(measured, published, ratio, None, None, absent)
    ours, theirs = (_freedom(count, kurtosis) for count in (cell.n, trials))
    below = float(special.fdtr(ours, theirs, ratio**2))
    above = float(special.fdtrc(ours, theirs, ratio**2))
    tail = (1 - CONFIDENCE) / 2
    ends = (float(special.fdtri(ours, theirs, 1 - tail)), float(special.fdtri(ours, theirs, tail)))
    low, high = (ratio / math.sqrt(end) for end in ends)
    p_value = min(1.0, 2 * min(below, above))
    return SpreadComparison(measured, published, ratio, Interval(low, high, METHOD), p_value, None)


def _freedom(count: int, kurtosis: float) -> float:
    """Returns the degrees of freedom of a variance of `count` values."""
    return min(count - 1, 2 * count / (kurtosis - (count - 3) / (count - 1)))


def kurtosis_of(cells: Sequence[Cell]) -> float:
    """Returns the kurtosis of the values of all treatments around their means, in parts of these, but at
    least that of normal values. Few values of a single treatment hardly show any; those of all do. Treatments
    whose relative deviations differ have a larger one, which widens intervals."""
    known = [
        np.array(list(cell.values.values())) / cell.mean - 1 for cell in cells if cell.mean and cell.n > 1
    ]
    if not known:
        return NORMAL
    parts = np.concatenate(known)
    square = float((parts**2).mean())
    return max(NORMAL, float((parts**4).mean()) / square**2) if square > 0 else NORMAL


def _absent(cell: Cell, published: float, trials: int | None) -> str | None:
    if cell.deviation is None:
        return "one trial has no spread"
    if cell.deviation == 0:
        return "all measured values are equal"
    if trials is None or trials < 2:
        return "its source does not state the number of trials"
    return "its source prints a spread of 0" if published == 0 else None
