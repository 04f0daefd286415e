"""Downloads by FTP, TFTP and HTTP as workloads: each gives its figures and takes the expected number of round
trips."""

import math
from collections.abc import Callable
from typing import Any

import pytest

from nettrial.design import traffic_seconds
from nettrial.scenario import Flow, FlowRecord, Record, Scenario
from tests.measuring import Attempt, Run

RTT_MS = 20.0
"""The delay of both links in both directions, in milliseconds."""
RATE_BPS = 1e8
FILE_BYTES = 30_000
TFTP: dict[str, tuple[int | None, int | None]] = {
    "tftp": (None, None),
    "tftp-blocks": (1428, None),
    "tftp-window": (1428, 8),
}
"""The size of blocks in bytes and the number of blocks in a window, by the name of the flow."""


def flow(name: str, tool: str, transport: str, **settings: Any) -> dict[str, Any]:
    traffic = {"kind": "tool", "tool": tool, "duration": "2 s", "size": f"{FILE_BYTES} B", **settings}
    return {"name": name, "transport": transport, "traffic": traffic}


def tftp(name: str) -> dict[str, Any]:
    block, window = TFTP[name]
    settings = {
        **({"block_size": f"{block} B"} if block else {}),
        **({"window_size": window} if window else {}),
    }
    return flow(name, "tftp", "udp", **settings)


def rounds(name: str) -> int:
    """Returns the number of round trips of a download by TFTP: one for each window, and one for the
    options."""
    block, window = TFTP[name]
    blocks = FILE_BYTES // (block or 512) + 1
    return math.ceil(blocks / (window or 1)) + (1 if block or window else 0)


def wire_ms(name: str) -> float:
    """Returns the transmission time of the blocks and acknowledgments on both links, in milliseconds."""
    block = TFTP[name][0]
    blocks = FILE_BYTES // (block or 512) + 1
    # The headers are TFTP 4, UDP 8, IPv4 20 and Ethernet 38 bytes. In each round, a block and its
    # acknowledgment cross both links one after the other.
    frame, acknowledgment = (block or 512) + 4 + 8 + 20 + 38, 84
    waits, others = rounds(name), max(blocks - rounds(name), 0)
    return (waits * 2 * (frame + acknowledgment) + others * frame) * 8e3 / RATE_BPS


def build(resolve: Callable[..., Scenario], flows: list[dict[str, Any]], ip: int) -> Scenario:
    """Returns a scenario of these flows, which start two seconds apart."""
    scenario = resolve(
        mtu="1500",
        network__ip=str(ip),
        network__rate="100 Mbit/s",
        network__delay="5 ms",
        network__topology="routed",
    )
    ends = {"from": "sender", "to": "receiver", "ip": ip}
    scenario.workload = [
        Flow.model_validate({**ends, "start": f"{2 * number} s", **flow}) for number, flow in enumerate(flows)
    ]
    scenario.measurement.queue_drops.root = "allowed"
    return scenario


def completion_ms(flow: FlowRecord) -> float:
    assert flow.completion_us is not None
    return flow.completion_us.mean / 1000


@pytest.mark.parametrize("ip", [4, 6])
def test_downloads_give_their_figures_and_take_the_round_trips_that_they_need(
    ip: int, resolve: Callable[..., Scenario], run: Callable[[Scenario], Record]
) -> None:
    flows = [
        flow("ftp", "ftp", "tcp"),
        flow("http1", "http1", "tcp"),
        flow("http2", "http2", "tcp"),
        flow("http3", "http3", "udp"),
    ]
    if ip == 4:  # atftpd 0.8.0 does not support IPv6.
        flows.extend(tftp(name) for name in TFTP)
    scenario = build(resolve, flows, ip)
    assert traffic_seconds(scenario) == 2 * len(flows)
    found = {flow.name: flow for flow in run(scenario).flows}
    # The file is larger than a new connection's first window, so it takes two round trips. The TCP connection
    # takes another one, and TLS one more. FTP has a greeting, user, password, directory, passive mode, and
    # the second connection.
    least = {"ftp": 9, "http1": 3, "http2": 4, "http3": 3} | {name: rounds(name) for name in TFTP if ip == 4}
    for name, record in found.items():
        assert record.bytes == FILE_BYTES, name
        assert record.goodput_bps == pytest.approx(FILE_BYTES * 8e9 / record.active_ns), name
        assert record.tool is not None
        assert record.tool.output.strip(), name
        # Some clients print whole milliseconds.
        assert completion_ms(record) >= least[name] * RTT_MS - 1, name
        assert record.active_ns / 1e6 <= completion_ms(record) + 1e-3, name
    for name in ("http1", "http2", "http3"):
        assert found[name].connect_us.mean / 1000 >= RTT_MS - 1, name


@pytest.mark.measures
@pytest.mark.slow
def test_tftp_takes_the_time_of_its_closed_form(
    resolve: Callable[..., Scenario], holds: Callable[[Attempt], None]
) -> None:
    scenario = build(resolve, [tftp(name) for name in TFTP], 4)

    def attempt(run: Run) -> None:
        for record in run(scenario).flows:
            expected = rounds(record.name) * RTT_MS + wire_ms(record.name)
            assert completion_ms(record) == pytest.approx(expected, rel=0.05), record.name

    holds(attempt)
