"""The graph of a trial's network."""

from __future__ import annotations

import networkx as nx

from nettrial.scenario import Scenario
from nettrial.topology.topology import CHANNEL


def graph_of(scenario: Scenario) -> nx.MultiGraph:
    """The nodes and links of a scenario; each link has its `number`, and a radio channel's links are from the
    access point, or the first station, to each other one."""
    graph = nx.MultiGraph()
    for node in scenario.nodes:
        graph.add_node(node.name, kind=node.kind.root)
    for number, link in enumerate(scenario.links):
        first, *others = link.ends
        channel = {CHANNEL: number} if link.wlan else {}
        graph.add_edges_from(((first.node, other.node) for other in others), number=number, **channel)
    return graph
