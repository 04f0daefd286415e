"""The scenario of a treatment, in which every setting is resolved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError
from pydantic_core import PydanticCustomError

from nettrial import scenario
from nettrial.design.origins import OWN_OF_HOST, Origins
from nettrial.design.trial_order import in_words
from nettrial.design.workload import workload
from nettrial.errors import BadInput
from nettrial.fields import without_collector
from nettrial.scenario import Scenario
from nettrial.study import (
    DROP_TAIL,
    EVERY,
    TUNNEL_BYTES,
    Block,
    Cable,
    ControllerSettings,
    DelayTrace,
    DirectionSettings,
    DisciplineSettings,
    HostCost,
    HostSettings,
    ImpairmentSettings,
    LinkKind,
    LossBursts,
    Outage,
    RateTrace,
    RoutingSettings,
    Settings,
    Study,
    Wrong,
    link_kinds,
)
from nettrial.topology import AddressedInterface, interfaces
from nettrial.units import SIZE

FORMAT = 1
"""The version of the scenario document, `FORMAT` in the engine."""


@dataclass(frozen=True)
class Resolved:
    """A treatment with every setting resolved."""

    scenario: Scenario
    """The scenario of the treatment's trials."""
    origins: Origins
    """The map from the scenario's values to the study's fields."""


def scenario_of(study: Study, treatment: Mapping[str, str], block: int = 1, seed: int = 0) -> Scenario:
    """Returns only the scenario from `resolve`."""
    return resolve(study, treatment, block, seed).scenario


def resolve(study: Study, treatment: Mapping[str, str], block: int = 1, seed: int = 0) -> Resolved:
    """Returns the study's settings with this level of each factor as the scenario of a trial in this block,
    from 1. Each block of the run with this `seed` has its own random numbers, which its treatments share.
    Raises BadInput for inconsistent levels."""
    try:
        with without_collector():
            settings = study.settings(treatment)
    except ValidationError as error:
        raise _refused(study, treatment, Wrong.of(error)[0]) from None
    with without_collector():
        replicate = Block(block, seed)
        graph = settings.graph(replicate)
        nodes = list(graph.nodes(data="kind"))
        _refuse_too_large(study, settings, len(nodes))
        pairs = interfaces(graph, settings.known_network.ip, settings.known_network.addresses)
        kinds = link_kinds(graph)
        try:
            cables = list(settings.known_network.cables(graph, kinds))
        except PydanticCustomError as error:  # the name of a link that another block's random network lacks
            raise _refused(study, treatment, Wrong.of_custom(error)) from None
        flows, entries = workload(settings, replicate)
        # All parts are validated together: one after the other takes three times as long.
        made = Scenario.model_validate(
            {
                "format": FORMAT,
                "nodes": _nodes(settings, nodes),
                "links": _links(settings, pairs, kinds, cables, replicate),
                "routing": _routing(settings.known_network.routing, replicate),
                "controller": _controller(settings, replicate),
                "workload": flows,
                "measurement": settings.known_measurement.model_dump(exclude={"capture"}),
                "events": [_outage(outage) for outage in settings.known_network.events] or None,
                "seed": replicate.seed() if study.capabilities.deterministic else None,
            }
        )
        return Resolved(made, Origins(study, dict(treatment), settings, nodes, kinds, cables, entries))


def _refused(study: Study, treatment: Mapping[str, str], fault: Wrong) -> BadInput:
    """Returns the error for settings of a treatment that don't fit together."""
    place = ".".join(map(str, fault.place))
    object = f"{study.study}, treatment {in_words(treatment)}: {place}"
    return BadInput("planning the trials", object, fault.value, fault.expected, fault.hint)


def _refuse_too_large(study: Study, settings: Settings, nodes: int) -> None:
    """Raises BadInput for a trial with more nodes or flows than the study's backend can have."""
    can, flows = study.capabilities, sum(settings.flow_counts())
    for count, most, what, place in (
        (nodes, can.most_nodes, "hosts, routers and switches", ("network", "parameters")),
        (flows, can.most_flows, "flows", ("workload",)),
    ):
        if count > most:
            expected = f"up to {most} with the backend {study.backend}"
            hint = "`--backend fluid` computes the rates of larger networks"
            raise BadInput("planning the trials", study.where(*place), f"{count} {what}", expected, hint)


def _routing(routing: RoutingSettings, block: Block) -> scenario.RoutingPolicy:
    chosen: dict[str, str | int] = {"policy": routing.policy}
    if routing.policy == "ecmp":
        chosen["seed"] = block.seed("routing", routing.seed)
    elif routing.policy == "k_shortest_paths":
        chosen["paths"] = routing.paths
    return scenario.RoutingPolicy.model_validate(chosen)


def _controller(settings: Settings, block: Block) -> scenario.Controller | None:
    """The switches' controller, if they have one."""
    network = settings.known_network
    if network.forwarding != "openflow":
        return None
    controller = network.controller or ControllerSettings()
    fields = controller.model_dump(exclude_none=True, exclude={"seed"})
    if not (controller.command or controller.address):
        fields.setdefault("application", "shortest_path")
        fields["seed"] = block.seed("controller", controller.seed)
    return scenario.Controller.model_validate(fields)


def _outage(outage: Outage) -> scenario.Outage:
    return scenario.Outage.model_validate(outage.model_dump(exclude_none=True))


def _nodes(settings: Settings, nodes: Sequence[tuple[str, str]]) -> Iterator[dict[str, Any]]:
    """Yields the nodes, of which those with the same settings differ in their names alone."""
    alike: dict[tuple[str, str], dict[str, Any]] = {}
    for name, kind in nodes:
        key = (kind, name if name in settings.hosts else EVERY)
        if key not in alike:
            alike[key] = _node(settings, name, kind)
        yield {**alike[key], "name": name}


def _node(settings: Settings, name: str, kind: str) -> dict[str, Any]:
    """Returns a node without its name."""
    host = settings.host(name) if kind == "host" else None
    with_system = host or (settings.known_network if kind == "router" else None)
    system = with_system.system if with_system else None
    return {
        "kind": kind,
        "stack": _stack(settings, host) if host else None,
        "sysctls": (host.sysctls or None) if host else None,
        "offloads": settings.known_network.offloads.model_dump(),
        "filters_icmp": kind == "router" and settings.known_network.icmp == "filtered",
        "cost": host.cost.model_dump() if host and host.cost != HostCost() else None,
        "machine": host.machine if host else None,
        "system": system,
        **({"guest": with_system.guest.model_dump()} if with_system and system else {}),
    }


def _stack(settings: Settings, host: HostSettings) -> dict[str, Any]:
    """Returns the host's stack with the host's overrides."""
    own = host.model_dump(include=set(OWN_OF_HOST), exclude_none=True)
    return {**settings.stack(host), **own}


def _links(
    settings: Settings,
    pairs: Sequence[Sequence[AddressedInterface]],
    kinds: Sequence[LinkKind],
    cables: Sequence[Cable],
    block: Block,
) -> Iterator[dict[str, Any]]:
    """Yields the links, of which those with the same settings differ in their interfaces and random numbers
    alone."""
    alike: dict[int, dict[str, Any]] = {}
    for number, (pair, kind, cable) in enumerate(zip(pairs, kinds, cables, strict=True)):
        if kind == "wlan":
            yield _channel(settings, pair)
            continue
        if id(cable) not in alike:
            alike[id(cable)] = _cable(cable)
        made = {**alike[id(cable)], "ends": [_interface(interface, _packet_mtu(cable)) for interface in pair]}
        made["impairment"] = _seeded(made["impairment"], block, number)
        if "reverse" in made:
            seeded = _seeded(made["reverse"].get("impairment"), block, number)
            made["reverse"] = {**made["reverse"], **({"impairment": seeded} if seeded else {})}
        yield made


def _seeded(impairment: dict[str, Any] | None, block: Block, number: int) -> dict[str, Any] | None:
    """Returns the impairment of link number `number` with its seed in a block."""
    if impairment is None:
        return None
    return {**impairment, "seed": block.seed("impairment", impairment["seed"], number)}


def _cable(cable: Cable) -> dict[str, Any]:
    """Returns a cable with these settings, without its interfaces."""
    forward, reverse = (_direction(settings) for settings in cable.directions)
    differing = {name: value for name, value in reverse.items() if value != forward[name]}
    forward["tunnel"] = cable.tunnel
    if not differing:
        return forward
    for name in ("rate", "delay"):
        if f"{name}_trace" in differing:
            differing[name] = reverse[name]
    # The other direction has an impairment, and this one has none.
    absent = {
        "impairment": ImpairmentSettings().model_dump(exclude={"bursts"}),
        "discipline": DROP_TAIL.model_dump(),
    }
    given = {name: absent.get(name) if value is None else value for name, value in differing.items()}
    return {**forward, "reverse": {name: value for name, value in given.items() if value is not None}}


def _packet_mtu(cable: Cable) -> str:
    """Returns the MTU of the packets that a cable's tunnel carries, if it has one."""
    if cable.tunnel is None:
        return cable.mtu
    return SIZE.print(SIZE.parse(cable.mtu) - TUNNEL_BYTES[cable.tunnel])


def _direction(own: DirectionSettings) -> dict[str, Any]:
    """Returns the settings of one direction of a cable."""
    trace = own.rate if isinstance(own.rate, RateTrace) else None
    delays = own.delay if isinstance(own.delay, DelayTrace) else None
    return {
        "rate": trace.mean if trace else own.rate,
        "rate_trace": trace.of_scenario() if trace else None,
        "delay": delays.smallest if delays else own.delay,
        "delay_trace": delays.of_scenario() if delays else None,
        "queue": own.queue,
        "discipline": _discipline(own.discipline),
        "impairment": _impairment(own.impairment),
    }


def _channel(settings: Settings, members: Sequence[AddressedInterface]) -> dict[str, Any]:
    """Returns a radio channel between these interfaces, of which the first belongs to the access point."""
    return {
        "medium": "wlan",
        "ends": [_interface(interface, settings.known_network.mtu) for interface in members],
        "wlan": settings.known_network.radio().model_dump(),
    }


def _interface(interface: AddressedInterface, mtu: str) -> dict[str, Any]:
    addresses = [interface.address, *interface.further] if interface.address else []
    return {"node": interface.node, "interface": interface.name, "mtu": mtu, "addresses": addresses}


def _discipline(settings: DisciplineSettings | None) -> dict[str, Any] | None:
    """Returns the discipline of a queue, unless it is drop-tail."""
    return None if settings is None or settings == DROP_TAIL else settings.model_dump()


def _impairment(settings: ImpairmentSettings | None) -> dict[str, Any] | None:
    """Returns the impairment of links with these settings, if they have one; its seed is the study's."""
    if settings is None or settings == ImpairmentSettings(seed=settings.seed):
        return None
    return settings.model_dump(exclude={"bursts"} if settings.bursts == LossBursts() else None)
