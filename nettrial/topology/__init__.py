"""Networks by name: which nodes there are, how they are joined, and the addresses they get."""

from nettrial.topology.addresses import Interface, interfaces
from nettrial.topology.shapes import TOPOLOGIES, Topology

__all__ = ["TOPOLOGIES", "Interface", "Topology", "interfaces"]
