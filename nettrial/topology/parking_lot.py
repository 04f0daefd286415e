"""The parking lot: switches in a row, so that a flow along all of them competes with others on each link."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated

import networkx as nx
from pydantic import Field, model_validator

from nettrial.topology.topology import (
    FABRIC,
    MOST_SWITCHES,
    TOPOLOGIES,
    Topology,
    WithHosts,
    switch_names,
)

ANY = 10**6
"""A number of links to hosts beyond any switch's possible number."""


class ParkingLot(WithHosts):
    """Switches in a row, each with hosts: a flow along all of them competes with others on each link."""

    switches: Annotated[int, Field(ge=2, le=MOST_SWITCHES)] = 4
    """The number of switches in the row."""

    @model_validator(mode="after")
    def _fits(self) -> ParkingLot:
        self.check_hosts(switch_names(self.switches), ANY)
        return self


def build(parameters: ParkingLot, _: Sequence[str] = ()) -> nx.MultiGraph:
    """Returns the graph of `switch-1`, … in a row."""
    switches = switch_names(parameters.switches)
    return parameters.graph_of(switches, pairwise(switches))


TOPOLOGIES.add(
    "parking-lot",
    Topology("Switches in a row, each with hosts", build, ParkingLot, forwarding=FABRIC),
)
