"""Honest wires: what Ethernet carries is what a flow gets."""

from collections.abc import Callable

import pytest

from nettrial.scenario import Record, Scenario

OVERHEAD_BYTES = 38
"""What Ethernet adds to an IP packet: header 14, frame check sequence 4, preamble 8, gap 12."""
TCP_HEADER_BYTES = 20
TIMESTAMPS_BYTES = 12
TOLERANCE = 0.01


def theory(mtu: int, ip: int, rate_bps: float) -> float:
    """Payload over wire bytes of a full segment, times the rate."""
    headers = {4: 20, 6: 40}[ip] + TCP_HEADER_BYTES + TIMESTAMPS_BYTES
    return rate_bps * (mtu - headers) / (mtu + OVERHEAD_BYTES)


@pytest.mark.parametrize("rate_bps", [1e9, 1e8])
@pytest.mark.parametrize("ip", [4, 6])
@pytest.mark.parametrize("mtu", [1500, 4000, 9000])
def test_one_flow_fills_the_wire(
    rate_bps: float,
    ip: int,
    mtu: int,
    resolve: Callable[..., Scenario],
    run: Callable[[Scenario], Record],
) -> None:
    scenario = resolve(
        mtu=str(mtu),
        network__ip=str(ip),
        network__rate=f"{rate_bps / 1e6:.0f} Mbit/s",
        workload__transfer__traffic__duration="1500 ms",
        workload__probe__traffic__duration="100 ms",
    )
    # One connection for the whole time: the size of a transfer plays no part.
    scenario.workload[0].traffic.root.size = None
    fills(run, scenario, theory(mtu, ip, rate_bps))


def fills(run: Callable[[Scenario], Record], scenario: Scenario, expected: float) -> None:
    """Of up to nine trials none gets more than the wire carries, and one gets that. The others may get
    less: a timer that a busy machine serves late is time in which the wire was not used."""
    goodputs: list[float] = []
    while len(goodputs) < 9 and max(goodputs, default=0.0) < expected * (1 - TOLERANCE):
        goodputs.append(run(scenario).flows[0].goodput_bps or 0.0)
    assert max(goodputs) == pytest.approx(expected, rel=TOLERANCE), goodputs


@pytest.mark.parametrize("offload", ["gso", "tso"])
def test_a_bundle_is_charged_as_its_frames(
    offload: str, resolve: Callable[..., Scenario], run: Callable[[Scenario], Record]
) -> None:
    scenario = resolve(mtu="1500", workload__transfer__traffic__duration="1500 ms")
    for node in scenario.nodes:
        assert node.offloads is not None
        setattr(node.offloads, offload, True)
        node.offloads.gso = True
    scenario.workload[0].traffic.root.size = None
    fills(run, scenario, theory(1500, 6, 1e9))


def test_a_router_charges_a_bundle_that_a_host_did_not_cut_as_its_frames(
    resolve: Callable[..., Scenario], run: Callable[[Scenario], Record]
) -> None:
    scenario = resolve(
        mtu="1500", workload__transfer__traffic__duration="1500 ms", measurement__queue_drops="allowed"
    )
    for node in scenario.nodes:
        if node.stack is not None:
            assert node.offloads is not None
            node.offloads.tso = node.offloads.gso = True
    bottleneck = scenario.links[1]
    assert bottleneck.rate is not None
    bottleneck.rate = type(bottleneck.rate)("500 Mbit/s")
    scenario.workload[0].traffic.root.size = None
    fills(run, scenario, theory(1500, 6, 5e8))


def test_wire_bytes_are_payload_and_overhead(
    resolve: Callable[..., Scenario], run: Callable[[Scenario], Record]
) -> None:
    record = run(resolve(mtu="9000", workload__transfer__traffic__duration="300 ms"))
    sender = record.ends[0]
    assert (sender.node, sender.interface) == ("sender", "eth0")
    payload = sum(flow.bytes for flow in record.flows)
    # Ethernet, IPv6 and TCP headers with timestamps, and 24 bytes that the kernel does not see.
    headers = sender.frames_pkts * (14 + 40 + 20 + 12 + 24)
    assert sender.wire_bytes == pytest.approx(payload + headers, rel=0.001)
    assert sender.drops_pkts == 0


@pytest.mark.parametrize("topology", ["pair", "switched"])
def test_other_topologies_carry_as_much(
    topology: str, resolve: Callable[..., Scenario], run: Callable[[Scenario], Record]
) -> None:
    scenario = resolve(mtu="1500", network__topology=topology, workload__transfer__traffic__duration="1 s")
    scenario.workload[0].traffic.root.size = None
    fills(run, scenario, theory(1500, 6, 1e9))
    assert all(check.passed for check in run(scenario).checks)
