"""Values far from the others of their treatment, which are reported but never left out of a figure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

FEWEST = 10
"""The least number of values for the rule: with fewer it would report too many ordinary values."""
LIMIT = 3.5
"""The limit of the modified z-score."""
RULE = "more than 3.5 by the modified z-score (Iglewicz and Hoaglin 1993)"
"""The rule in words."""
_NORMAL = 0.6744897501960817
"""The median absolute deviation of a standard normal distribution."""


@dataclass(frozen=True)
class Outlier:
    """A value far from the other values of its treatment."""

    trial: int
    """The trial's number in the run's order."""
    block: int
    """The trial's block."""
    value: float
    """The value in the response's unit."""
    score: float
    """The modified z-score: 0.6745 times the distance from the median, over the median of these distances."""


def outliers(values: Mapping[int, float], trials: Mapping[int, int]) -> tuple[Outlier, ...]:
    """Returns the outliers among a treatment's `values` by block; `trials` has the trials' numbers. Returns
    none for fewer than `FEWEST` values, or if half of them are equal, so that the median distance is 0."""
    if len(values) < FEWEST:
        return ()
    numbers = np.fromiter(values.values(), float, len(values))
    distances = numbers - np.median(numbers)
    usual = float(np.median(abs(distances)))
    if usual == 0:
        return ()
    scores = _NORMAL * distances / usual
    return tuple(
        Outlier(trials.get(block, block), block, value, float(score))
        for (block, value), score in zip(values.items(), scores, strict=True)
        if abs(score) > LIMIT
    )
