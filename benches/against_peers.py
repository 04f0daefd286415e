"""Compares nettrial's traffic with that of iperf3 and sockperf, on the same path in one run.

    python benches/against_peers.py [PAIRS] [TEXT]...

Each comparison runs PAIRS trials (default 10) of nettrial and of the peer, in turn, in the lab between two
hosts with a CPU each. TEXTs select the comparisons with a row whose title contains one of them ("RTT",
"offloads off, iperf3"). Prints the medians and their ratio, nettrial over the peer; the last column is the
expected ratio. On a busy machine ratios are more reliable than times, but an idle machine is best."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from statistics import median
from typing import Any

from nettrial.backends import Backend
from nettrial.design import scenario_of, traffic_seconds
from nettrial.scenario import Flow, Record, Scenario
from nettrial.study import load

SECONDS = "2 s"
"""The duration of each trial's traffic."""

Reading = Callable[[Record], float]


@dataclass(frozen=True)
class Row:
    """A figure to compare, and the expected ratio."""

    title: str
    """The name of the figure."""
    unit: str
    """The unit of the figure."""
    figure: Reading
    """The function that reads the figure from a record."""
    wanted: str
    """The expected ratio of nettrial's figure to the peer's, as text."""


@dataclass(frozen=True)
class Comparison:
    """The same traffic of nettrial and of a peer, and the figures of their records to compare."""

    title: str
    """The name of the traffic."""
    rows: tuple[Row, ...]
    """The figures to compare."""
    ours: dict[str, Any]
    """nettrial's workload."""
    theirs: dict[str, Any]
    """The peer's workload."""
    offloads: bool = True
    """True with segmentation offloads."""
    loss: bool = False
    """True if the link loses packets."""

    def title_of(self, row: Row) -> str:
        """Returns the full title of a row."""
        return f"{row.title}, {self.title}"

    def titles(self) -> str:
        """Returns the titles of all rows, one per line."""
        return "".join(f"\n{self.title_of(row)}" for row in self.rows)


def goodput(record: Record) -> float:
    """Returns the goodput in Gbit/s."""
    return (record.flows[0].goodput_bps or 0.0) / 1e9


def processor_time(record: Record) -> float:
    """Returns the CPU time of both hosts per kilobyte, in microseconds."""
    busy = sum(host.cpu_busy_ns or 0 for host in record.hosts)
    return busy / 1e3 / (record.flows[0].bytes / 1e3)


def arrivals(record: Record) -> float:
    """Returns the packets that arrived, in thousands per second."""
    flow = record.flows[0]
    assert flow.packets is not None
    return flow.packets.received_pkts / (flow.active_ns / 1e9) / 1e3


def loss(record: Record) -> float:
    """Returns the packets lost in percent."""
    packets = record.flows[0].packets
    assert packets is not None
    return 100 * packets.lost_pkts / max(packets.sent_pkts, 1)


def rtt(record: Record) -> float:
    """Returns the median round-trip time in microseconds."""
    times = record.flows[0].rtt_us
    assert times is not None
    return times.p50


def _transfer(polling: bool) -> dict[str, Any]:
    return {
        "transport": "tcp",
        "socket": _socket(polling),
        "traffic": {"kind": "transfer", "duration": SECONDS},
    }


def _socket(polling: bool) -> dict[str, Any]:
    """Returns the settings of sockets. With `polling`, a reader polls before it sleeps, because waking up
    takes most of the time here."""
    return {"busy_poll": "1 ms"} if polling else {}


def _tool(transport: str, **settings: Any) -> dict[str, Any]:
    return {"transport": transport, "traffic": {"kind": "tool", "duration": SECONDS, **settings}}


def _datagrams(size: int, gso: bool) -> dict[str, Any]:
    traffic = {
        "kind": "packets",
        "size": {"distribution": "constant", "value": f"{size} B"},
        "duration": SECONDS,
    }
    return {"transport": "udp", "socket": {"udp_gso": gso, "udp_gro": gso}, "traffic": traffic}


def _requests(transport: str, polling: bool) -> dict[str, Any]:
    traffic = {
        "kind": "request_response",
        "request": "64 B",
        "response": "64 B",
        "duration": SECONDS,
    }
    return {"transport": transport, "socket": _socket(polling), "traffic": traffic}


def comparisons() -> list[Comparison]:
    """Returns all comparisons."""
    listed = []
    transfer = (
        Row("TCP goodput", "Gbit/s", goodput, ">= 1"),
        Row("TCP CPU time", "us/kB", processor_time, "<= 1"),
    )
    for offloads, polling in product((True, False), (False, True)):
        title = f"offloads {'on' if offloads else 'off'}{', polling' if polling else ''}, iperf3"
        theirs = _tool("tcp", tool="iperf3")
        listed.append(Comparison(title, transfer, _transfer(polling), theirs, offloads))
    for size, gso in product((64, 1400), (False, True)):
        title = f"{size} B, {'UDP GSO' if gso else 'no GSO'}, iperf3"
        packets = (Row("UDP", "kpkt/s", arrivals, ">= 3"),)
        theirs = _tool("udp", tool="iperf3", size=f"{size} B")
        listed.append(Comparison(title, packets, _datagrams(size, gso), theirs, loss=True))
    for transport, polling in product(("tcp", "udp"), (False, True)):
        title = f"{transport.upper()}{', both polling' if polling else ''}, sockperf"
        options = ["--nonblocked"] if polling else []
        theirs = _tool(transport, tool="sockperf", size="64 B", arguments=options, server_arguments=options)
        median_rtt = (Row("RTT median", "us", rtt, "<= 1"),)
        listed.append(Comparison(title, median_rtt, _requests(transport, polling), theirs))
    return listed


def scenario(comparison: Comparison, flow: dict[str, Any]) -> Scenario:
    """Returns a scenario of two hosts, a link without a rate, and one flow."""
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
    """Runs the selected comparisons and prints their rows."""
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    texts = sys.argv[2:]
    chosen = [one for one in comparisons() if not texts or any(text in one.titles() for text in texts)]
    if not chosen:
        sys.exit("no row has such a title; there are: " + "".join(one.titles() for one in comparisons()))
    print(f"{'comparison':46} {'unit':>7} {'nettrial':>9} {'peer':>9} {'ratio':>6}  wanted  loss % (both)")
    with Backend("lab") as lab:
        for comparison in chosen:
            records: tuple[list[Record], list[Record]] = ([], [])
            trials = [scenario(comparison, comparison.ours), scenario(comparison, comparison.theirs)]
            for _ in range(pairs):
                for kind, trial in enumerate(trials):
                    records[kind].append(lab.run("bench", trial, traffic_seconds(trial) + 60))
            lost = "".join(f"{median(map(loss, side)):8.2f}" for side in records if comparison.loss)
            for row in comparison.rows:
                ours, theirs = (median(map(row.figure, side)) for side in records)
                print(
                    f"{comparison.title_of(row):46} {row.unit:>7} {ours:9.3f} {theirs:9.3f}"
                    f" {ours / theirs:6.3f}  {row.wanted:6} {lost}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
