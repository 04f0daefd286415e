"""The servers of other programs that are workloads, against clients that are not the trial's."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from nettrial.backends.find import engine
from nettrial.scenario import Flow, Request, RunRequest, Scenario
from tests.lab.sandbox import Sandbox, wait_for

TOOLS = {
    "ftp": ("vsftpd", "tcp", 8),
    "http1": ("nginx", "tcp", 64),
    "http3": ("gtlsserver", "udp", 0),
    "tftp": ("atftpd", "udp", 0),
    "iperf3": ("iperf3", "tcp", 256),
    "netperf": ("netserver", "tcp", 1),
    "sockperf": ("sockperf", "tcp", 256),
    "ditg": ("ITGRecv", "tcp", 256),
}
"""Each tool's server, its transport, and the largest number of TCP connections that it serves at a time."""
DOWNLOADS = {"ftp", "http1", "http3", "tftp"}
CALLERS = 300
"""The number of clients that come and say nothing."""
THREADS = 8
"""The number of clients that atftpd is told to serve at most, each of which has a thread."""
MEMORY_BYTES = 512 << 20
"""The memory of gtlsserver."""

PROBE = Path(__file__).with_name("stranger.py")


@pytest.fixture
def trial(resolve: Callable[..., Scenario], sandbox: Sandbox) -> Iterator[dict[str, int]]:
    """Starts a trial of all tools, and yields the processes of their servers in the sandbox, while they wait
    for the tools' clients."""
    scenario = resolve(mtu="1500", network__ip="4", network__topology="routed")
    scenario.workload = [flow(name) for name in TOOLS]
    scenario.measurement.queue_drops.root = "allowed"
    request = Request(RunRequest(trial="strangers", scenario=scenario))
    with subprocess.Popen(sandbox.command([str(engine()), "lab"]), stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        process.stdin.write(request.model_dump_json(by_alias=True, exclude_none=True).encode() + b"\n")
        process.stdin.flush()
        found: dict[str, int] = {}

        def there() -> bool:
            for number, command in sandbox.processes().items():
                for name, (server, *_) in TOOLS.items():
                    words = command.split()
                    if Path(words[0]).name == server and words[1:2] != ["-c"]:
                        found.setdefault(name, number)
            return len(found) == len(TOOLS)

        try:
            assert wait_for(there), found
            yield found
        finally:
            process.kill()


def flow(name: str) -> Flow:
    """Returns the flow of a tool, whose client comes long after the test."""
    traffic: dict[str, Any] = {"kind": "tool", "tool": name, "duration": "2 s"}
    if name in DOWNLOADS:
        traffic["size"] = "30000 B"
    ends = {"from": "sender", "to": "receiver", "ip": 4, "start": "600 s"}
    return Flow.model_validate({"name": name, "transport": TOOLS[name][1], "traffic": traffic, **ends})


def test_their_clients_are_bounded_and_they_listen_at_the_flow_s_address(
    trial: dict[str, int], sandbox: Sandbox
) -> None:
    commands = sandbox.processes()
    for name, number in trial.items():
        server, transport, most = TOOLS[name]
        # Routed hosts: the sender is 10.0.0.1, and the receiver 10.0.1.1.
        address, caller = ("10.0.0.1", "iperf3") if name in DOWNLOADS else ("10.0.1.1", "ftp")
        asked = [sys.executable, str(PROBE), str(number), transport, str(CALLERS), address, str(most)]
        said = json.loads(inside(sandbox, trial[caller], asked))
        assert said["descriptors"] == "256", server
        if transport == "tcp":
            # vsftpd takes a further client to refuse it, and D-ITG may have ended already.
            assert said["most_served"] >= 1 or name == "ditg", (server, said)
            assert said["served"] <= most, (server, said)
        if name == "tftp":
            # A thread that atftpd no longer counts may still be ending, and atftpd counts a client after it
            # has compared the number of clients with its bound, so clients that arrive together pass it.
            assert 1 < said["most_threads"] <= 2 * THREADS + 1, said
        if name == "http3":
            assert said["memory"] == str(MEMORY_BYTES)
        if name == "ditg":
            # It listens at every address of one interface. It ends when it has no descriptors left.
            interface = json.loads(inside(sandbox, trial["iperf3"], ["ip", "-j", "-4", "address"]))[-1][
                "ifname"
            ]
            assert f" -Si {interface} " in commands[number]
        else:
            assert said["addresses"] == [address], server


def inside(sandbox: Sandbox, number: int, command: list[str]) -> str:
    """Returns what a command prints in the network namespace of a process."""
    enter = ["nsenter", "--target", str(number), "--net", "--"]
    done = subprocess.run(sandbox.command([*enter, *command]), check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout
