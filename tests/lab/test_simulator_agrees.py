"""The simulator gives what Linux's own TCP/IP gives, within what the documentation says, or says why not.

Shorter than benches/simulator_against_lab.py, which has intervals: one trial in the lab for each case, unless
other work on the machine disturbs it, and a few seeds in the simulator, which cost next to nothing."""

from collections.abc import Iterator

import pytest

from benches.simulator_against_lab import CASES, WITHIN, explained, figures, off, trial
from nettrial.backends import Backend
from nettrial.design import scenario_of
from nettrial.study import load
from tests.lab.lacking import lacking

SEEDS = 3
TRIES = 3
"""Trials in the lab, where the first ones are off: what else the machine does makes some so, but not all."""


@pytest.fixture(scope="module")
def simulator() -> Iterator[Backend]:
    """The simulator, which runs anywhere."""
    with Backend("sim") as backend:
        assert backend.preflight().missing == []
        yield backend


@pytest.fixture(scope="module")
def controls(lab: Backend) -> set[str]:
    """The congestion controls that the lab has here."""
    return set(lab.preflight(thorough=True).environment.congestion_controls)


def test_what_is_explained_is_a_case_and_there_are_enough_cases() -> None:
    assert explained() <= {(case, response) for case in CASES for response in WITHIN}
    assert len(CASES) >= 12


@pytest.mark.parametrize("case", CASES)
def test_the_simulator_agrees_with_the_lab(
    case: str, lab: Backend, simulator: Backend, controls: set[str]
) -> None:
    nodes = scenario_of(load("simulator-agreement"), CASES[case]).nodes
    missing = {node.stack.congestion_control for node in nodes if node.stack} - controls
    if missing:
        lacking(f"congestion controls that can't be loaded here: {', '.join(missing)}")
    simulated = figures(case, [trial(simulator, case, seed) for seed in range(SEEDS)])
    found: list[dict[str, float]] = []
    for _ in range(TRIES):
        measured = figures(case, [trial(lab, case, 0)])
        found.append({response: off(response, measured, simulated) for response in WITHIN})
        if not _beyond(case, found[-1]):
            return
    raise AssertionError(f"the simulator's {simulated} is off from the lab by {found}")


def _beyond(case: str, difference: dict[str, float]) -> bool:
    """Whether a response is further off than it may be, and nothing explains it."""
    return any(
        abs(difference[response]) > bound and (case, response) not in explained()
        for response, bound in WITHIN.items()
    )
