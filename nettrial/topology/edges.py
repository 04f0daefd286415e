"""The links of a graph, and the settings that a graph's file gives them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import networkx as nx
from pydantic import Field

from nettrial.fields import Name, Strict
from nettrial.topology.topology import CHANNEL
from nettrial.units import Duration, Probability, Queue, Rate, Size

SETTINGS = "settings"
"""The attribute of a graph's links with their settings."""
SOURCE = "source"
"""The attribute of a graph's links with the node from which the direction of their settings leads."""


class EdgeDirection(Strict):
    """The settings of a link in one direction; those that are absent are the study's."""

    rate: Rate | None = None
    """The line rate on the wire, including preamble and gap."""
    delay: Duration | None = None
    """The propagation delay in one direction."""
    queue: Queue | None = None
    """The limit of the transmit queue."""
    loss: Annotated[Probability, Field(ge=0, le=1)] | None = None
    """The probability that a frame is lost."""


OF_DIRECTION = tuple(EdgeDirection.model_fields)
"""The settings that the two directions of a link may have apart."""


class EdgeSettings(EdgeDirection):
    """The settings that a file gives a link, in the direction from its source to its target."""

    mtu: Size | None = None
    """The largest IP packet."""
    name: Name | None = None
    """The link's name, by which a study can set it."""
    reverse: EdgeDirection | None = None
    """The settings of the opposite direction, where they differ."""


@dataclass(frozen=True, slots=True)
class Edge:
    """A link of a graph, or a radio channel."""

    nodes: tuple[str, str]
    """Its nodes, of which the first has the first interface; of a channel, those of its first link."""
    settings: EdgeSettings | None
    """The settings from the graph's file, if there are any."""
    is_reversed: bool
    """True if the direction of these settings is that from the second node to the first."""
    is_channel: bool
    """True for a radio channel."""


def edges_of(graph: nx.MultiGraph) -> list[Edge]:
    """Returns the links of a graph in the order of their interfaces; a radio channel is one."""
    edges: list[Edge] = []
    channels: set[int] = set()
    for one, other, attributes in graph.edges(data=True):
        channel = attributes.get(CHANNEL)
        if channel in channels:
            continue
        if channel is not None:
            channels.add(channel)
        edges.append(
            Edge(
                (one, other),
                attributes.get(SETTINGS),
                attributes.get(SOURCE, one) != one,
                channel is not None,
            )
        )
    return edges
