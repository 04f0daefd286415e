"""Links whose directions differ, in the lab and in virtual time: their rates, and the round-trip time."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from nettrial.backends import BACKENDS, Backend, Configuration, find_kernel
from nettrial.design import scenario_of
from nettrial.scenario import Record
from tests.asymmetric import DOWN_MBPS, RTT_MS, UP_MBPS, asymmetric
from tests.lab.lacking import lacking
from tests.measuring import Attempt, Run

SLOW = {"core": "2 Mbit/s"}


def check(record: Record, rtt_ms: float) -> None:
    """Asserts that the two directions carried their rates, and that the idle path had its round-trip time."""
    up, down, ping = record.flows
    assert up.goodput_bps
    assert up.goodput_bps / 1e6 == pytest.approx(UP_MBPS, rel=0.02)
    assert down.goodput_bps
    assert down.goodput_bps / 1e6 == pytest.approx(DOWN_MBPS, rel=0.02)
    assert ping.rtt_us
    assert ping.rtt_us.p50 / 1e3 == pytest.approx(RTT_MS, abs=rtt_ms)


@pytest.mark.measures
@pytest.mark.slow
def test_directions_carry_their_rates_and_delays_in_the_lab(
    tmp_path: Path, holds: Callable[[Attempt], None]
) -> None:
    scenario = scenario_of(asymmetric(tmp_path, "lab"), SLOW)

    def attempt(watched: Run) -> None:
        record = watched(scenario)
        check(record, rtt_ms=1)
        queues = {(end.node, end.interface): end.drops_pkts for end in record.ends}
        assert queues["left", "eth1"] > 0 < queues["right", "eth1"]

    holds(attempt)


@pytest.fixture(scope="module")
def kernel() -> Iterator[Backend]:
    if find_kernel() is None:
        lacking("no kernel in virtual time here: `make virtual` builds one")
    with BACKENDS["virtual"].start(Configuration()) as started:
        yield started


@pytest.mark.virtual
def test_directions_carry_their_rates_and_delays_in_virtual_time(tmp_path: Path, kernel: Backend) -> None:
    record = kernel.run("trial", scenario_of(asymmetric(tmp_path, "virtual"), SLOW), 120)
    assert record.warnings == []
    check(record, rtt_ms=0.05)
