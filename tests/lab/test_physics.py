"""A larger MTU increases throughput and decreases CPU time per byte, as expected."""

from collections.abc import Callable
from statistics import fmean

import pytest

from nettrial.analysis import mean_interval
from nettrial.scenario import Record, Scenario
from tests.measuring import Attempt, Run

REPLICATES = 5


@pytest.mark.measures
def test_a_larger_mtu_carries_more_for_less_processor_time(
    resolve: Callable[..., Scenario], holds: Callable[[Attempt], None]
) -> None:
    scenarios = {
        mtu: resolve(mtu=str(mtu), workload__transfer__traffic__duration="500 ms") for mtu in (1500, 9000)
    }
    holds(lambda run: compare(scenarios, run))


def compare(scenarios: dict[int, Scenario], run: Run) -> None:
    records: dict[int, list[Record]] = {1500: [], 9000: []}
    for block in range(REPLICATES):
        for mtu in sorted(scenarios, reverse=block % 2 == 1):
            records[mtu].append(run(scenarios[mtu]))
    goodput = {
        mtu: mean_interval([flow.goodput_bps or 0.0 for record in found for flow in record.flows[:1]])
        for mtu, found in records.items()
    }
    assert goodput[9000].low > goodput[1500].high  # type: ignore[union-attr]

    for host in (0, 1):
        demand = {
            mtu: [record.hosts[host].service_demand_us_per_kb for record in found]
            for mtu, found in records.items()
        }
        if None not in demand[1500]:  # Without root, the service demand is absent with a reason.
            assert fmean(demand[9000]) < fmean(demand[1500])  # type: ignore[arg-type]
        else:
            assert {absence.metric for absence in records[1500][0].absent} == {"cpu", "service_demand"}
