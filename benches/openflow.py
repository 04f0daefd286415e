"""Measures what Open vSwitch's user-space datapath carries, and how fast a large fabric is up under a
controller.

    python benches/openflow.py [ceiling] [ninety] [mininet]

As root, on a machine that does nothing else; all three without a word. It takes `apt-get install
openvswitch-switch ethtool iperf3 mininet openvswitch-testcontroller`.

- `ceiling`: goodput of TCP between two hosts through 1, 2, 4 and 8 bridges in a row, over links without a
  rate, with an MTU of 1500 bytes and no offloads: 5 times 3 seconds of iperf3. The lab refuses links at
  switches that are faster than CEILING in engine/lab/src/openflow/preflight.rs.
- `ninety`: a Jellyfish of 90 switches, each with four links to others and a host, 5 times: the times
  until all switches have connected to the controller, all links are known (from the first connection on),
  and all rules are in place, and the time that the whole network took.
- `mininet`: Jellyfishes of 10, 30 and 90 switches in Mininet, whose switches are bridges of the user-space
  datapath, too, under as many of Debian's `ovs-testcontroller` as they need (each serves 16): the times
  until they are up, until all have connected, and to go down. It stops waiting after 60 s each.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from nettrial.backends import Backend
from nettrial.design import scenario_of
from nettrial.scenario import Scenario
from nettrial.study import load

SWITCHES = 90
TIMES = 5
LENGTHS = (1, 2, 4, 8)
SIZES = (10, 30, SWITCHES)
"""The numbers of switches that Mininet has."""
MININET_SECONDS = 60
"""The time after which Mininet's switches must have connected."""
MININET = Path(__file__).with_name("openflow_mininet.py")
DAEMONS = """
export PATH=$PATH:/usr/sbin OVS_RUNDIR=/run/openvswitch OVS_DBDIR=/run/openvswitch OVS_LOGDIR=/run/openvswitch
mount -t tmpfs tmpfs /run
mkdir -p /run/openvswitch /run/netns
ip link set lo up
common="--detach --no-chdir --pidfile -vconsole:warn -vsyslog:off -vfile:off"
ovsdb-tool create /run/openvswitch/conf.db /usr/share/openvswitch/vswitch.ovsschema
ovsdb-server /run/openvswitch/conf.db --remote=punix:/run/openvswitch/db.sock $common
ovs-vsctl --no-wait init
ovs-vswitchd unix:/run/openvswitch/db.sock --disable-system $common
"""
"""The start of Open vSwitch in namespaces of its own, which end with it."""
ROW = """
ip netns add a
ip netns add b
for i in $(seq $COUNT); do
  ovs-vsctl add-br s$i -- set bridge s$i datapath_type=netdev fail_mode=secure
done
# LINK i is between what is before switch i and switch i.
last=$((COUNT + 1))
join() {
  ovs-vsctl add-port $1 $2 -- set interface $2 ofport_request=$3
  ip link set $2 up
}
for i in $(seq $last); do
  ip link add l$i type veth peer name r$i
  [ $i = 1 ] && ip link set l$i netns a || join s$((i - 1)) l$i 2
  [ $i = $last ] && ip link set r$i netns b || join s$i r$i 1
done
ip -n a link set l1 name eth0
ip -n b link set r$last name eth0
for host in a:10.0.0.1 b:10.0.0.2; do
  ip -n ${host%:*} address add ${host#*:}/24 dev eth0
  ip -n ${host%:*} link set eth0 up
  ip netns exec ${host%:*} ethtool -K eth0 tx off tso off gso off gro off > /dev/null
done
for i in $(seq $COUNT); do
  ovs-ofctl add-flow s$i in_port=1,actions=output:2
  ovs-ofctl add-flow s$i in_port=2,actions=output:1
done
ip netns exec b iperf3 --server --one-off > /dev/null &
sleep 0.5
ip netns exec a iperf3 --client 10.0.0.2 --time 3 --json
"""


def contained(script: str, **variables: str) -> str:
    """Runs a script beside Open vSwitch in namespaces that end with it; returns its output."""
    dies_with_us = ["setpriv", "--pdeathsig", "KILL"]
    apart = ["unshare", "-n", "-m", "-p", "--fork", "--kill-child", "--mount-proc", "bash", "-e", "-c"]
    given = [f"{name}={value}" for name, value in variables.items()]
    done = subprocess.run(
        ["env", *given, *dies_with_us, *apart, DAEMONS + script], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        lines = (done.stderr or done.stdout).strip().splitlines()
        sys.exit("\n".join(lines[-5:]) or f"it ended with status {done.returncode}")
    return done.stdout


def ceiling() -> None:
    """Prints what passes through bridges in a row."""
    print(f"{'bridges':>8} {'goodput, Mbit/s':>16}  each")
    for length in LENGTHS:
        rates = []
        for _ in range(TIMES):
            answer: dict[str, Any] = json.loads(contained(ROW, COUNT=str(length)))
            rates.append(answer["end"]["sum_received"]["bits_per_second"] / 1e6)
        print(f"{length:>8} {median(rates):>16.0f}  {' '.join(f'{rate:.0f}' for rate in rates)}", flush=True)


def fabric(switches: int = SWITCHES) -> Scenario:
    """The Jellyfish, under shortest paths whose rules are there beforehand."""
    document = {
        "study": "fabric",
        "title": "Fabric",
        "question": "How fast?",
        "backend": "lab",
        "replicates": 1,
        "full_replicates": 1,
        "warmup": 0,
        "network": {
            "topology": "jellyfish",
            "parameters": {"switches": switches, "ports": 6, "degree": 4, "hosts": switches},
            "forwarding": "openflow",
            "ip": 4,
            "mtu": "1500 B",
            "rate": "20 Mbit/s",
            "queue": "100 packets",
        },
        "hosts": {"every": {"stack": "linux-cubic"}},
        "workload": [
            {
                "flow": "data",
                "from": "host-1",
                "to": "host-2",
                "transport": "tcp",
                "traffic": {"kind": "transfer", "duration": "1 s"},
            }
        ],
        "measurement": {"interval": "100 ms", "queue_drops": "allowed"},
        "factors": {"mtu": {"title": "MTU", "sets": "network.mtu", "levels": ["1500 B"]}},
        "responses": [
            {"name": "goodput", "title": "Goodput", "metric": "goodput", "of": "data", "unit": "Mbit/s"}
        ],
        "layout": {"rows": "mtu"},
    }
    with tempfile.TemporaryDirectory() as directory:
        Path(directory, "study.yaml").write_text(json.dumps(document))
        return scenario_of(load(directory), {})


def ninety() -> None:
    """Prints how fast the fabric comes up."""
    print(f"{'connected, s':>13} {'links known':>12} {'rules':>7} {'network':>8} {'rules in all':>13}")
    scenario = fabric()
    with Backend("lab") as lab:
        for _ in range(TIMES):
            record = lab.run("ninety", scenario, 300)
            work = record.controller
            if work is None or work.ready_ns is None or work.discovery_ns is None:
                sys.exit("the controller was lost")
            times = (work.connect_ns, work.discovery_ns, work.ready_ns, record.phases.network_ns)
            connected, links, rules, network = (f"{time / 1e9:.2f}" for time in times)
            count = f"{work.rules.mean * work.rules.count:.0f}"
            print(f"{connected:>13} {links:>12} {rules:>7} {network:>8} {count:>13}", flush=True)


def mininet() -> None:
    """Prints how fast Mininet has such fabrics up, and connected."""
    print(f"{'switches':>8} {'up, s':>7} {'connected':>10} {'down':>7}")
    for size in SIZES:
        links = [[end.node for end in link.ends] for link in fabric(size).links]
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump({"links": links, "seconds": MININET_SECONDS}, file)
            file.flush()
            said = contained(f"/usr/bin/python3 {MININET} < {file.name}").strip().splitlines()[-1]
        answer: dict[str, Any] = json.loads(said)
        in_time = answer["connected"] is not None
        connected = f"{answer['connected']:.2f}" if in_time else f"{answer['count']} of {size}"
        print(f"{size:>8} {answer['up']:>7.2f} {connected:>10} {answer['down']:>7.2f}", flush=True)


if __name__ == "__main__":
    parts = {"ceiling": ceiling, "ninety": ninety, "mininet": mininet}
    for name in sys.argv[1:] or parts:
        print(f"\n{name}")
        parts[name]()
