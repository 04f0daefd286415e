"""Interfaces and their addresses: every layer-2 segment is a network of its own."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import networkx as nx

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

BASE: dict[int, Network] = {
    4: ipaddress.ip_network("10.0.0.0/8"),
    6: ipaddress.ip_network("fd00::/48"),
}
"""What segments are cut from: private use (RFC 1918 section 3), unique local (RFC 4193 section 3)."""
PREFIX = {4: 24, 6: 64}
"""A segment's prefix length: 64 is what RFC 4291 section 2.5.1 asks for."""
LARGE_PREFIX_4 = 16
"""An IPv4 segment's prefix length where 24 would hold too few interfaces."""


@dataclass(frozen=True)
class Interface:
    """One end of a link."""

    node: str
    name: str
    """Unique in the node: eth0, eth1, … in the order of its links."""
    address: str | None
    """With the prefix length; None on a switch."""


def interfaces(graph: nx.Graph, ip: int) -> list[tuple[Interface, Interface]]:
    """The two interfaces of every link of `graph`, in the links' order, with addresses of IP version
    `ip` (4 or 6)."""
    links = list(graph.edges())
    used: dict[str, int] = dict.fromkeys(graph.nodes, 0)
    addresses = _addresses(graph, links, ip)
    ends: list[tuple[Interface, Interface]] = []
    for number, link in enumerate(links):
        pair = []
        for node in link:
            pair.append(Interface(node, f"eth{used[node]}", addresses.get((number, node))))
            used[node] += 1
        ends.append((pair[0], pair[1]))
    return ends


def _addresses(graph: nx.Graph, links: list[tuple[str, str]], ip: int) -> dict[tuple[int, str], str]:
    """An address for each link's end that is not on a switch, by the link's number and the node."""
    segments = nx.Graph()
    segments.add_nodes_from(range(len(links)))
    switches = {node for node, kind in graph.nodes(data="kind") if kind == "switch"}
    for switch in switches:
        attached = [number for number, link in enumerate(links) if switch in link]
        segments.add_edges_from(pairwise(attached))
    members = [
        [(number, node) for number in sorted(segment) for node in links[number] if node not in switches]
        for segment in sorted(nx.connected_components(segments), key=min)
    ]
    prefix = PREFIX[ip]
    if ip == 4 and max(map(len, members), default=0) > 2 ** (32 - prefix) - 2:
        prefix = LARGE_PREFIX_4
    networks: Iterator[Network] = BASE[ip].subnets(new_prefix=prefix)
    return {
        end: f"{address}/{prefix}"
        for network, ends in zip(networks, members, strict=False)
        for address, end in zip(network.hosts(), ends, strict=False)
    }
