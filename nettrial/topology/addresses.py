"""Interfaces and their addresses: every layer-2 segment is a separate IP network, and one for each further
interface that nodes have in it."""

from __future__ import annotations

import ipaddress
import socket
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import networkx as nx

from nettrial.topology.topology import CHANNEL

BASE = {4: int(ipaddress.ip_address("10.0.0.0")), 6: int(ipaddress.ip_address("fd00::"))}
"""The first address of the segments: private (RFC 1918 section 3) or unique local (RFC 4193 section 3)."""
BITS = {4: 32, 6: 128}
"""The number of bits of an address, by IP version."""
NETWORK_BITS = 24
"""The number of bits of 10.0.0.0/8 that distinguish addresses."""
HOST_BITS = {4: 8, 6: 64}
"""The minimum number of host bits of a segment: RFC 4291 section 2.5.1 requires 64. 10.0.0.0/8 has room for
65,536 segments of 8 bits; in a larger network, segments are as small as fits."""
FAMILIES = {4: socket.AF_INET, 6: socket.AF_INET6}
"""The address family of sockets, by IP version."""


@dataclass(frozen=True, slots=True)
class AddressedInterface:
    """An interface, which connects a node to a link."""

    node: str
    """The node's name."""
    name: str
    """The name, unique in the node: eth0, eth1, … in the order of its links."""
    address: str | None
    """The address with its prefix length; None on a switch."""
    further: tuple[str, ...] = ()
    """The other addresses of a host's interface, in the same network."""


def interfaces(graph: nx.MultiGraph, ip: int, count: int = 1) -> list[tuple[AddressedInterface, ...]]:
    """Returns the interfaces of every link of `graph`, in the order of the links, with addresses of IP
    version `ip` (4 or 6): `count` addresses at a host, one at a router. A cable has two interfaces; a radio
    channel, which takes the place of its first link, has those of the access point and of its stations."""
    links = list(graph.edges())
    used: dict[str, int] = dict.fromkeys(graph.nodes, 0)
    addresses = dict(_addresses(graph, links, ip, count))
    ends: list[list[AddressedInterface]] = []
    radio: dict[int, list[AddressedInterface]] = {}
    for number, (*link, channel) in enumerate(graph.edges(data=CHANNEL)):
        pair = []
        for node in link:
            if channel in radio and node == radio[channel][0].node:
                continue
            own = addresses.get((number, node), [None])
            pair.append(AddressedInterface(node, f"eth{used[node]}", own[0], tuple(filter(None, own[1:]))))
            used[node] += 1
        if channel is None:
            ends.append(pair)
        elif channel in radio:
            radio[channel] += pair
        else:
            radio[channel] = sorted(pair, key=lambda end: graph.nodes[end.node]["kind"] == "host")
            ends.append(radio[channel])
    return [tuple(each) for each in ends]


def _addresses(
    graph: nx.MultiGraph, links: list[tuple[str, str]], ip: int, count: int
) -> Iterator[tuple[tuple[int, str], Sequence[str | None]]]:
    """Yields the addresses of each interface that is not on a switch, by the link's number and the node. The
    first address of each interface does not depend on `count`."""
    kinds = dict(graph.nodes(data="kind"))
    switches = {node for node, kind in kinds.items() if kind == "switch"}
    begin, family, length = BASE[ip], FAMILIES[ip], BITS[ip] // 8
    channels = [channel for *_, channel in graph.edges(data=CHANNEL)]
    networks = [
        ends
        for segment in _segments(links, channels, switches)
        for ends in _networks(links, channels, switches, segment)
    ]
    least = HOST_BITS[ip]
    if ip == 4:
        least = min(least, NETWORK_BITS - (len(networks) - 1).bit_length())
    for ends in networks:
        # Interfaces can't have addresses with all zeros or all ones.
        several = [end for end in ends if kinds[end[1]] == "host" for _ in range(count - 1)]
        bits = max(least, (len(ends) + len(several) + 1).bit_length())
        begin = -(-begin >> bits) << bits
        addresses: dict[tuple[int, str], list[str | None]] = defaultdict(list)
        for offset, end in enumerate([*ends, *several], start=1):
            address = socket.inet_ntop(family, (begin + offset).to_bytes(length))
            addresses[end].append(f"{address}/{BITS[ip] - bits}")
        yield from addresses.items()
        begin += 1 << bits


def _networks(
    links: list[tuple[str, str]], channels: list[int | None], switches: set[str], segment: list[int]
) -> list[list[tuple[int, str]]]:
    """Returns the IP networks of a segment, each with its interfaces by link and node. The second interface
    of a node in a segment is in a second network, so that packets from its address leave by it."""
    ends = [(number, node) for number in segment for node in links[number] if node not in switches]
    if channels[segment[0]] is not None and switches.isdisjoint(links[segment[0]]):
        # One station is at all links of an ad hoc channel, with a single interface.
        firsts = {node: (number, node) for number, node in reversed(ends)}
        return [[end for end in ends if firsts[end[1]] == end]]
    networks: list[list[tuple[int, str]]] = [[]]
    seen: Counter[str] = Counter()
    for end in ends:
        if seen[end[1]] == len(networks):
            networks.append([])
        networks[seen[end[1]]].append(end)
        seen[end[1]] += 1
    return networks


def _segments(
    links: list[tuple[str, str]], channels: list[int | None], switches: set[str]
) -> list[list[int]]:
    """Returns the numbers of the links of each segment, which switches or a radio channel connect, in the
    order of each segment's first link."""
    joined = nx.utils.UnionFind(switches)
    for one, other in links:
        if one in switches and other in switches:
            joined.union(one, other)
    segments: dict[object, list[int]] = defaultdict(list)
    for number, link in enumerate(links):
        switch = next((node for node in link if node in switches), None)
        if switch is not None:
            segments[joined[switch]].append(number)
        elif channels[number] is not None:
            segments["channel", channels[number]].append(number)
        else:
            segments[number].append(number)
    return list(segments.values())
