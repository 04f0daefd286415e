"""Other programs as workloads: each gives its figures, agrees with nettrial's own traffic, and leaves no
process."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nettrial.backends import Backend
from nettrial.design import traffic_seconds
from nettrial.scenario import Flow, FlowRecord, Record, Scenario
from tests.lab.sandbox import PATIENCE, Sandbox, wait_for
from tests.lab.side_by_side import side_by_side
from tests.measuring import Attempt, Run

ROOT = Path(__file__).parents[2]
SERVERS = ("vsftpd", "atftpd", "nginx", "gtlsserver")
CLIENTS = ("curl", "atftp", "gtlsclient")
DOWNLOADS = {"ftp": "tcp", "http1": "tcp", "http2": "tcp", "http3": "udp", "tftp": "udp"}
"""The transport of each tool for downloads."""
PROGRAMS = (
    "iperf3",
    "ping",
    "netperf",
    "netserver",
    "ITGSend",
    "ITGRecv",
    "ITGDec",
    "sockperf",
    *SERVERS,
    *CLIENTS,
)
NOBODY = 65534
"""The user ID of the user `nobody`, who has no privileges."""
RATE_BPS = 1e8
TOLERANCE = 0.02  # The smallest error of another layer is 2.5%: 1538 bytes on the wire are 1500 of IP.
TCP_GOODPUT = {4: RATE_BPS * 1448 / 1538, 6: RATE_BPS * 1428 / 1538}
"""The TCP goodput of the link by IP version: the payload of a full segment with timestamps, divided by its
size on the wire, times the rate."""
SETTINGS: dict[str, dict[str, Any]] = {
    "iperf3": {},
    "ping": {"size": "64 B", "arguments": ["-i", "0.1"]},
    "netperf": {},
    "netperf-rr": {"tool": "netperf", "size": "64 B", "request_response": True},
    "ditg": {"size": "1000 B"},
    "sockperf": {"size": "64 B"},
}


def flow(name: str, transport: str = "tcp", **settings: Any) -> dict[str, Any]:
    """Returns the flow of a tool."""
    traffic = {"kind": "tool", "tool": name, "duration": "1 s", **SETTINGS.get(name, {}), **settings}
    return {"name": name, "transport": transport, "traffic": traffic}


@pytest.fixture(scope="session")
def build(resolve: Callable[..., Scenario]) -> Callable[..., Scenario]:
    """Returns a function that makes a scenario of flows, which start three seconds apart."""

    def make(
        *flows: dict[str, Any], ip: int = 4, rate: str = "100 Mbit/s", topology: str = "routed"
    ) -> Scenario:
        scenario = resolve(mtu="1500", network__ip=str(ip), network__rate=rate, network__topology=topology)
        ends = {"from": "sender", "to": "receiver", "ip": ip}
        scenario.workload = [
            Flow.model_validate({**ends, "start": f"{3 * number} s", **flow})
            for number, flow in enumerate(flows)
        ]
        scenario.measurement.queue_drops.root = "allowed"
        return scenario

    return make


def by_name(record: Record) -> dict[str, FlowRecord]:
    return {flow.name: flow for flow in record.flows}


@pytest.mark.parametrize("ip", [4, 6])
@pytest.mark.parametrize("transport", ["tcp", "udp"])
def test_each_tool_over_each_transport_gives_its_figures(
    transport: str, ip: int, build: Callable[..., Scenario], run: Callable[[Scenario], Record]
) -> None:
    rate = {"rate": "8 Mbit/s", "size": "1000 B"} if transport == "udp" else {}
    flows = [
        flow("iperf3", transport, **rate),
        flow("netperf", transport, **({"size": "1000 B"} if transport == "udp" else {})),
        flow("netperf-rr", transport),
        flow("ditg", transport, **rate),
        flow("ping", "icmp"),
    ]
    if ip == 4:  # sockperf 3.7 does not support IPv6.
        flows.append(flow("sockperf", transport))
    found = by_name(run(side_by_side({one["name"]: build(one, ip=ip) for one in flows})))
    for name, record in found.items():
        assert record.tool is not None
        assert record.tool.command, name
        assert record.tool.output.strip(), name
        assert any(character.isdigit() for character in record.tool.version), name
    for name in ("iperf3", "netperf", "ditg"):
        assert (found[name].goodput_bps or 0.0) > 1e5, name
    for name in {"netperf-rr", "ping", "sockperf"} & set(found):
        rtt = found[name].rtt_us
        assert rtt is not None, name
        assert 0 < rtt.minimum <= rtt.p50 <= rtt.p99 <= rtt.maximum, name
    assert found["ping"].packets is not None
    assert (found["ping"].packets.sent_pkts, found["ping"].packets.lost_pkts) == (10, 0)
    owd = found["ditg"].owd_us
    assert owd is not None
    assert owd.mean > 0
    assert found["ditg"].delay_difference_mean_us is not None
    if transport == "udp":
        for name in ("iperf3", "netperf", "ditg"):
            packets = found[name].packets
            assert packets is not None
            # On a busy machine, a program sends fewer packets than requested.
            assert packets.sent_pkts > 50, name
            assert packets.lost_pkts <= packets.sent_pkts, name
        assert found["iperf3"].jitter_rfc3550_us is not None
        assert 8e6 / 6 < (found["iperf3"].goodput_bps or 0.0) < 8e6 * 1.05
    else:
        for name in ("iperf3", "netperf"):
            assert found[name].mss_bytes == {4: 1448, 6: 1428}[ip]
        # D-ITG and sockperf have no option for the congestion control, and the kernel's default may be a
        # different one.
        for name in {"iperf3", "netperf", "ditg", "sockperf"} & set(found):
            assert found[name].congestion_control == "cubic", name


@pytest.mark.parametrize("ip", [4, 6])
def test_a_program_that_chooses_no_congestion_control_has_the_stacks_on_a_network_of_both_hosts(
    ip: int, build: Callable[..., Scenario], run: Callable[[Scenario], Record]
) -> None:
    """The route that the kernel itself creates to a host on the same network names no congestion control."""
    record = run(build(flow("ditg"), ip=ip, topology="pair"))
    assert by_name(record)["ditg"].congestion_control == "cubic"
    assert "congestion_control" not in {warning.code for warning in record.warnings}


@pytest.mark.measures
@pytest.mark.slow
@pytest.mark.parametrize("ip", [4, 6])
def test_goodput_agrees_with_ours_and_with_the_wire(
    ip: int, build: Callable[..., Scenario], holds: Callable[[Attempt], None]
) -> None:
    # A wait of 15 ms for a CPU would be more than the tolerance of a second.
    ours = {"name": "ours", "transport": "tcp", "traffic": {"kind": "transfer", "duration": "2 s"}}
    # D-ITG makes a system call for each packet and logs it: packets of 1000 bytes would test the CPU's speed.
    flows = ours, flow("iperf3"), flow("netperf"), flow("ditg", size="8000 B")
    # Each has a network of its own: a tool that starts late would share one with the next tool.
    scenario = side_by_side({one["name"]: build(one, ip=ip) for one in flows})
    best = dict.fromkeys(["ours", "iperf3", "netperf", "ditg"], 0.0)

    def attempt(run: Run) -> None:
        for name, record in by_name(run(scenario)).items():
            best[name] = max(best[name], record.goodput_bps or 0.0)
        # Each program must come close to the link's goodput in one of a few trials.
        assert best == pytest.approx(dict.fromkeys(best, TCP_GOODPUT[ip]), rel=TOLERANCE)

    holds(attempt)


@pytest.mark.measures
@pytest.mark.slow
def test_round_trip_times_are_of_the_same_path(
    build: Callable[..., Scenario], holds: Callable[[Attempt], None]
) -> None:
    # At 1 Mbit/s, a 64-byte message takes about a millisecond on each link, and the tools' own time is small
    # in comparison.
    exchange = {"kind": "request_response", "request": "64 B", "response": "64 B", "duration": "1 s"}
    flows = {"name": "ours", "transport": "tcp", "traffic": exchange}, flow("sockperf"), flow("netperf-rr")
    scenario = side_by_side({one["name"]: build(one, rate="1 Mbit/s") for one in flows})
    holds(lambda run: same_round_trips(by_name(run(scenario))))


def same_round_trips(found: dict[str, FlowRecord]) -> None:
    # A frame has 14 + 24 bytes of Ethernet, 20 of IP, 32 of TCP with timestamps, and 64 of payload. The
    # shaper sends the frames of 200 us in one burst.
    times = {name: record.rtt_us.p50 for name, record in found.items() if record.rtt_us}
    assert set(times) == {"ours", "sockperf", "netperf-rr"}
    for name, time_us in times.items():
        assert time_us == pytest.approx(times["ours"], rel=0.1), (name, times)


def test_a_command_of_ones_own_is_given_the_flow_and_gives_figures(
    build: Callable[..., Scenario], run: Callable[[Scenario], Record]
) -> None:
    server = "import socket,sys; s=socket.create_server((sys.argv[1], int(sys.argv[2]))); s.accept()"
    client = (
        "import socket,sys; own, to, port = sys.argv[1:];"
        f"s=socket.create_connection((to, int(port)), {PATIENCE}, (own, 0));"
        "print('connected'); print('{\"bytes\": 7, \"rtt_us\": [10, 30]}')"
    )
    settings: dict[str, Any] = {
        "arguments": [sys.executable, "-c", client, "{source}", "{destination}", "{port}"],
        "server_arguments": [sys.executable, "-c", server, "{destination}", "{port}"],
    }
    record = run(build(flow("exec", **settings))).flows[0]
    assert record.bytes == 7
    assert record.rtt_us is not None
    assert record.rtt_us.mean == 20
    assert record.goodput_bps is None


def test_what_a_tool_cannot_do_is_refused_before_the_traffic(
    lab: Backend, build: Callable[..., Scenario]
) -> None:
    missing = lab.check(build(flow("exec", arguments=["no-such-program"])))
    assert [(problem.pointer, problem.value) for problem in missing] == [
        ("/workload/0/traffic/tool", "no-such-program is not installed")
    ]
    halves = lab.check(build(flow("iperf3", duration="1500 ms")))
    assert halves[0].pointer == "/workload/0/traffic/duration"
    assert lab.check(build(flow("iperf3", "icmp")))[0].pointer == "/workload/0/transport"
    # The programs of Debian 12 lack both features.
    old = [lab.check(build(flow("iperf3", "mptcp"))), lab.check(build(flow("sockperf"), ip=6))]
    assert [problem.pointer for problems in old for problem in problems] == [
        "/workload/0/transport",
        "/workload/0/ip",
    ]


def test_a_failed_command_fails_the_trial_with_its_words(
    lab: Backend, build: Callable[..., Scenario]
) -> None:
    scenario = build(flow("exec", arguments=["sh", "-c", "echo what a pity >&2; exit 3"]))
    with pytest.raises(Exception, match="exit status: 3: what a pity"):
        lab.run("test", scenario, PATIENCE)


RUNS = """
import sys
from pathlib import Path
from nettrial.backends import Backend
from nettrial.scenario import Scenario
with Backend("lab") as lab:
    lab.run("test", Scenario.model_validate_json(Path(sys.argv[1]).read_text()), 900)
    print("over", flush=True)
    sys.stdin.read()
"""
"""Runs the scenario in this file, prints "over", and keeps its engine until its input ends."""


def begin(sandbox: Sandbox, scenario: Scenario, directory: Path) -> subprocess.Popen[bytes]:
    """Runs a scenario in a sandbox."""
    (directory / "scenario.json").write_text(scenario.model_dump_json(by_alias=True))
    return subprocess.Popen(
        sandbox.command([sys.executable, "-c", RUNS, str(directory / "scenario.json")]),
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )


def strays(sandbox: Sandbox) -> list[str]:
    """Returns the command lines of the running tools."""
    return [
        command
        for command in sandbox.processes().values()
        if Path(command.split()[0]).name in PROGRAMS or "nettrial-stray" in command.split()
    ]


def test_nothing_is_left_after_a_trial(
    build: Callable[..., Scenario], sandbox: Sandbox, tmp_path: Path
) -> None:
    # The command creates a process that leaves its parent, its session and its process group.
    escape = "setsid sh -c 'sleep 600' nettrial-stray & echo gone"
    scenario = build(flow("iperf3"), flow("netperf"), flow("exec", arguments=["sh", "-c", escape]))
    with begin(sandbox, scenario, tmp_path) as runner:
        assert runner.stdout is not None
        assert runner.stdout.readline() == b"over\n"
        assert wait_for(lambda: not strays(sandbox)), strays(sandbox)
        assert any("nettrial-engine lab" in command for command in sandbox.processes().values())


def test_nothing_is_left_after_the_engine_is_killed(
    build: Callable[..., Scenario], sandbox: Sandbox, tmp_path: Path
) -> None:
    names = ["iperf3", "netperf", "ditg", "sockperf", "ping"]
    flows = [
        {**flow(name, "icmp" if name == "ping" else "tcp", duration="600 s"), "start": "0 s"}
        for name in names
    ]
    escape = "setsid sh -c 'sleep 600' nettrial-stray & sleep 600"
    flows.append({**flow("exec", arguments=["sh", "-c", escape], duration="600 s"), "start": "0 s"})
    for name, transport in DOWNLOADS.items():
        flows.append({**flow(name, transport, duration="600 s", size="30 MB"), "start": "0 s"})
    with begin(sandbox, build(*flows, rate="10 Mbit/s"), tmp_path) as runner:
        # The processes are servers, clients, and the one that escapes.
        assert wait_for(lambda: len(strays(sandbox)) >= 20), strays(sandbox)
        programs = lambda: {Path(c.split()[0]).name for c in sandbox.processes(NOBODY).values()}  # noqa: E731
        assert wait_for(lambda: programs() >= {*SERVERS, *CLIENTS}), programs()
        time.sleep(0.5)
        assert len(sandbox.namespaces()) >= 3  # The namespaces are the engine's and those of two hosts.
        sandbox.kill("nettrial-engine lab", signal.SIGKILL)
        runner.communicate(timeout=PATIENCE)
    assert runner.returncode != 0


def test_it_runs_without_root(as_user: list[str], build: Callable[..., Scenario], tmp_path: Path) -> None:
    downloads = [flow(name, transport, size="20 kB") for name, transport in DOWNLOADS.items()]
    scenario = build(flow("iperf3"), flow("netperf"), flow("ping", "icmp"), flow("ditg"), *downloads)
    (tmp_path / "scenario.json").write_text(scenario.model_dump_json(by_alias=True))
    script = (
        "import sys\nfrom pathlib import Path\n"
        "from nettrial.backends import Backend\nfrom nettrial.scenario import Scenario\n"
        "with Backend('lab') as lab:\n"
        "    scenario = Scenario.model_validate_json(Path(sys.argv[1]).read_text())\n"
        f"    record = lab.run('test', scenario, {traffic_seconds(scenario) + PATIENCE})\n"
        "print(*[flow.name for flow in record.flows])\n"
    )
    done = subprocess.run(
        [*as_user, sys.executable, "-c", script, str(tmp_path / "scenario.json")],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.stdout.split() == ["iperf3", "netperf", "ping", "ditg", *DOWNLOADS], done.stderr
