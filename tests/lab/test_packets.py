"""Packets of constant and random sizes and gaps: every packet that is sent is counted as received or lost."""

from collections.abc import Callable
from typing import Any

import pytest

from nettrial.backends import Backend
from nettrial.scenario import Flow, FlowRecord, InterfaceAddress, PacketCounts, Scenario
from tests.measuring import Attempt, Run

Resolve = Callable[..., Scenario]
Holds = Callable[[Attempt], None]

UDP_HEADER_BYTES = 8
IP_HEADER_BYTES = {4: 20, 6: 40}
FRAME_OVERHEAD_BYTES = 38
"""The bytes that Ethernet adds to an IP packet: header 14, frame check sequence 4, preamble 8, gap 12."""


def constant(value: str) -> dict[str, str]:
    return {"distribution": "constant", "value": value}


def packets(name: str = "packets", **settings: Any) -> Flow:
    """Returns a flow of datagrams from the sender to the receiver, of 200 bytes unless `settings` give a
    size."""
    of_flow = {
        key: settings.pop(key) for key in ("from", "to", "transport", "ip", "socket") if key in settings
    }
    traffic = {"kind": "packets", "size": constant("200 B"), **settings}
    defaults = {"name": name, "from": "sender", "to": "receiver", "transport": "udp", "ip": 6}
    return Flow.model_validate({**defaults, **of_flow, "traffic": traffic})


def network(resolve: Resolve, *flows: Flow, mtu: str = "1500", shaped: bool = False) -> Scenario:
    """Returns a scenario of sender, router and receiver with these flows. The links have a rate only if
    `shaped`."""
    scenario = resolve(mtu=mtu)
    for number, link in enumerate(scenario.links):
        for host, end in enumerate(link.ends, start=1):
            end.addresses = [*(end.addresses or []), InterfaceAddress(f"10.0.{number}.{host}/24")]
        if not shaped:
            link.rate, link.queue = None, None
    scenario.workload = list(flows)
    scenario.measurement.queue_drops.root = "allowed"
    return scenario


def counts(flow: FlowRecord) -> PacketCounts:
    assert flow.packets is not None
    return flow.packets


@pytest.mark.parametrize("ip", [4, 6])
def test_what_is_sent_arrives_or_is_lost(ip: int, resolve: Resolve, run: Run) -> None:
    flow = packets(size=constant("1200 B"), duration="500 ms", ip=ip)
    scenario = network(resolve, flow, shaped=True)
    scenario.links[1].rate.root = "10 Mbit/s"  # type: ignore[union-attr]
    record = run(scenario).flows[0]
    found = counts(record)
    assert found.sent_pkts == found.received_pkts + found.lost_pkts
    assert found.lost_pkts > 0  # The second link has a hundredth of the first link's rate.
    assert 0 < found.loss_bursts <= found.lost_pkts
    assert (found.reordered_pkts, found.duplicated_pkts) == (0, 0)
    assert record.bytes == found.received_pkts * 1200
    headers = IP_HEADER_BYTES[ip] + UDP_HEADER_BYTES
    assert record.ip_bytes == found.sent_pkts * (1200 + headers)
    assert record.wire_bytes == found.sent_pkts * (1200 + headers + FRAME_OVERHEAD_BYTES)


@pytest.mark.measures
@pytest.mark.parametrize("ip", [pytest.param(4, marks=pytest.mark.slow), 6])
def test_what_is_too_much_gets_what_the_wire_carries_and_waits_in_its_queue(
    ip: int, resolve: Resolve, holds: Holds
) -> None:
    flow = packets(size=constant("1200 B"), duration="500 ms", ip=ip)
    scenario = network(resolve, flow, shaped=True)
    scenario.links[1].rate.root = "100 Mbit/s"  # type: ignore[union-attr]
    theory = 100e6 * 1200 / (1200 + IP_HEADER_BYTES[ip] + UDP_HEADER_BYTES + FRAME_OVERHEAD_BYTES)

    def attempt(run: Run) -> None:
        record = run(scenario).flows[0]
        assert record.goodput_bps == pytest.approx(theory, rel=0.02)
        # A packet waits for the transmission of the 1000 packets in the queue.
        assert record.owd_us is not None
        assert record.owd_us.p99 == pytest.approx(1000 * 1200 * 8 / theory * 1e6, rel=0.1)

    holds(attempt)


@pytest.mark.parametrize(("gso_packet", "join"), [(True, False), (False, True), (True, True)])
def test_gso_packets_change_no_count(gso_packet: bool, join: bool, resolve: Resolve, run: Run) -> None:
    flow = packets(count=20_000, rate="50 Mbit/s", socket={"udp_gso": gso_packet, "udp_gro": join})
    record = run(network(resolve, flow)).flows[0]
    assert (counts(record).sent_pkts, counts(record).lost_pkts) == (20_000, 0)
    assert record.bytes == 20_000 * 200


def test_an_internet_mix_arrives_as_it_was_drawn(resolve: Resolve, run: Run) -> None:
    shares = [("64 B", 7.0), ("594 B", 4.0), ("1450 B", 1.0)]
    mix = {"distribution": "mix", "shares": [{"value": size, "share": share} for size, share in shares]}
    gap = {"distribution": "exponential", "mean": "80 us"}
    flow = packets(size=mix, gap=gap, count=12_000, seed=3)
    record = run(network(resolve, flow)).flows[0]
    assert (counts(record).sent_pkts, counts(record).lost_pkts) == (12_000, 0)
    mean = (7 * 64 + 4 * 594 + 1 * 1450) / 12
    # The standard deviation of a packet's size is 388 bytes, and that of the mean of 12000 packets is 3.5.
    assert record.bytes / 12_000 == pytest.approx(mean, abs=4 * 3.5)
    assert record.pacing is not None
    assert record.pacing.asked_bps == pytest.approx(mean * 8 / 80e-6, rel=0.05)
    again = run(network(resolve, flow)).flows[0]
    assert again.bytes == record.bytes
    assert again.pacing is not None
    assert again.pacing.asked_bps == record.pacing.asked_bps


@pytest.mark.measures
@pytest.mark.parametrize("rate", [pytest.param(10, marks=pytest.mark.slow), 100])
def test_a_rate_is_kept(rate: int, resolve: Resolve, holds: Holds) -> None:
    flow = packets(size=constant("1250 B"), rate=f"{rate} Mbit/s", duration="1 s")
    scenario = network(resolve, flow)

    def attempt(run: Run) -> None:
        record = run(scenario).flows[0]
        assert counts(record).sent_pkts == rate * 100
        assert counts(record).lost_pkts == 0
        assert record.pacing is not None
        assert record.pacing.asked_bps == pytest.approx(rate * 1e6)
        assert record.pacing.sent_bps == pytest.approx(rate * 1e6, rel=0.01)
        assert record.goodput_bps == pytest.approx(rate * 1e6, rel=0.01)

    holds(attempt)


def test_silence_and_sending_take_turns(resolve: Resolve, run: Run) -> None:
    on_off = {"on": constant("100 ms"), "off": constant("300 ms")}
    flow = packets(size=constant("1250 B"), rate="10 Mbit/s", duration="800 ms", on_off=on_off)
    record = run(network(resolve, flow)).flows[0]
    assert counts(record).sent_pkts == 200
    assert record.pacing is not None
    assert record.pacing.asked_bps == pytest.approx(10e6 / 4)
    silent = [interval for interval in record.intervals if interval.bytes == 0]
    # A silence covers three intervals, of which the first may contain a packet that left late.
    assert len(silent) >= 2


def test_many_send_to_one(resolve: Resolve, run: Run) -> None:
    flows = [packets(f"flow{number}", count=2000, rate="5 Mbit/s") for number in range(4)]
    record = run(network(resolve, *flows))
    assert [counts(flow).received_pkts for flow in record.flows] == [2000] * 4


def test_both_directions_at_once(resolve: Resolve, run: Run) -> None:
    there = packets("there", count=3000, rate="10 Mbit/s")
    back = packets("back", count=2000, rate="10 Mbit/s", ip=4, **{"from": "receiver", "to": "sender"})
    record = run(network(resolve, there, back))
    assert [counts(flow).received_pkts for flow in record.flows] == [3000, 2000]
    # Each host sent one flow and received the other, so its CPU time is divided by the bytes of both flows.
    demands = [host.service_demand_us_per_kb for host in record.hosts]
    assert all(demand is None or demand > 0 for demand in demands)


@pytest.mark.parametrize(
    ("ip", "headers", "fragments"),
    # Payload and UDP header have 4008 bytes, of which fragments carry 1480 over IPv4 and 1448 over IPv6.
    [(4, 20, 3), (6, 48, 3)],
)
def test_a_datagram_above_the_mtu_is_carried_in_fragments(
    ip: int, headers: int, fragments: int, resolve: Resolve, run: Run
) -> None:
    flow = packets(size=constant("4000 B"), count=500, rate="100 Mbit/s", ip=ip)
    record = run(network(resolve, flow)).flows[0]
    assert (counts(record).received_pkts, counts(record).lost_pkts) == (500, 0)
    assert record.bytes == 500 * 4000
    assert record.ip_bytes == 500 * (4000 + UDP_HEADER_BYTES + fragments * headers)
    assert record.wire_bytes == record.ip_bytes + 500 * fragments * FRAME_OVERHEAD_BYTES


@pytest.mark.parametrize("ip", [4, 6])
def test_a_smaller_mtu_on_the_way_is_known_before_the_first_packet(
    ip: int, resolve: Resolve, run: Run
) -> None:
    flow = packets(size=constant("4000 B"), count=500, rate="100 Mbit/s", ip=ip)
    scenario = network(resolve, flow, mtu="9000")
    for end in scenario.links[1].ends:
        end.mtu.root = "1500 B"
    record = run(scenario).flows[0]
    assert (counts(record).received_pkts, counts(record).lost_pkts) == (500, 0)
    assert record.ip_bytes is not None
    assert record.ip_bytes > 500 * (4000 + UDP_HEADER_BYTES + 2 * IP_HEADER_BYTES[ip])


def test_messages_over_tcp(resolve: Resolve, run: Run) -> None:
    flow = packets(transport="tcp", count=2000, rate="20 Mbit/s")
    record = run(network(resolve, flow)).flows[0]
    assert record.bytes == 2000 * 200
    assert record.packets is None
    assert record.owd_us is not None
    assert record.owd_us.count == 2000
    assert record.owd_histogram is not None
    assert record.pacing is not None


def test_gso_packets_are_refused_where_a_shaper_would_charge_them_wrongly(
    lab: Backend, resolve: Resolve
) -> None:
    flow = packets(count=10, socket={"udp_gso": True, "udp_gro": False})
    assert [problem.setting for problem in lab.check(network(resolve, flow, shaped=True))] == ["udp_gso"]
