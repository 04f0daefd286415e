"""The skewness of the values within treatments.

Each treatment has a skewness of its own, so that treatments may differ in mean and in spread. The test is of
their sum. With one treatment of at least 8 values it is D'Agostino's (Biometrika 57, 1970)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

FEWEST = 3
"""Values of a treatment: two are as far from their mean on either side."""


@dataclass(frozen=True)
class Skewness:
    """The skewness of the values of several treatments."""

    mean: float
    """The mean of the treatments' sample skewness, adjusted for the number of values (Joanes and Gill 1998:
    G1)."""
    p_value: float
    """The p-value of the hypothesis that values are normal, two-sided."""


def skewness(treatments: Sequence[Sequence[float]]) -> Skewness | None:
    """The skewness of the values of treatments; None where none has `FEWEST` values that differ."""
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
    """The variance and the kurtosis of the skewness of so many normal values (R. A. Fisher 1930, quoted by
    D'Agostino 1970)."""
    n = count
    variance = 6 * (n - 2) / ((n + 1) * (n + 3))
    kurtosis = 3 * (n**2 + 27 * n - 70) * (n + 1) * (n + 3) / ((n - 2) * (n + 5) * (n + 7) * (n + 9))
    return variance, kurtosis


def _score(ratio: float, kurtosis: float) -> float:
    """A sum of skewnesses in its standard deviations, as a standard normal score: by Johnson's unbounded
    curve of that kurtosis, as D'Agostino has it. Where the tails are lighter than those of the normal
    distribution it is the ratio itself."""
    if kurtosis <= 3:
        return ratio
    square = math.sqrt(2 * (kurtosis - 1)) - 1
    scale = 1 / math.sqrt(math.log(square) / 2)
    width = math.sqrt(2 / (square - 1))
    return scale * math.asinh(ratio / width)
