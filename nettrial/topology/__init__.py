"""Networks by name: which nodes there are, how they are joined, and the addresses they get."""

# Each of these modules adds its topologies to the registry, in this order.
from nettrial.topology import shapes  # noqa: I001
from nettrial.topology import parking_lot, leaf_spine, fat_tree, jellyfish, xpander, wlan, file
from nettrial.topology.addresses import Interface, interfaces
from nettrial.topology.topology import CHANNEL, MOST_INTERFACES, TOPOLOGIES, Forwarding, Parameters, Topology

__all__ = [
    "CHANNEL",
    "MOST_INTERFACES",
    "TOPOLOGIES",
    "Forwarding",
    "Interface",
    "Parameters",
    "Topology",
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
