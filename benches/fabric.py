"""Measures the times to build and remove a fabric: beside Mininet, with 1000 switches, and by number of
links.

    python benches/fabric.py [beside] [large] [slope]

Needs root. Without an argument, all three parts run. A fabric is a random regular graph of routers, each with
four links to other routers and one to a host of its own. Every link has a rate and a queue, and there are
three links per switch. Every host pings the next one.

- `beside`: 90 switches, 90 hosts, 270 links, and Mininet with the same graph. Mininet creates Linux
  bridges without a controller (with spanning tree, because the graph has loops) and host addresses, but
  no routes. It runs once with links that have a rate, and once without.
- `large`: 1000 switches and 1000 hosts.
- `slope`: the time for 100 to 3000 links, the time per link, and the exponent of the growth (1 is linear).

`build` is the time that the engine reports for the network. `gone` is the time from the end of the traffic
until the kernel has removed the last network namespace, including the collection of results. The kernel
removes namespaces after the engine has released them, and counts each until the end of its removal
(net/core/net_namespace.c, cleanup_net). The engine therefore runs in a user namespace of the benchmark, which
lowers the limit on network namespaces and tries to create one more."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from math import log
from pathlib import Path
from statistics import linear_regression, median
from typing import Any

import networkx as nx

from nettrial.backends.find import engine
from nettrial.design import scenario_of
from nettrial.study import load

REPEATS = 5
DEGREE = 4
SEED = 1
SIZES = (33, 67, 133, 267, 533, 1000)
"""The numbers of switches for 100 to 3000 links."""
RATE, QUEUE, MTU = "1 Gbit/s", "100 packets", "1500 B"
OWN_NAMESPACES = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child", "--mount-proc"]
MININET = Path(__file__).with_name("fabric_mininet.py")
LIMIT = Path("/proc/sys/user/max_net_namespaces")
CLONE_NEWNET = 0x40000000
LIBC = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class Times:
    """The times of a trial in seconds."""

    build: float
    """The construction of the network."""
    checks: float
    """The duration of the checks before the traffic."""
    gone: float
    """From the end of the traffic until the network is gone."""
    whole: float
    """From the request to its record."""


def links(switches: int) -> list[tuple[str, str]]:
    """Returns the two nodes of every link."""
    graph = nx.random_regular_graph(DEGREE, switches, SEED)
    fabric = [(f"switch-{a + 1}", f"switch-{b + 1}") for a, b in graph.edges()]
    return fabric + [(f"host-{number}", f"switch-{number}") for number in range(1, switches + 1)]


def scenario(switches: int) -> dict[str, Any]:
    """Returns the fabric as the engine's scenario, with every host pinging the next one."""
    used: dict[str, int] = {}

    def end(node: str, address: int) -> dict[str, Any]:
        number = used[node] = used.get(node, -1) + 1
        octets = ".".join(str(address >> shift & 255) for shift in (24, 16, 8, 0))
        return {"node": node, "interface": f"eth{number}", "mtu": MTU, "addresses": [f"{octets}/31"]}

    def link(number: int, nodes: tuple[str, str]) -> dict[str, Any]:
        first = (10 << 24) + 2 * number
        ends = [end(node, first + place) for place, node in enumerate(nodes)]
        return {"ends": ends, "rate": RATE, "queue": QUEUE}

    def flow(source: int, target: int) -> dict[str, Any]:
        traffic = {"kind": "tool", "tool": "ping", "duration": "1 s"}
        ends = {"from": f"host-{source}", "to": f"host-{target}"}
        return {"name": f"ping-{source}", **ends, "transport": "icmp", "ip": 4, "traffic": traffic}

    # The stack, routing and measurement are those of a study of two hosts.
    study = load("jumbo-ipv6")
    small = scenario_of(study, {name: factor.levels[0] for name, factor in study.factors.items()})
    document: dict[str, Any] = json.loads(small.model_dump_json(by_alias=True, exclude_none=True))
    host = next(node for node in document["nodes"] if node["kind"] == "host")
    numbers = range(1, switches + 1)
    document["nodes"] = [{**host, "name": f"host-{number}"} for number in numbers]
    document["nodes"] += [{"name": f"switch-{number}", "kind": "router"} for number in numbers]
    document["links"] = [link(number, nodes) for number, nodes in enumerate(links(switches))]
    document["workload"] = [flow(number, number % switches + 1) for number in numbers]
    document["measurement"]["cpu"] = []
    return document


class Lab:
    """An engine in the user namespace of this process."""

    def __init__(self) -> None:
        """Starts the engine, and waits until it is ready."""
        self._limit = LIMIT.read_text()
        command = [str(engine()), "lab"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._ask({"request": "preflight"})

    def _ask(self, request: dict[str, Any]) -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return self._process.stdout.readline()

    def run(self, document: dict[str, Any]) -> Times:
        """Runs a trial and returns its times. Fails if a ping was not answered."""
        LIMIT.write_text(self._limit)
        begin = time.perf_counter()
        said = self._ask({"request": "run", "trial": "bench", "scenario": document})
        end = time.perf_counter()
        # The limit allows the engine's own namespace and the one that is tried.
        LIMIT.write_text("2")
        _await_a_namespace()
        after = time.perf_counter() - end
        answer = json.loads(said)
        if answer["event"] != "record":
            sys.exit(f"no record: {answer}")
        record = answer["record"]
        for flow in record["flows"]:
            if flow["packets"]["received_pkts"] != flow["packets"]["sent_pkts"]:
                sys.exit(f"{flow['name']} was not answered")
        seconds = {name: nanoseconds / 1e9 for name, nanoseconds in record["phases"].items()}
        build, checks, tear_down = (seconds[f"{name}_ns"] for name in ("network", "checks", "tear_down"))
        return Times(build, checks, tear_down + after, end - begin)

    def close(self) -> None:
        """Ends the engine."""
        self._process.communicate()


def _await_a_namespace() -> None:
    """Waits until one more network namespace is allowed. A process creates it, and then ends in it."""
    child = os.fork()
    if child == 0:
        while LIBC.unshare(CLONE_NEWNET) != 0:
            time.sleep(0.001)
        os._exit(0)
    os.waitpid(child, 0)


def mininet(switches: int, rate: bool) -> tuple[float, float] | str:
    """Returns the seconds until Mininet's network is up, and until it is down; or the reason why there are
    none."""
    # Mininet has its own namespaces, because its bridges are in the namespace in which it was started.
    script = 'mount -t sysfs sysfs /sys && exec /usr/bin/python3 "$0"'
    command = ["unshare", "--net", "--mount", "sh", "-c", script, str(MININET)]
    request = json.dumps({"links": links(switches), "rate": rate})
    done = subprocess.run(command, input=request, capture_output=True, text=True, check=False)
    with contextlib.suppress(ValueError, IndexError):
        up, down = json.loads(done.stdout.splitlines()[-1])
        return up, down
    return " ".join(done.stderr.strip().splitlines()[-3:])


def beside() -> None:
    """Measures nettrial with 90 switches."""
    lab = Lab()
    times = [lab.run(scenario(90)) for _ in range(REPEATS)]
    lab.close()
    print(f"{'90 switches, 90 hosts, 270 links':44} {'build s':>8} {'gone s':>8}  wanted")
    print(f"{'nettrial':44} {middle(times, 'build'):8.3f} {middle(times, 'gone'):8.3f}  <= 0.6, <= 0.3")


def peers() -> None:
    """Measures Mininet with 90 switches."""
    for title, rate in (("Mininet", True), ("Mininet, links without a rate", False)):
        seconds = mininet(90, rate)
        figures = seconds if isinstance(seconds, str) else f"{seconds[0]:8.3f} {seconds[1]:8.3f}"
        print(f"{title:44} {figures}", flush=True)


def large() -> None:
    """Measures 1000 switches, where every host pings the next one."""
    switches = 1000
    lab = Lab()
    times = lab.run(scenario(switches))
    lab.close()
    print(
        f"1000 switches, 1000 hosts, {3 * switches} links: built in {times.build:.2f} s, {switches} pings"
        f" checked and answered by {times.whole:.2f} s (wanted: <= 15), gone in {times.gone:.2f} s"
    )


def slope() -> None:
    """Measures the time by the number of links."""
    print(f"{'links':>6} {'build s':>8} {'us/link':>8} {'gone s':>8} {'us/link':>8}")
    points: list[tuple[int, float, float]] = []
    lab = Lab()
    for switches in SIZES:
        times = [lab.run(scenario(switches)) for _ in range(3)]
        count, build, gone = 3 * switches, middle(times, "build"), middle(times, "gone")
        points.append((count, build, gone))
        per_link = [seconds / count * 1e6 for seconds in (build, gone)]
        print(f"{count:6} {build:8.3f} {per_link[0]:8.0f} {gone:8.3f} {per_link[1]:8.0f}", flush=True)
    lab.close()
    counts, *columns = zip(*points, strict=True)
    for title, column in zip(("build", "gone"), columns, strict=True):
        line = linear_regression(counts, column)
        growth = linear_regression([log(count) for count in counts], [log(seconds) for seconds in column])
        slope, power = line.slope * 1e6, growth.slope
        print(f"{title}: {slope:.0f} us a link, growing with links to the power of {power:.2f}")


def middle(times: list[Times], name: str) -> float:
    """Returns the median of a column."""
    return float(median(getattr(entry, name) for entry in times))


def main() -> None:
    """Runs the selected parts."""
    parts = {"beside": beside, "large": large, "slope": slope}
    if sys.argv[1:2] == ["--inside"]:
        parts[sys.argv[2]]()
        return
    for name in sys.argv[1:] or parts:
        subprocess.run([*OWN_NAMESPACES, sys.executable, __file__, "--inside", name], check=True)
        if name == "beside":
            peers()


if __name__ == "__main__":
    main()
