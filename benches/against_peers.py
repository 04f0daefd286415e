"""nettrial's traffic beside iperf3's and sockperf's, on the same path in one run.

    python benches/against_peers.py [PAIRS] [TEXT]...

PAIRS (default 10) times each comparison runs one trial of nettrial and one of the peer, in turn, in the
lab between two hosts with a CPU each. With TEXTs only those comparisons run that have one of them in
the title of a row ("RTT", "offloads off, iperf3"). It prints medians and the ratio of the medians, nettrial
over peer; the last column says what the ratio should be. Ratios hold on a busy machine better than times
do, but do run it on one that does nothing else.
"""

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
"""The time for which each trial sends."""

Figure = Callable[[Record], float]


@dataclass(frozen=True)
class Row:
    """A figure that is compared, and what the ratio should be."""

    title: str
    unit: str
    figure: Figure
    wanted: str


@dataclass(frozen=True)
class Comparison:
    """nettrial's traffic and the same of a peer's, and what is compared of their records."""

    title: str
    rows: tuple[Row, ...]
    ours: dict[str, Any]
    theirs: dict[str, Any]
    offloads: bool = True
    loss: bool = False

    def title_of(self, row: Row) -> str:
        """A row's title in full."""
        return f"{row.title}, {self.title}"

    def titles(self) -> str:
        """The titles of all rows, a line each."""
        return "".join(f"\n{self.title_of(row)}" for row in self.rows)


def goodput(record: Record) -> float:
    """Gbit/s."""
    return (record.flows[0].goodput_bps or 0.0) / 1e9


def processor_time(record: Record) -> float:
    """Both hosts' CPU time per kilobyte, microseconds."""
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


def _transfer(polling: bool) -> dict[str, Any]:
    return {
        "transport": "tcp",
        "socket": _socket(polling),
        "traffic": {"kind": "transfer", "duration": SECONDS},
    }


def _socket(polling: bool) -> dict[str, Any]:
    """With `polling` a reader tries for so long before it sleeps: most of the time here goes into waking."""
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
    """Returns the comparisons."""
    found = []
    transfer = (
        Row("TCP goodput", "Gbit/s", goodput, ">= 1"),
        Row("TCP CPU time", "us/kB", processor_time, "<= 1"),
    )
    for offloads, polling in product((True, False), (False, True)):
        title = f"offloads {'on' if offloads else 'off'}{', polling' if polling else ''}, iperf3"
        theirs = _tool("tcp", tool="iperf3")
        found.append(Comparison(title, transfer, _transfer(polling), theirs, offloads))
    for size, gso in product((64, 1400), (False, True)):
        title = f"{size} B, {'UDP GSO' if gso else 'no GSO'}, iperf3"
        packets = (Row("UDP", "kpkt/s", arrivals, ">= 3"),)
        theirs = _tool("udp", tool="iperf3", size=f"{size} B")
        found.append(Comparison(title, packets, _datagrams(size, gso), theirs, loss=True))
    for transport, polling in product(("tcp", "udp"), (False, True)):
        title = f"{transport.upper()}{', both polling' if polling else ''}, sockperf"
        options = ["--nonblocked"] if polling else []
        theirs = _tool(transport, tool="sockperf", size="64 B", arguments=options, server_arguments=options)
        median_rtt = (Row("RTT median", "us", rtt, "<= 1"),)
        found.append(Comparison(title, median_rtt, _requests(transport, polling), theirs))
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
    """Runs the comparisons that are asked for and prints their rows."""
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
