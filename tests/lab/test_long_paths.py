"""On long paths, waits follow the round-trip time: nothing that is still on its way counts as lost."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from nettrial.backends import Backend
from nettrial.scenario import Flow, FlowRecord, Record, Scenario
from tests.lab.test_packets import packets

Resolve = Callable[..., Scenario]
Run = Callable[[Scenario], Record]

BACKENDS = ["lab", "sim"]


@pytest.fixture(scope="module")
def simulated() -> Iterator[Run]:
    """Yields a function that runs a scenario in the simulator."""
    with Backend("sim") as backend:
        yield lambda scenario: backend.run("test", scenario, 300)


def long(resolve: Resolve, one_way_ms: int, *flows: Flow) -> Scenario:
    """Returns a scenario of two links, whose delays add up to the given one in each direction."""
    scenario = resolve(mtu="1500", workload__transfer__traffic__duration="2 s")
    for link in scenario.links:
        link.delay.root = f"{one_way_ms * 500} us"
    if flows:
        scenario.workload = list(flows)
    return scenario


def messages(**traffic: Any) -> Flow:
    """Returns a flow of UDP messages."""
    settings = {"name": "messages", "from": "sender", "to": "receiver", "transport": "udp", "ip": 6}
    return Flow.model_validate({**settings, "traffic": traffic})


@pytest.mark.parametrize("one_way_ms", [300, 700])
def test_the_path_mtu_of_a_long_path_is_found(one_way_ms: int, resolve: Resolve, run: Run) -> None:
    record = run(long(resolve, one_way_ms))
    found = [check.found for check in record.checks if check.name == "path_mtu"]
    assert set(found) == {"1500 B"}
    assert [warning for warning in record.warnings if warning.code == "path_mtu"] == []


@pytest.mark.parametrize("backend", BACKENDS)
def test_packets_on_a_long_path_are_not_lost(
    backend: str, resolve: Resolve, run: Run, simulated: Run
) -> None:
    # The last packet has left long before the first one arrives.
    flow = packets(size={"distribution": "constant", "value": "1200 B"}, rate="1 Mbit/s", duration="300 ms")
    record = (run if backend == "lab" else simulated)(long(resolve, 700, flow))
    counts = record.flows[0].packets
    assert counts is not None
    assert (counts.lost_pkts, counts.received_pkts) == (0, counts.sent_pkts)
    assert counts.sent_pkts > (0 if backend == "lab" else 20)  # A busy machine sends late, and then less.


@pytest.mark.parametrize("backend", BACKENDS)
def test_answers_on_a_long_path_are_not_late(
    backend: str, resolve: Resolve, run: Run, simulated: Run
) -> None:
    exchange = messages(kind="request_response", request="100 B", response="100 B", count=4, in_flight=4)
    sizes = {"first": "100 B", "last": "1100 B", "step": "500 B", "bytes": "100 B"}
    sweep = messages(kind="sweep", answer="echo", **sizes).model_copy(update={"name": "sweep"})
    record = (run if backend == "lab" else simulated)(long(resolve, 700, exchange, sweep))
    answered, swept = record.flows
    assert answered.packets is not None
    assert (answered.packets.sent_pkts, answered.packets.lost_pkts) == (4, 0)
    assert resent(swept) == 0
    assert all(rtt > 1_400_000 for size in swept.sizes or [] for rtt in size.rtt_us)


def resent(flow: FlowRecord) -> int:
    """Returns the number of requests that were retransmitted."""
    assert flow.sizes
    return sum(size.resent_pkts for size in flow.sizes)
