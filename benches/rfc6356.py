"""Tests the congestion controls of MPTCP against the goals of RFC 6356 section 2, in the lab.

    python benches/rfc6356.py [REPEATS] [SECONDS]

Runs REPEATS trials (default 10) of SECONDS (default 20) for each of the three goals, on networks of a few
nodes with bottlenecks at routers. Within a trial, every congestion control has its own network beside the
others, so disturbances affect all of them. Figures are means over trials (geometric means of ratios) with 95%
intervals (Student's t). Exits with 1 if a mean misses a goal.

1. Improve throughput: two disjoint paths with nothing else on them.
2. Do no harm: two subflows and one TCP flow over one link, which loses frames at random, the same part of
   each flow's, as RFC 6356 supposes (section 3; Wischik et al., NSDI 2011, section 2). wVegas goes by delay:
   its network is a bottleneck whose queue never overflows, and the TCP flow has wVegas, too, with a single
   subflow. Shown beside, without a bound: drop-tail bottlenecks, where a full queue takes from all flows at
   once. A coupled control then halves as often as TCP but grows more slowly.
3. Balance congestion: two paths that lose a little and four times as much. Beside the shares stands by how
   much each is below LIA's of the same trial. wVegas is shown, too.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from nettrial.analysis import Interval, change, mean_interval
from nettrial.backends import Backend
from nettrial.design import traffic_seconds
from nettrial.scenario import FlowRecord, Record, Scenario
from nettrial.stacks import STACKS

CONTROLS = ("lia", "olia", "balia", "wvegas", "reno")
"""The congestion controls of MPTCP, of which `reno` is not coupled."""
LOSS_BASED = tuple(name for name in CONTROLS if name != "wvegas")
ACCESS = "200 Mbit/s"
"""The rate of links that are not bottlenecks."""
FAST, SLOW = "20 Mbit/s", "10 Mbit/s"
"""The rates of bottlenecks."""
QUEUE = "60 packets"
"""The queue of every link: 36 ms at the fast bottleneck."""
DELAY = "15 ms"
"""The one-way delay of links with random loss, and where wVegas runs beside wVegas."""
LOSS = 0.001
"""The random loss of frames for goal 2: windows of 1.22 / sqrt(LOSS) = 39 packets, 15 Mbit/s."""
LIGHT, HEAVY = 0.001, 0.004
"""The random losses of frames on the two paths of goal 3."""
WIDE = "100 Mbit/s"
"""The rate of links with random loss, high enough that no queue forms."""

BUFFER = {"minimum": "4096 B", "initial": "1 MB", "maximum": "1 MB"}
"""The buffers of every socket, in both directions. With the kernel's defaults, a connection waits for its
slower subflow before it may send on the faster one, so a path is idle with any congestion control."""

RATIO = "of the TCP flow beside it"
"""The figure with means and intervals of ratios."""

Figures = dict[str, list[float]]
"""The figures of each network in every trial, by the network's name."""


@dataclass
class Network:
    """Small separate networks in one scenario."""

    seed: int
    """The seed of random losses."""
    nodes: dict[str, dict[str, Any]] = field(default_factory=dict)
    """The nodes by name."""
    links: list[dict[str, Any]] = field(default_factory=list)
    """The links."""
    flows: list[dict[str, Any]] = field(default_factory=list)
    """The flows."""

    def host(self, name: str, control: str) -> str:
        """Adds a host with this congestion control, large buffers, and otherwise Linux's defaults."""
        stack = STACKS["linux-cubic"].stack.model_dump(exclude_none=True)
        stack |= {"name": control, "congestion_control": control}
        stack |= {"receive_buffer": BUFFER, "send_buffer": BUFFER}
        self.nodes[name] = {"name": name, "kind": "host", "stack": stack}
        return name

    def link(self, one: str, other: str, rate: str = ACCESS, delay: str = "0 ns", loss: float = 0.0) -> None:
        """Joins two nodes by a network of its own; a node that does not exist yet becomes a router."""
        number = len(self.links)
        ends = []
        for place, node in enumerate((one, other), start=1):
            self.nodes.setdefault(node, {"name": node, "kind": "router"})
            interface = sum(node == end["node"] for link in self.links for end in link["ends"])
            address = f"10.{number // 256}.{number % 256}.{place}/24"
            ends.append(
                {"node": node, "interface": f"eth{interface}", "mtu": "1500 B", "addresses": [address]}
            )
        link = {"ends": ends, "rate": rate, "queue": QUEUE, "delay": delay}
        self.links.append(
            link | ({"impairment": {"loss": loss, "seed": self.seed * 1000 + number}} if loss else {})
        )

    def flow(self, name: str, sender: str, receiver: str, transport: str, seconds: float) -> None:
        """Adds a transfer that starts with all the others."""
        traffic = {"kind": "transfer", "duration": f"{round(seconds * 1000)} ms"}
        self.flows.append(
            {
                "name": name,
                "from": sender,
                "to": receiver,
                "ip": 4,
                "transport": transport,
                "traffic": traffic,
            }
        )

    def scenario(self) -> Scenario:
        """Returns the networks as a scenario."""
        return Scenario.model_validate(
            {
                "format": 1,
                "nodes": list(self.nodes.values()),
                "links": self.links,
                "routing": {"policy": "shortest_path"},
                "workload": self.flows,
                "measurement": {"interval": "100 ms", "queue_drops": "allowed"},
            }
        )


def pair(network: Network, name: str, control: str) -> tuple[str, str]:
    """Adds two hosts with one congestion control."""
    return network.host(f"{name}-from", control), network.host(f"{name}-to", control)


def disjoint(seconds: float, seed: int) -> Scenario:
    """Goal 1: two hosts with two disjoint paths for each control, and one TCP flow on the faster path."""
    network = Network(seed)
    for name in (*CONTROLS, "tcp"):
        sender, receiver = pair(network, name, "reno" if name == "tcp" else name)
        for router, rate in ((f"{name}-fast", FAST), (f"{name}-slow", SLOW)):
            network.link(sender, router)
            network.link(router, receiver, rate)
        network.flow(name, sender, receiver, "tcp" if name == "tcp" else "mptcp", seconds)
    return network.scenario()


def shared(seconds: float, seed: int) -> Scenario:
    """Goal 2: two hosts with two interfaces each for each control, and another two with a TCP flow, on the
    two sides of one link."""
    network = Network(seed)
    for name in LOSS_BASED:
        _share_a_link(network, name, name, "reno", seconds, rate=WIDE, delay=DELAY, loss=LOSS)
    _share_a_link(network, "wvegas", "wvegas", "wvegas", seconds, rate=FAST, delay=DELAY)
    return network.scenario()


def shared_drop_tail(seconds: float, seed: int) -> Scenario:
    """The same with queues that overflow at every bottleneck."""
    network = Network(seed)
    for name in CONTROLS:
        _share_a_link(network, name, name, "reno", seconds, rate=FAST)
    return network.scenario()


def _share_a_link(
    network: Network, name: str, control: str, tcp: str, seconds: float, **settings: Any
) -> None:
    near, far = f"{name}-near", f"{name}-far"
    sender, receiver = pair(network, name, control)
    other, sink = pair(network, f"{name}-tcp", tcp)
    for _ in range(2):
        network.link(sender, near)
        network.link(far, receiver)
    network.link(other, near)
    network.link(near, far, **settings)
    network.link(far, sink)
    network.flow(name, sender, receiver, "mptcp", seconds)
    network.flow(f"{name}-tcp", other, sink, "tcp", seconds)


def unequal(seconds: float, seed: int) -> Scenario:
    """Goal 3: two hosts with two paths of equal rate and delay for each control; the second path loses
    more."""
    network = Network(seed)
    for name in CONTROLS:
        sender, receiver = pair(network, name, name)
        for path, loss in (("light", LIGHT), ("heavy", HEAVY)):
            router = f"{name}-{path}"
            network.link(sender, router)
            network.link(router, receiver, WIDE, DELAY, loss)
        network.flow(name, sender, receiver, "mptcp", seconds)
    return network.scenario()


def goodputs(record: Record) -> dict[str, float]:
    """Returns the goodput of every flow in Mbit/s."""
    return {flow.name: (flow.goodput_bps or 0.0) / 1e6 for flow in record.flows}


def of_the_best(record: Record) -> dict[str, float]:
    """Returns the goodput over that of TCP on the best path."""
    bps = goodputs(record)
    return {name: bps[name] / bps["tcp"] for name in CONTROLS}


def of_the_sum(record: Record) -> dict[str, float]:
    """Returns the goodput over that of TCP on all paths, which is extrapolated from the best path by the
    rates."""
    fast, slow = (float(rate.split()[0]) for rate in (FAST, SLOW))
    return {name: ratio * fast / (fast + slow) for name, ratio in of_the_best(record).items()}


def of_the_tcp_beside(record: Record) -> dict[str, float]:
    """Returns the goodput over that of the TCP flow through the same bottleneck."""
    bps = goodputs(record)
    return {name: bps[name] / bps[f"{name}-tcp"] for name in bps if f"{name}-tcp" in bps}


def on_the_congested_path(record: Record) -> dict[str, float]:
    """Returns the share of a connection's bytes on the path that loses more, the second one."""
    return {flow.name: _second_share(flow) for flow in record.flows if flow.name in CONTROLS}


def below_lia(record: Record) -> dict[str, float]:
    """Returns the difference between LIA's share and that share."""
    shares = on_the_congested_path(record)
    return {name: shares["lia"] - shares[name] for name in CONTROLS if name != "lia"}


def _second_share(flow: FlowRecord) -> float:
    carried: Counter[str] = Counter()
    for subflow in flow.subflows or []:
        carried[subflow.local.rpartition(":")[0]] += subflow.bytes
    first, second = sorted(carried, key=lambda address: [int(part) for part in address.split(".")])
    return carried[second] / (carried[first] + carried[second])


@dataclass(frozen=True)
class Goal:
    """A goal, and the figures that show whether it is met."""

    title: str
    """The goal in words."""
    scenario: Callable[[float, int], Scenario]
    """Returns the scenario for a duration in seconds and a seed."""
    figures: dict[str, Callable[[Record], dict[str, float]]]
    """The functions that read each figure by network from a record."""
    missed: Callable[[dict[str, dict[str, float]]], list[str]]
    """Returns the parts of the goal that the means of each figure and network miss, in words."""


def _improves(means: dict[str, dict[str, float]]) -> list[str]:
    best, total = means["of the best path"], means["of all paths"]
    return [f"{name} gives less than the best path" for name in CONTROLS if best[name] < 1] + [
        f"{name} gives 90% of the paths' sum or less" for name in CONTROLS if total[name] <= 0.9
    ]


def _does_no_harm(means: dict[str, dict[str, float]]) -> list[str]:
    ratio = means[RATIO]
    coupled = [name for name in CONTROLS if name != "reno" and not 0.8 <= ratio[name] <= 1.25]
    said = [f"{name} does not take 0.8 to 1.25 of a TCP flow's share" for name in coupled]
    return said + (["reno does not take about twice a TCP flow's share"] if ratio["reno"] < 1.8 else [])


def _is_shown(means: dict[str, dict[str, float]]) -> list[str]:
    return []


def _balances(means: dict[str, dict[str, float]]) -> list[str]:
    share = means["on the congested path"]
    said = [f"{name} is not below LIA" for name in ("olia", "balia") if share[name] >= share["lia"]]
    others = max(share[name] for name in LOSS_BASED if name != "reno")
    return said + (["uncoupled is not the largest"] if share["reno"] <= others else [])


GOALS = (
    Goal(
        "1. Improve throughput",
        disjoint,
        {"of the best path": of_the_best, "of all paths": of_the_sum},
        _improves,
    ),
    Goal("2. Do no harm", shared, {RATIO: of_the_tcp_beside}, _does_no_harm),
    Goal("2. with drop tail, shown", shared_drop_tail, {RATIO: of_the_tcp_beside}, _is_shown),
    Goal(
        "3. Balance congestion",
        unequal,
        {"on the congested path": on_the_congested_path, "below LIA": below_lia},
        _balances,
    ),
)


def measure(lab: Backend, goal: Goal, repeats: int, seconds: float) -> dict[str, Figures]:
    """Runs the trials of a goal and returns their figures."""
    values: dict[str, Figures] = {title: defaultdict(list) for title in goal.figures}
    for seed in range(repeats):
        scenario = goal.scenario(seconds, seed)
        record = lab.run("bench", scenario, traffic_seconds(scenario) + 60)
        for title, figure in goal.figures.items():
            for name, value in figure(record).items():
                values[title][name].append(value)
    return values


def means(measured: dict[str, Figures]) -> dict[str, dict[str, float]]:
    """Returns the means over trials."""
    return {
        title: {name: mean(title, values)[0] for name, values in figures.items()}
        for title, figures in measured.items()
    }


def mean(title: str, values: list[float]) -> tuple[float, Interval | None]:
    """Returns the mean of a figure and its interval; the geometric mean of ratios."""
    if title != RATIO:
        return fmean(values), mean_interval(values)
    ratio = change([(1.0, value) for value in values])
    assert ratio.percent is not None, ratio.absent
    of_one = ratio.interval and Interval(1 + ratio.interval.low / 100, 1 + ratio.interval.high / 100)
    return 1 + ratio.percent / 100, of_one


def rows(measured: dict[str, Figures]) -> Iterator[str]:
    """Yields the means with their intervals as text."""
    for title, figures in measured.items():
        yield f"  {title}"
        for name, values in figures.items():
            middle, interval = mean(title, values)
            bounds = f"  [{interval.low:.3f}, {interval.high:.3f}]" if interval else ""
            yield f"    {name:<12} {middle:6.3f}{bounds}"


def main() -> None:
    """Measures all goals and prints them."""
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 20.0
    missed = []
    with Backend("lab") as lab:
        for goal in GOALS:
            print(f"{goal.title} ({repeats} trials of {seconds:g} s)", flush=True)
            measured = measure(lab, goal, repeats, seconds)
            print("\n".join(rows(measured)), flush=True)
            missed += goal.missed(means(measured))
    for words in missed:
        print(f"missed: {words}")
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
