"""The scenario of a treatment: every setting resolved."""

from __future__ import annotations

from collections.abc import Mapping

import networkx as nx
from pydantic import ValidationError

from nettrial import scenario
from nettrial.design.plan import in_words
from nettrial.design.workload import workload
from nettrial.errors import BadInput
from nettrial.scenario import Scenario
from nettrial.stacks import STACKS
from nettrial.study import ImpairmentSettings, RoutingSettings, Settings, Study, Wrong
from nettrial.topology import TOPOLOGIES, Interface, interfaces

FORMAT = 1
"""The version of the scenario document: the engine's `FORMAT`."""


def scenario_of(study: Study, treatment: Mapping[str, str], block: int = 1) -> Scenario:
    """The study's settings with this level of each factor, as the scenario of a trial in this block, from 1:
    each block has random numbers of its own, which its treatments share. Raises BadInput where the levels
    don't fit together."""
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
        links=_links(settings, graph, block),
        routing=_routing(settings.network.routing, block),
        workload=workload(settings, block),
        measurement=scenario.Measurement.model_validate(settings.measurement.model_dump()),
    )


def _routing(routing: RoutingSettings, block: int) -> scenario.RoutingPolicy:
    chosen: dict[str, str | int] = {"policy": routing.policy}
    if routing.policy == "ecmp":
        chosen["seed"] = routing.seed + block - 1
    elif routing.policy == "k_shortest_paths":
        chosen["paths"] = routing.paths
    return scenario.RoutingPolicy.model_validate(chosen)


def _node(settings: Settings, name: str, kind: str) -> scenario.Node:
    host = settings.hosts.get(name)
    return scenario.Node.model_validate(
        {
            "name": name,
            "kind": kind,
            "stack": STACKS[host.stack].stack if host else None,
            "offloads": settings.network.offloads.model_dump(),
            "filters_icmp": kind == "router" and settings.network.icmp == "filtered",
        }
    )


def _links(settings: Settings, graph: nx.Graph, block: int) -> list[scenario.Link]:
    network = settings.network
    impairment = scenario.Impairment.model_validate(network.impairment.model_dump())
    pairs = interfaces(graph, network.ip)

    def end(interface: Interface, mtu: str) -> scenario.End:
        return scenario.End(
            node=interface.node,
            interface=interface.name,
            mtu=scenario.Size(mtu),
            addresses=[scenario.InterfaceAddress(interface.address)] if interface.address else [],
        )

    def mtu(pair: tuple[Interface, Interface]) -> str:
        is_middle = not any(interface.node in settings.hosts for interface in pair)
        return network.middle_mtu or network.mtu if is_middle else network.mtu

    return [
        scenario.Link(
            ends=[end(interface, mtu(pair)) for interface in pair],
            rate=scenario.Rate(network.rate) if network.rate else None,
            delay=scenario.Duration(network.delay),
            queue=scenario.QueueLimit(network.queue) if network.queue else None,
            impairment=impairment.model_copy(
                update={"seed": network.impairment.seed + (block - 1) * len(pairs) + number}
            )
            if network.impairment != ImpairmentSettings(seed=network.impairment.seed)
            else None,
        )
        for number, pair in enumerate(pairs)
    ]
