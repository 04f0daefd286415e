"""The simulator agrees with Linux's own TCP/IP within the bounds of `benches/simulator_against_virtual.py`,
except for the differences that it states.

The kernel's figures are recorded, and `tests/lab/test_simulator_against_virtual.py` compares the recording
with a kernel. The simulator is deterministic, so that a stated difference that is gone fails a test, too."""

from collections.abc import Iterator

import pytest

from benches.simulator_against_virtual import (
    AGREEMENT,
    MORE_SEEDS,
    SEEDS,
    STATED,
    Figure,
    Verdict,
    figures,
    is_open,
    judge,
    recorded,
)
from nettrial.backends import Backend


@pytest.fixture(scope="module")
def simulator() -> Iterator[Backend]:
    with Backend("sim") as backend:
        yield backend


def test_every_case_is_recorded_and_differences_are_stated_of_cases() -> None:
    trials = recorded().trials
    assert list(trials) == list(AGREEMENT.cases)
    assert {len(of_case) for of_case in trials.values()} == {len(SEEDS), MORE_SEEDS.stop}
    assert {case for case, _ in STATED} <= set(trials)


@pytest.mark.parametrize("case", AGREEMENT.cases)
def test_the_simulator_agrees_with_the_kernel(case: str, simulator: Backend) -> None:
    of_case = judge(simulator, case)
    always = set.intersection(*(set(trial) for trial in recorded().trials[case]))
    assert always - {"marks"} <= {figure.response for figure in of_case}, "the simulator lacks a response"
    beyond = {figure.response for figure in of_case if figure.verdict is Verdict.BEYOND}
    stated = {response for of, response in STATED if of == case}
    assert len(recorded().trials[case]) == MORE_SEEDS.stop or not is_open(of_case), "more seeds would tell"
    assert beyond == stated, f"virtual, sim and difference: {[str(figure) for figure in of_case]}"


@pytest.mark.parametrize(
    ("simulated", "verdict"),
    [
        ([100.4, 100.4, 100.4], Verdict.AGREES),
        ([99.4, 99.4, 99.4], Verdict.BEYOND),
        ([100.6, 100.6, 100.6], Verdict.BEYOND),
        ([98.0, 100.0, 104.0], Verdict.OPEN),
    ],
)
def test_a_figure_is_beyond_if_all_of_its_interval_is(simulated: list[float], verdict: Verdict) -> None:
    assert Figure("goodput", [100.0, 100.0, 100.0], simulated).verdict is verdict


def test_a_case_without_marks_has_no_figure_of_them() -> None:
    def responses(kernel: float, simulated: float) -> list[str]:
        trials = [[{"goodput": 1.0, "marks": marks}] for marks in (kernel, simulated)]
        return [figure.response for figure in figures(*trials)]

    assert responses(0, 0) == ["goodput"]
    assert responses(0, 9) == ["goodput", "marks"]
