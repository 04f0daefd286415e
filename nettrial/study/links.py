"""The settings of links in a study file: of kinds of links, of single links, and of their directions."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias

import networkx as nx
from pydantic import ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from nettrial.fields import UNKNOWN_FIELD, Strict, in_short, wrong
from nettrial.registry import near
from nettrial.study import base
from nettrial.study.base import LossBursts, Tunnel
from nettrial.study.delay_trace import DelaySettings
from nettrial.study.queues import DisciplineSettings
from nettrial.study.rate_trace import RateSettings
from nettrial.study.traffic import Seed
from nettrial.topology import Edge, edges_of
from nettrial.units import Queue, Size

TUNNEL_BYTES: dict[Tunnel, int] = {"6in4": 20, "4in6": 40, "nat64": -20}
"""The bytes that each tunnel adds to a packet: an IPv4 header, or an IPv6 header; with `nat64` an IPv4 header
instead of an IPv6 header."""


class ImpairmentSettings(base.Impairment):
    """The impairments of a link, which apply to each frame independently, in each direction, after the
    queue."""

    bursts: LossBursts = LossBursts()
    """Losses in bursts, in addition to those of `loss`."""
    seed: Seed = 0
    """The seed of the random numbers, used together with the run's seed and the block, so that all treatments
    of a block share them."""


class DirectionSettings(Strict):
    """The settings of links in one direction; absent settings are those of the other direction."""

    rate: RateSettings | None = None
    """The line rate on the wire, including preamble and gap, or the trace that it follows: `{trace: FILE}`,
    with `loop: true` again and again."""
    delay: DelaySettings | None = None
    """The propagation delay in one direction, or the trace that it follows: `{trace: FILE}`, with
    `loop: true` again and again."""
    queue: Queue | None = None
    """The limit of each transmit queue, beyond which it drops packets."""
    discipline: DisciplineSettings | None = None
    """The discipline of each transmit queue, which may act before the queue is full."""
    impairment: ImpairmentSettings | None = None
    """The impairments of these links, which replace all others."""


OF_DIRECTION = tuple(DirectionSettings.model_fields)
"""The settings that the two directions of a link may have apart."""
OF_BOTH = ("mtu", "tunnel")
"""The settings that are those of both directions."""


class LinkSettings(DirectionSettings):
    """The settings of links of one kind; absent settings are those of the network."""

    mtu: Size | None = None
    """The largest IP packet, with the header of a tunnel."""
    tunnel: Tunnel | None = None
    """The tunnel between the two nodes of these links, which carries their packets in packets of the other
    version of IP: `6in4`, IPv6 in IPv4, or `4in6`, IPv4 in IPv6. With `nat64`, a host at these links has
    IPv4 alone, and its router translates."""
    reverse: DirectionSettings | None = None
    """The settings of the opposite direction, where they differ: towards the host, or from the node that the
    link names second to the one that it names first."""


class NamedLinkSettings(LinkSettings):
    """The settings of single links; absent settings are those of the link's kind."""

    between: Annotated[list[str], Field(min_length=2, max_length=2)] | None = None
    """The two nodes of the link, if its name does not say them; of several links between them, all. The
    settings are those of the direction from the first to the second, and `reverse` has the others."""


LinkKind: TypeAlias = Literal["host", "fabric", "wlan"]
"""A kind of links: links with a host at one end, links between routers or switches, or radio channels."""
CABLE_KINDS: tuple[Literal["host", "fabric"], ...] = ("host", "fabric")
"""The kinds of links that are cables, each of which may have its own settings."""


class LinkKinds(Strict):
    """The settings of links by kind, and of single links by name. A link is called by its two nodes, as in
    `left-right`, and by a number if it is one of several: `left-right-2`. Links of a graph's file may have
    names of their own. Any other name stands for the link `between` two nodes."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, NamedLinkSettings]
    """The link of that name."""

    host: LinkSettings = LinkSettings()
    """The links with a host at one end, in the direction from the host; `reverse` is towards the host."""
    fabric: LinkSettings = LinkSettings()
    """The links between routers or switches."""

    @model_validator(mode="before")
    @classmethod
    def _only_known_fields(cls, data: Any) -> Any:
        if isinstance(data, Mapping):
            for name in data:
                if not re.fullmatch(r"[A-Za-z0-9_-]+", str(name)):
                    raise wrong(
                        (name,), UNKNOWN_FIELD, "host, fabric, or a link's name: letters, digits, - and _"
                    )
        elif not isinstance(data, cls):
            raise wrong(expected="settings by a kind of links, host or fabric, or by a link's name")
        return data

    @property
    def named(self) -> dict[str, NamedLinkSettings]:
        """The settings of single links by name."""
        return self.model_extra or {}


Place: TypeAlias = tuple[str | int, ...]
"""The path to a setting in a study."""


@dataclass(frozen=True)
class Layer:
    """Settings for a link, of which those of the first layer that has one apply."""

    settings: LinkSettings
    """The settings."""
    place: Place
    """Their place in the study."""
    is_reversed: bool = False
    """True if their direction is that from the link's second interface to its first one."""
    is_exact: bool = True
    """True if each setting has its own place within that of all."""

    def value(self, name: str, is_reverse: bool) -> tuple[Any, Place] | None:
        """Returns a setting of a direction and its place; None if this layer does not have it."""
        reverse = self.settings.reverse
        if reverse is not None and name not in OF_BOTH and is_reverse != self.is_reversed:
            value = getattr(reverse, name)
            if value is not None:
                return value, (*self.place, "reverse", name) if self.is_exact else self.place
        value = getattr(self.settings, name)
        return None if value is None else (value, (*self.place, name) if self.is_exact else self.place)


@dataclass(frozen=True)
class Cable:
    """The settings of a link in full, as its two interfaces send."""

    directions: tuple[DirectionSettings, DirectionSettings]
    """The settings from the first interface to the second, and those from the second to the first."""
    mtu: str
    """The largest IP packet, with the header of a tunnel."""
    tunnel: Tunnel | None
    """The tunnel that carries the packets."""
    places: tuple[Mapping[str, Place], Mapping[str, Place]]
    """The place in the study of each of these settings that it has; the first also has those of the
    MTU and the tunnel."""

    @classmethod
    def of(cls, layers: Sequence[Layer]) -> Cable:
        """Returns the settings of a link from its layers, of which the last is the network."""
        places: list[dict[str, Place]] = [{}, {}]
        made: list[DirectionSettings] = []
        for number, is_reverse in enumerate((False, True)):
            settings = {}
            for name in (*OF_DIRECTION, *OF_BOTH):
                value = next(filter(None, (layer.value(name, is_reverse) for layer in layers)), None)
                if value is not None:
                    settings[name], places[number][name] = value
            mtu, tunnel = settings.pop("mtu"), settings.pop("tunnel", None)
            made.append(DirectionSettings.model_construct(**settings))
        for one, other in ((0, 1), (1, 0)):
            if made[one].rate is not None and made[other].rate is None:
                rate = made[one].rate
                shown = rate if isinstance(rate, str) else "a trace"
                hint = "the other direction has none"
                raise wrong(places[one]["rate"], shown, "a rate in both directions, or in none", hint)
        return cls((made[0], made[1]), mtu, tunnel, (places[0], places[1]))


def link_kinds(graph: nx.MultiGraph) -> list[LinkKind]:
    """Returns the kind of each link of a graph in order."""
    kinds = dict(graph.nodes(data="kind"))

    def kind(edge: Edge) -> LinkKind:
        if edge.is_channel:
            return "wlan"
        return "host" if any(kinds[node] == "host" for node in edge.nodes) else "fabric"

    return [kind(edge) for edge in edges_of(graph)]


def layers_of(
    graph: nx.MultiGraph, kinds: Sequence[LinkKind], links: LinkKinds, of_file: Place
) -> Iterator[tuple[Layer, ...]]:
    """Yields the layers of each link of the graph in order without that of the network: the settings of its
    name in the study, those of the graph's file, whose place is `of_file`, and those of its kind. Raises a
    validator's error for a name without a link."""
    edges = edges_of(graph)
    of_kinds = {kind: Layer(getattr(links, kind), ("network", "links", kind)) for kind in CABLE_KINDS}
    named = _named(graph, edges, links.named)
    for number, (edge, kind) in enumerate(zip(edges, kinds, strict=True)):
        layers = [named[number]] if number in named else []
        if kind == "wlan" and layers:
            hint = "it is a radio channel, whose settings are those of `wlan`"
            raise wrong(layers[0].place, str(layers[0].place[-1]), "the name of a cable", hint)
        if edge.settings is not None:
            own = edge.settings.model_dump(exclude={"name"}, exclude_none=True)
            layers.append(Layer(_of_edge(own), of_file, edge.is_reversed, is_exact=False))
        yield (*layers, *([of_kinds[kind]] if kind in of_kinds else ()))


def _of_edge(own: dict[str, Any]) -> LinkSettings:
    """Returns the settings of an edge of a graph's file."""
    for part in (own, own.get("reverse", {})):
        if "loss" in part:
            part["impairment"] = {"loss": part.pop("loss")}
    return LinkSettings.model_validate(own)


def _named(
    graph: nx.MultiGraph, edges: Sequence[Edge], links: Mapping[str, NamedLinkSettings]
) -> dict[int, Layer]:
    """Returns the layer of each link that the study names, by the link's number."""
    layers: dict[int, Layer] = {}
    called: dict[int, str] = {}
    known = _names(edges) if any(settings.between is None for settings in links.values()) else {}
    for name, settings in links.items():
        place: Place = ("network", "links", name)
        if settings.between is not None:
            meant = _between(graph, edges, settings.between, (*place, "between"))
        elif name in known:
            meant = known[name]
        else:
            raise _unknown(name, known, place)
        if len({number for number, _ in meant}) != len(meant) or (
            settings.between is None and len(meant) > 1
        ):
            raise wrong(place, name, "the name of one link", "several have it: say its nodes with `between`")
        for number, is_reversed in meant:
            if number in called:
                hint = f"{called[number]} is the same link"
                raise wrong(place, name, "each link under one name", hint)
            called[number] = name
            layers[number] = Layer(settings, place, is_reversed)
    return layers


def _names(edges: Sequence[Edge]) -> dict[str, list[tuple[int, bool]]]:
    """Returns the numbers of the links by their names, each with True if the name is that of the opposite
    direction."""
    groups: dict[frozenset[str], list[int]] = defaultdict(list)
    for number, edge in enumerate(edges):
        groups[frozenset(edge.nodes)].append(number)
    names: dict[str, list[tuple[int, bool]]] = defaultdict(list)
    for numbers in groups.values():
        for place, number in enumerate(numbers, start=1):
            one, other = edges[number].nodes
            suffix = f"-{place}" if len(numbers) > 1 else ""
            names[f"{one}-{other}{suffix}"].append((number, False))
            names[f"{other}-{one}{suffix}"].append((number, True))
    for number, edge in enumerate(edges):
        own = edge.settings.name if edge.settings else None
        if own is not None and number not in (known for known, _ in names[own]):
            names[own].append((number, edge.is_reversed))
    return names


def _between(
    graph: nx.MultiGraph, edges: Sequence[Edge], nodes: Sequence[str], place: Place
) -> list[tuple[int, bool]]:
    """Returns the numbers of the links between two nodes, each with True if its first node is the second."""
    for number, node in enumerate(nodes):
        if node not in graph:
            raise wrong((*place, number), node, in_short(graph), near(node, list(graph)))
    meant = [
        (number, edge.nodes[0] != nodes[0])
        for number, edge in enumerate(edges)
        if set(edge.nodes) == set(nodes) and len(set(nodes)) == 2
    ]
    if not meant:
        others = in_short(graph[nodes[0]])
        raise wrong(place, " and ".join(nodes), "two nodes with a link between them", f"{nodes[0]}: {others}")
    return meant


def _unknown(name: str, known: Mapping[str, Any], place: Place) -> PydanticCustomError:
    """Returns the error for a name that no link has."""
    forward = [each for each, meant in known.items() if not meant[0][1]]
    expected = f"host, fabric, or a link: {in_short(forward)}"
    hint = near(name, ["host", "fabric", *known]) or "`between: [NODE, NODE]` gives a link a name of your own"
    return wrong(place, f"no link {name!r}", expected, hint)
