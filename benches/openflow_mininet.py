"""Builds a fabric of Open vSwitch with Mininet and takes it down; for openflow.py, in the Python that has
Mininet.

Reads {"links": [[node, node], ...], "seconds": limit} and prints a line of JSON: the seconds until the
fabric is up, until all switches have a connection to their controller (null if the limit passed before),
the number of switches that Open vSwitch calls connected in the end, and the seconds that it took to go
down."""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

try:
    from mininet.net import Mininet
    from mininet.node import OVSController, OVSSwitch
except ImportError:
    sys.exit("it is not there: apt-get install mininet openvswitch-testcontroller")

EACH = 16
"""The largest number of switches that ovs-testcontroller serves (MAX_SWITCHES in its source): more than one
runs for a larger fabric."""
FIRST_PORT = 6653
PAUSE = 0.02
ESTABLISHED = "01"
"""The state of an established connection in /proc/net/tcp (enum in the kernel's net/tcp_states.h)."""
CONNECTED = ["ovs-vsctl", "--columns=is_connected", "--format=csv", "--no-headings", "list", "controller"]


class Switch(OVSSwitch):  # type: ignore[misc]
    """A bridge of the user-space datapath that connects to one of the controllers, and runs the spanning
    tree protocol: the links have loops, in which the controllers would flood what hosts say by
    themselves."""

    def start(self, controllers: list[Any]) -> None:
        """Starts the switch under the controller with room for it."""
        place = int(self.name[1:]) // EACH
        super().start([controllers[place % len(controllers)]])

    def bridgeOpts(self) -> str:  # noqa: N802
        """Returns the options of the bridge. Mininet's own `stp` takes effect in standalone mode only, in
        which every switch counts as connected."""
        return f"{super().bridgeOpts()} stp_enable=true"


def connections(ports: range) -> int:
    """Returns the number of switches' connections to controllers at these ports. Open vSwitch itself, and
    therefore Mininet's `waitConnected`, learns of them up to 5 s later (stats-update-interval)."""
    lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
    sockets = [line.split()[2:4] for line in lines]
    return sum(state == ESTABLISHED and int(far.split(":")[1], 16) in ports for far, state in sockets)


def connected() -> int:
    """Returns the number of switches that Open vSwitch calls connected."""
    said = subprocess.run(CONNECTED, check=True, capture_output=True, text=True).stdout
    return said.count("true")


def wait(count: Callable[[], int], wanted: int, deadline: float) -> bool:
    """Waits until a count is as large as wanted, and returns whether it is."""
    while count() < wanted:
        if time.perf_counter() > deadline:
            return False
        time.sleep(PAUSE)
    return True


def main() -> None:
    """Builds, waits and stops."""
    given = json.load(sys.stdin)
    begin = time.perf_counter()
    net = Mininet(switch=Switch, controller=OVSController, build=False)
    nodes = {}
    for name in sorted({node for link in given["links"] for node in link}):
        kind, number = name.split("-")
        if kind == "switch":
            nodes[name] = net.addSwitch(f"s{number}", datapath="user")
        else:
            nodes[name] = net.addHost(f"h{number}")
    for number in range(-(-len(net.switches) // EACH)):
        net.addController(f"c{number}", port=FIRST_PORT + number)
    for near, far in given["links"]:
        net.addLink(nodes[near], nodes[far])
    net.start()
    up = time.perf_counter()
    wanted, deadline = len(net.switches), begin + given["seconds"]
    ports = range(FIRST_PORT, FIRST_PORT + len(net.controllers))
    in_time = wait(lambda: connections(ports), wanted, deadline)
    then = time.perf_counter()
    # A connection is a controller's only once that has accepted it.
    in_time = wait(connected, wanted, deadline) and in_time
    count = connected()
    last = time.perf_counter()
    net.stop()
    times = {"up": up - begin, "connected": then - begin if in_time else None, "count": count}
    print(json.dumps({**times, "down": time.perf_counter() - last}))


if __name__ == "__main__":
    main()
