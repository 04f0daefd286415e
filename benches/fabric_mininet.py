"""Builds a fabric with Mininet and removes it, for fabric.py, in a Python that has Mininet.

Reads {"links": [[node, node], ...], "rate": whether links have one} and prints the seconds until it is up and
until it is down."""

import json
import sys
import time

try:
    from mininet.link import Link, TCLink
    from mininet.net import Mininet
    from mininet.nodelib import LinuxBridge
except ImportError:
    sys.exit("it is not there: apt-get install mininet bridge-utils")


def main() -> None:
    """Builds the fabric and removes it."""
    request = json.load(sys.stdin)
    begin = time.perf_counter()
    net = Mininet(switch=LinuxBridge, controller=None, link=TCLink if request["rate"] else Link, build=False)
    nodes = {}
    for name in sorted({node for link in request["links"] for node in link}):
        kind, number = name.split("-")
        if kind == "switch":
            nodes[name] = net.addSwitch(f"s{number}", stp=True)
        else:
            nodes[name] = net.addHost(f"h{number}")
    settings = {"bw": 1000, "max_queue_size": 100} if request["rate"] else {}
    for near, far in request["links"]:
        net.addLink(nodes[near], nodes[far], **settings)
    net.start()
    up = time.perf_counter()
    net.stop()
    print(json.dumps([up - begin, time.perf_counter() - up]))


if __name__ == "__main__":
    main()
