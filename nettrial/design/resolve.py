"""The scenario of a treatment: every setting resolved."""

from __future__ import annotations

from collections.abc import Mapping

import networkx as nx
from pydantic import ValidationError

from nettrial import scenario, units
from nettrial.design.plan import in_words
from nettrial.errors import BadInput
from nettrial.scenario import Scenario
from nettrial.stacks import STACKS
from nettrial.study import Settings, Study, Wrong
from nettrial.topology import TOPOLOGIES, Interface, interfaces

FORMAT = 1
"""The version of the scenario document: the engine's `FORMAT`."""


def scenario_of(study: Study, treatment: Mapping[str, str]) -> Scenario:
    """The study's settings with this level of each factor, as a scenario; raises BadInput where the
    levels don't fit together."""
    try:
        settings = study.settings(treatment)
    except ValidationError as error:
        found = Wrong.of(error)[0]
        place = ".".join(map(str, found.place))
        object = f"{study.study}, treatment {in_words(treatment)}: {place}"
        raise BadInput("planning the trials", object, found.value, found.legal, found.hint) from None
    graph = TOPOLOGIES[settings.network.topology].join(list(settings.hosts))
    return Scenario(
        format=FORMAT,
        nodes=[_node(settings, name, kind) for name, kind in graph.nodes(data="kind")],
        links=_links(settings, graph),
        routing=scenario.RoutingPolicy("shortest_path"),
        workload=_workload(settings),
        measurement=scenario.Measurement(
            interval=scenario.Duration(settings.measurement.interval),
            cpu=settings.measurement.cpu,
            queue_drops=scenario.QueueDrops(settings.measurement.queue_drops),
        ),
    )


def _node(settings: Settings, name: str, kind: str) -> scenario.Node:
    host = settings.hosts.get(name)
    return scenario.Node.model_validate(
        {
            "name": name,
            "kind": kind,
            "stack": STACKS[host.stack].stack if host else None,
            "offloads": settings.network.offloads.model_dump(),
        }
    )


def _links(settings: Settings, graph: nx.Graph) -> list[scenario.Link]:
    network = settings.network

    def end(interface: Interface) -> scenario.End:
        return scenario.End(
            node=interface.node,
            interface=interface.name,
            mtu=scenario.Size(network.mtu),
            addresses=[scenario.InterfaceAddress(interface.address)] if interface.address else [],
        )

    return [
        scenario.Link(
            ends=[end(interface) for interface in pair],
            rate=scenario.Rate(network.rate) if network.rate else None,
            delay=scenario.Duration(network.delay),
            queue=scenario.QueueLimit(network.queue) if network.queue else None,
        )
        for pair in interfaces(graph, network.ip)
    ]


def _workload(settings: Settings) -> list[scenario.Flow]:
    return [
        scenario.Flow.model_validate(
            {
                "name": flow.flow,
                "ip": settings.network.ip,
                **flow.model_dump(by_alias=True, exclude={"flow"}),
            }
        )
        for flow in settings.workload
    ]


def traffic_seconds(trial: Scenario) -> float:
    """How long the traffic of a trial goes on by its description, in seconds. A transfer of a size alone
    is taken to go at the rate of the slowest link, or to take no time where no link has one."""
    rates = [units.RATE.parse(link.rate.root) for link in trial.links if link.rate]

    def seconds(flow: scenario.Flow) -> float:
        traffic = flow.traffic.root
        start = units.DURATION.parse(flow.start.root) / 1e9 if flow.start else 0.0
        duration = getattr(traffic, "duration", None)
        if isinstance(duration, scenario.Duration):
            return start + units.DURATION.parse(duration.root) / 1e9
        if isinstance(traffic, scenario.TransferTraffic) and traffic.size and rates:
            return start + units.SIZE.parse(traffic.size.root) * 8 / min(rates)
        return start

    return max(map(seconds, trial.workload), default=0.0)
