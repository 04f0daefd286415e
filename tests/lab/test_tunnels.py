"""Links with tunnels, and translation: packets have a tunnel's header between the routers, or another header
behind NAT64, in the simulator and in virtual time alike, and hosts learn of the smaller MTU."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from nettrial.backends import Backend
from nettrial.backends.find import engine
from nettrial.design import scenario_of
from nettrial.scenario import CheckRequest, Record, Request, Scenario
from nettrial.study import load
from tests.lab.sandbox import Sandbox, wait_for
from tests.lab.test_kill import killed_engines
from tests.lab.test_openflow import answer_of
from tests.lab.test_rate_traces import kernel, simulator
from tests.lab_study import lab_study
from tests.measuring import Run

__all__ = ["kernel", "simulator"]


@dataclass(frozen=True)
class Way:
    """A way of packets through the network: links of a host, between the routers, and of the other host."""

    ip: int
    """The IP version of the network's settings."""
    links: dict[str, dict[str, str]] = field(default_factory=dict)
    """The tunnels of links."""
    more: tuple[int, int, int] = (0, 0, 0)
    """The bytes that each link adds to a packet."""
    largest: int = 1500
    """The largest packet of the sender."""


WAYS = {
    "native": Way(4),
    "6in4": Way(6, {"fabric": {"tunnel": "6in4"}}, (0, 20, 0), 1480),
    "4in6": Way(4, {"fabric": {"tunnel": "4in6"}}, (0, 40, 0), 1460),
    "NAT64": Way(6, {"sender-left": {"tunnel": "nat64"}}, (-20, 0, 0), 1480),
    "464XLAT": Way(6, {"host": {"tunnel": "nat64"}}, (-20, 0, -20), 1480),
}
MESSAGE_BYTES = 500
RATE_BPS, DELAY_US = 10_000_000, 5000
LATE_US = 5
"""The most by which a round trip in virtual time is longer, because reading its clock takes 0.26 us. A header
of 20 bytes takes 32 us."""


def scenario(folder: Path, way: Way, **changes: Any) -> Scenario:
    """Returns the scenario of a transfer and of requests through two routers."""
    network: dict[str, Any] = {
        "topology": "dumbbell",
        "ip": way.ip,
        "mtu": "1500 B",
        "rate": "10 Mbit/s",
        "queue": "100 packets",
        "offloads": {"tso": False, "gso": False, "gro": False},
        "links": {**way.links, "fabric": {"delay": "5 ms", **way.links.get("fabric", {})}},
        **changes,
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


def round_trip_us(way: Way) -> float:
    packet = MESSAGE_BYTES + 8 + (20 if way.ip == 4 else 40)
    return 2 * (sum(wire_us(packet + more) for more in way.more) + DELAY_US)


def largest(record: Record, node: str, interface: str) -> int:
    """Returns the size of the largest packet that an interface sent."""
    [found] = [end for end in record.ends if (end.node, end.interface) == (node, interface)]
    assert found.packet_sizes
    return max(size.size_bytes for size in found.packet_sizes)


def check(record: Record, way: Way, error_us: float) -> None:
    assert [check for check in record.checks if not check.passed] == []
    assert record.warnings == []
    asks, sends = record.flows
    assert asks.rtt_us is not None
    assert asks.rtt_us.p50 == pytest.approx(round_trip_us(way), abs=error_us)
    assert sends.bytes == 500_000
    assert largest(record, "sender", "eth0") == way.largest
    assert largest(record, "left", "eth1") == 1500


@pytest.mark.parametrize("name", WAYS)
def test_packets_have_the_header_of_a_tunnel_in_the_simulator(
    name: str, simulator: Backend, tmp_path: Path
) -> None:
    check(simulator.run("trial", scenario(tmp_path, WAYS[name]), 60), WAYS[name], 0.001)


@pytest.mark.virtual
@pytest.mark.parametrize("name", WAYS)
def test_packets_have_the_header_of_a_tunnel_in_virtual_time(
    name: str, kernel: Backend, tmp_path: Path
) -> None:
    record = kernel.run("trial", scenario(tmp_path, WAYS[name]), 60)
    check(record, WAYS[name], LATE_US)
    translators = [check.object for check in record.checks if check.name == "translation"]
    assert translators == {"NAT64": ["left, sender"], "464XLAT": ["left, sender", "right, receiver"]}.get(
        name, []
    )


def test_real_routers_translate(run: Run, tmp_path: Path) -> None:
    """Both routers translate, so that both hosts have IPv4 sockets, as with 464XLAT."""
    record = run(scenario(tmp_path, WAYS["464XLAT"]))
    named = {(check.name, check.object): check for check in record.checks}
    assert all(check.passed for (name, _), check in named.items() if name in ("path_mtu", "mss"))
    assert [flow.ip.root for flow in record.flows] == [4, 4]
    assert record.flows[1].bytes == 500_000
    for ends in ("left, sender", "right, receiver"):
        assert named["translation", ends].found.startswith("TAYGA 0.")
    assert largest(record, "sender", "eth0") == 1480


def test_a_translator_that_is_not_there_is_a_problem_of_the_machine(tmp_path: Path) -> None:
    if any(Path(folder, "tayga").exists() for folder in ("/usr/local/sbin", "/usr/sbin", "/sbin")):
        pytest.skip("TAYGA is where it is always found")
    request = Request(CheckRequest(scenario=scenario(tmp_path, WAYS["NAT64"])))
    line = request.model_dump_json(by_alias=True, exclude_none=True)
    [problem] = answer_of(["env", "PATH=/usr/bin:/bin", str(engine()), "lab"], line).problems
    assert (problem.setting, problem.expected) == ("tunnel", "none, because there is no tayga")
    assert problem.hint == "install TAYGA: apt-get install tayga"
    assert problem.of_machine


def test_a_killed_engine_takes_translators_with_it(
    tmp_path: Path, sandbox: Sandbox, as_user: list[str]
) -> None:
    made = scenario(tmp_path, WAYS["464XLAT"])
    trial = json.loads(made.model_dump_json(by_alias=True, exclude_none=True))
    trial["workload"][1]["traffic"] = {"kind": "transfer", "duration": "30 s"}
    for _ in killed_engines(sandbox, as_user, trial, 1):
        assert wait_for(lambda: sum("tayga" in line for line in sandbox.processes().values()) == 2)
