"""Metrics of a trial's network itself: what its graph gives routing to choose from."""

from __future__ import annotations

from nettrial.metrics.metric import add
from nettrial.scenario import Scenario
from nettrial.topology.scenario_graph import graph_of


def _mean(scenario: Scenario) -> float | None:
    from nettrial.topology.facts import switch_paths  # it is slow to load, and few studies ask for it

    paths = switch_paths(graph_of(scenario))
    return paths[1].mean if paths else None


def _several(scenario: Scenario) -> float | None:
    from nettrial.topology.facts import switch_paths

    paths = switch_paths(graph_of(scenario))
    return 100 * paths[1].several if paths else None


def _distance(scenario: Scenario) -> float | None:
    from nettrial.topology.facts import switch_paths

    paths = switch_paths(graph_of(scenario))
    return paths[0].mean if paths else None


add(
    "shortest_paths",
    "paths",
    "Shortest paths of two switches",
    "mean number of equal-cost shortest paths between two connected switches (parallel links count)",
    "RFC 2992: equal-cost multi-path",
    "higher",
    network=_mean,
)
add(
    "several_shortest_paths",
    "%",
    "Switches with several shortest paths",
    "share of the pairs of switches that a path joins with more than one shortest path",
    "RFC 2992: equal-cost multi-path",
    "higher",
    network=_several,
)
add(
    "switch_distance",
    "links",
    "Distance of two switches",
    "mean length of the shortest path between two connected switches",
    "Singla et al., NSDI 2012, section 4",
    "lower",
    network=_distance,
)
