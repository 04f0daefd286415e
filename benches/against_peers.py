"""nettrial's traffic beside iperf3's and sockperf's, on the same path in one run.

    python benches/against_peers.py [PAIRS]

PAIRS (default 10) times each comparison runs one trial of nettrial and one of the peer, in turn, in the
lab between two hosts with a processor each. It prints medians and the ratio of the medians, nettrial over
peer; the last column says what the ratio should be. Ratios hold on a busy machine better than times do, but
do run it on one that does nothing else.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any

from nettrial.backends import Backend
from nettrial.design import scenario_of, traffic_seconds
from nettrial.scenario import Flow, Record, Scenario
from nettrial.study import load

SECONDS = "2 s"
"""How long each trial sends."""

Figure = Callable[[Record], float]


@dataclass(frozen=True)
class Comparison:
    """A figure of nettrial's traffic and the same of a peer's."""

    title: str
    unit: str
    ours: dict[str, Any]
    theirs: dict[str, Any]
    figure: Figure
    wanted: str
    offloads: bool = True
    loss: bool = False


def goodput(record: Record) -> float:
    """Gbit/s."""
    return (record.flows[0].goodput_bps or 0.0) / 1e9


def processor_time(record: Record) -> float:
    """Both hosts' processor time per kilobyte, microseconds."""
    busy = sum(host.cpu_busy_ns or 0 for host in record.hosts)
    return busy / 1e3 / (record.flows[0].bytes / 1e3)


def arrivals(record: Record) -> float:
    """Packets that arrived, thousands a second."""
    flow = record.flows[0]
    assert flow.packets is not None
    return flow.packets.received_pkts / (flow.active_ns / 1e9) / 1e3


def loss(record: Record) -> float:
    """Packets lost, percent."""
    packets = record.flows[0].packets
    assert packets is not None
    return 100 * packets.lost_pkts / max(packets.sent_pkts, 1)


def rtt(record: Record) -> float:
    """The median round-trip time, microseconds."""
    found = record.flows[0].rtt_us
    assert found is not None
    return found.p50


def _transfer() -> dict[str, Any]:
    return {"transport": "tcp", "traffic": {"kind": "transfer", "duration": SECONDS}}


def _tool(transport: str, **settings: Any) -> dict[str, Any]:
    return {"transport": transport, "traffic": {"kind": "tool", "duration": SECONDS, **settings}}


def _datagrams(size: int, gso: bool) -> dict[str, Any]:
    traffic = {
        "kind": "packets",
        "size": {"distribution": "constant", "value": f"{size} B"},
        "duration": SECONDS,
    }
    return {"transport": "udp", "socket": {"udp_gso": gso, "udp_gro": gso}, "traffic": traffic}


def _requests(transport: str) -> dict[str, Any]:
    traffic = {
        "kind": "request_response",
        "request": "64 B",
        "response": "64 B",
        "duration": SECONDS,
    }
    return {"transport": transport, "traffic": traffic}


def comparisons() -> list[Comparison]:
    """What is compared."""
    found = []
    for offloads in (True, False):
        state = "offloads " + ("on" if offloads else "off")
        for title, unit, figure, wanted in (
            ("TCP goodput", "Gbit/s", goodput, ">= 1"),
            ("TCP processor time", "us/kB", processor_time, "<= 1"),
        ):
            found.append(
                Comparison(
                    f"{title}, {state}, iperf3",
                    unit,
                    _transfer(),
                    _tool("tcp", tool="iperf3"),
                    figure,
                    wanted,
                    offloads,
                )
            )
    for size in (64, 1400):
        for gso in (False, True):
            calls = "UDP GSO" if gso else "no GSO"
            found.append(
                Comparison(
                    f"UDP {size} B, {calls}, iperf3",
                    "kpkt/s",
                    _datagrams(size, gso),
                    _tool("udp", tool="iperf3", size=f"{size} B"),
                    arrivals,
                    ">= 3",
                    loss=True,
                )
            )
    for transport in ("tcp", "udp"):
        found.append(
            Comparison(
                f"RTT median {transport.upper()}, sockperf",
                "us",
                _requests(transport),
                _tool(transport, tool="sockperf", size="64 B"),
                rtt,
                "<= 1",
            )
        )
    return found


def scenario(comparison: Comparison, flow: dict[str, Any]) -> Scenario:
    """Two hosts, a link without a rate, and one flow."""
    study = load("jumbo-ipv6").with_overrides(
        {
            "network.topology": "pair",
            "network.ip": "4",
            "mtu": "1500 B",
            "sender": "linux-cubic",
            "receiver": "linux-cubic",
        }
    )
    trial = scenario_of(study, {name: factor.levels[0] for name, factor in study.factors.items()})
    trial = trial.model_copy(deep=True)
    for link in trial.links:
        link.rate = link.queue = None
    for node in trial.nodes:
        assert node.offloads is not None
        node.offloads.tso = node.offloads.gso = node.offloads.gro = comparison.offloads
    ends = {"name": "flow", "from": "sender", "to": "receiver", "ip": 4}
    trial.workload = [Flow.model_validate({**ends, **flow})]
    return trial


def main() -> None:
    """Runs all comparisons and prints a row each."""
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    print(f"{'comparison':44} {'unit':>7} {'nettrial':>9} {'peer':>9} {'ratio':>6}  wanted  loss % (both)")
    with Backend("lab") as lab:
        for comparison in comparisons():
            values: tuple[list[float], list[float]] = ([], [])
            losses: tuple[list[float], list[float]] = ([], [])
            trials = [scenario(comparison, comparison.ours), scenario(comparison, comparison.theirs)]
            for _ in range(pairs):
                for kind, trial in enumerate(trials):
                    record = lab.run("bench", trial, traffic_seconds(trial) + 60)
                    values[kind].append(comparison.figure(record))
                    if comparison.loss:
                        losses[kind].append(loss(record))
            ours, theirs = (median(column) for column in values)
            lost = "".join(f"{median(column):8.2f}" for column in losses if column)
            print(
                f"{comparison.title:44} {comparison.unit:>7} {ours:9.3f} {theirs:9.3f} {ours / theirs:6.3f}"
                f"  {comparison.wanted:6} {lost}",
                flush=True,
            )


if __name__ == "__main__":
    main()
