"""Charts draw the run's values, compared with figures that numpy and scipy compute from the records."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from scipy import stats

from nettrial.analysis.run_model import errors
from nettrial.report import html
from nettrial.report.content import gather
from nettrial.report.vega import Chart
from nettrial.store import Run
from tests.unit.synthetic import make_run

Charts = dict[str, list[dict[str, Any]]]
"""The marks of each chart, by the chart's name: those that say something to a reader."""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    path = tmp_path_factory.mktemp("runs") / "run"
    return make_run(path, 4, overrides={"sender": "linux-cubic", "receiver": "linux-cubic"})


@pytest.fixture(scope="module")
def drawn(run: Run) -> Charts:
    found = html.chosen(gather(run))
    return {chart.name: list(marks(chart)) for chart in found.every()}


def marks(chart: Chart) -> Iterator[dict[str, Any]]:
    for layer in chart.spec["layer"]:
        yield from (row for row in layer["data"]["values"] if "said" in row)


@pytest.fixture(scope="module")
def measured(run: Run) -> dict[str, dict[int, float]]:
    """Returns the throughput of each trial in Mbit/s, by MTU and by the trial's number in the run."""
    found: dict[str, dict[int, float]] = {}
    for trial in run.trials():
        planned, goodput_bps = trial.planned, trial.record.flows[0].goodput_bps
        assert goodput_bps is not None
        found.setdefault(planned.treatment["mtu"], {})[planned.number] = goodput_bps / 1e6
    return found


def test_the_run_order_shows_deviations_from_the_treatments_mean(
    drawn: Charts, measured: dict[str, dict[int, float]]
) -> None:
    expected = {
        number: 100 * (value / np.mean(list(values.values())) - 1)
        for values in measured.values()
        for number, value in values.items()
    }
    shown = {mark["trial"]: mark["value"] for mark in drawn["throughput-order"]}
    assert shown == pytest.approx(expected, rel=1e-4, abs=1e-5)


def test_values_and_means_with_their_intervals_are_drawn(
    drawn: Charts, measured: dict[str, dict[int, float]]
) -> None:
    found = drawn["throughput-values"]
    for mtu, values in measured.items():
        at = [mark for mark in found if mark["level"] == mtu]
        trials = [mark["value"] for mark in at if "low" not in mark]
        assert sorted(trials) == pytest.approx(sorted(values.values()), rel=1e-5)
        (mean,) = (mark for mark in at if "low" in mark)
        array = np.array(list(values.values()))
        low, high = stats.t.interval(0.95, len(array) - 1, array.mean(), stats.sem(array))
        assert (mean["value"], mean["low"], mean["high"]) == pytest.approx(
            (array.mean(), low, high), rel=1e-5
        )


def test_changes_are_those_of_the_pairs_within_blocks(
    drawn: Charts, measured: dict[str, dict[int, float]]
) -> None:
    changes = {mark["level"]: mark for mark in drawn["throughput-changes"] if "low" in mark}
    # Trials of a block follow each other, so the n-th of each treatment are of the same block.
    levels = ["1500 B", "4000 B", "9000 B"]
    logs = np.log([[value for _, value in sorted(measured[mtu].items())] for mtu in levels])
    found = errors(logs, np.array([0, 0]), np.array([1, 2]))
    assert set(changes) == set(levels[1:])
    for number, mtu in enumerate(levels[1:]):
        mark, middle = changes[mtu], (logs[number + 1] - logs[0]).mean()
        low, high = stats.t.interval(0.95, found.freedom[number], middle, found.error[number])
        expected = [100 * np.expm1(each) for each in (middle, low, high)]
        assert [mark["value"], mark["low"], mark["high"]] == pytest.approx(expected, rel=1e-4)


def test_the_distribution_marks_the_median(drawn: Charts, measured: dict[str, dict[int, float]]) -> None:
    medians = {mark["treatment"]: mark["value"] for mark in drawn["throughput-distribution"]}
    for mtu, values in measured.items():
        (shown,) = (value for treatment, value in medians.items() if f"MTU {mtu}" in treatment)
        assert shown == pytest.approx(np.median(list(values.values())), rel=1e-5)


def test_agreement_draws_what_is_published_as_printed(drawn: Charts) -> None:
    published = [mark for mark in drawn["rtt-agreement"] if mark["group"] == "published"]
    # Table 2 of the paper, in milliseconds, for its pair of Ubuntu 14.04.
    assert {mark["label"]: mark["value"] for mark in published} == {
        "MTU 1500 B": 10.18,
        "MTU 4000 B": 9.63,
        "MTU 9000 B": 7.66,
    }
