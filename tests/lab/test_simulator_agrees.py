"""The simulator's results agree with those of Linux's own TCP/IP, within the bounds that the documentation
states.

This is a shorter form of benches/simulator_against_lab.py, without confidence intervals: each case is one
trial in the lab, unless other work on the machine disturbs it, and a few seeds in the simulator, which need
little time."""

from collections.abc import Callable, Iterator

import pytest

from benches.simulator_against_lab import BEYOND, RADIO, WIRES, Comparison, off
from nettrial.backends import Backend
from tests.lab.lacking import lacking
from tests.measuring import Attempt, Run

SEEDS = 3
QUICK = ["8 flows"]
"""The case that always runs. The others are part of the longer sweep, and such cases are compared with the
kernel in virtual time by `tests/unit/test_simulator_judged.py`."""
REPEATS = 5
"""The number of trials in the lab for a comparison of means, in the longer sweep."""
CASES = [(comparison, case) for comparison in (WIRES, RADIO) for case in comparison.cases]


@pytest.fixture(scope="module")
def simulator() -> Iterator[Backend]:
    """Yields the simulator, which runs on every machine."""
    with Backend("sim") as backend:
        assert backend.preflight().missing == []
        yield backend


@pytest.fixture(scope="module")
def controls(lab: Backend) -> set[str]:
    """Returns the congestion controls that the lab can load on this machine."""
    return set(lab.preflight(thorough=True).environment.congestion_controls)


def test_there_are_enough_cases() -> None:
    assert set(QUICK) <= {case for _, case in CASES}
    assert len(WIRES.cases) >= 12
    assert len(RADIO.cases) >= 10


def test_a_frames_own_time_is_its_bits_over_the_rate_of_each_link() -> None:
    # A frame has 64 bytes of payload, 28 of UDP and IPv4, and 38 of Ethernet. The path has two links of 200
    # Mbit/s and two of 50 Mbit/s.
    assert WIRES.frames_ms("plain") == pytest.approx(2 * 130 * 8 * (2 / 200e6 + 2 / 50e6) * 1e3)
    assert WIRES.frames_ms("IPv6") == pytest.approx(WIRES.frames_ms("plain") * 150 / 130)
    # The frame takes one of the two paths.
    assert WIRES.frames_ms("MPTCP LIA") == pytest.approx(WIRES.frames_ms("plain"))
    # On links with a delay, the lab's delay line includes this time.
    assert WIRES.frames_ms("delay 1 ms") == 0
    # Only the cable behind the access point counts.
    assert RADIO.frames_ms("TCP up 65") == pytest.approx(2 * 130 * 8 / 1e9 * 1e3)


def cases(*quick: str) -> list[object]:
    """Returns the parameters for each comparison and case. Cases that are not `quick` are marked slow, and
    those that are known to exceed their bounds are expected to fail."""
    found = []
    for comparison, case in CASES:
        marks = [] if case in quick else [pytest.mark.slow]
        if comparison is RADIO and case in BEYOND:
            marks.append(pytest.mark.xfail(reason=BEYOND[case]))
        found.append(pytest.param(comparison, case, marks=marks))
    return found


@pytest.mark.measures
@pytest.mark.parametrize(("comparison", "case"), cases(*QUICK))
def test_the_simulator_agrees_with_the_lab(
    comparison: Comparison,
    case: str,
    simulator: Backend,
    controls: set[str],
    holds: Callable[[Attempt], None],
) -> None:
    holds(lambda run: agrees(comparison, case, 1, simulator, controls, run))


@pytest.mark.measures
@pytest.mark.parametrize(("comparison", "case"), cases())
def test_the_simulator_agrees_with_the_means_of_the_lab(
    comparison: Comparison,
    case: str,
    simulator: Backend,
    controls: set[str],
    holds: Callable[[Attempt], None],
) -> None:
    holds(lambda run: agrees(comparison, case, REPEATS, simulator, controls, run))


def agrees(
    comparison: Comparison, case: str, repeats: int, simulator: Backend, controls: set[str], run: Run
) -> None:
    scenario = comparison.scenario(case, seed=0)
    missing = {node.stack.congestion_control for node in scenario.nodes if node.stack} - controls
    if missing:
        lacking(f"congestion controls that can't be loaded here: {', '.join(missing)}")
    simulated = comparison.figures(case, [comparison.trial(simulator, case, seed) for seed in range(SEEDS)])
    measured = comparison.figures(case, [run(scenario) for _ in range(repeats)])
    difference = {response: off(response, measured, simulated) for response in comparison.within}
    bounds = comparison.within.items()
    beyond = {response for response, bound in bounds if abs(difference[response]) > bound}
    assert not beyond, f"the simulator's {simulated} is off from the lab's {measured} by {difference}"
