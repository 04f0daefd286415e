"""A radio channel: stations on an access point, and hosts on cables behind it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import networkx as nx
from pydantic import Field, model_validator

from nettrial.fields import wrong
from nettrial.topology.topology import CHANNEL, DEVICE, TOPOLOGIES, Parameters, Topology

ACCESS_POINT = "access-point"
MOST_STATIONS = 250


class WlanParameters(Parameters):
    """Stations on an access point, and hosts on cables behind it."""

    stations: Annotated[int, Field(ge=1, le=MOST_STATIONS)] = 2
    """The number of stations that share the radio channel: `station-1`, `station-2`, …"""
    wired: Annotated[int, Field(ge=0, le=MOST_STATIONS)] = 0
    """The number of hosts that have a cable to the access point: `wired-1`, `wired-2`, …"""

    @model_validator(mode="after")
    def _has_two_hosts(self) -> WlanParameters:
        if self.stations + self.wired < 2:
            raise wrong(("stations",), str(self.stations), "2 hosts or more, those with a cable counted")
        return self


def build(parameters: WlanParameters, _: Sequence[str] = ()) -> nx.MultiGraph:
    """The stations, the hosts with a cable, and the access point between them."""
    stations = [f"station-{number + 1}" for number in range(parameters.stations)]
    wired = [f"wired-{number + 1}" for number in range(parameters.wired)]
    graph = nx.MultiGraph()
    graph.add_nodes_from([*stations, *wired], kind="host")
    graph.add_node(ACCESS_POINT, kind=DEVICE)
    graph.add_edges_from(((station, ACCESS_POINT) for station in stations), **{CHANNEL: 0})
    graph.add_edges_from((host, ACCESS_POINT) for host in wired)
    return graph


TOPOLOGIES.add(
    "wlan",
    Topology("Stations on an access point", build, WlanParameters, forwarding=("bridges",)),
)
