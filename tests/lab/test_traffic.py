"""Every kind of traffic on every transport, and its bytes on the wire."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nettrial.scenario import Flow, FlowRecord, Record, Scenario
from tests.measuring import DISTURBANCES

OVERHEAD_BYTES = 38
"""The bytes that Ethernet adds to an IP packet: header 14, frame check sequence 4, preamble 8, gap 12."""
STREAMS = ["tcp", "mptcp"]
ALL = ["tcp", "mptcp", "udp"]

Prepare = Callable[..., Scenario]


@pytest.fixture
def prepare(resolve: Callable[..., Scenario]) -> Prepare:
    """Returns a function that makes a scenario of two hosts with these flows; each gives its traffic and any
    differences from a TCP flow."""

    def make(
        *flows: dict[str, Any], ip: int = 4, rate: str = "1 Gbit/s", mtu: str = "1500", delay: str = "0 ms"
    ) -> Scenario:
        scenario = resolve(
            mtu=mtu,
            network__topology="pair",
            network__ip=str(ip),
            network__rate=rate,
            network__delay=delay,
        )
        scenario.workload = [
            Flow.model_validate(
                {"name": f"flow{number}", "from": "sender", "to": "receiver", "transport": "tcp", "ip": ip}
                | flow
            )
            for number, flow in enumerate(flows)
        ]
        scenario.measurement.cpu = []
        return scenario

    return make


def requests(**settings: Any) -> dict[str, Any]:
    return {"kind": "request_response", "request": "64 B", "response": "64 B"} | settings


def sweep(**settings: Any) -> dict[str, Any]:
    sizes = {"first": "1000 B", "last": "61000 B", "step": "20000 B", "repeats": 3, "bytes": "200 kB"}
    return {"kind": "sweep", "answer": "acknowledgment"} | sizes | settings


def one(record: Record) -> FlowRecord:
    """Returns the record of a trial's only flow. Fails if a check failed, or if there is a warning other than
    about the machine's load or round-trip times on links without a delay."""
    noise = {"processor_saturated", "wire_short", "frame_time", "late_timers", *DISTURBANCES}
    assert {warning.code for warning in record.warnings} <= noise, record.warnings
    assert all(check.passed for check in record.checks), record.checks
    return record.flows[0]


@pytest.mark.parametrize("ip", [4, 6])
@pytest.mark.parametrize("transport", STREAMS)
def test_transfers_and_files(
    transport: str, ip: int, tmp_path: Path, prepare: Prepare, run: Callable[[Scenario], Record]
) -> None:
    flow = {"transport": transport, "traffic": {"kind": "transfer", "size": "2 MB"}}
    record = one(run(prepare(flow, ip=ip)))
    assert (record.bytes, record.connections) == (2_000_000, 1)

    file = tmp_path / "file"
    file.write_bytes(os.urandom(3_000_001))
    scenario = prepare(
        {"transport": transport, "traffic": {"kind": "file_transfer", "file": str(file)}}, ip=ip
    )
    whole = run(scenario)
    assert one(whole).bytes == 3_000_001
    assert (one(whole).goodput_bps or 0) > 0
    if transport == "mptcp":
        assert [subflow.bytes >= 3_000_001 for subflow in one(whole).subflows or []] == [True]


@pytest.mark.parametrize("ip", [4, 6])
@pytest.mark.parametrize("transport", ALL)
def test_requests(transport: str, ip: int, prepare: Prepare, run: Callable[[Scenario], Record]) -> None:
    record = one(run(prepare({"transport": transport, "traffic": requests(count=300)}, ip=ip)))
    assert record.rtt_us is not None
    assert record.rtt_us.count == 300
    assert record.rtt_histogram is not None
    assert record.transactions_per_second == pytest.approx(300 / (record.active_ns / 1e9))
    if transport == "udp":
        assert record.packets is not None
        assert (record.packets.sent_pkts, record.packets.received_pkts) == (300, 300)


@pytest.mark.parametrize("transport", STREAMS)
def test_a_connection_for_each_request(
    transport: str, prepare: Prepare, run: Callable[[Scenario], Record]
) -> None:
    traffic = requests(count=200, connecting="each_request")
    each = one(run(prepare({"transport": transport, "traffic": traffic})))
    once = one(run(prepare({"transport": transport, "traffic": requests(count=200)})))
    assert (each.connections, once.connections) == (200, 1)
    assert each.rtt_us is not None
    assert once.rtt_us is not None
    # Connecting is part of each round trip. The test compares both within one trial, because in different
    # trials the scheduler may place the processes differently.
    assert each.connect_us.count == 200
    assert each.rtt_us.mean > each.connect_us.mean
    assert each.rtt_us.minimum > each.connect_us.minimum


@pytest.mark.parametrize("transport", ALL)
def test_several_in_flight_give_more_transactions(
    transport: str, prepare: Prepare, run: Callable[[Scenario], Record]
) -> None:
    # A round trip takes 20 ms: one request after the other can't give more than 50 transactions a second.
    flow = {"transport": transport, "traffic": requests(duration="300 ms", in_flight=16)}
    # Frames that leave late on a busy machine, which a check reports, are not the subject of this test.
    rate = run(prepare(flow, delay="10 ms")).flows[0].transactions_per_second
    assert rate is not None
    assert rate > 100


@pytest.mark.parametrize("ip", [4, 6])
@pytest.mark.parametrize("transport", ALL)
@pytest.mark.parametrize("answer", ["acknowledgment", "echo"])
def test_sweeps(
    answer: str, transport: str, ip: int, prepare: Prepare, run: Callable[[Scenario], Record]
) -> None:
    flow = {"transport": transport, "traffic": sweep(answer=answer)}
    record = one(run(prepare(flow, ip=ip, rate="100 Mbit/s")))
    sizes = record.sizes or []
    assert [size.size_bytes for size in sizes] == [1000, 21_000, 41_000, 61_000]
    assert all(len(size.rtt_us) == len(size.total_us) == 3 for size in sizes)
    # A byte takes 80 ns on this link. A request can't be answered before it was sent, and an echo takes as
    # long again. The deducted time is that of the few frames that a shaper sends in one burst.
    ways = 2 if answer == "echo" else 1
    assert min(sizes[3].rtt_minimum_us) > ways * (61_000 * 0.080 - 1000)


def test_latency_under_load(prepare: Prepare, run: Callable[[Scenario], Record]) -> None:
    probe = {"traffic": requests(count=30, interval="5 ms"), "start": "300 ms"}
    load = {"traffic": {"kind": "transfer", "duration": "600 ms"}}
    loaded = run(prepare(probe, load, rate="10 Mbit/s")).flows[0].rtt_us
    assert loaded is not None
    # A request waits for the transfer's segments in the queue, each of which takes 1.2 ms on the wire.
    # Without them, the round trip takes 0.2 ms.
    assert loaded.p50 > 1200


@pytest.mark.parametrize(("ip", "mtu"), [(4, 1500), (6, 1500), (4, 9000)])
@pytest.mark.parametrize("transport", STREAMS)
def test_goodput_ip_rate_and_wire_rate(
    transport: str, ip: int, mtu: int, prepare: Prepare, run: Callable[[Scenario], Record]
) -> None:
    traffic = {"kind": "transfer", "size": "20 MB"}
    whole = run(prepare({"transport": transport, "traffic": traffic}, ip=ip, mtu=str(mtu)))
    record = one(whole)
    assert record.ip_bytes is not None
    assert record.wire_bytes is not None
    # The hosts do not ask for marks.
    assert {part.marks_pkts for part in (record, *(record.subflows or []))} == {0}
    headers = {4: 20, 6: 40}[ip] + 20 + 12 + (24 if transport == "mptcp" else 0)
    sent = record.bytes + record.retransmissions_pkts * record.mss_bytes
    assert record.ip_bytes == pytest.approx(sent * mtu / (mtu - headers), rel=0.005)
    assert record.wire_bytes == pytest.approx(sent * (mtu + OVERHEAD_BYTES) / (mtu - headers), rel=0.005)
    link = next(end for end in whole.ends if end.node == "sender")
    assert record.wire_bytes == pytest.approx(link.wire_bytes, rel=0.01)


@pytest.mark.parametrize("transport", ALL)
def test_requests_weigh_what_the_link_counts(
    transport: str, prepare: Prepare, run: Callable[[Scenario], Record]
) -> None:
    traffic = requests(count=2000, request="3000 B")
    whole = run(prepare({"transport": transport, "traffic": traffic}))
    record, link = one(whole), next(end for end in whole.ends if end.node == "sender")
    assert record.wire_bytes == pytest.approx(link.wire_bytes, rel=0.01)


def test_a_segment_size_is_in_force(prepare: Prepare, run: Callable[[Scenario], Record]) -> None:
    flow = {"traffic": {"kind": "transfer", "size": "1 MB"}, "socket": {"mss": "700 B"}}
    assert one(run(prepare(flow))).mss_bytes == 700 - 12


def test_a_copy_in_spite_of_zerocopy_is_told(prepare: Prepare, run: Callable[[Scenario], Record]) -> None:
    flow = {"traffic": {"kind": "transfer", "size": "20 MB"}, "socket": {"zerocopy": True}}
    record = run(prepare(flow))
    assert "zerocopy_copied" in {warning.code for warning in record.warnings}
