"""Warnings about the CPUs' clocks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from nettrial.analysis import clocks, clocks_are_known
from nettrial.design import PlannedTrial
from nettrial.report.conclusions import limits
from nettrial.report.content import gather
from nettrial.scenario import ProcessorRecord, Record
from nettrial.store import Run
from tests.unit.synthetic import make_run, record


def run_with(directory: Path, frequencies: Sequence[float | None]) -> Run:
    """Makes a run in whose trials CPU 0 has these clock frequencies in turn."""

    def maker(trial: PlannedTrial) -> Record | str:
        made = record(trial)
        frequency = frequencies[trial.number % len(frequencies)]
        made.processors = [
            ProcessorRecord(number=0, busy_percent=50, stolen_percent=0, frequency_mhz=frequency),
            ProcessorRecord(number=1, busy_percent=50, stolen_percent=0, frequency_mhz=frequency and 3000),
        ]
        return made

    return make_run(directory / "run", 2, maker=maker)


def test_a_clock_that_changes_is_warned_of_in_the_report(tmp_path: Path) -> None:
    run = run_with(tmp_path, [2000.0, 2099.0, 2110.0])
    (warning,) = clocks(run)
    assert (warning.code, warning.object) == ("processor_frequency", "CPU 0")
    assert "2000 to 2110 MHz" in warning.message
    assert warning.trials == len(run.plan)
    assert [group for group in gather(run).warnings if group.code == "processor_frequency"] == [warning]


def test_a_clock_that_keeps_still_is_not(tmp_path: Path) -> None:
    run = run_with(tmp_path, [2000.0, 2099.0])
    assert clocks(run) == []
    assert clocks_are_known(run)


def test_clocks_that_nobody_tells_are_a_limit(tmp_path: Path) -> None:
    run = run_with(tmp_path, [None])
    assert clocks(run) == []
    assert clocks_are_known(run) is False
    assert any("does not report the CPUs' clock rates" in said for said in limits(gather(run)))
    without = make_run(tmp_path / "without", 1)
    assert clocks_are_known(without) is None
    assert not any("clocks" in said for said in limits(gather(without)))
