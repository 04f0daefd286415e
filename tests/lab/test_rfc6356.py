"""The three goals of RFC 6356 section 2, in short: benches/rfc6356.py measures them with intervals.

A trial has a network for each congestion control, side by side. Bounds are wider than the bench's, for a few
short trials vary."""

from collections.abc import Callable
from statistics import fmean

import pytest

from benches.rfc6356 import (
    CONTROLS,
    disjoint,
    of_the_best,
    of_the_sum,
    of_the_tcp_beside,
    on_the_congested_path,
    shared,
    unequal,
)
from nettrial.backends import Backend
from nettrial.scenario import Record, Scenario

TRIALS = 3
SECONDS = 6.0
COUPLED = [name for name in CONTROLS if name != "reno"]


@pytest.fixture(autouse=True, scope="module")
def _controls(lab: Backend) -> None:
    """Every control must be one that this machine can load."""
    there = lab.preflight().environment.congestion_controls
    missing = [name for name in CONTROLS if name not in there]
    if missing:
        pytest.skip(f"congestion controls that can't be loaded here: {', '.join(missing)}")


def records(run: Callable[[Scenario], Record], scenario: Scenario) -> list[Record]:
    return [run(scenario) for _ in range(TRIALS)]


def mean(found: list[Record], figure: Callable[[Record], dict[str, float]]) -> dict[str, float]:
    """A figure of each network, its mean over the trials."""
    each = [figure(record) for record in found]
    return {name: fmean(values[name] for values in each) for name in each[0]}


def test_disjoint_paths_give_more_than_the_best_and_almost_their_sum(
    run: Callable[[Scenario], Record],
) -> None:
    found = records(run, disjoint(SECONDS))
    assert all(
        len(flow.subflows or []) == 2 for record in found for flow in record.flows if flow.name != "tcp"
    )
    assert min(mean(found, of_the_best).values()) >= 1
    assert min(mean(found, of_the_sum).values()) > 0.85


def test_a_shared_bottleneck_is_shared_as_by_one_tcp(run: Callable[[Scenario], Record]) -> None:
    ratio = mean(records(run, shared(SECONDS)), of_the_tcp_beside)
    assert max(ratio[name] for name in COUPLED) < 1.5
    assert min(ratio[name] for name in COUPLED) > 0.6
    assert ratio["reno"] > max(ratio[name] for name in COUPLED)


def test_traffic_leaves_the_congested_path(run: Callable[[Scenario], Record]) -> None:
    share = mean(records(run, unequal(SECONDS)), on_the_congested_path)
    assert share["olia"] < share["lia"]
    assert share["reno"] > max(share[name] for name in ("lia", "olia", "balia"))
