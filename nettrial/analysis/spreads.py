"""A measured standard deviation beside a published one."""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy import special

from nettrial.analysis.intervals import CONFIDENCE, Interval
from nettrial.analysis.summary import Cell

F_TEST = "F test"
"""The method of the interval and of the p-value: the ratio of two sample variances of normal values has
Fisher's F distribution. Levene's test supposes less, but needs every value, and a publication prints none."""


@dataclass(frozen=True)
class SpreadComparison:
    """The standard deviation over our trials beside that over the source's trials."""

    measured: float | None
    """Absent for fewer than two trials."""
    published: float
    ratio: float | None
    """Measured over published; None where either is absent, or the published one 0."""
    interval: Interval | None
    """The ratio's 95% interval."""
    p_value: float | None
    """The p-value of equal spreads, two-sided."""
    absent: str | None
    """Why the test is absent."""

    @property
    def verdict(self) -> str:
        """`larger` or `smaller` where the interval of the ratio excludes 1, else `no difference shown`; why
        there is no test where there is none."""
        if self.interval is None:
            return self.absent or ""
        if self.interval.contains(1):
            return "no difference shown"
        return "larger" if self.interval.low > 1 else "smaller"


def compare_spreads(cell: Cell, published: float, trials: int | None) -> SpreadComparison:
    """Compares a cell's standard deviation with a published one over `trials` trials by the F test
    (Snedecor and Cochran, Statistical Methods, 8th edition, section 6.12)."""
    measured = cell.deviation
    ratio = None if measured is None or published == 0 else measured / published
    absent = _absent(cell, published, trials)
    if absent or ratio is None or trials is None:
        return SpreadComparison(measured, published, ratio, None, None, absent)
    ours, theirs = cell.n - 1, trials - 1
    below = float(special.fdtr(ours, theirs, ratio**2))
    above = float(special.fdtrc(ours, theirs, ratio**2))
    tail = (1 - CONFIDENCE) / 2
    ends = (float(special.fdtri(ours, theirs, 1 - tail)), float(special.fdtri(ours, theirs, tail)))
    low, high = (ratio / math.sqrt(end) for end in ends)
    p_value = min(1.0, 2 * min(below, above))
    return SpreadComparison(measured, published, ratio, Interval(low, high, F_TEST), p_value, None)


def _absent(cell: Cell, published: float, trials: int | None) -> str | None:
    if cell.deviation is None:
        return "one trial has no spread"
    if cell.deviation == 0:
        return "all measured values are equal"
    if trials is None or trials < 2:
        return "its source does not say of how many trials"
    return "its source prints a spread of 0" if published == 0 else None
