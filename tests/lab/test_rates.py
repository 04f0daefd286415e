"""Rates in the lab: no link carries more than its rate, whenever its flows run and however they drain."""

from collections.abc import Callable

from nettrial.metrics import METRICS
from nettrial.scenario import Duration, Flow, Record, Scenario
from tests.link_rates import assert_within_link_rates


def test_flows_beside_and_after_each_other_have_at_most_the_rate_of_their_link(
    resolve: Callable[..., Scenario], run: Callable[[Scenario], Record]
) -> None:
    """Each transfer fills a queue of 0.3 s, which drains after its duration."""
    scenario = resolve(mtu="1500", network__topology="pair", network__ip="4", network__rate="10 Mbit/s")
    for link in scenario.links:
        link.queue.root = "250 packets"
    common = {"from": "sender", "to": "receiver", "ip": 4}
    transfer = {"transport": "tcp", "traffic": {"kind": "transfer", "duration": "500 ms"}}
    packets = {
        "kind": "packets",
        "size": {"distribution": "constant", "value": "1000 B"},
        "rate": "2.5 Mbit/s",
        "duration": "500 ms",
    }
    scenario.workload = [
        Flow.model_validate({**common, **transfer, "name": "first"}),
        Flow.model_validate({**common, "name": "packets", "transport": "udp", "traffic": packets}),
        Flow.model_validate({**common, **transfer, "name": "late", "start": Duration("2 s")}),
    ]
    scenario.measurement.cpu = []
    scenario.measurement.queue_drops.root = "allowed"
    record = run(scenario)
    bursts = max((end.burst_bytes or 0 for end in record.ends), default=0)
    assert_within_link_rates(scenario, record, burst_bytes=bursts)
    for flow in record.flows:
        assert flow.span is not None
        assert flow.ended_ns is not None
        if flow.name != "packets":
            # The queue and the sender's buffer were full when the duration ended.
            assert flow.ended_ns > flow.span.ended_ns
            assert flow.span.bytes < flow.bytes
    assert METRICS["fairness"].combined(record, ["first", "late"]) == (
        "late began when first had ended, so they did not share anything"
    )
