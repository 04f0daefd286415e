"""The first goal of RFC 6356 section 2, in short: benches/rfc6356.py measures all three with intervals.

A trial has a network for each congestion control, side by side. The bounds are wide, for a few short trials
vary."""

from collections.abc import Callable
from statistics import fmean

import pytest

from benches.rfc6356 import (
    CONTROLS,
    disjoint,
    of_the_best,
    of_the_sum,
)
from nettrial.backends import Backend
from nettrial.scenario import Record, Scenario

TRIALS = 2
SECONDS = 6.0


@pytest.fixture(autouse=True, scope="module")
def _controls(lab: Backend) -> None:
    """Every control must be one that this machine can load."""
    there = lab.preflight(thorough=True).environment.congestion_controls
    missing = [name for name in CONTROLS if name not in there]
    if missing:
        pytest.skip(f"congestion controls that can't be loaded here: {', '.join(missing)}")


def records(run: Callable[[Scenario], Record], scenario: Scenario) -> list[Record]:
    return [run(scenario) for _ in range(TRIALS)]


def mean(found: list[Record], figure: Callable[[Record], dict[str, float]]) -> dict[str, float]:
    """A figure of each network, its mean over the trials."""
    each = [figure(record) for record in found]
    return {name: fmean(values[name] for values in each) for name in each[0]}


def test_disjoint_paths_give_more_than_the_best_and_most_of_their_sum(
    run: Callable[[Scenario], Record],
) -> None:
    found = records(run, disjoint(SECONDS, 0))
    assert all(
        len(flow.subflows or []) == 2 for record in found for flow in record.flows if flow.name != "tcp"
    )
    assert min(mean(found, of_the_best).values()) >= 1
    assert min(mean(found, of_the_sum).values()) > 0.7
