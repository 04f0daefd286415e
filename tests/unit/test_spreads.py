"""The interval of a ratio of standard deviations: how often it contains the true one."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest

from nettrial.analysis import cell_of
from nettrial.analysis.spreads import NORMAL, compare_spreads, kurtosis_of

Floats = npt.NDArray[np.float64]
TREATMENTS = 12
COVERAGE = {"normal": 0.95, "outliers": 0.92, "exponential": 0.91, "log-normal": 0.88, "halved": 0.85}
"""The documented coverage, by the kind of values. That of the plain F test is down to 48%."""


def values(draw: np.random.Generator, kind: str, shape: tuple[int, ...]) -> Floats:
    """Returns values with a mean of about 100 and a deviation of about 1."""
    noise = draw.normal(size=shape)
    if kind == "outliers":
        noise *= np.where(draw.random(shape) < 0.05, 5, 1)
    elif kind == "halved":
        noise -= 10 * (draw.random(shape) < 0.05)
    elif kind == "log-normal":
        noise = np.exp(noise)
    elif kind == "exponential":
        noise = draw.exponential(size=shape)
    return 100 + noise


def held(kind: str, ours: int, theirs: int, experiments: int) -> float:
    """Returns the share of intervals of the ratio of two equal deviations that contain 1."""
    draw, hits = np.random.default_rng(6), 0
    for _ in range(experiments):
        rows = values(draw, kind, (TREATMENTS, ours)).tolist()
        cells = [cell_of({}, dict(enumerate(row)), {}, {}) for row in rows]
        published = float(values(draw, kind, (theirs,)).std(ddof=1))
        found = compare_spreads(cells[0], published, theirs, kurtosis_of(cells))
        assert found.interval is not None
        hits += found.interval.contains(1)
    return hits / experiments


def least(nominal: float, experiments: int) -> float:
    """Returns a nominal share less four standard errors."""
    return nominal - 4 * math.sqrt(nominal * (1 - nominal) / experiments)


@pytest.mark.parametrize("kind", COVERAGE)
def test_intervals_of_ratios_of_spreads_hold(kind: str) -> None:
    assert held(kind, 10, 30, 100) >= least(COVERAGE[kind], 100)


@pytest.mark.slow
@pytest.mark.parametrize("kind", COVERAGE)
def test_intervals_of_ratios_of_spreads_hold_as_often_as_documented(kind: str) -> None:
    for ours, theirs in [(3, 30), (5, 10), (5, 30), (10, 30), (20, 30), (30, 30)]:
        share = held(kind, ours, theirs, 500)
        print(f"\n{kind}, {ours} and {theirs} trials: {share:.1%}", end="")
        assert share >= least(COVERAGE[kind], 500)


def test_few_values_have_the_kurtosis_of_normal_ones() -> None:
    assert kurtosis_of([cell_of({}, {1: 1.0, 2: 3.0}, {}, {})]) == NORMAL
    assert kurtosis_of([cell_of({}, {1: 5.0}, {}, {}), cell_of({}, {}, {}, {})]) == NORMAL
    assert kurtosis_of([cell_of({}, {1: 5.0, 2: 5.0}, {}, {})]) == NORMAL
