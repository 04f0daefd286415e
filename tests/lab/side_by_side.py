"""Several networks in one trial, apart from each other."""

from collections.abc import Mapping
from ipaddress import ip_interface

from nettrial.scenario import Scenario

NETWORKS = {4: 1 << 16, 6: 1 << 96}
"""The distance between the addresses of two networks, by IP version: 10.0.0.0/16 and 10.1.0.0/16, and
fd00::/32 and fd00:1::/32."""


def side_by_side(networks: Mapping[str, Scenario]) -> Scenario:
    """Returns a scenario of all these networks. Each has one flow, which gets the network's name."""
    whole = next(iter(networks.values())).model_copy(deep=True)
    whole.nodes, whole.links, whole.workload, whole.measurement.cpu = [], [], [], []
    for place, (name, given) in enumerate(networks.items()):
        network = given.model_copy(deep=True)
        for node in network.nodes:
            node.name += f"-{name}"
        for end in (end for link in network.links for end in link.ends):
            end.node += f"-{name}"
            for address in end.addresses or []:
                own = ip_interface(address.root)
                address.root = f"{own.ip + place * NETWORKS[own.version]}/{own.network.prefixlen}"
        (flow,) = network.workload
        flow.name, flow.from_, flow.to = name, f"{flow.from_}-{name}", f"{flow.to}-{name}"
        whole.nodes += network.nodes
        whole.links += network.links
        whole.workload.append(flow)
    return whole
