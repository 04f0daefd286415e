"""The order of trials and the distribution of their values: against other libraries, and in simulated runs.

The slow tests print the figures of docs/explanation/coverage.md: run pytest -s -m slow."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from scipy import stats
from statsmodels.formula.api import ols
from statsmodels.tsa.stattools import acf

from nettrial.analysis import ResponseSummary, Summary, cell_of, mean_interval, noise, order, orders
from nettrial.analysis.run_order import _neighbours, _Residuals
from nettrial.analysis.skewness import skewness
from nettrial.study import load

Floats = npt.NDArray[np.float64]
RESPONSE = load("jumbo-ipv6").responses[2]


def generator() -> np.random.Generator:
    """Returns a random generator that always draws the same numbers."""
    return np.random.default_rng(20190201)


def summary_of(values: Floats, draw: np.random.Generator | None = None) -> Summary:
    """Returns the summary of one response. A row of `values` is a block, and a column is a treatment. Trials
    run in this order, or in random order within blocks if `draw` is given."""
    blocks, treatments = values.shape
    places = [draw.permutation(treatments) if draw else np.arange(treatments) for _ in range(blocks)]
    cells = []
    for treatment in range(treatments):
        column = {block + 1: float(values[block, treatment]) for block in range(blocks)}
        trials = {
            block + 1: block * treatments + int(places[block][treatment]) + 1 for block in range(blocks)
        }
        cells.append(cell_of({"mtu": str(treatment)}, column, trials, {}))
    return Summary((ResponseSummary(RESPONSE, tuple(cells)),), 0)


def codes(values: Floats) -> list[str]:
    """Returns the codes of the warnings that these values cause."""
    summary = summary_of(values)
    return [group.code for group in noise(summary, orders(summary))]


# --- Against other libraries


def test_drift_is_that_of_least_squares_by_statsmodels() -> None:
    """Each treatment has its own mean; one model adds a linear drift, and the other adds a step."""
    values = 100 + generator().normal(0, 1, (12, 4)) + np.arange(48).reshape(12, 4) / 100
    found = order(summary_of(values).responses[0])
    spread = np.sqrt(values.var(axis=0, ddof=1).mean())
    assert found.trials == tuple(range(1, 49))
    assert found.residuals == pytest.approx(((values - values.mean(axis=0)) / spread).ravel())
    assert found.halves == pytest.approx((values[6:].mean() - values[:6].mean()) / spread)
    table = pd.DataFrame({"y": values.ravel() / spread, "mtu": np.tile(np.arange(4), 12)})
    table["line"] = np.arange(48) / 47
    table["half"] = (np.arange(48) >= 24).astype(float)
    for name, effect, p_value in (
        ("line", found.drift, found.drift_p),
        ("half", found.halves, found.halves_p),
    ):
        fitted = ols(f"y ~ C(mtu) + {name}", data=table).fit()
        assert effect == pytest.approx(fitted.params[name])
        left = max(0.0, acf(fitted.resid, nlags=1)[1])
        ratio = fitted.tvalues[name] * np.sqrt((1 - left) / (1 + left))
        assert p_value == pytest.approx(2 * stats.t.sf(abs(ratio), 43 * (1 - left) / (1 + left)))


@pytest.mark.parametrize("treatments", [1, 3, 12])
def test_the_test_of_neighbours_has_the_moments_of_its_matrices(treatments: int) -> None:
    draw = generator()
    of = draw.permutation(np.repeat(np.arange(treatments), 24 // treatments))
    raw = draw.normal(0, 1, 24)
    means = (of[:, None] == of[None, :]) / (24 // treatments)
    matrix = np.eye(24) - means
    near = (np.eye(24, k=1) + np.eye(24, k=-1)) / 2
    freedom = 24 - treatments
    both = matrix @ near @ matrix
    mean = np.trace(both) / freedom
    variance = 2 * (freedom * np.trace(both @ both) - np.trace(both) ** 2) / (freedom**2 * (freedom + 2))
    residuals = matrix @ raw
    correlation, p_value = _neighbours(_Residuals(residuals, of))
    assert correlation == pytest.approx(residuals @ near @ residuals / (residuals @ residuals))
    assert p_value == pytest.approx(2 * stats.norm.sf(abs(correlation - mean) / np.sqrt(variance)))
    if treatments == 1:
        assert correlation == pytest.approx(acf(residuals, nlags=1)[1])


@pytest.mark.parametrize("count", [8, 20, 100])
def test_the_skewness_of_one_treatment_is_tested_as_scipy_does(count: int) -> None:
    values = generator().lognormal(0, 0.5, count)
    found = skewness([values.tolist()])
    assert found is not None
    assert found.mean == pytest.approx(stats.skew(values, bias=False))
    assert found.p_value == pytest.approx(stats.skewtest(values).pvalue)


def test_two_values_or_equal_ones_have_no_skewness() -> None:
    assert skewness([[1, 2], [3, 3, 3], [1]]) is None
    found = skewness([[1, 2], [3, 3, 3], [1, 2, 6]])
    assert found is not None
    assert found.mean == pytest.approx(stats.skew([1, 2, 6], bias=False))


@pytest.mark.parametrize(
    "shape",
    [pytest.param((1, 5), marks=pytest.mark.slow), pytest.param((12, 3), marks=pytest.mark.slow), (6, 5)],
)
def test_normal_values_are_called_skewed_as_seldom_as_the_test_says(shape: tuple[int, int]) -> None:
    """The spreads of the treatments differ by a factor of ten."""
    spreads = np.geomspace(1, 10, shape[0])[:, None]
    samples = generator().normal(0, spreads, (4000, *shape)).tolist()
    p_values = [found.p_value for each in samples if (found := skewness(each))]
    assert len(p_values) == 4000
    assert 0.035 < np.mean(np.array(p_values) < 0.05) < 0.065
    assert np.mean(np.array(p_values) < 0.01) < 0.016


# --- How often runs have a warning


def warned(runs: int, blocks: int, treatments: int) -> Counter[str]:
    """Returns how many runs have each warning. Each run has seven responses with independent normal
    values."""
    draw = generator()
    found: Counter[str] = Counter()
    for _ in range(runs):
        values = 100 + draw.normal(0, 1, (7, blocks, treatments))
        summary = Summary(tuple(summary_of(each, draw).responses[0] for each in values), 0)
        codes = {group.code for group in noise(summary, orders(summary))}
        found.update([*codes, *(["any"] if codes else [])])
    return found


def test_quiet_runs_are_hardly_ever_warned_of() -> None:
    """Runs have seven responses. With two replicates, the residuals depend on each other most. The test
    below shows how seldom."""
    assert warned(50, 2, 12)["any"] <= 2
    assert warned(30, 10, 6)["any"] <= 2


@pytest.mark.slow
@pytest.mark.parametrize(("blocks", "treatments"), [(2, 12), (2, 36), (3, 12), (5, 6), (10, 6)])
def test_quiet_runs_are_warned_of_as_seldom_as_documented(blocks: int, treatments: int) -> None:
    runs = 2000
    found = warned(runs, blocks, treatments)
    told = ", ".join(f"{code} {count / runs:.2%}" for code, count in sorted(found.items()))
    print(f"\n{blocks} replicates of {treatments} treatments, seven responses: {told}")
    kinds = ("drift", "autocorrelation", "skewed_values", "noisy_treatment")
    assert all(found[code] / runs <= 0.0165 for code in kinds)
    assert found["any"] / runs <= 0.04


def test_drift_is_warned_of() -> None:
    draw = generator()
    slope = np.arange(60).reshape(10, 6) / 60 * 3
    found = [codes(100 + draw.normal(0, 1, (10, 6)) + slope) for _ in range(50)]
    assert sum("drift" in each for each in found) >= 45


def test_drift_is_warned_of_with_two_replicates() -> None:
    draw = generator()
    step = np.repeat([0, 2.5], 12).reshape(2, 12)
    found = [codes(100 + draw.normal(0, 1, (2, 12)) + step) for _ in range(50)]
    assert sum("drift" in each for each in found) >= 45


def test_neighbours_alike_are_warned_of_and_seldom_taken_for_drift() -> None:
    draw = generator()
    found = []
    for _ in range(60):
        values = np.zeros(200)
        for i in range(1, 200):
            values[i] = 0.6 * values[i - 1] + draw.normal(0, 1)
        found.append(codes(100 + values.reshape(50, 4)))
    assert sum("autocorrelation" in each for each in found) >= 54
    assert sum("drift" in each for each in found) <= 6


SKEWED = {
    # The keys are the numbers of treatments and of replicates. Values are log-normal with a standard
    # deviation of the logarithm of 1, and the shares are those of the documentation.
    (1, 5): 0.0,
    (1, 10): 0.35,
    (4, 3): 0.03,
    (4, 5): 0.34,
    (4, 10): 0.92,
    (12, 3): 0.16,
    (12, 5): 0.87,
    (36, 3): 0.64,
}


@pytest.mark.slow
@pytest.mark.parametrize(("treatments", "blocks"), list(SKEWED))
def test_skewed_values_are_warned_of_as_often_as_documented(treatments: int, blocks: int) -> None:
    samples = generator().lognormal(0, 1, (2000, blocks, treatments))
    share = float(np.mean(["skewed_values" in codes(each) for each in samples]))
    print(f"\n{treatments} treatments, {blocks} replicates: {share:.0%} have a warning")
    assert share == pytest.approx(SKEWED[treatments, blocks], abs=0.04)


def test_the_difference_between_sets_of_machines_is_neither_drift_nor_correlation() -> None:
    """Each block stays on one set; one set is faster by six standard deviations, and runs the late blocks."""
    values = 100 + generator().normal(0, 1, (16, 4))
    fast = [block > 8 or block == 3 for block in range(1, 17)]
    values[fast] += 6
    summary = summary_of(values)
    (response,) = summary.responses
    assert [group.code for group in noise(summary, orders(summary))] == ["drift"]
    sets = {
        trial: "fast" if fast[block - 1] else "slow"
        for cell in response.cells
        for block, trial in cell.trials.items()
    }
    known = replace(summary, sets=sets)
    assert noise(known, orders(known)) == []
    assert abs(order(response, sets).autocorrelation or 0) < 0.3
    rising = summary_of(values + np.arange(64).reshape(16, 4) / 10)
    rising = replace(rising, sets=sets)
    assert [group.code for group in noise(rising, orders(rising))] == ["drift"]


def test_values_are_outliers_among_those_of_their_set() -> None:
    """Without sets, the two values of the slower set would be outliers among twelve."""
    values = {block: 100.0 + block % 3 for block in range(1, 13)} | {5: 50.0, 9: 51.0}
    trials = {block: block for block in values}
    assert [found.block for found in cell_of({}, values, trials, {}).outliers] == [5, 9]
    sets = {trial: "slow" if trial in (5, 9) else "fast" for trial in trials}
    assert cell_of({}, values, trials, {}, sets).outliers == ()
    assert [found.block for found in cell_of({}, values | {1: 300.0}, trials, {}, sets).outliers] == [1]


def test_skewed_values_are_warned_of_below_20_trials_too() -> None:
    draw = generator()
    found = [codes(draw.lognormal(0, 1, (6, 3))) for _ in range(100)]
    assert sum("skewed_values" in each for each in found) >= 30
    found = [codes(draw.lognormal(0, 1, (6, 12))) for _ in range(100)]
    assert sum("skewed_values" in each for each in found) >= 90


@pytest.mark.slow
@pytest.mark.parametrize(("count", "documented"), [(2, 0.89), (3, 0.84), (4, 0.82), (5, 0.82), (10, 0.84)])
def test_intervals_of_means_of_log_normal_values_hold_as_often_as_documented(
    count: int, documented: float
) -> None:
    samples = generator().lognormal(0, 1, (20_000, count)).tolist()
    found = [interval for each in samples if (interval := mean_interval(each))]
    share = float(np.mean([interval.contains(np.exp(0.5)) for interval in found]))
    print(f"\n{count} log-normal values: {share:.1%} of the intervals of the mean hold")
    assert share == pytest.approx(documented, abs=0.01)


def test_a_treatment_that_varies_much_more_than_the_others_is_warned_of() -> None:
    """A tenfold deviation, at which intervals of the treatment's changes hold in less than 95%, is found in
    nearly every run; a deviation that is twice that of the others is not worth a warning."""
    draw = generator()

    def told(factor: float) -> int:
        spread = np.where(np.arange(12) == 3, factor, 1.0)
        samples = (100 + draw.normal(size=(5, 12)) * spread for _ in range(50))
        return sum("noisy_treatment" in codes(values) for values in samples)

    assert told(10) >= 48
    assert told(2) <= 5
    noisy = 100 + draw.normal(size=(5, 12)) * np.where(np.arange(12) == 3, 10.0, 1.0)
    summary = summary_of(noisy)
    (found,) = [each for each in noise(summary, orders(summary)) if each.code == "noisy_treatment"]
    assert found.trials == 5
    assert list(found.treatments) == [summary.responses[0].cells[3].treatment]
    assert "times as much as under the others" in found.message


def test_equal_values_are_warned_of() -> None:
    values = np.round(generator().normal(0, 0.3, (3, 6))) + 5
    values[:, 0] = 5
    assert "equal_values" in codes(values)
