"""The scenario of a treatment: every setting resolved."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import networkx as nx
from pydantic import ValidationError

from nettrial import scenario
from nettrial.design.plan import in_words
from nettrial.design.workload import workload
from nettrial.errors import BadInput
from nettrial.scenario import Scenario
from nettrial.stacks import STACKS
from nettrial.study import (
    DROP_TAIL,
    BurstSettings,
    CostSettings,
    DisciplineSettings,
    HostSettings,
    ImpairmentSettings,
    RoutingSettings,
    Settings,
    Study,
    Wrong,
)
from nettrial.topology import Interface, interfaces

FORMAT = 1
"""The version of the scenario document: the engine's `FORMAT`."""


OWN_OF_HOST = ("congestion_control", "ecn", "minimum_rto", "scheduler")
"""Settings of a stack that a host may have other than its stack profile."""
SEED_BYTES = 6
"""Of a simulated trial's seed: any reader of JSON has such numbers exactly (RFC 8259 section 6)."""


def scenario_of(study: Study, treatment: Mapping[str, str], block: int = 1, seed: int = 0) -> Scenario:
    """The study's settings with this level of each factor, as the scenario of a trial in this block, from 1:
    each block has random numbers of its own, which its treatments share. Those of simulated hosts follow
    from the run's `seed`, too. Raises BadInput where the levels don't fit together."""
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
        seed=_seed(seed, block) if study.is_simulated else None,
    )


def _seed(seed: int, block: int) -> int:
    """Of a block of a run: unlike the sum of both, no two runs share it."""
    digest = hashlib.sha256(f"{seed} {block}".encode()).digest()
    return int.from_bytes(digest[:SEED_BYTES])


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
            "cost": host.cost.model_dump() if host and host.cost != CostSettings() else None,
        }
    )


def _stack(host: HostSettings) -> scenario.Stack:
    """The host's stack profile, with what the host has other than that."""
    own = host.model_dump(include=set(OWN_OF_HOST), exclude_none=True)
    return scenario.Stack.model_validate({**STACKS[host.stack].stack.model_dump(), **own})


def _links(settings: Settings, graph: nx.MultiGraph, block: int) -> list[scenario.Link]:
    network = settings.network
    hosts = {node for node, kind in graph.nodes(data="kind") if kind == "host"}
    of_hosts, of_fabric = network.link("host"), network.link("fabric")
    pairs = interfaces(graph, network.ip, network.addresses)
    made = []
    for number, pair in enumerate(pairs):
        own = of_hosts if any(interface.node in hosts for interface in pair) else of_fabric
        made.append(
            scenario.Link(
                ends=[_end(interface, own.mtu or network.mtu) for interface in pair],
                rate=scenario.Rate(own.rate) if own.rate else None,
                delay=scenario.Duration(own.delay or network.delay),
                queue=scenario.QueueLimit(own.queue) if own.queue else None,
                discipline=_discipline(own.discipline),
                impairment=_impairment(own.impairment, (block - 1) * len(pairs) + number),
            )
        )
    return made


def _end(interface: Interface, mtu: str) -> scenario.End:
    return scenario.End(
        node=interface.node,
        interface=interface.name,
        mtu=scenario.Size(mtu),
        addresses=[
            scenario.InterfaceAddress(address)
            for address in (interface.address, *interface.further)
            if address
        ],
    )


def _discipline(settings: DisciplineSettings | None) -> scenario.Discipline | None:
    """What a queue does before it is full, if anything."""
    if settings is None or settings == DROP_TAIL:
        return None
    return scenario.Discipline.model_validate(settings.model_dump())


def _impairment(settings: ImpairmentSettings | None, draw: int) -> scenario.Impairment | None:
    """What a link does to frames, if anything; `draw` tells its random numbers from those of other links and
    blocks."""
    if settings is None or settings == ImpairmentSettings(seed=settings.seed):
        return None
    has = settings.model_dump(exclude={"bursts"} if settings.bursts == BurstSettings() else None)
    return scenario.Impairment.model_validate({**has, "seed": settings.seed + draw})
