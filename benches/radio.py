"""Compares radio channels of the simulator with those of ns-3: the goodput of each case, and the speed.

    python benches/radio.py DIRECTORY [--seconds SECONDS] [CASE...]

DIRECTORY contains ns-3's Python package, for its headers and libraries; if the package is missing, pip
installs it there (300 MB). g++ compiles `radio_ns3.cc` against it. CASE is a part of the names of the cases
to run; without one, all run. SECONDS (default 3) is the simulated time of each case.

Both simulators have an access point and stations that all hear each other, at 5 GHz, with the same PHY rate,
EDCA parameters of best effort, BlockAck windows, queues, beacons every 102.4 ms, and acknowledgments at 24
Mbit/s. After a missing BlockAck both retransmit the MPDUs; otherwise ns-3 would send a BlockAckReq, which
costs 5 stations 4%. UDP flows offer more than the channel can carry; TCP flows use CUBIC with selective
acknowledgments, timestamps, segments of 1448 bytes and buffers of 512 KiB. Goodput is that of all flows
together; for ns-3 it is measured from half a second after their start. Seconds are CPU seconds: of
Simulator::Run alone for ns-3, of everything from the scenario's text to the record's for the simulator. Exits
with 1 if goodput differs by more than 5% without a reason, or the speed of a case is less than 20 times
ns-3's."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import geometric_mean
from typing import Any

from benches.engine import simulated
from nettrial.design import scenario_of
from nettrial.study import load

PACKAGE = "ns3==3.44.*"
"""The package that pip installs."""
GOAL = 20
"""The multiple of ns-3's speed that the simulator should reach in each case."""
AGREES = 5.0
"""The largest difference of goodput in percent that needs no explanation."""
BUFFER = {"minimum": "4096 B", "initial": "512 KiB", "maximum": "512 KiB"}
"""The buffer of every TCP socket."""
SMALL_QUEUES = (
    "Linux's TCP keeps little in a station's own queue (TCP small queues); ns-3's has no such bound."
)
"""The reason why TCP differs if a station sends it; sent by a wired host, it does not."""
SOURCE = Path(__file__).with_name("radio_ns3.cc")
MODULES = (
    *("applications", "internet", "mobility", "network", "propagation", "traffic-control", "wifi"),
    "core",
)


@dataclass(frozen=True)
class Case:
    """A scenario for both simulators."""

    name: str
    """The name of the case."""
    standard: str = "n"
    """The amendment of 802.11, such as `n`."""
    width: int = 20
    """The width of the channel in MHz."""
    streams: int = 1
    """The number of spatial streams."""
    mcs: int = 7
    """The modulation and coding scheme."""
    guard_ns: int = 800
    """The guard interval in nanoseconds."""
    stations: int = 1
    """The number of stations."""
    direction: str = "up"
    """`up`: each station sends to a host behind the access point; `down`: that host sends to each station;
    `across`: each station of the first half sends to one of the second half."""
    transport: str = "udp"
    """`udp` or `tcp`."""
    size: int = 1400
    """The bytes of a datagram."""
    rate_bps: int = 100_000_000
    """The offered rate of each UDP flow."""
    aggregation: int = 1
    """The largest number of MPDUs in an A-MPDU."""
    rts: int = 0
    """1 if an RTS precedes packets of 500 bytes or more."""
    mpdu_loss: float = 0.0
    """The share of MPDUs that are lost."""
    hidden: int = 0
    """1 if the two stations are on opposite sides of the access point and do not hear each other."""
    queue: int = 1000
    """The length of the queue of each station and of the access point in packets."""
    reason: str = ""
    """The reason why the goodput may differ by more than `AGREES`."""

    def flows(self) -> list[tuple[str, str]]:
        """Returns the sender and the receiver of each flow."""
        names = [f"station-{number + 1}" for number in range(self.stations)]
        if self.direction == "across":
            half = self.stations // 2
            return list(zip(names[:half], names[half:], strict=True))
        pairs = [(name, "wired-1") for name in names]
        return pairs if self.direction == "up" else [(there, here) for here, there in pairs]

    def study(self, seconds: float) -> str:
        """Returns the scenario as a study file."""
        wlan: dict[str, Any] = {
            "standard": self.standard,
            "width_mhz": self.width,
            "streams": self.streams,
            "mcs": self.mcs,
            "guard_interval": f"{self.guard_ns} ns",
            "rts_threshold": "500 B" if self.rts else "2347 B",
            "mpdu_loss": self.mpdu_loss,
            "queue": f"{self.queue} packets",
        }
        if self.hidden:
            # 30 m apart, they receive each other with -75 dBm, and the access point receives each with -66
            # dBm.
            places = {"access-point": 0, "station-1": 15, "station-2": -15}
            wlan["stations"] = {name: {"x_m": x, "y_m": 0} for name, x in places.items()}
            wlan["carrier_sense_dbm"] = -70
        if not self.aggregation:
            wlan["ampdu"] = 1
        if self.transport == "udp":
            traffic = {"kind": "packets", "size": f"{self.size} B", "rate": f"{self.rate_bps} bit/s"}
            # As in ns-3, a datagram never waits in its socket: if the queue is full, it is dropped.
            socket = {"udp_buffer": "64 MiB"}
        else:
            traffic, socket = {"kind": "transfer"}, {}
        document = {
            "study": "bench",
            "title": self.name,
            "question": "Is it as fast as ns-3?",
            "backend": "sim",
            "replicates": 1,
            "full_replicates": 1,
            "warmup": 0,
            "network": {
                "topology": "wlan",
                "parameters": {"stations": self.stations, "wired": int(self.direction != "across")},
                "wlan": wlan,
                "ip": 4,
                "mtu": "1500 B",
            },
            "hosts": {"every": {"stack": "linux-cubic"}},
            "workload": [
                {
                    "flow": f"f{number}",
                    "from": sender,
                    "to": receiver,
                    "transport": self.transport,
                    "start": f"{37 * number} us",
                    "socket": socket,
                    "traffic": traffic | {"duration": f"{round(seconds * 1e3)} ms"},
                }
                for number, (sender, receiver) in enumerate(self.flows())
            ],
            "measurement": {"interval": "100 ms", "queue_drops": "allowed"},
            "factors": {"ip": {"title": "IP", "sets": "network.ip", "levels": [4]}},
            "responses": [
                {"name": "goodput", "title": "Goodput", "metric": "goodput", "of": "f0", "unit": "Mbit/s"}
            ],
            "layout": {"rows": "ip", "columns": []},
        }
        return json.dumps(document)


def cases() -> Iterator[Case]:
    """Yields all cases."""
    ht = Case("")
    wide = replace(ht, width=40, streams=2, guard_ns=400, rate_bps=320_000_000)
    vht = Case("", standard="ac", width=80, mcs=9, rate_bps=500_000_000)
    he = Case("", standard="ax", width=80, mcs=11, rate_bps=800_000_000)
    single = replace(ht, aggregation=0, stations=10, rate_bps=10_000_000, queue=100)
    yield replace(ht, name="n, UDP, one station")
    yield replace(ht, name="n, UDP, no aggregation", aggregation=0)
    yield replace(wide, name="n, UDP, 40 MHz, 2 streams")
    yield replace(ht, name="n, UDP, 200 B", size=200)
    yield replace(ht, name="n, UDP, 10% of MPDUs lost", mpdu_loss=0.1)
    yield replace(ht, name="n, UDP, 5 stations", stations=5, rate_bps=30_000_000, queue=100)
    yield replace(single, name="n, UDP, 10 stations, no aggregation")
    yield replace(single, name="n, UDP, 10 stations, RTS", rts=1)
    yield replace(ht, name="n, UDP, down to 5 stations", stations=5, direction="down", rate_bps=30_000_000)
    yield replace(ht, name="n, UDP, station to station", stations=2, direction="across", queue=100)
    hidden = replace(ht, aggregation=0, stations=2, rate_bps=40_000_000, queue=100, hidden=1)
    yield replace(hidden, name="n, UDP, 2 hidden stations")
    yield replace(hidden, name="n, UDP, 2 hidden stations, RTS", rts=1)
    tcp = replace(ht, transport="tcp")
    yield replace(tcp, name="n, TCP, down to one station", direction="down")
    yield replace(tcp, name="n, TCP, down to 5 stations", stations=5, direction="down")
    yield replace(tcp, name="n, TCP, one station")
    yield replace(tcp, name="n, TCP, 5 stations", stations=5, reason=SMALL_QUEUES)
    yield replace(tcp, name="n, TCP, station to station", stations=2, direction="across", reason=SMALL_QUEUES)
    yield replace(vht, name="ac, UDP, 80 MHz")
    yield replace(vht, name="ac, UDP, 80 MHz, 5 stations", stations=5, rate_bps=120_000_000, queue=200)
    yield replace(vht, name="ac, TCP, 80 MHz, down", transport="tcp", direction="down")
    yield replace(vht, name="ac, TCP, 80 MHz", transport="tcp")
    yield replace(he, name="ax, UDP, 80 MHz")
    yield replace(he, name="ax, UDP, 80 MHz, 10 stations", stations=10, rate_bps=90_000_000, queue=300)
    yield replace(he, name="ax, TCP, 80 MHz, down", transport="tcp", direction="down")
    yield replace(he, name="ax, TCP, 80 MHz", transport="tcp", reason=SMALL_QUEUES)


@dataclass(frozen=True)
class Result:
    """The goodput of all flows of a case, and its CPU seconds."""

    goodput_bps: float
    """The sum of the goodputs of all flows in bits per second."""
    seconds: float
    """The CPU time in seconds."""


def simulate(case: Case, seconds: float, scratch: Path) -> Result:
    """Runs a case in the simulator."""
    file = scratch / "study.yaml"
    file.write_text(case.study(seconds))
    resolved = scenario_of(load(str(file)), {"ip": "4"})
    scenario = resolved.model_dump(mode="json", by_alias=True, exclude_none=True)
    for node in scenario["nodes"]:
        if "stack" in node:
            node["stack"] |= {"receive_buffer": BUFFER, "send_buffer": BUFFER}
    trial = simulated(scenario)
    flows = trial.record["flows"]
    # Packets that wait at the end of a flow's duration still arrive, which takes time.
    lasted_ns = max(flow["active_ns"] for flow in flows)
    goodput = sum(flow["bytes"] for flow in flows) * 8e9 / lasted_ns
    return Result(goodput, trial.cpu_seconds)


class Ns3:
    """The compiled program for ns-3."""

    def __init__(self, directory: Path, into: Path) -> None:
        """Installs ns-3 in `directory` if it is missing, and compiles the program in the directory `into`."""
        self.program = into / "radio_ns3"
        package = directory / "ns3"
        if not package.exists():
            pip = (sys.executable, "-m", "pip", "install", "--quiet", "--no-deps")
            subprocess.run([*pip, "--target", directory, PACKAGE], check=True)
        libraries = package / "lib64"
        subprocess.run(
            [
                *("g++", "-O2", "-std=c++20", f"-I{package / 'include'}", SOURCE, "-o", self.program),
                *(f"-L{libraries}", f"-Wl,-rpath,{libraries}", "-Wl,--no-as-needed"),
                *(f"-lns3.44-{module}" for module in MODULES),
            ],
            check=True,
        )

    def run(self, case: Case, seconds: float) -> Result:
        """Runs a case."""
        settings = {key: value for key, value in asdict(case).items() if key not in ("name", "reason")}
        keys = [f"{key}={value}" for key, value in (settings | {"seconds": seconds, "seed": 1}).items()]
        done = subprocess.run([self.program, *keys], check=True, capture_output=True, text=True)
        return Result(*map(float, done.stdout.split()))


def main() -> int:
    """Prints the table, and returns the exit status."""
    parser = argparse.ArgumentParser()
    parser.add_argument("directory", type=Path)
    parser.add_argument("cases", nargs="*")
    parser.add_argument("--seconds", type=float, default=3.0)
    asked = parser.parse_intermixed_args()
    failed = False
    speeds = []
    print(f"{'goodput in Mbit/s, processor seconds':<48}{'nettrial':>9}{'ns-3':>9}{'ratio':>7}", end="")
    print(f"{'nettrial':>10}{'ns-3':>8}{'ratio':>7}", flush=True)
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        ns3 = Ns3(asked.directory, scratch)
        for case in cases():
            if asked.cases and not any(part in case.name for part in asked.cases):
                continue
            ours, theirs = simulate(case, asked.seconds, scratch), ns3.run(case, asked.seconds)
            ratio, speed = ours.goodput_bps / theirs.goodput_bps, theirs.seconds / ours.seconds
            speeds.append(speed)
            failed |= abs(100 * (ratio - 1)) > AGREES and not case.reason
            rates = f"{ours.goodput_bps / 1e6:9.2f}{theirs.goodput_bps / 1e6:9.2f}{ratio:7.3f}"
            print(f"{case.name:<48}{rates}{ours.seconds:10.3f}{theirs.seconds:8.2f}{speed:7.1f}", flush=True)
            if case.reason:
                print(f"    {case.reason}")
    print(f"speed: {geometric_mean(speeds):.1f} times ns-3's (geometric mean), {min(speeds):.1f} at least")
    return 1 if failed or min(speeds) < GOAL else 0


if __name__ == "__main__":
    sys.exit(main())
