"""Intervals that are valid at every number of trials: against another library, and their coverage."""

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from scipy import integrate, stats

from nettrial.analysis import Interval, change, mean_interval
from nettrial.analysis.sequential import NO_INTERVAL, PRIOR, evidence, family, half_width, widened, widening

Floats = npt.NDArray[np.float64]
EXPERIMENTS, LEAST, MOST = 10_000, 5, 50
SLACK = 3 * math.sqrt(0.95 * 0.05 / EXPERIMENTS)


@pytest.mark.parametrize("trials", [5, 8, 20, 50])
def test_the_bound_is_where_the_mixture_of_t_densities_is_20_times_that_without_effect(trials: int) -> None:
    """The mixture is the density of t under a normally distributed effect with variance 1/PRIOR, divided by
    the density without an effect. Integrated with scipy's noncentral t distribution, it is 1/0.05 at the
    bound."""
    bound = widening(trials, 0.95)

    def integrand(effect: float) -> float:
        density = stats.nct.pdf(bound, trials - 1, effect * math.sqrt(trials))
        return float(density * stats.norm.pdf(effect, scale=1 / math.sqrt(PRIOR)))

    middle = bound / math.sqrt(trials)
    mixture, _ = integrate.quad(integrand, -2, 12, points=[0, middle], limit=200)
    assert mixture / stats.t.pdf(bound, trials - 1) == pytest.approx(20, rel=1e-3)


def test_it_is_wider_than_students_t_and_there_is_none_of_too_few_trials() -> None:
    assert [math.isinf(widening(trials, 0.95)) for trials in range(6)] == [True] * 4 + [False] * 2
    for trials in range(4, 200):
        assert widening(trials, 0.95) > 1.6 * stats.t.ppf(0.975, trials - 1)
    assert widening(20, 0.99) > widening(20, 0.95)


def runs(values: Floats) -> tuple[Floats, Floats]:
    """Returns the mean and the standard deviation of the first 1, 2, ... values of each row."""
    counts = np.arange(1, values.shape[1] + 1)
    means = np.cumsum(values, axis=1) / counts
    squares = np.cumsum(values**2, axis=1) - counts * means**2
    return means, np.sqrt(np.maximum(squares, 0) / np.maximum(counts - 1, 1))


def held(
    values: Floats, truth: float, precision: float, factor: Callable[[int], float], least: int = LEAST
) -> tuple[float, float]:
    """Returns the coverage of the interval at the moment when a run stops, and the mean number of blocks."""
    counts = np.arange(1, values.shape[1] + 1)
    means, deviations = runs(values)
    factors = np.array([factor(int(count)) if count >= least else 0 for count in counts])
    halves = deviations * factors / np.sqrt(counts)
    equal = deviations < 1e-6
    narrow = equal | (halves <= precision * np.abs(means))
    narrow[:, : least - 1] = False
    narrow[:, -1] = True
    ends = narrow.argmax(axis=1)
    rows = np.arange(len(values))
    told = ~equal[rows, ends]
    inside = np.abs(means[rows, ends] - truth) <= halves[rows, ends]
    return float(inside[told].mean()), float(ends.mean() + 1)


def sequence(trials: int) -> float:
    return widening(trials, 0.95)


def student(trials: int) -> float:
    return float(stats.t.ppf(0.975, trials - 1))


DRAWS: dict[str, tuple[Callable[[np.random.Generator], Floats], float, float]] = {
    "normal": (lambda draw: draw.normal(1, 0.05, (EXPERIMENTS, MOST)), 1, 0.02),
    "normal, ends early": (lambda draw: draw.normal(1, 0.05, (EXPERIMENTS, MOST)), 1, 0.05),
    "skewed": (lambda draw: draw.lognormal(0, 0.3, (EXPERIMENTS, MOST)), math.exp(0.045), 0.2),
    "very skewed": (lambda draw: draw.exponential(1, (EXPERIMENTS, MOST)), 1, 0.5),
    "tied": (lambda draw: np.round(draw.normal(10, 0.5, (EXPERIMENTS, MOST))), 10, 0.05),
    "two values": (lambda draw: 10.0 + (draw.random((EXPERIMENTS, MOST)) < 0.2), 10.2, 0.02),
}


@pytest.mark.parametrize("name", list(DRAWS))
def test_it_holds_the_truth_where_a_run_stopped_for_it(name: str) -> None:
    draw, truth, precision = DRAWS[name]
    coverage, blocks = held(draw(np.random.default_rng(20260101)), truth, precision, sequence)
    assert coverage >= 0.95
    assert blocks > LEAST


@pytest.mark.parametrize(
    ("deviation", "precision", "documented"), [(0.01, 0.02, 0.30), (0.02, 0.02, 0.55), (0.02, 0.05, 0.91)]
)
def test_rare_halvings_are_missed_as_often_as_documented(
    deviation: float, precision: float, documented: float
) -> None:
    draw = np.random.default_rng(5)
    halved = np.where(draw.random((EXPERIMENTS, MOST)) < 0.05, 0.5, 1)
    values = draw.normal(1, deviation, (EXPERIMENTS, MOST)) * halved
    coverage, _ = held(values, 1 - 0.05 / 2, precision, sequence)
    assert coverage == pytest.approx(documented, abs=0.015)


@pytest.mark.slow
@pytest.mark.parametrize(("deviation", "precision"), [(0.01, 0.01), (0.01, 0.02), (0.02, 0.02), (0.02, 0.05)])
def test_blocks_that_show_rare_halvings_hold_the_mean(deviation: float, precision: float) -> None:
    """Prints the figures of docs/explanation/coverage.md by the minimum number of blocks: run pytest -s -m
    slow."""
    for least in (5, 20, 40, 60, 80):
        draw = np.random.default_rng(5)
        halved = np.where(draw.random((2000, 300)) < 0.05, 0.5, 1)
        values = draw.normal(1, deviation, (2000, 300))
        coverage, _ = held(values * halved, 1 - 0.05 / 2, precision, sequence, least)
        _, blocks = held(values, 1, precision, sequence, least)
        print(f"\n{deviation:.0%} to ±{precision:.0%}, {least} blocks: {coverage:.1%}, without {blocks:.0f}")
        assert coverage >= (0.93 if least >= 60 else 0)
        assert coverage < 0.9 or least not in (20, 40)


def test_students_t_does_not() -> None:
    """This is the reason for the sequence: in the same experiments, Student's t interval contains the true
    value too rarely."""
    draw, truth, precision = DRAWS["normal"]
    coverage, _ = held(draw(np.random.default_rng(20260101)), truth, precision, student)
    assert coverage < 0.95 - 3 * SLACK


def test_it_holds_the_truth_at_all_numbers_of_trials_at_once() -> None:
    """The interval is therefore valid whatever ends a run, even if someone who knows the true value chooses
    the worst moment."""
    values = np.random.default_rng(7).normal(3, 1, (EXPERIMENTS, 200))
    counts = np.arange(1, 201)
    means, deviations = runs(values)
    factors = np.array([sequence(int(count)) if count >= 4 else 0 for count in counts])
    inside = np.abs(means - 3) <= deviations * factors / np.sqrt(counts)
    assert inside[:, 3:].all(axis=1).mean() >= 0.95 - SLACK


def test_half_of_the_interval_is_that_many_standard_errors() -> None:
    assert half_width([1, 2, 3, 4, 5], 0.95) == pytest.approx(widening(5, 0.95) * math.sqrt(2.5 / 5))
    assert half_width([1, 2, 3], 0.95) is None
    assert half_width([2, 2, 2, 2, 2], 0.95) is None


def test_an_interval_by_students_t_becomes_one_of_the_sequence() -> None:
    values = [1.0, 2, 3, 4, 5]
    wide = widened(mean_interval(values), 5)
    assert wide is not None
    assert (wide.low + wide.high) / 2 == pytest.approx(3)
    assert wide.half_width == pytest.approx(half_width(values, 0.95))
    assert widened(mean_interval([1, 2, 3]), 3) is None
    assert widened(Interval(2, 2), 5) is None
    assert widened(None, 1) is None


def test_the_evidence_is_20_at_the_bound() -> None:
    for trials in (5, 20, 50):
        assert evidence(widening(trials, 0.95), trials) == pytest.approx(20)
        assert evidence(0, trials) < 1
    assert evidence(1e9, 500) > 1e100


def test_a_change_becomes_one_of_the_sequence_by_its_logarithms() -> None:
    logs = [0.08, 0.1, 0.12, 0.09, 0.11]
    single = change([(10.0, 10 * math.exp(log)) for log in logs])
    (found,) = family([single], sequential=True)
    half = half_width(logs, 0.95)
    assert half is not None
    assert found.interval is not None
    assert (found.percent, found.interval.method) == (single.percent, "confidence sequence")
    assert math.log1p(found.interval.low / 100) == pytest.approx(0.1 - half)
    assert math.log1p(found.interval.high / 100) == pytest.approx(0.1 + half)
    assert family([single], sequential=False)[0].interval == single.interval
    # The p-value is the level at which the interval begins to include 0.
    assert found.p_value is not None
    assert half_width(logs, 1 - found.p_value) == pytest.approx(0.1)


def test_several_changes_hold_together_and_too_few_blocks_have_none() -> None:
    draw = np.random.default_rng(3)
    pairs = [(10.0, 10 * math.exp(log)) for log in draw.normal(0.1, 0.01, 20)]
    found = family([change(pairs)] * 4, sequential=True)[0]
    alone = widening(20, 0.95) / widening(20, 1 - 0.05 / 4)
    assert found.simultaneous is not None
    assert found.interval is not None
    widths = [
        math.log1p(i.high / 100) - math.log1p(i.low / 100) for i in (found.interval, found.simultaneous)
    ]
    assert widths[0] / widths[1] == pytest.approx(alone)
    assert found.p_value is not None
    assert found.p_corrected == pytest.approx(4 * found.p_value)
    assert found.shown == 1
    for few in (pairs[:3], [(10.0, 11.0)] * 6):
        (none,) = family([change(few, exact=True)], sequential=True)
        assert (none.interval, none.simultaneous, none.shown) == (None, None, 0)
        assert none.percent is not None
        assert none.absent == NO_INTERVAL


def test_noise_shows_no_change_at_any_number_of_blocks() -> None:
    """Among 10,000 sequences without an effect, the p-value ever falls below 5% in at most 5%."""
    values = np.random.default_rng(11).normal(0, 1, (EXPERIMENTS, 60))
    means, deviations = runs(values)
    counts = np.arange(1, 61)
    ratios = means[:, 4:] / (deviations[:, 4:] / np.sqrt(counts[4:]))
    bounds = np.array([widening(int(count), 0.95) for count in counts[4:]])
    assert (np.abs(ratios) > bounds).any(axis=1).mean() <= 0.05 + SLACK
