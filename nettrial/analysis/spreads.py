"""The comparison of a measured standard deviation with a published one."""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy import special

from nettrial.analysis.intervals import CONFIDENCE, Interval
from nettrial.analysis.summary import Cell

F_TEST = "F test"
"""The method of the interval and of the p-value: the ratio of two sample variances of normally distributed
values has Fisher's F distribution. Levene's test assumes less, but needs every value, which publications do
not print."""


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
        return "its source does not state the number of trials"
    return "its source prints a spread of 0" if published == 0 else None
