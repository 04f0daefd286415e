"""Measures the speed of the simulator beside those of ns-3 and htsim, and its growth with flows, hops and
simulated seconds.

    python benches/simulator.py [--ns3 DIRECTORY] [--htsim PROGRAM] [SECONDS]

DIRECTORY contains ns-3's installed Python wheel (`site-packages/ns3`, with its headers and libraries; `pip
install ns3`); g++ compiles `simulator_ns3.cc` against it. PROGRAM is the user's own: `simulator_htsim.cc`
with htsim (github.com/Broadcom/csg-htsim). Without them, only the simulator's own figures are printed.
SECONDS (default 2) is the simulated time of each dumbbell. Fat trees run for a fifth of it, and the large
fabrics, two treatments of the study jellyfish-vs-fat-tree, for a twentieth.

The simulator and ns-3 run CUBIC with selective acknowledgments, timestamps and segments of 1448 bytes, start
with ten segments, have drop-tail queues, and take one shortest path from each host to another: a dumbbell of
100 flows (1 Gbit/s, 10 ms, 1000 packets), and a fat tree of 8 ports whose hosts each send to the one half the
hosts on (1 Gbit/s, 10 us, 100 packets). A packet is a frame sent by an interface: a packet-hop. Seconds are
CPU seconds, so that other work on the machine hardly matters: of Simulator::Run alone for ns-3, of everything
from the scenario's text to the record's for the simulator.

Beside htsim, a fat tree of 8 ports, whose 128 hosts send one flow of Reno each, runs for a fifth of SECONDS,
and one of 12 ports, whose 432 hosts send by MPTCP with 8 subflows and LIA, for a hundredth (1 Gbit/s, 10 us,
100 packets). In both simulators acknowledgments cross links as data does, and are counted. htsim acknowledges
each segment and has neither SACK nor headers; its seconds are those of its event loop alone."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from benches.engine import simulated
from nettrial.design import scenario_of
from nettrial.stacks import STACKS
from nettrial.study import load

GOALS = {"ns-3": 20, "htsim": 5}
"""The multiple of the other simulator's packets per second that the simulator should reach."""
SOURCE = Path(__file__).with_name("simulator_ns3.cc")
MODULES = (
    "applications",
    "internet",
    "network",
    "nix-vector-routing",
    "point-to-point",
    "traffic-control",
    "core",
)
BUFFER = {"minimum": "4096 B", "initial": "512 KiB", "maximum": "512 KiB"}
"""The buffer of every socket: data written before a transfer's end is still sent after it, which takes
time."""


@dataclass(frozen=True)
class Run:
    """The simulated packets of a run, and its CPU seconds."""

    packets: int
    """The number of packets, counted at every link."""
    seconds: float
    """The CPU time in seconds."""

    @property
    def speed(self) -> float:
        """Returns the packets per second."""
        return self.packets / self.seconds


class Network:
    """A scenario under construction, with links of 1 Gbit/s."""

    def __init__(self, control: str = "cubic", addresses: int = 1) -> None:
        """Creates an empty network whose hosts have this congestion control and number of addresses."""
        stack = STACKS[f"linux-{control}"].stack.model_dump(mode="json", exclude_none=True)
        self.addresses = addresses
        self.stack = stack | {"receive_buffer": BUFFER, "send_buffer": BUFFER, "scheduler": "lowest_rtt"}
        self.nodes: dict[str, dict[str, Any]] = {}
        self.links: list[dict[str, Any]] = []
        self.flows: list[dict[str, Any]] = []

    def add(self, name: str, kind: str) -> str:
        """Adds a node and returns its name."""
        node: dict[str, Any] = {"name": name, "kind": kind}
        self.nodes.setdefault(name, node | ({"stack": self.stack} if kind == "host" else {}))
        return name

    def join(self, near: str, far: str, delay: str, queue: str) -> None:
        """Adds a link."""
        number = len(self.links)
        of_near = range(1, 1 + self.addresses) if self.nodes[near]["kind"] == "host" else [1]
        ends = [
            {
                "node": node,
                "interface": f"l{number}",
                "mtu": "1500 B",
                "addresses": [f"10.{number // 250}.{number % 250}.{last}/24" for last in own],
            }
            for own, node in ((of_near, near), ([254], far))
        ]
        self.links.append({"ends": ends, "rate": "1 Gbit/s", "delay": delay, "queue": queue})

    def flow(self, near: str, far: str, seconds: float) -> None:
        """Adds a transfer."""
        number = len(self.flows)
        traffic = {"kind": "transfer", "duration": f"{round(seconds * 1e9)} ns"}
        transport = "tcp" if self.addresses == 1 else "mptcp"
        entry = {"name": f"f{number}", "from": near, "to": far, "transport": transport, "ip": 4}
        self.flows.append(entry | {"start": f"{10 * number} us", "traffic": traffic})

    def scenario(self, policy: dict[str, Any]) -> dict[str, Any]:
        """Returns the scenario."""
        return {
            "format": 1,
            "nodes": list(self.nodes.values()),
            "links": self.links,
            "routing": policy,
            "workload": self.flows,
            "measurement": {"interval": "100 ms", "queue_drops": "allowed"},
        }


SHORTEST = {"policy": "shortest_path"}


def dumbbell(flows: int, seconds: float, hops: int = 1) -> dict[str, Any]:
    """Returns flows from hosts on the left to hosts on the right over `hops` shared links."""
    network = Network()
    routers = [network.add(f"r{number}", "router") for number in range(hops + 1)]
    for number in range(flows):
        network.join(network.add(f"a{number}", "host"), routers[0], "100 us", "1000 packets")
        network.join(network.add(f"b{number}", "host"), routers[-1], "100 us", "1000 packets")
    for near, far in pairwise(routers):
        network.join(near, far, f"{10_000 // hops} us", "1000 packets")
    for number in range(flows):
        network.flow(f"a{number}", f"b{number}", seconds)
    return network.scenario(SHORTEST)


def fat_tree(
    ports: int, seconds: float, policy: dict[str, Any], control: str = "cubic", subflows: int = 1
) -> dict[str, Any]:
    """Returns a fat tree (Al-Fares, Loukissas and Vahdat 2008) in which each host sends to the one half the
    hosts further on."""
    network, half = Network(control, subflows), ports // 2
    hosts = [network.add(f"h{number}", "host") for number in range(ports * half * half)]
    delay, queue = "10 us", "100 packets"
    for number, host in enumerate(hosts):
        network.join(host, network.add(f"e{number // half}", "router"), delay, queue)
    for edge in range(ports * half):
        for up in range(half):
            network.join(f"e{edge}", network.add(f"a{edge // half * half + up}", "router"), delay, queue)
    for number in range(ports * half):
        for up in range(half):
            network.join(f"a{number}", network.add(f"c{number % half * half + up}", "router"), delay, queue)
    for number, host in enumerate(hosts):
        network.flow(host, hosts[(number + len(hosts) // 2) % len(hosts)], seconds)
    return network.scenario(policy)


ECMP = {"policy": "ecmp", "seed": 1}
LARGE = {
    "Jellyfish, 245 switches, 780 flows": {"transport": "TCP 1 flow", "fabric": "Jellyfish ECMP"},
    "fat tree k=14, 5488 flows": {"transport": "TCP 8 flows", "fabric": "fat-tree ECMP"},
}
"""Treatments of the study whose fabrics have 245 switches of 14 ports, with links of 100 Mbit/s and Reno."""


def large(treatment: dict[str, str], seconds: float) -> dict[str, Any]:
    """Returns a scenario of that study with transfers of `seconds` seconds."""
    scenario = scenario_of(load("jellyfish-vs-fat-tree"), treatment)
    document: dict[str, Any] = scenario.model_dump(mode="json", by_alias=True, exclude_none=True)
    for flow in document["workload"]:
        flow["traffic"]["duration"] = f"{round(seconds * 1e9)} ns"
    return document


def simulate(scenario: dict[str, Any]) -> Run:
    """Runs a scenario in the simulator, and returns its packets and CPU seconds."""
    trial = simulated(scenario)
    return Run(trial.frames, trial.cpu_seconds)


class Ns3:
    """The compiled program for ns-3."""

    def __init__(self, directory: Path, into: Path) -> None:
        """Compiles the program in the directory `into`, with the ns-3 in `directory`."""
        self.program = into / "simulator_ns3"
        libraries = directory / "lib64"
        subprocess.run(
            [
                *("g++", "-O2", "-std=c++20", f"-I{directory / 'include'}", SOURCE, "-o", self.program),
                *(f"-L{libraries}", f"-Wl,-rpath,{libraries}", "-Wl,--no-as-needed"),
                *(f"-lns3.44-{module}" for module in MODULES),
            ],
            check=True,
        )

    def run(self, shape: str, size: int, seconds: float) -> Run:
        """Runs a network twice: once to count packets, once to measure the time."""

        def figures(counts: int) -> list[str]:
            command = [str(self.program), shape, str(size), str(seconds), str(counts)]
            return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()

        return Run(int(figures(1)[1]), float(figures(0)[0]))


class Htsim:
    """The user's program that runs htsim."""

    def __init__(self, program: Path) -> None:
        """Uses a program that is already compiled."""
        self.program = program

    def run(self, hosts: int, subflows: int, seconds: float) -> Run:
        """Runs a fat tree in which each host sends to another one."""
        command = [str(self.program), str(hosts), str(hosts), str(subflows), str(seconds)]
        cpu, packets = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
        return Run(int(packets), float(cpu))


def row(name: str, run: Run, other: Run | None = None) -> str:
    """Returns a line of the table."""
    beside = ""
    if other:
        speeds = f"{other.speed:12,.0f}  {run.speed / other.speed:6.1f}"
        beside = f"{other.packets:12,}  {other.seconds:9.2f}  {speeds}"
    return f"{name:<34}{run.packets:12,}  {run.seconds:9.2f}  {run.speed:12,.0f}  {beside}"


def heading(other: str) -> str:
    """Returns the first line of a table beside another simulator."""
    columns = f"{'simulator':>12}{'seconds':>11}{'packets/s':>14}  {other:>12}{'seconds':>11}"
    return f"{'':<34}{columns}{'packets/s':>14}{'ratio':>8}"


def beside_ns3(ns3: Ns3 | None, seconds: float) -> list[float]:
    """Runs both simulators on the same scenarios, and returns the ratios of their speeds."""
    print(heading("ns-3"))
    tree = seconds / 5
    pairs = (
        ("dumbbell, 100 flows", dumbbell(100, seconds), ("dumbbell", 100, seconds)),
        ("fat tree k=8, permutation", fat_tree(8, tree, SHORTEST), ("fat_tree", 8, tree)),
    )
    ratios = []
    for name, scenario, arguments in pairs:
        run = simulate(scenario)
        other = ns3.run(*arguments) if ns3 else None
        print(row(name, run, other), flush=True)
        if other:
            ratios.append(run.speed / other.speed)
    print(row("fat tree k=8, equal paths", simulate(fat_tree(8, tree, ECMP))), flush=True)
    for name, treatment in LARGE.items():
        print(row(name, simulate(large(treatment, seconds / 20))), flush=True)
    return ratios


def beside_htsim(htsim: Htsim, seconds: float) -> list[float]:
    """Runs both simulators on the same networks, and returns the ratios of their speeds."""
    print(f"\n{heading('htsim')}")
    ratios = []
    for name, ports, control, subflows, share in (
        ("fat tree k=8, 128 TCP flows", 8, "reno", 1, 5),
        ("fat tree k=12, 432 x 8 subflows", 12, "lia", 8, 100),
    ):
        run = simulate(fat_tree(ports, seconds / share, ECMP, control, subflows))
        other = htsim.run(ports**3 // 4, subflows, seconds / share)
        print(row(name, run, other), flush=True)
        ratios.append(run.speed / other.speed)
    return ratios


def growth(seconds: float) -> None:
    """Prints the growth of the time."""
    print("\nA dumbbell's time, by what there is more of")
    for flows in (10, 100, 400):
        print(row(f"  {flows} flows", simulate(dumbbell(flows, seconds))), flush=True)
    for hops in (1, 4, 16):
        print(row(f"  100 flows, {hops + 2} hops", simulate(dumbbell(100, seconds, hops))), flush=True)
    for times in (0.5, 1, 2, 4):
        run = simulate(dumbbell(100, times * seconds))
        print(row(f"  100 flows, {times * seconds:g} simulated seconds", run), flush=True)


def main() -> None:
    """Prints the tables, and exits with 1 if a goal is missed."""
    parser = argparse.ArgumentParser(description="Measures how fast the simulator is.")
    parser.add_argument(
        "--ns3", type=Path, metavar="DIRECTORY", help="where ns-3's Python wheel is installed"
    )
    parser.add_argument("--htsim", type=Path, metavar="PROGRAM", help="simulator_htsim.cc, compiled")
    parser.add_argument("seconds", type=float, nargs="?", default=2.0, help="of each dumbbell")
    given = parser.parse_args()
    ratios = {}
    with tempfile.TemporaryDirectory() as scratch:
        ns3 = Ns3(given.ns3, Path(scratch)) if given.ns3 else None
        ratios["ns-3"] = beside_ns3(ns3, given.seconds)
    if given.htsim:
        ratios["htsim"] = beside_htsim(Htsim(given.htsim), given.seconds)
    growth(given.seconds)
    missed = [other for other, of_other in ratios.items() if any(ratio < GOALS[other] for ratio in of_other)]
    if missed:
        sys.exit("\n".join(f"less than {GOALS[other]} times {other}'s packets a second" for other in missed))


if __name__ == "__main__":
    main()
