"""A flow gets the goodput that Ethernet can carry at the link's rate."""

from collections.abc import Callable

import pytest

from nettrial.scenario import Record, Scenario
from tests.measuring import Attempt, Run

OVERHEAD_BYTES = 38
"""The bytes that Ethernet adds to an IP packet: header 14, frame check sequence 4, preamble 8, gap 12."""
TCP_HEADER_BYTES = 20
TIMESTAMPS_BYTES = 12
TOLERANCE = 0.01


def theory(mtu: int, ip: int, rate_bps: float) -> float:
    """Returns the highest goodput in bits per second: the payload of a full segment, divided by its size on
    the wire, times the rate."""
    headers = {4: 20, 6: 40}[ip] + TCP_HEADER_BYTES + TIMESTAMPS_BYTES
    return rate_bps * (mtu - headers) / (mtu + OVERHEAD_BYTES)


EVERY_WIRE = [(rate, ip, mtu) for rate in (1e9, 1e8) for ip in (4, 6) for mtu in (1500, 4000, 9000)]
QUICK_WIRE = (1e9, 4, 1500)
"""The wire with the most packets. All others are part of the longer sweep."""


@pytest.mark.measures
@pytest.mark.parametrize(
    ("rate_bps", "ip", "mtu"),
    [pytest.param(*wire, marks=[] if wire == QUICK_WIRE else pytest.mark.slow) for wire in EVERY_WIRE],
)
def test_one_flow_fills_the_wire(
    rate_bps: float,
    ip: int,
    mtu: int,
    resolve: Callable[..., Scenario],
    holds: Callable[[Attempt], None],
) -> None:
    scenario = resolve(
        mtu=str(mtu),
        network__ip=str(ip),
        network__rate=f"{rate_bps / 1e6:.0f} Mbit/s",
        workload__transfer__traffic__duration="1 s",
        workload__probe__traffic__duration="100 ms",
    )
    # The flow has a single connection for the whole time, so that the size of transfers does not matter.
    scenario.workload[0].traffic.root.size = None
    holds(fills(scenario, theory(mtu, ip, rate_bps)))


def fills(scenario: Scenario, expected: float) -> Attempt:
    """Returns an attempt that checks that the trial gets this goodput. It may get less on a busy machine,
    where the shaper's timers are late and the link is idle in the meantime. More is always a failure."""

    def attempt(run: Run) -> None:
        goodput = run(scenario).flows[0].goodput_bps or 0.0
        if goodput > expected * (1 + TOLERANCE):
            pytest.fail(f"{goodput} bit/s on a wire that carries {expected}")
        assert goodput == pytest.approx(expected, rel=TOLERANCE)

    return attempt


@pytest.mark.measures
@pytest.mark.parametrize("offload", [pytest.param("gso", marks=pytest.mark.slow), "tso"])
def test_a_gso_packet_is_charged_as_its_frames(
    offload: str, resolve: Callable[..., Scenario], holds: Callable[[Attempt], None]
) -> None:
    scenario = resolve(mtu="1500", workload__transfer__traffic__duration="1 s")
    for node in scenario.nodes:
        assert node.offloads is not None
        setattr(node.offloads, offload, True)
        node.offloads.gso = True
    scenario.workload[0].traffic.root.size = None
    holds(fills(scenario, theory(1500, 6, 1e9)))


@pytest.mark.measures
@pytest.mark.slow
def test_a_router_charges_a_gso_packet_that_a_host_did_not_cut_as_its_frames(
    resolve: Callable[..., Scenario], holds: Callable[[Attempt], None]
) -> None:
    scenario = resolve(
        mtu="1500", workload__transfer__traffic__duration="1 s", measurement__queue_drops="allowed"
    )
    for node in scenario.nodes:
        if node.stack is not None:
            assert node.offloads is not None
            node.offloads.tso = node.offloads.gso = True
    bottleneck = scenario.links[1]
    assert bottleneck.rate is not None
    bottleneck.rate = type(bottleneck.rate)("500 Mbit/s")
    scenario.workload[0].traffic.root.size = None
    holds(fills(scenario, theory(1500, 6, 5e8)))


def test_wire_bytes_are_payload_and_overhead(
    resolve: Callable[..., Scenario], run: Callable[[Scenario], Record]
) -> None:
    record = run(resolve(mtu="9000", workload__transfer__traffic__duration="300 ms"))
    sender = record.ends[0]
    assert (sender.node, sender.interface) == ("sender", "eth0")
    payload = sum(flow.bytes for flow in record.flows)
    # The headers are Ethernet, IPv6, and TCP with timestamps; the kernel does not count 24 more bytes of
    # Ethernet.
    headers = sender.frames_pkts * (14 + 40 + 20 + 12 + 24)
    assert sender.wire_bytes == pytest.approx(payload + headers, rel=0.001)
    assert sender.drops_pkts == 0


@pytest.mark.measures
@pytest.mark.slow
@pytest.mark.parametrize("topology", ["pair", "switched"])
def test_other_topologies_carry_as_much(
    topology: str, resolve: Callable[..., Scenario], holds: Callable[[Attempt], None]
) -> None:
    scenario = resolve(mtu="1500", network__topology=topology, workload__transfer__traffic__duration="1 s")
    scenario.workload[0].traffic.root.size = None
    holds(fills(scenario, theory(1500, 6, 1e9)))


@pytest.mark.parametrize("topology", ["pair", "switched"])
def test_other_topologies_are_what_the_scenario_says(
    topology: str, resolve: Callable[..., Scenario], run: Run
) -> None:
    scenario = resolve(mtu="1500", network__topology=topology, workload__transfer__traffic__duration="200 ms")
    assert all(check.passed for check in run(scenario).checks)
