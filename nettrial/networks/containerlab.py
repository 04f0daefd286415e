"""Networks of containerlab: the nodes and links of a topology file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nettrial.networks.graph import ForeignGraph

BRIDGES = ("bridge", "ovs-bridge")
"""The kinds of nodes that forward frames."""
ROUTER_IMAGES = ("frr", "bird", "vyos", "gobgp", "quagga", "openbgpd")
"""Words in the image of a Linux container that routes."""
SPECIAL = ("host", "mgmt-net", "macvlan", "vxlan", "vxlan-stitch", "dummy")
"""The names of endpoints and the types of links that lead out of the network."""


def graph_of(source: str, document: Any) -> ForeignGraph:
    """Returns the network of a topology file, whose content is plain data. A container of the kind `linux`
    with one link is a host, unless its image is that of a router; with several, it forwards. Raises
    BadInput."""
    graph = ForeignGraph(source)
    topology = document.get("topology") if isinstance(document, Mapping) else None
    if not isinstance(topology, Mapping) or not isinstance(topology.get("nodes"), Mapping):
        raise graph.bad("no topology.nodes", "a topology file of containerlab")
    links = topology.get("links") or []
    if not isinstance(links, list):
        raise graph.bad("topology.links", "a list of links with endpoints")
    nodes = {str(name): node if isinstance(node, Mapping) else {} for name, node in topology["nodes"].items()}
    pairs = [(_ends(graph, number, link), link) for number, link in enumerate(links)]
    degree = dict.fromkeys(nodes, 0)
    for ends, _ in pairs:
        for end in ends:
            if end not in nodes:
                raise graph.bad(f"the endpoint {end}", f"a node: {', '.join(nodes)}")
            degree[end] += 1
    for name, node in nodes.items():
        graph.add_node(name, _kind(topology, node, degree[name]))
    for (one, other), link in pairs:
        made: dict[str, Any] = {"source": one, "target": other}
        mtu = link.get("mtu", _default(topology, "mtu"))
        if mtu is not None:
            made["mtu"] = mtu
        graph.links.append(made)
    return graph


def _ends(graph: ForeignGraph, number: int, link: Any) -> tuple[str, str]:
    """Returns the nodes of a link in either of containerlab's notations."""
    name = f"topology.links[{number}]"
    if not isinstance(link, Mapping):
        raise graph.bad(name, "a link with endpoints")
    if link.get("type", "veth") != "veth":
        raise graph.bad(f"{name}: the type {link['type']}", "veth: other links lead out of the network")
    for field in link:
        if field not in ("endpoints", "type", "mtu", "vars", "labels"):
            raise graph.bad(f"{name}: {field}", "endpoints, type, mtu, vars and labels")
        if field in ("vars", "labels"):
            graph.ignored.add(f"{field} of links")
    endpoints = link.get("endpoints")
    if not isinstance(endpoints, list) or len(endpoints) != 2:
        raise graph.bad(f"{name}: endpoints", 'two endpoints, such as ["r1:eth1", "r2:eth1"]')
    ends = []
    for end in endpoints:
        node = end.get("node") if isinstance(end, Mapping) else str(end).rpartition(":")[0]
        if not node or node in SPECIAL:
            raise graph.bad(f"{name}: the endpoint {end}", "an interface of a node: NODE:INTERFACE")
        ends.append(str(node))
    return ends[0], ends[1]


def _kind(topology: Mapping[str, Any], node: Mapping[str, Any], degree: int) -> str:
    """Returns the kind of a node."""
    kind = node.get("kind") or _of_group(topology, node, "kind") or _default(topology, "kind") or ""
    kinds = topology.get("kinds")
    of_kind = kinds.get(kind) if isinstance(kinds, Mapping) else None
    image = node.get("image") or (of_kind.get("image") if isinstance(of_kind, Mapping) else "") or ""
    image = str(image or _default(topology, "image") or "")
    if kind in BRIDGES:
        return "switch"
    if kind != "linux" or any(word in image.lower() for word in ROUTER_IMAGES):
        return "router"
    return "host" if degree == 1 else "router"


def _default(topology: Mapping[str, Any], field: str) -> Any:
    defaults = topology.get("defaults")
    return defaults.get(field) if isinstance(defaults, Mapping) else None


def _of_group(topology: Mapping[str, Any], node: Mapping[str, Any], field: str) -> Any:
    groups = topology.get("groups")
    group = groups.get(node.get("group")) if isinstance(groups, Mapping) else None
    return group.get(field) if isinstance(group, Mapping) else None
