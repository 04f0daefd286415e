"""A radio channel, with an access point that serves stations and connects wired hosts, or with stations
only."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Annotated

import networkx as nx
from pydantic import Field, model_validator

from nettrial.fields import wrong
from nettrial.topology.topology import CHANNEL, DEVICE, KINDS, TOPOLOGIES, Parameters, Topology

ACCESS_POINT = "access-point"
"""The name of the access point."""
MOST_STATIONS = 250
"""The largest number of stations."""


class WlanParameters(Parameters):
    """Stations on an access point, and wired hosts behind it."""

    stations: Annotated[int, Field(ge=1, le=MOST_STATIONS)] = 2
    """The number of stations that share the radio channel: `station-1`, `station-2`, …"""
    wired: Annotated[int, Field(ge=0, le=MOST_STATIONS)] = 0
    """The number of hosts connected to the access point by a cable: `wired-1`, `wired-2`, …"""
    access_point: bool = True
    """False for stations that reach each other directly, with `network.wlan.mode: ad_hoc`."""

    @model_validator(mode="after")
    def _has_what_cables_lead_to(self) -> WlanParameters:
        if self.wired and not self.access_point:
            raise wrong(("wired",), str(self.wired), "0 without an access point")
        return self

    @model_validator(mode="after")
    def _has_two_hosts(self) -> WlanParameters:
        if self.stations + self.wired < 2:
            raise wrong(("stations",), str(self.stations), "2 hosts or more, including wired ones")
        return self


def build(parameters: WlanParameters, _: Sequence[str] = ()) -> nx.MultiGraph:
    """Returns the graph of the stations, the wired hosts, and the access point between them. Without an
    access point, all links of the graph, which form one channel, start at the first station."""
    stations = station_names(parameters.stations)
    wired = [f"wired-{number + 1}" for number in range(parameters.wired)]
    graph = nx.MultiGraph()
    graph.add_nodes_from([*stations, *wired], kind="host")
    if not parameters.access_point:
        graph.add_edges_from(((stations[0], station) for station in stations[1:]), **{CHANNEL: 0})
        return graph
    graph.add_node(ACCESS_POINT, kind=DEVICE)
    graph.add_edges_from(((station, ACCESS_POINT) for station in stations), **{CHANNEL: 0})
    graph.add_edges_from((host, ACCESS_POINT) for host in wired)
    return graph


def station_names(count: int) -> list[str]:
    """Returns the names of so many stations."""
    return [f"station-{number + 1}" for number in range(count)]


@lru_cache(maxsize=8)
def with_stations(graph: nx.MultiGraph, at: str, count: int) -> nx.MultiGraph:
    """Returns a graph with so many stations more, whose access point has a cable to the node `at`. Hosts and
    their links still come first."""
    stations = station_names(count)
    kinds = dict(graph.nodes(data="kind"))
    is_of_host = {edge: "host" in (kinds[edge[0]], kinds[edge[1]]) for edge in graph.edges(keys=True)}
    new = nx.MultiGraph()
    new.add_nodes_from(
        (node, attributes) for node, attributes in graph.nodes(data=True) if attributes["kind"] == "host"
    )
    new.add_nodes_from(stations, kind="host")
    new.add_nodes_from(
        (node, attributes) for node, attributes in graph.nodes(data=True) if attributes["kind"] != "host"
    )
    new.add_node(ACCESS_POINT, kind=KINDS["bridges"])
    new.add_edges_from((*edge, graph.edges[edge]) for edge, is_first in is_of_host.items() if is_first)
    new.add_edges_from(((station, ACCESS_POINT) for station in stations), **{CHANNEL: 0})
    new.add_edges_from((*edge, graph.edges[edge]) for edge, is_first in is_of_host.items() if not is_first)
    new.add_edge(ACCESS_POINT, at)
    return nx.freeze(new)


TOPOLOGIES.add(
    "wlan",
    Topology("Stations on an access point", build, WlanParameters, forwarding=("bridges",)),
)
