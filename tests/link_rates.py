"""A check that holds in every backend: no link carries more than its rate."""

from __future__ import annotations

from itertools import pairwise

import networkx as nx

from nettrial.metrics import METRICS
from nettrial.metrics.spans import span, union_ns
from nettrial.scenario import Flow, Record, Scenario
from nettrial.topology.scenario_graph import graph_of
from nettrial.units import RATE

LARGEST_FRAME_BYTES = 1538
"""The bytes of a frame on the wire at the MTU of the tests' networks, 1500 B."""


def assert_within_link_rates(scenario: Scenario, record: Record, burst_bytes: int = 0) -> None:
    """Asserts that the flows over each direction of each link have together at most the link's rate, as
    goodput over the union of their times, and on the link of their first host as wire rate. A shaper may send
    `burst_bytes` at once after an idle time. The network must have a single path between any two nodes."""
    graph, over = graph_of(scenario), {}
    for flow in scenario.workload:
        path = nx.shortest_path(graph, flow.from_, flow.to)
        for place, hop in enumerate(pairwise(path)):
            over.setdefault(hop, []).append((flow, place))
    assert over
    rates = {
        frozenset(end.node for end in link.ends): RATE.parse(link.rate.root)
        for link in scenario.links
        if link.rate
    }
    for hop, flows in over.items():
        rate = rates.get(frozenset(hop))
        if rate is None:
            continue
        _assert_at_most(rate, "goodput", [flow for flow, _ in flows], record, burst_bytes)
        if all(place == 0 for _, place in flows):
            # Packets that the host's own queue dropped were sent and not carried. Packets that a later queue
            # dropped were on the first link.
            dropped = sum(end.drops_pkts for end in record.ends if end.node == hop[0]) * LARGEST_FRAME_BYTES
            _assert_at_most(rate, "wire_rate", [flow for flow, _ in flows], record, burst_bytes, dropped)


def _assert_at_most(
    rate: float, metric: str, flows: list[Flow], record: Record, burst_bytes: int, dropped_bytes: int = 0
) -> None:
    """Asserts it for all flows together and for each one."""
    for names in ([flow.name for flow in flows], *([flow.name] for flow in flows)):
        found = METRICS[metric].combined(record, names)
        assert isinstance(found, float), found
        times = [span(flow) for flow in record.flows if flow.name in names]
        seconds = union_ns([time for time in times if time]) / 1e9
        # A connection's opening is sent before its time begins, and a shaper's credit after each idle time.
        allowed = rate + (dropped_bytes + (burst_bytes + 1000) * len(names)) * 8 / seconds
        assert found * 1e6 <= allowed, f"{metric} of {names}: {found} Mbit/s on a link of {rate / 1e6} Mbit/s"
