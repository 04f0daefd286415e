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
from nettrial.study import HostSettings, ImpairmentSettings, RoutingSettings, Settings, Study, Wrong
from nettrial.topology import Interface, interfaces

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
    graph = settings.graph(block)
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
    host = settings.host(name) if kind == "host" else None
    return scenario.Node.model_validate(
        {
            "name": name,
            "kind": kind,
            "stack": _stack(host) if host else None,
            "offloads": settings.network.offloads.model_dump(),
            "filters_icmp": kind == "router" and settings.network.icmp == "filtered",
        }
    )


def _stack(host: HostSettings) -> scenario.Stack:
    """The host's stack profile, with its own congestion control where it has one."""
    profile = STACKS[host.stack].stack
    chosen = host.congestion_control or profile.congestion_control
    return profile.model_copy(update={"congestion_control": chosen})


def _links(settings: Settings, graph: nx.MultiGraph, block: int) -> list[scenario.Link]:
    network = settings.network
    hosts = {node for node, kind in graph.nodes(data="kind") if kind == "host"}
    of_hosts, of_fabric = network.link("host"), network.link("fabric")
    pairs = interfaces(graph, network.ip)
    made = []
    for number, pair in enumerate(pairs):
        own = of_hosts if any(interface.node in hosts for interface in pair) else of_fabric
        made.append(
            scenario.Link(
                ends=[_end(interface, own.mtu or network.mtu) for interface in pair],
                rate=scenario.Rate(own.rate) if own.rate else None,
                delay=scenario.Duration(own.delay or network.delay),
                queue=scenario.QueueLimit(own.queue) if own.queue else None,
                impairment=_impairment(own.impairment, (block - 1) * len(pairs) + number),
            )
        )
    return made


def _end(interface: Interface, mtu: str) -> scenario.End:
    return scenario.End(
        node=interface.node,
        interface=interface.name,
        mtu=scenario.Size(mtu),
        addresses=[scenario.InterfaceAddress(interface.address)] if interface.address else [],
    )


def _impairment(settings: ImpairmentSettings | None, draw: int) -> scenario.Impairment | None:
    """What a link does to frames, if anything; `draw` tells its random numbers from those of other links and
    blocks."""
    if settings is None or settings == ImpairmentSettings(seed=settings.seed):
        return None
    return scenario.Impairment.model_validate({**settings.model_dump(), "seed": settings.seed + draw})
