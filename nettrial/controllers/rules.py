"""The rules that an application wants on all switches, as plain data. Installed rules are compared with them
by their keys."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import networkx as nx

from nettrial.controllers.fabric import FabricDescription, Host
from nettrial.controllers.frames import IPV4, IPV6, FiveTuple
from nettrial.controllers.paths import Links, next_hops, out_ports, random_shortest_path, shortest_paths

Match = tuple[tuple[str, str | int], ...]
"""The fields of a packet and their values, by OpenFlow's names."""

TO_HOST, OF_PAIR, OF_FLOW = 100, 200, 300
"""The priorities of rules for a destination, for a pair of addresses, and for a flow."""


@dataclass(frozen=True)
class Rule:
    """A rule of a switch."""

    switch: int
    """The switch's datapath."""
    priority: int
    """The priority: of several matching rules, the one with the highest applies."""
    match: Match
    """The fields that a packet must have."""
    ports: tuple[int, ...]
    """The ports, through one of which a packet leaves."""


class Fabric:
    """The network as a controller knows it, and the application's choice of paths."""

    def __init__(self, description: FabricDescription) -> None:
        """Creates a network without links, which are discovered later."""
        self.description = description
        self.links = Links()
        self.by_mac = {host.mac: host for host in description.hosts}
        self.by_address = {address: host for host in description.hosts for address in host.addresses}
        self._graph: nx.Graph | None = None

    @property
    def graph(self) -> nx.Graph:
        """Returns the graph of all switches that have links or hosts."""
        if self._graph is None:
            self._graph = self.links.graph()
            self._graph.add_nodes_from(host.switch for host in self.description.hosts)
        return self._graph

    def changed(self) -> None:
        """Clears everything that was derived from the links."""
        self._graph = None

    def proactive(self) -> Iterator[Rule]:
        """Returns the rules for every destination and, with `k_shortest_paths`, for every pair."""
        for host in self.description.hosts:
            yield from self._to(host)
        if self.description.application == "k_shortest_paths":
            for near, far in self.description.pairs:
                for source, destination in ((near, far), (far, near)):
                    yield from self._of_pair(source, destination)

    def _to(self, host: Host) -> Iterator[Rule]:
        match: Match = (("eth_dst", host.mac),)
        yield Rule(host.switch, TO_HOST, match, (host.port,))
        for switch, others in next_hops(self.graph, host.switch).items():
            ports = [port for other in others for port in self.links.ports(switch, other)]
            if self.description.application == "ecmp":
                random.Random(f"{self.description.seed} {switch}").shuffle(ports)
                yield Rule(switch, TO_HOST, match, tuple(ports))
            else:
                yield Rule(switch, TO_HOST, match, (ports[0],))

    def _of_pair(self, source: str, destination: str) -> Iterator[Rule]:
        path = self._path_of_pair(source, destination)
        if path is None:
            return
        match = addresses(source, destination)
        for switch, port in out_ports(self.links, path, self.by_address[destination].port):
            yield Rule(switch, OF_PAIR, match, (port,))

    def _path_of_pair(self, source: str, destination: str) -> list[int] | None:
        """Returns the path of a pair of addresses: the one with the pair's number among the paths of the two
        hosts."""
        near, far = self.by_address.get(source), self.by_address.get(destination)
        if near is None or far is None:
            return None
        known = shortest_paths(self.graph, near.switch, far.switch, self.description.paths)
        number = far.before + far.addresses.index(destination)
        return known[number % len(known)] if known else None

    def reactive(self, switch: int, flow: FiveTuple) -> list[Rule]:
        """Returns the rules of a flow, beginning at the switch that received its first packet, with the last
        switch's rule first; none if no path is known."""
        host = self.by_address.get(flow.destination)
        path = self._path(switch, host, flow) if host else None
        if host is None or path is None:
            return []
        hops = list(out_ports(self.links, path, host.port))
        return [Rule(at, OF_FLOW, five_tuple(flow), (port,)) for at, port in reversed(hops)]

    def _path(self, switch: int, host: Host, flow: FiveTuple) -> list[int] | None:
        if self.description.application == "ecmp":
            draw = random.Random(f"{self.description.seed} {flow}")
            return random_shortest_path(self.graph, switch, host.switch, draw)
        if self.description.application == "k_shortest_paths":
            path = self._path_of_pair(flow.source, flow.destination)
            if path is not None and switch in path:
                return path[path.index(switch) :]
        paths = shortest_paths(self.graph, switch, host.switch, 1)
        return paths[0] if paths else None


def addresses(source: str, destination: str) -> Match:
    """Returns the match of the packets from one address to another."""
    if ":" in source:
        return (("eth_type", IPV6), ("ipv6_src", source), ("ipv6_dst", destination))
    return (("eth_type", IPV4), ("ipv4_src", source), ("ipv4_dst", destination))


def five_tuple(flow: FiveTuple) -> Match:
    """Returns the match of a flow's packets."""
    match = (*addresses(flow.source, flow.destination), ("ip_proto", flow.protocol))
    of = {6: "tcp", 17: "udp"}.get(flow.protocol)
    if of is None:
        return match
    return (*match, (f"{of}_src", flow.source_port), (f"{of}_dst", flow.destination_port))


def difference(
    now: Mapping[tuple[int, int, Match], Rule], wanted: list[Rule]
) -> tuple[list[Rule], list[Rule]]:
    """Returns the rules to install and those to remove, given the installed rules."""
    by_key = {(rule.switch, rule.priority, rule.match): rule for rule in wanted}
    return (
        [rule for key, rule in by_key.items() if now.get(key) != rule],
        [rule for key, rule in now.items() if key not in by_key],
    )
