"""The skewness of the values within treatments.

The skewness is computed for each treatment, so that treatments may differ in mean and in spread, and the sum
is tested. With one treatment of at least 8 values, the test is D'Agostino's (Biometrika 57, 1970)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

FEWEST = 3
"""The least number of values of a treatment: two values always lie symmetrically around their mean."""


@dataclass(frozen=True)
class Skewness:
    """The skewness of the values of several treatments."""

    mean: float
    """The mean of the treatments' sample skewness, adjusted for the number of values (Joanes and Gill 1998:
    G1)."""
    p_value: float
    """The two-sided p-value of the hypothesis that values are normally distributed."""


def skewness(treatments: Sequence[Sequence[float]]) -> Skewness | None:
    """Returns the skewness of the values of treatments; None if no treatment has `FEWEST` different
    values."""
    told, adjusted, variances, excesses = [], [], [], []
    for values in treatments:
        count = len(values)
        if count < FEWEST or min(values) == max(values):
            continue
        centred = np.asarray(values, dtype=float) - np.mean(values)
        raw = float(np.mean(centred**3) / np.mean(centred**2) ** 1.5)
        told.append(raw)
        adjusted.append(raw * math.sqrt(count * (count - 1)) / (count - 2))
        variance, kurtosis = _moments(count)
        variances.append(variance)
        excesses.append((kurtosis - 3) * variance**2)
    if not told:
        return None
    variance = sum(variances)
    kurtosis = 3 + sum(excesses) / variance**2
    score = _score(sum(told) / math.sqrt(variance), kurtosis)
    return Skewness(float(np.mean(adjusted)), float(2 * special.ndtr(-abs(score))))


def _moments(count: int) -> tuple[float, float]:
    """Returns the variance and the kurtosis of the skewness of that many normally distributed values (R. A.
    Fisher 1930, quoted by D'Agostino 1970)."""
    n = count
    variance = 6 * (n - 2) / ((n + 1) * (n + 3))
    kurtosis = 3 * (n**2 + 27 * n - 70) * (n + 1) * (n + 3) / ((n - 2) * (n + 5) * (n + 7) * (n + 9))
    return variance, kurtosis


def _score(ratio: float, kurtosis: float) -> float:
    """Converts a sum of skewnesses, in standard deviations, into a standard normal score by Johnson's
    unbounded curve of that kurtosis, as in D'Agostino. If the tails are lighter than those of the normal
    distribution, the score is the ratio itself."""
    if kurtosis <= 3:
        return ratio
    square = math.sqrt(2 * (kurtosis - 1)) - 1
    scale = 1 / math.sqrt(math.log(square) / 2)
    width = math.sqrt(2 / (square - 1))
    return scale * math.asinh(ratio / width)
