"""Changes of a metric, found while measurements arrive, with a bound on false alarms.

The detector is a sum of martingales, one for each moment at which a change may have begun: the
Shiryaev-Roberts form of Shin, Ramdas and Rinaldo, "E-detectors: a nonparametric framework for sequential
change detection" (New England Journal of Statistics in Data Science, 2024, equation 2.8), over the conformal
p-values of Volkhonskiy et al., "Inductive conformal martingales for change-point detection" (2017). Only
ranks count, so a metric may have any distribution.

If the values are independent and have one distribution, the p-values are independent and uniform, each
martingale has expectation 1, and their sum grows by 1 on average with each value. The sum is set to 0 at an
alarm, from a threshold of N. The expected number of alarms in m values without a change is therefore at most
m / N. Values that depend on each other, or on the time of day, have more alarms: then the distribution does
change."""

from __future__ import annotations

import bisect
import random
from dataclasses import dataclass, field
from statistics import median

import numpy as np
from numpy.typing import NDArray

OVERLAPS = (0.0, 0.1, 0.3)
"""The assumed shares of the values before the change that lie on the far side of a value after it."""
STAKE = 0.8
"""The share of a martingale's value that is bet on the change."""
MOST_STARTS = 300
"""The number of moments at which a change may have begun. Older ones are dropped, which can only delay an
alarm."""
MOST_VALUES = 20_000
"""The number of values after which the detector starts over."""
FEWEST_BEFORE = 5
"""The number of values before the first moment at which a change may have begun."""


@dataclass(frozen=True)
class ChangePoint:
    """A change that was found."""

    began: int
    """The number of the first value after the change, counted from the detector's first value."""
    before: float
    """The median of the values before it."""
    after: float
    """The median of the values since."""


@dataclass
class Detector:
    """The state of the search in one series of values."""

    threshold: float
    """The average number of values without a change per false alarm is at least this number."""
    seed: int = 0
    """The seed of the random numbers that break ties."""
    _values: list[float] = field(default_factory=list)
    _sorted: list[float] = field(default_factory=list)
    _starts: NDArray[np.float64] = field(default_factory=lambda: np.empty((0, 2, len(OVERLAPS))))
    _first: int = 0

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)

    def add(self, value: float) -> ChangePoint | None:
        """Adds a value. Returns a change if one is found, and then starts over."""
        number = len(self._values)
        below, upto = bisect.bisect_left(self._sorted, value), bisect.bisect_right(self._sorted, value)
        p = (below + self._random.random() * (upto - below + 1)) / (number + 1)
        self._values.append(value)
        self._sorted.insert(upto, value)
        if number < FEWEST_BEFORE:
            return None
        self._bet(number, p)
        if self._starts.mean(axis=(1, 2)).sum() >= self.threshold:
            began = self._first + int(self._starts.mean(axis=(1, 2)).argmax())
            change = ChangePoint(began, median(self._values[:began]), median(self._values[began:]))
            self._begin()
            return change
        if len(self._values) >= MOST_VALUES:
            self._begin()
        return None

    def _bet(self, number: int, p: float) -> None:
        """Adds a martingale, and multiplies each one by its bet on the p-value of the value with this number.
        If a change began at a moment, only the later values and the assumed share of the earlier ones lie on
        one side."""
        if not len(self._starts):
            self._first = number
        self._starts = np.concatenate([self._starts, np.ones((1, 2, len(OVERLAPS)))])
        if len(self._starts) > MOST_STARTS:
            self._starts, self._first = self._starts[1:], self._first + 1
        before = np.arange(self._first, number + 1)[:, None]
        # The martingale that starts at value b has b values before it and, with this value, number - b + 1
        # after it.
        reach = ((number - before + 1) + np.array(OVERLAPS) * before) / (number + 1)
        for side, at in enumerate((p, 1 - p)):
            self._starts[:, side] *= 1 - STAKE + STAKE * (at <= reach) / reach

    def _begin(self) -> None:
        self._values, self._sorted, self._first = [], [], 0
        self._starts = np.empty((0, 2, len(OVERLAPS)))
