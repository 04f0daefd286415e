"""The parts of a message's round trip by the kernel's times, and messages that wait for acknowledgments."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nettrial.backends import Backend
from nettrial.design import scenario_of
from nettrial.scenario import Distribution, MechanismsRecord, Record, Scenario
from nettrial.study import load
from tests.lab.test_rate_traces import kernel, simulator
from tests.lab_study import lab_study

__all__ = ["kernel", "simulator"]

COUNT = 200
PARTS = ("sending_us", "queue_us", "wire_us", "reading_us", "answering_us")


def scenario(folder: Path, transport: str, traffic: dict[str, Any], socket: dict[str, Any]) -> Scenario:
    """Returns the scenario of a flow over one link of 10 Mbit/s and 5 ms."""
    offloads = {"tso": False, "gso": False, "gro": False}
    link = {"rate": "10 Mbit/s", "delay": "5 ms", "queue": "100 packets"}
    flow = {"flow": "messages", "from": "client", "to": "server", "transport": transport}
    document = lab_study(
        network={"topology": "pair", "ip": 4, "mtu": "1500 B", "offloads": offloads, **link},
        hosts={name: {"stack": "linux-cubic"} for name in ("client", "server")},
        workload=[{**flow, "traffic": traffic, "socket": socket}],
        factors={"mtu": {"title": "MTU", "sets": "network.mtu", "levels": ["1500 B"]}},
        layout={"rows": "mtu"},
    )
    (folder / "study.yaml").write_text(json.dumps(document))
    return scenario_of(load(str(folder)), {})


def divided(folder: Path) -> Scenario:
    requests = {"kind": "request_response", "request": "1000 B", "response": "72 B", "count": COUNT}
    return scenario(folder, "udp", {**requests, "mechanisms": True}, {})


def part(parts: MechanismsRecord, name: str) -> Distribution:
    """Returns a part that the record has."""
    found: Distribution | None = getattr(parts, name)
    assert found is not None
    return found


def parts_of(record: Record) -> tuple[MechanismsRecord, float]:
    """Returns the parts of a flow's round trips, and the mean of these."""
    [flow] = record.flows
    assert flow.mechanisms is not None
    assert flow.rtt_us is not None
    return flow.mechanisms, flow.rtt_us.mean


def test_the_kernel_states_the_parts_of_round_trips(
    tmp_path: Path, run: Callable[[Scenario], Record]
) -> None:
    parts, _ = parts_of(run(divided(tmp_path)))
    # Those of the last response would come with another one.
    assert {part(parts, name).count for name in PARTS} == {COUNT - 1}
    assert min(part(parts, name).minimum for name in PARTS) >= 0
    assert parts.wire_us.minimum >= 10_000
    assert part(parts, "sending_us").minimum > 0


@pytest.mark.virtual
def test_in_virtual_time_the_parts_are_those_of_the_link_as_in_the_simulator(
    kernel: Backend, simulator: Backend, tmp_path: Path
) -> None:
    parts, rtt_us = parts_of(kernel.run("trial", divided(tmp_path), 60))
    assert sum(part(parts, name).mean for name in PARTS) == pytest.approx(rtt_us, abs=2)
    frames = (1000 + 28 + 38) + (72 + 28 + 38)
    assert parts.wire_us.mean == pytest.approx(frames * 0.8 + 10_000, abs=1)
    assert part(parts, "queue_us").mean == 0
    assert max(part(parts, f"{name}_us").maximum for name in ("sending", "reading", "answering")) < 5
    simulated, rtt_us = parts_of(simulator.run("trial", divided(tmp_path), 60))
    assert simulated.wire_us.mean == pytest.approx(parts.wire_us.mean, abs=1)
    assert part(simulated, "queue_us").mean == 0
    assert simulated.wire_us.mean == pytest.approx(rtt_us)
    assert [simulated.sending_us, simulated.reading_us, simulated.answering_us] == [None] * 3


@pytest.mark.virtual
def test_small_messages_wait_for_acknowledgments_with_nagle_alone(kernel: Backend, tmp_path: Path) -> None:
    packets = {"kind": "packets", "size": "100 B", "gap": "1 ms", "duration": "500 ms"}
    delays = []
    for nagle, quick_ack in ((False, False), (True, False), (True, True)):
        socket = {"nagle": nagle, "quick_ack": quick_ack}
        record = kernel.run("trial", scenario(tmp_path, "tcp", packets, socket), 60)
        assert record.flows[0].owd_us is not None
        delays.append(record.flows[0].owd_us.mean)
    at_once, delayed, quick = delays
    # A packet takes 5 ms; one that waits for the acknowledgment of a packet before it, on average 5 ms more.
    assert at_once < 5_500
    assert 9_000 < quick < 12_000
    assert delayed > quick
