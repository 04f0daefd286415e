"""Links with tunnels: packets have the tunnel's header between the routers, in the simulator and in virtual
time alike, and hosts learn of the smaller MTU."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nettrial.backends import Backend
from nettrial.design import scenario_of
from nettrial.scenario import Record, Scenario
from nettrial.study import load
from tests.lab.test_rate_traces import kernel, simulator
from tests.lab_study import lab_study

__all__ = ["kernel", "simulator"]

WAYS = {"native": (4, None, 0), "6in4": (6, "6in4", 20), "4in6": (4, "4in6", 40)}
"""The IP version of hosts, the tunnel, and the bytes of its header."""
MESSAGE_BYTES = 500
RATE_BPS, DELAY_US = 10_000_000, 5000
LATE_US = 5
"""The most by which a round trip in virtual time is longer, because reading its clock takes 0.26 us. A header
of 20 bytes takes 32 us."""


def scenario(folder: Path, ip: int, tunnel: str | None) -> Scenario:
    """Returns the scenario of a transfer and of requests between two routers with a tunnel."""
    network: dict[str, Any] = {
        "topology": "dumbbell",
        "ip": ip,
        "mtu": "1500 B",
        "rate": "10 Mbit/s",
        "queue": "100 packets",
        "offloads": {"tso": False, "gso": False, "gro": False},
        "links": {"fabric": {"delay": "5 ms", **({"tunnel": tunnel} if tunnel else {})}},
    }
    ends = {"from": "sender", "to": "receiver"}
    requests = {"kind": "request_response", "request": "500 B", "response": "500 B", "count": 10}
    document = lab_study(
        network=network,
        hosts={name: {"stack": "linux-cubic"} for name in ("sender", "receiver")},
        workload=[
            {"flow": "asks", **ends, "transport": "udp", "traffic": requests},
            {
                "flow": "sends",
                **ends,
                "transport": "tcp",
                "start": "500 ms",
                "traffic": {"kind": "transfer", "size": "500 kB"},
            },
        ],
        measurement={"interval": "100 ms", "packet_sizes": True, "queue_drops": "allowed"},
        factors={"mtu": {"title": "MTU", "sets": "network.mtu", "levels": ["1500 B"]}},
        layout={"rows": "mtu"},
    )
    (folder / "study.yaml").write_text(json.dumps(document))
    return scenario_of(load(str(folder)), {})


def wire_us(packet_bytes: int) -> float:
    """Returns the time of a packet at the links' rate, in microseconds."""
    return (packet_bytes + 38) * 8e6 / RATE_BPS


def round_trip_us(ip: int, header_bytes: int) -> float:
    packet = MESSAGE_BYTES + 8 + (20 if ip == 4 else 40)
    return 2 * (2 * wire_us(packet) + wire_us(packet + header_bytes) + DELAY_US)


def largest(record: Record, node: str, interface: str) -> int:
    """Returns the size of the largest packet that an interface sent."""
    [found] = [end for end in record.ends if (end.node, end.interface) == (node, interface)]
    assert found.packet_sizes
    return max(size.size_bytes for size in found.packet_sizes)


def check(record: Record, ip: int, header_bytes: int, error_us: float) -> None:
    assert [check for check in record.checks if not check.passed] == []
    assert record.warnings == []
    asks, sends = record.flows
    assert asks.rtt_us is not None
    assert asks.rtt_us.p50 == pytest.approx(round_trip_us(ip, header_bytes), abs=error_us)
    assert sends.bytes == 500_000
    assert largest(record, "sender", "eth0") == 1500 - header_bytes
    assert largest(record, "left", "eth1") == 1500


@pytest.mark.parametrize("way", WAYS)
def test_packets_have_the_header_of_a_tunnel_in_the_simulator(
    way: str, simulator: Backend, tmp_path: Path
) -> None:
    ip, tunnel, header_bytes = WAYS[way]
    check(simulator.run("trial", scenario(tmp_path, ip, tunnel), 60), ip, header_bytes, 0.001)


@pytest.mark.virtual
@pytest.mark.parametrize("way", WAYS)
def test_packets_have_the_header_of_a_tunnel_in_virtual_time(
    way: str, kernel: Backend, tmp_path: Path
) -> None:
    ip, tunnel, header_bytes = WAYS[way]
    check(kernel.run("trial", scenario(tmp_path, ip, tunnel), 60), ip, header_bytes, LATE_US)
