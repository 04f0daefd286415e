"""The flows of a scenario, from the entries of a study's workload."""

from __future__ import annotations

import math
import random
from itertools import pairwise
from typing import Any

import networkx as nx

from nettrial import scenario, units
from nettrial.scenario import Scenario
from nettrial.study import Block, FlowSettings, Settings, imix
from nettrial.study.base import SocketOptions
from nettrial.topology.scenario_graph import graph_of

UNSHAPED_BPS = 8e9
"""The expected rate of a sweep if no link has a rate, in bit/s."""
REQUEST_SECONDS = 40e-6
"""The expected time of a request in addition to that of its bytes, in seconds."""


def workload(settings: Settings, block: Block) -> tuple[list[dict[str, Any]], list[int]]:
    """Returns all flows as plain data, with groups expanded, and for each flow the index of its entry in the
    study."""
    flows: list[dict[str, Any]] = []
    entries: list[int] = []
    several = settings.known_network.addresses * getattr(
        settings.known_network.shape(), "interfaces_per_host", 1
    )
    for place, entry in enumerate(settings.workload):
        draw = random.Random(block.seed("pairs", entry.seed))
        members = settings.members(entry.flow, block)
        alike = _traffic(entry, settings)
        socket = None if entry.socket == SocketOptions() else entry.socket.model_dump()
        for number, member in enumerate(members):
            entries.append(place)
            traffic = alike
            if "seed" in alike:
                traffic = {**alike, "seed": block.seed("traffic", alike["seed"], number)}
            flows.append(
                {
                    "name": member.name,
                    "from": member.from_,
                    "to": member.to,
                    "pair": draw.randrange(several) if entry.pairs == "random" else None,
                    "start": member.start,
                    "ip": settings.known_network.ip,
                    "transport": entry.transport,
                    "socket": socket,
                    "traffic": traffic,
                }
            )
    return flows, entries


def _traffic(entry: FlowSettings, settings: Settings) -> dict[str, Any]:
    """Returns the traffic of an entry's flows, with the study's seed."""
    traffic = entry.traffic.model_dump()
    if traffic.get("size") == {"distribution": "imix"}:
        traffic["size"] = imix(settings.known_network.ip)
    return traffic


def rates_of(trial: Scenario) -> list[int]:
    """Returns the rates of all links, in both directions, in bits per second."""
    directions = [direction for link in trial.links for direction in (link, link.reverse)]
    return [units.RATE.parse(each.rate.root) for each in directions if each and each.rate]


def slowest_transfer_bps(trial: Scenario) -> int | None:
    """Returns the lowest rate of the links on the shortest paths of the transfers, in the direction of their
    data, in bits per second; None if none of these links has a rate."""
    rates = set(rates_of(trial))
    if len(rates) == 1 and all(link.rate for link in trial.links):
        return rates.pop()
    graph = graph_of(trial)
    ends = {
        (flow.from_, flow.to)
        for flow in trial.workload
        if isinstance(flow.traffic.root, scenario.TransferTraffic | scenario.FileTransferTraffic)
    }
    hops = {hop for pair in ends for hop in pairwise(nx.shortest_path(graph, *pair))}
    rates_bps = []
    for node, other in hops:
        for edge in graph[node][other].values():
            link = trial.links[edge["number"]]
            back = link.reverse if link.ends[0].node != node else None
            rate = (back and back.rate) or link.rate
            rates_bps += [units.RATE.parse(rate.root)] if rate else []
    return min(rates_bps, default=None)


def traffic_seconds(trial: Scenario) -> float:
    """Returns the expected duration of a trial's traffic, in seconds. A transfer with only a size is assumed
    to run at the rate of the slowest link, or to take no time if no link has a rate; a sweep is assumed to
    take a constant time for each request."""
    rates = rates_of(trial)

    def seconds(flow: scenario.Flow) -> float:
        traffic = flow.traffic.root
        start = units.DURATION.parse(flow.start.root) / 1e9 if flow.start else 0.0
        duration = getattr(traffic, "duration", None)
        if isinstance(duration, scenario.Duration):
            return start + units.DURATION.parse(duration.root) / 1e9
        if isinstance(traffic, scenario.TransferTraffic) and traffic.size and rates:
            return start + units.SIZE.parse(traffic.size.root) * 8 / min(rates)
        if isinstance(traffic, scenario.SweepTraffic):
            return start + _sweep_seconds(traffic, min(rates, default=UNSHAPED_BPS))
        return start

    return max(map(seconds, trial.workload), default=0.0)


def _sweep_seconds(sweep: scenario.SweepTraffic, rate_bps: float) -> float:
    first, last, step, sent = (
        units.SIZE.parse(size.root) for size in (sweep.first, sweep.last, sweep.step, sweep.bytes)
    )
    if not 0 < first <= last or not step:
        return 0.0  # the engine refuses it
    requests = sum(math.ceil(sent / size) for size in range(first, last + 1, step))
    sizes = (last - first) // step + 1
    return (sweep.repeats or 1) * (requests * REQUEST_SECONDS + sizes * sent * 8 / rate_bps)
