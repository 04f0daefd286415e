"""Topologies by name: their nodes, their links, and the addresses of interfaces."""

# Each of these modules registers its topologies, in this order.
from nettrial.topology import shapes  # noqa: I001
from nettrial.topology import parking_lot, leaf_spine, fat_tree, jellyfish, xpander, wlan, file
from nettrial.topology.addresses import AddressedInterface, interfaces
from nettrial.topology.edges import Edge, EdgeSettings, edges_of
from nettrial.topology.topology import CHANNEL, MOST_INTERFACES, TOPOLOGIES, Forwarding, Parameters, Topology

__all__ = [
    "CHANNEL",
    "MOST_INTERFACES",
    "TOPOLOGIES",
    "AddressedInterface",
    "Edge",
    "EdgeSettings",
    "Forwarding",
    "Parameters",
    "Topology",
    "edges_of",
    "fat_tree",
    "file",
    "interfaces",
    "jellyfish",
    "leaf_spine",
    "parking_lot",
    "shapes",
    "wlan",
    "xpander",
]
