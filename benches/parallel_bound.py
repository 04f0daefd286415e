"""Measures how much faster a trial of the simulator could be on several CPUs.

    python benches/parallel_bound.py [processes] [windows] [barrier]

Runs unprivileged; without an argument, all three parts run. The fabrics are the two large ones of
`benches/simulator.py`.

- `processes`: one engine alone, and in turn one engine on each CPU at the same time, five times. They share
  nothing, so their speed together is the most that a parallel trial can reach on this machine. The ratio in
  CPU seconds shows what they take from each other (caches, memory, a core that two CPUs share), also on a
  machine with other work; the ratio in seconds holds on an idle machine alone.
- `windows`: a trial whose frames are captured at every interface, and a partition of its network into 2 and
  4 parts with few links between them. A frame needs at least its transmission time and the link's delay to
  reach another node. Within a window of that length, the parts can't affect each other (conservative
  synchronisation, Chandy and Misra 1979), but each waits for the slowest part of every window. The bound is
  the cost of all events divided by the sum of each window's largest cost. An event is a frame that arrives:
  at a switch, or at a host, where TCP handles it and may send. The latter takes longer, so there is a bound
  for each of several ratios of the two costs. Timers are not counted, because they are not captured. The last
  two lines of a fabric are for parts that do not divide the hosts: all hosts are one part, the switches the
  others.
- `barrier`: the time in which two threads wait for each other (needs cc)."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from benches.engine import Engine
from benches.simulator import LARGE, large
from nettrial.units import DURATION, RATE

REPEATS = 5
SECONDS = 0.1
"""The simulated duration of the transfers for `processes`."""
CAPTURED_SECONDS = 0.03
"""The same for `windows`, where events count after the first third; the captures take up to 600 MB."""
SMALLEST_BYTES = 84
"""The smallest frame with preamble and gap (IEEE 802.3)."""
HOST_COSTS = (1, 4, 10)
"""The cost of an event at a host in times that of one at a switch."""
BARRIER = Path(__file__).with_name("parallel_barrier.c")
BLOCK = np.dtype(
    [
        *(("type", "<u4"), ("length", "<u4"), ("interface", "<u4"), ("high", "<u4"), ("low", "<u4")),
        *(("kept", "<u4"), ("bytes", "<u4"), ("fixed", ">u2"), ("to", ">u4"), ("rest", "V8"), ("end", "V6")),
    ]
)
"""A packet block of pcapng of which 14 bytes are kept. The addresses contain the numbers of interfaces."""

Scenario = dict[str, Any]


def together(scenario: Scenario, cpus: list[int]) -> tuple[int, float, float]:
    """Runs the scenario on each of the CPUs at once.

    Returns a trial's frames, the mean CPU seconds of an engine, and the seconds of all."""
    engines = [Engine(cpu) for cpu in cpus]
    began = time.monotonic()
    for each in engines:
        each.ask(scenario)
    done = [each.finish() for each in engines]
    return done[0].frames, fmean(trial.cpu_seconds for trial in done), time.monotonic() - began


def processes() -> None:
    """Prints the speed of an engine on each CPU beside that of one."""
    cpus = sorted(os.sched_getaffinity(0))
    print(f"{len(cpus)} engines on a CPU each, in times the speed of one alone; least of {REPEATS} runs")
    for name, treatment in LARGE.items():
        scenario = large(treatment, SECONDS)
        rounds = [(together(scenario, cpus[:1]), together(scenario, cpus)) for _ in range(REPEATS)]
        frames = rounds[0][0][0]
        alone, both = ([min(run[at][place] for run in rounds) for place in (1, 2)] for at in (0, 1))
        by_cpu, by_clock = (len(cpus) * one / all_ for one, all_ in zip(alone, both, strict=True))
        print(
            f"  {name:36} {frames:,} frames; alone {alone[0]:.2f} CPU s ({alone[1]:.2f} s), together"
            f" {both[0]:.2f} CPU s ({both[1]:.2f} s): {by_cpu:.2f} by CPU time, {by_clock:.2f} by the clock",
            flush=True,
        )


@dataclass(frozen=True)
class Arrivals:
    """The frames that arrived at nodes."""

    nodes: NDArray[np.int64]
    """The number of the node of each."""
    at_ns: NDArray[np.int64]
    """The time of each arrival in nanoseconds."""


def captured(scenario: Scenario) -> Arrivals:
    """Runs a trial and returns its arrivals."""
    numbers = {node["name"]: number for number, node in enumerate(scenario["nodes"])}
    nodes, times = [], []
    with tempfile.TemporaryDirectory() as directory:
        one = Engine(min(os.sched_getaffinity(0)))
        one.ask(scenario, capture={"directory": directory, "name": "b", "snap_bytes": 14})
        one.finish()
        ends = [end for link in scenario["links"] for end in link["ends"]]
        for number, end in enumerate(ends):
            content = Path(directory, f"b-{end['node']}-{end['interface']}.pcapng").read_bytes()
            header = int.from_bytes(content[4:8], "little")
            header += int.from_bytes(content[header + 4 : header + 8], "little")
            blocks = np.frombuffer(content, BLOCK, offset=header)
            arrived = blocks[blocks["to"] == number]
            times.append((arrived["high"].astype(np.int64) << 32) + arrived["low"])
            nodes.append(np.full(len(arrived), numbers[end["node"]], np.int64))
    return Arrivals(np.concatenate(nodes), np.concatenate(times))


def partition(scenario: Scenario, parts: int) -> dict[str, int]:
    """Returns the part of each node: repeated bisection of the switches (Kernighan and Lin 1970), of several
    attempts the one with the fewest links between the halves; a host is in its switch's part."""
    hosts = {node["name"] for node in scenario["nodes"] if node["kind"] == "host"}
    pairs = [tuple(end["node"] for end in link["ends"]) for link in scenario["links"]]
    graph = nx.Graph([pair for pair in pairs if not hosts.intersection(pair)])
    groups = [set(graph)]
    while len(groups) < parts:
        largest = max(groups, key=len)
        groups.remove(largest)
        groups += bisected(graph.subgraph(largest))
    part_of = {node: part for part, group in enumerate(groups) for node in group}
    for pair in pairs:
        for host, switch in (pair, pair[::-1]):
            if host in hosts:
                part_of[host] = part_of[switch]
    return part_of


def bisected(graph: nx.Graph) -> tuple[set[str], set[str]]:
    """Returns two halves of a graph."""
    attempts = [nx.community.kernighan_lin_bisection(graph, max_iter=50, seed=seed) for seed in range(20)]
    one, other = min(attempts, key=lambda halves: nx.cut_size(graph, halves[0]))
    return one, other


def lookahead_ns(scenario: Scenario) -> float:
    """Returns the shortest time in which a frame crosses a link."""
    return min(
        DURATION.parse(link["delay"]) + 8e9 * SMALLEST_BYTES / RATE.parse(link["rate"])
        for link in scenario["links"]
    )


@dataclass(frozen=True)
class Counts:
    """The events of each window (rows) in each part (columns)."""

    switches: NDArray[np.int64]
    """The number of events at switches."""
    hosts: NDArray[np.int64]
    """The number of events at hosts."""

    def bound(self, host_cost: int) -> float:
        """Returns the speed of one CPU for each part in times that of one CPU."""
        costs = self.switches + host_cost * self.hosts
        return float(costs.sum() / costs.max(axis=1).sum())

    def a_window(self) -> float:
        """Returns the mean number of events in a window."""
        return float((self.switches.sum() + self.hosts.sum()) / len(self.switches))


def counted(
    arrivals: Arrivals, parts: NDArray[np.int64], is_host: NDArray[np.bool_], window_ns: float
) -> Counts:
    """Returns the events of the windows."""
    windows = ((arrivals.at_ns - arrivals.at_ns.min()) / window_ns).astype(np.int64)
    shape = (int(windows.max()) + 1, int(parts.max()) + 1)
    cells = windows * shape[1] + parts[arrivals.nodes]
    of_host = is_host[arrivals.nodes]
    both = [np.bincount(cells[chosen], minlength=shape[0] * shape[1]) for chosen in (~of_host, of_host)]
    return Counts(*(counts.reshape(shape) for counts in both))


def shared(arrivals: Arrivals) -> float:
    """Returns the share of arrivals in whose nanosecond another frame arrives at the same node."""
    _, counts = np.unique(np.stack([arrivals.nodes, arrivals.at_ns]), axis=1, return_counts=True)
    return float(counts[counts > 1].sum() / counts.sum())


def windows() -> None:
    """Prints the bounds by windows of events."""
    for name, treatment in LARGE.items():
        scenario = large(treatment, CAPTURED_SECONDS)
        window_ns = lookahead_ns(scenario)
        every = captured(scenario)
        counts = (every.at_ns >= CAPTURED_SECONDS / 3 * 1e9) & (every.at_ns < CAPTURED_SECONDS * 1e9)
        arrivals = Arrivals(every.nodes[counts], every.at_ns[counts])
        is_host = np.array([node["kind"] == "host" for node in scenario["nodes"]])
        of_hosts = is_host[arrivals.nodes].mean()
        print(
            f"{name}: windows of {window_ns / 1000:.1f} us; {of_hosts:.1%} of events at hosts,"
            f" {shared(arrivals):.1%} in the same nanosecond as another at the same node; bounds if an"
            f" event at a host costs {', '.join(map(str, HOST_COSTS))} times one at a switch"
        )
        for number in (2, 4):
            part_of = partition(scenario, number)
            cut = sum(len({part_of[end["node"]] for end in link["ends"]}) > 1 for link in scenario["links"])
            parts = np.array([part_of[node["name"]] for node in scenario["nodes"]])
            each = counted(arrivals, parts, is_host, window_ns)
            title = f"{number} parts, {cut} of {len(scenario['links'])} links between them"
            print(f"  {title:48} {row(each)}")
        for number in (1, 3):
            part_of = partition(scenario, number) if number > 1 else {}
            parts = np.array([part_of.get(node["name"], 0) + 1 for node in scenario["nodes"]])
            each = counted(arrivals, np.where(is_host, 0, parts), is_host, window_ns)
            print(f"  {f'hosts one part, switches {number}':48} {row(each)}", flush=True)


def row(counts: Counts) -> str:
    """Returns the bounds as a line."""
    bounds = ", ".join(f"{counts.bound(cost):.2f}" for cost in HOST_COSTS)
    return f"{counts.a_window():.0f} events a window, bounds {bounds}"


def barrier() -> None:
    """Prints the time of a barrier."""
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        print("A barrier needs two CPUs")
        return
    with tempfile.TemporaryDirectory() as directory:
        program = Path(directory, "barrier")
        subprocess.run(["cc", "-O2", "-pthread", BARRIER, "-o", program], check=True)
        command = [str(program), *(str(cpu) for cpu in cpus[:2])]
        least = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    print(f"Two threads wait for each other in {float(least):.0f} ns (least of 20 batches)")


def main() -> None:
    """Runs the selected parts."""
    parts = {"processes": processes, "windows": windows, "barrier": barrier}
    # A trial's captures are one file for each interface.
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    for name in sys.argv[1:] or parts:
        parts[name]()


if __name__ == "__main__":
    main()
