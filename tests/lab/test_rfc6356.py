"""A short test of the first two goals of RFC 6356 section 2. benches/rfc6356.py measures all three, with
confidence intervals.

A trial has one network for each congestion control; the networks run at the same time. The bounds are wide,
because a few short trials vary. The test of the second goal only requires that, beside a TCP flow, coupled
controls take less than uncoupled Reno, which takes twice as much. (The logarithms of two trials of 8 s differ
by about 0.15, while the difference to Reno is 0.7.)"""

from collections.abc import Callable
from statistics import fmean, geometric_mean

import pytest

from benches.rfc6356 import (
    CONTROLS,
    disjoint,
    of_the_best,
    of_the_sum,
    of_the_tcp_beside,
    shared,
)
from nettrial.backends import Backend
from nettrial.scenario import Record, Scenario
from tests.lab.lacking import lacking
from tests.measuring import Attempt, Run

pytestmark = [pytest.mark.measures, pytest.mark.slow]

Holds = Callable[[Attempt], None]


@pytest.fixture(autouse=True, scope="module")
def _controls(lab: Backend) -> None:
    """Skips the tests unless this machine can load every congestion control."""
    there = lab.preflight(thorough=True).environment.congestion_controls
    missing = [name for name in CONTROLS if name not in there]
    if missing:
        lacking(f"congestion controls that can't be loaded here: {', '.join(missing)}")


def records(
    run: Run, scenario: Callable[[float, int], Scenario], seconds: float, trials: int
) -> list[Record]:
    return [run(scenario(seconds, seed)) for seed in range(trials)]


def mean(found: list[Record], figure: Callable[[Record], dict[str, float]]) -> dict[str, float]:
    """Returns, by network, the mean of a figure over the trials."""
    each = [figure(record) for record in found]
    return {name: fmean(values[name] for values in each) for name in each[0]}


def test_disjoint_paths_give_more_than_the_best_and_most_of_their_sum(holds: Holds) -> None:
    holds(more_than_the_best)


def more_than_the_best(run: Run) -> None:
    found = records(run, disjoint, 6.0, 1)
    assert all(
        len(flow.subflows or []) == 2 for record in found for flow in record.flows if flow.name != "tcp"
    )
    assert min(mean(found, of_the_best).values()) >= 1
    assert min(mean(found, of_the_sum).values()) > 0.7


def test_over_a_shared_link_coupled_subflows_take_less_than_uncoupled_ones(holds: Holds) -> None:
    holds(less_than_uncoupled)


def less_than_uncoupled(run: Run) -> None:
    each = [of_the_tcp_beside(record) for record in records(run, shared, 8.0, 2)]
    coupled = [ratios[name] for ratios in each for name in ("lia", "olia", "balia")]
    assert geometric_mean(coupled) < geometric_mean(ratios["reno"] for ratios in each)
