"""Links and nodes that fail and return during the traffic between real hosts."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from nettrial.scenario import Outage, Record, Scenario
from tests.lab.test_routing import Run, both_versions, diamond


def failing(ip: int, policy: str, fails: list[str], run: Callable[[Scenario], Record]) -> Record:
    """Returns the record of a transfer of 4 s through a diamond, of which this part fails from 1 s to 2 s."""
    scenario = diamond(ip).scenario({"policy": policy})
    scenario.workload[0].traffic.root.duration = scenario.measurement.interval.__class__("4 s")  # type: ignore[union-attr]
    scenario.events = [Outage.model_validate({"at": "1 s", "fails": fails, "returns": "2 s"})]
    return run(scenario)


def delivered(record: Record, begin_ms: int, end_ms: int) -> int:
    """Returns the bytes of all samples that end between these times."""
    samples = record.flows[0].intervals
    return sum(sample.bytes for sample in samples if begin_ms <= sample.at_ns / 1e6 < end_ms)


@both_versions
def test_without_another_way_nothing_arrives_until_the_link_returns(ip: int, run: Run) -> None:
    record = failing(ip, "shortest_path", ["l", "u"], run)
    [event] = record.events or []
    assert event.returned_ns is not None
    assert event.at_ns < event.returned_ns
    lost = delivered(record, event.at_ns // 10**6 + 250, event.returned_ns // 10**6)
    assert lost == 0, record.flows[0].intervals
    assert delivered(record, event.returned_ns // 10**6, 10**6) > 100_000
    told = record.flows[0].recovery_ns
    assert told is None or told > 500_000_000


@pytest.mark.parametrize("fails", [["u"], ["v"]])
def test_a_router_takes_another_of_its_equal_next_hops(fails: list[str], run: Run) -> None:
    record = failing(4, "ecmp", fails, run)
    [event] = record.events or []
    assert event.returned_ns is not None
    assert delivered(record, event.at_ns // 10**6 + 500, event.returned_ns // 10**6) > 100_000
