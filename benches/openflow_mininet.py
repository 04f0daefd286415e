"""Builds a fabric of Open vSwitch with Mininet and takes it down; for openflow.py, in the Python that has
Mininet.

Reads {"links": [[node, node], ...]} and prints the seconds until it is up, until all switches have
connected to Mininet's own controller, and that it took to go down."""

import json
import sys
import time
from functools import partial

try:
    from mininet.net import Mininet
    from mininet.node import OVSController, OVSSwitch
except ImportError:
    sys.exit("it is not there: apt-get install mininet openvswitch-testcontroller")


def main() -> None:
    """Builds, waits and stops."""
    links = json.load(sys.stdin)["links"]
    begin = time.perf_counter()
    # The links have loops, in which the controller's switches would flood what hosts say by themselves.
    net = Mininet(switch=partial(OVSSwitch, datapath="user", stp=True), controller=OVSController, build=False)
    net.addController("c0")
    nodes = {}
    for name in sorted({node for link in links for node in link}):
        kind, number = name.split("-")
        nodes[name] = net.addSwitch(f"s{number}") if kind == "switch" else net.addHost(f"h{number}")
    for near, far in links:
        net.addLink(nodes[near], nodes[far])
    net.start()
    up = time.perf_counter()
    connected = net.waitConnected(timeout=120)
    then = time.perf_counter()
    net.stop()
    print(
        json.dumps(
            {
                "up": up - begin,
                "connected": then - begin if connected else None,
                "down": time.perf_counter() - then,
            }
        )
    )


if __name__ == "__main__":
    main()
