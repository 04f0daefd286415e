"""The joint coverage of all intervals of a comparison of two runs, in simulated experiments.

The slow tests print the figures of docs/explanation/coverage.md: run pytest -s -m slow."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from scipy import special

from nettrial.analysis import Change, corrected, unpaired_change
from nettrial.analysis.intervals import StandardError

Floats = npt.NDArray[np.float64]
Draw = Callable[[np.random.Generator, tuple[int, int]], Floats]
FEW = [(2, 20, 12), (3, 20, 12), (5, 20, 12), (2, 10, 84)]
"""The replicates of both runs, and the number of differences. The joint coverage of Welch's t is 52%, 79%,
91% and 44% in these cases."""
SPREADS = {"alike": (0.05, 0.05), "tenfold in A": (0.5, 0.05), "tenfold in B": (0.05, 0.5)}


def normal(draw: np.random.Generator, shape: tuple[int, int]) -> Floats:
    return draw.normal(0, 1, shape)


def exponential(draw: np.random.Generator, shape: tuple[int, int]) -> Floats:
    return draw.exponential(1, shape) - 1


def family(
    draw: np.random.Generator, case: tuple[int, int, int], spreads: tuple[float, float]
) -> list[Change]:
    """Returns changes between two runs with the same distribution of log-normal values."""
    return logs_family(draw, case, spreads, normal)


def logs_family(
    draw: np.random.Generator, case: tuple[int, int, int], spreads: tuple[float, float], logs: Draw
) -> list[Change]:
    one, other, number = case
    before = np.exp(spreads[0] * logs(draw, (number, one))).tolist()
    after = np.exp(spreads[1] * logs(draw, (number, other))).tolist()
    return corrected([unpaired_change(*sides) for sides in zip(before, after, strict=True)])


def together(experiments: int, made: Callable[[], list[Change]]) -> float:
    """Returns the share of experiments in which every interval contains 0."""
    held = 0
    for _ in range(experiments):
        held += all(change.simultaneous is not None and change.simultaneous.contains(0) for change in made())
    return held / experiments


def least(nominal: float, experiments: int) -> float:
    """Returns the nominal share less four standard errors."""
    return nominal - 4 * math.sqrt(nominal * (1 - nominal) / experiments)


@pytest.mark.parametrize("case", FEW[:1], ids=str)
def test_intervals_hold_together_where_a_run_has_few_replicates(case: tuple[int, int, int]) -> None:
    """This is the quick version of the slow test below; its experiments are always the same."""
    experiments = 300 if case[2] < 50 else 40
    draw = np.random.default_rng(20260614)
    assert together(experiments, lambda: family(draw, case, SPREADS["alike"])) >= 0.95


@pytest.mark.slow
@pytest.mark.parametrize("spread", list(SPREADS))
@pytest.mark.parametrize("case", [*FEW, (2, 2, 12), (5, 5, 12), (10, 10, 12)], ids=str)
def test_intervals_hold_together_whatever_the_spreads(case: tuple[int, int, int], spread: str) -> None:
    experiments = 2000 if case[2] < 50 else 500
    draw = np.random.default_rng(20260614)
    share = together(experiments, lambda: family(draw, case, SPREADS[spread]))
    print(f"\nreplicates {case[0]} and {case[1]}, {case[2]} differences, spreads {spread}: {share:.1%} hold")
    assert share >= least(0.95, experiments)


SKEWED = {(2, 20, 12): 0.95, (3, 20, 12): 0.92, (5, 20, 12): 0.92, (5, 5, 12): 0.99, (20, 20, 12): 0.98}
"""The smallest coverage for values whose logarithms are exponential, by replicates of both runs and number of
differences."""


@pytest.mark.slow
@pytest.mark.parametrize("case", list(SKEWED), ids=str)
def test_intervals_of_very_skewed_values_hold_as_often_as_documented(case: tuple[int, int, int]) -> None:
    experiments = 2000
    draw = np.random.default_rng(20260614)
    share = together(experiments, lambda: logs_family(draw, case, SPREADS["alike"], exponential))
    print(f"\nreplicates {case[0]} and {case[1]}, {case[2]} differences, skewed logarithms: {share:.1%} hold")
    assert share >= least(SKEWED[case], experiments)


@pytest.mark.slow
@pytest.mark.parametrize("case", [(2, 20, 12), (3, 20, 12), (5, 20, 12), (5, 5, 12), (10, 10, 12)], ids=str)
def test_the_width_that_it_costs(case: tuple[int, int, int]) -> None:
    """Compares the median half-width with that of Welch's t, in standard deviations within treatments."""
    one, other, number = case
    draw = np.random.default_rng(20260614)
    squares = [draw.chisquare(count - 1, 20_000) / (count - 1) / count for count in (one, other)]
    sides = zip(*(np.sqrt(each).tolist() for each in squares), strict=True)
    half = np.median([StandardError(((a, one - 1), (b, other - 1))).half_width(number) for a, b in sides])
    both = squares[0] + squares[1]
    freedom = both**2 / (squares[0] ** 2 / (one - 1) + squares[1] ** 2 / (other - 1))
    welch = np.median(special.stdtrit(freedom, 1 - 0.025 / number) * np.sqrt(both))
    print(
        f"\nreplicates {one} and {other}, {number} differences: ±{half:.1f} deviations, by Welch's t "
        f"±{welch:.1f}"
    )
    assert half > welch


def test_of_sides_of_one_size_it_is_students_t_with_the_freedom_of_one_of_them() -> None:
    error = StandardError(((0.3, 4), (0.4, 4)))
    assert error.half_width(12) == pytest.approx(0.5 * special.stdtrit(4, 1 - 0.025 / 12))
    assert error.p_value(1) == pytest.approx(2 * special.stdtr(4, -2))


@pytest.mark.parametrize("middle", [0.01, 0.1, 1, 3, 40, 1e9])
@pytest.mark.parametrize("comparisons", [1, 84])
def test_the_p_value_is_the_level_of_the_interval_that_ends_at_0(middle: float, comparisons: int) -> None:
    error = StandardError(((0.3, 1), (0.1, 19)))
    half = error.half_width(comparisons)
    assert error.p_value(half) == pytest.approx(0.05 / comparisons)
    level = error.p_value(middle)
    parts = [0.3 * special.stdtrit(1, level / 2), 0.1 * special.stdtrit(19, level / 2)]
    assert math.hypot(*parts) == pytest.approx(middle, rel=1e-5)


def test_a_ratio_beyond_every_number_has_bounds() -> None:
    """With two trials and 84 comparisons, the interval extends over a thousand standard errors."""
    changes = corrected([unpaired_change([1, 20], [3, 90])] * 84)
    assert changes[0].simultaneous is not None
    assert changes[0].simultaneous.contains(0)
    assert math.isfinite(changes[0].simultaneous.high)
