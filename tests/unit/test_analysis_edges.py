"""Unusual runs: every part of the analysis gives a sensible result, or the reason why it can't."""

import math

import pytest

from nettrial.analysis import (
    Summary,
    agreement,
    findings,
    noise,
    orders,
    precision,
    summarise,
    variation,
)
from nettrial.store import Run
from tests.unit.edge_runs import EDGE_RUNS


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(name, marks=pytest.mark.slow if name == "thousand_trials" else []) for name in EDGE_RUNS
    ],
)
def edge(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, Summary]:
    """Returns a run, read again from its file, and its summary."""
    directory = tmp_path_factory.mktemp("edges") / request.param
    EDGE_RUNS[request.param](directory)
    run = Run.open(directory)
    return run, summarise(run)


def test_figures_are_finite_or_absent(edge: tuple[Run, Summary]) -> None:
    _, summary = edge
    for response in summary.responses:
        for cell in response.cells:
            figures = [cell.mean, cell.median, cell.deviation]
            for interval in (cell.interval, cell.median_interval):
                figures += [interval.low, interval.high] if interval else []
            assert all(math.isfinite(figure) for figure in figures if figure is not None)
            assert (cell.mean is None) == (cell.n == 0)
            assert (cell.interval is None) == (cell.n < 2 or cell.deviation == 0)
            assert set(cell.trials) == set(cell.values)
            if cell.change and cell.change.interval is None:
                assert cell.change.absent


def test_findings_have_a_change_or_a_reason(edge: tuple[Run, Summary]) -> None:
    run, summary = edge
    for response in summary.responses:
        found = findings(run.study, response)
        several = [name for name, factor in run.study.factors.items() if len(factor.levels) > 1]
        assert sorted(each.factor for each in found) == sorted(several)
        for each in found:
            assert len(each.effects) == len(run.study.factors[each.factor].levels) - 1
            for effect in each.effects:
                assert (effect.overall.interval is None) == (effect.overall.absent is not None)
                for place in effect.places:
                    assert place.change.family or place.change.absent


def test_variation_adds_up_or_says_why_not(edge: tuple[Run, Summary]) -> None:
    run, summary = edge
    for response in summary.responses:
        found = variation(run.study, response)
        assert found.terms or found.absent
        if found.terms:
            assert sum(term.share for term in found.terms) == pytest.approx(1)
            assert all(term.share >= -1e-12 for term in found.terms)
        for term in found.terms:
            if term.factors and not found.absent:
                assert term.p_value is not None
                assert 0 <= term.p_value <= 1


def test_noise_and_agreement_and_precision_are_had(edge: tuple[Run, Summary]) -> None:
    run, summary = edge
    for group in noise(summary, orders(summary)):
        assert group.message
        assert group.consequence
        assert group.trials
    for row in agreement(run, summary):
        assert row.ratio is not None or row.direction is not None or row.absent or not row.row.value
    for response in summary.responses:
        found = precision(response, 2.0)
        assert found is not None
        for short in found.shortfalls:
            assert short.reached is None or short.reached > 2
