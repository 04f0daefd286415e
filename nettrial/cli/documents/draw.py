"""The document of `nettrial draw`."""

from __future__ import annotations

from typing import Any, Literal

from nettrial.cli.documents.base import JsonDocument, Part


class PairsOfNodes(Part):
    """The shortest paths between every two nodes of a kind, in links."""

    pairs: dict[int, int]
    """The number of pairs by path length."""
    mean: float
    """The mean path length."""
    diameter: int
    """The longest path length."""


class EqualPaths(Part):
    """The number of shortest paths between two switches, over all connected pairs: the paths among which
    equal-cost multipath routing (ECMP) chooses."""

    mean: float
    """The mean number of paths."""
    several: float
    """The share of pairs with more than one path, from 0 to 1."""
    most: int
    """The largest number of paths of a pair."""


class Bisection(Part):
    """The number of links that must be cut to split the switches into two halves."""

    at_least: int
    """The lower bound, from the spectrum."""
    at_most: int
    """The best cut that was found."""
    per_host: float
    """`at_most` divided by the number of hosts in a half: 1 or more is full bisection bandwidth, if all links
    have the same rate."""


class Spectrum(Part):
    """The eigenvalues of the switches' adjacency matrix."""

    second: float
    """The second largest eigenvalue."""
    gap: float
    """The largest eigenvalue less the second largest."""
    bound: float
    """The lower bound of the second largest eigenvalue in large regular graphs."""


class DrawDocument(JsonDocument):
    """The properties of a topology, or of the network of a study's first treatment."""

    document: Literal["draw"] = "draw"
    """The kind of document."""
    topology: str | None
    """The topology's name; null for a study."""
    parameters: dict[str, Any] | None
    """The topology's parameters; null for a study."""
    study: str | None
    """The study's name; null for a topology."""
    switches: int
    """The number of routers and switches."""
    hosts: int
    """The number of hosts."""
    host_links: int
    """The number of links with a host at one end."""
    fabric_links: int
    """The number of links between switches."""
    fewest_links: int
    """The smallest number of links from a switch to other switches."""
    most_links: int
    """The largest number of links from a switch to other switches."""
    between_hosts: PairsOfNodes | None
    """The paths between hosts; null if no two are connected."""
    between_switches: PairsOfNodes | None
    """The paths between switches; null if no two are connected."""
    equal_paths: EqualPaths | None
    """The equal shortest paths; null if no two switches are connected."""
    bisection: Bisection | None
    """The bisection; null if no two switches are connected."""
    spectrum: Spectrum | None
    """The spectrum; null if no two switches are connected."""
