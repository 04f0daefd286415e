"""Other programs as workloads: each gives its figures, agrees with ours, and is gone afterwards."""

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
from tests.lab.test_kill import MARK, namespaces, processes, wait_for

ROOT = Path(__file__).parents[2]
PROGRAMS = ("iperf3", "ping", "netperf", "netserver", "ITGSend", "ITGRecv", "ITGDec", "sockperf")
RATE_BPS = 1e8
TOLERANCE = 0.01
TCP_GOODPUT = {4: RATE_BPS * 1448 / 1538, 6: RATE_BPS * 1428 / 1538}
"""Payload of a full segment with timestamps over its frame's time on the wire, times the rate."""
SETTINGS: dict[str, dict[str, Any]] = {
    "iperf3": {},
    "ping": {"size": "64 B", "arguments": ["-i", "0.1"]},
    "netperf": {},
    "netperf-rr": {"tool": "netperf", "size": "64 B", "request_response": True},
    "ditg": {"size": "1000 B"},
    "sockperf": {"size": "64 B"},
}


def flow(name: str, transport: str = "tcp", **settings: Any) -> dict[str, Any]:
    """A tool's flow."""
    traffic = {"kind": "tool", "tool": name, "duration": "1 s", **SETTINGS.get(name, {}), **settings}
    return {"name": name, "transport": transport, "traffic": traffic}


@pytest.fixture(scope="session")
def build(resolve: Callable[..., Scenario]) -> Callable[..., Scenario]:
    """Makes a scenario of these flows, one after the other with three seconds between their starts."""

    def make(*flows: dict[str, Any], ip: int = 4, rate: str = "100 Mbit/s") -> Scenario:
        scenario = resolve(mtu="1500", network__ip=str(ip), network__rate=rate)
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
    if ip == 4:  # sockperf 3.7 has no IPv6
        flows.append(flow("sockperf", transport))
    found = by_name(run(build(*flows, ip=ip)))
    for name, record in found.items():
        assert record.tool is not None
        assert record.tool.command, name
        assert record.tool.output.strip(), name
        assert any(character.isdigit() for character in record.tool.version), name
    for name in ("iperf3", "netperf", "ditg"):
        assert (found[name].goodput_bps or 0.0) > 1e6, name
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
            assert packets.sent_pkts > 500, name
            assert packets.lost_pkts <= packets.sent_pkts, name
        assert found["iperf3"].jitter_rfc3550_us is not None
        assert found["iperf3"].goodput_bps == pytest.approx(8e6, rel=0.05)
    else:
        for name in ("iperf3", "netperf"):
            assert found[name].congestion_control == "cubic"
            assert found[name].mss_bytes == {4: 1448, 6: 1428}[ip]
        assert found["ditg"].congestion_control  # the kernel's default, for it has no option


@pytest.mark.parametrize("ip", [4, 6])
def test_goodput_agrees_with_ours_and_with_the_wire(
    ip: int, build: Callable[..., Scenario], run: Callable[[Scenario], Record]
) -> None:
    ours = {"name": "ours", "transport": "tcp", "traffic": {"kind": "transfer", "duration": "2 s"}}
    tools = ["iperf3", "netperf", "ditg"]
    scenario = build(ours, *(flow(name, duration="2 s") for name in tools), ip=ip)
    # A busy machine takes from any of them: each must come close to the wire in one of a few trials.
    best = dict.fromkeys(["ours", *tools], 0.0)
    for _ in range(5):
        for name, record in by_name(run(scenario)).items():
            best[name] = max(best[name], record.goodput_bps or 0.0)
        if min(best["ours"], best["iperf3"], best["netperf"]) > TCP_GOODPUT[ip] * (1 - TOLERANCE):
            break
    for name in ("ours", "iperf3", "netperf", "ditg"):
        assert best[name] == pytest.approx(TCP_GOODPUT[ip], rel=TOLERANCE), best


def test_round_trip_times_are_of_the_same_path(
    build: Callable[..., Scenario], run: Callable[[Scenario], Record]
) -> None:
    # At 1 Mbit/s a 64-byte message takes about a millisecond a link: the tools' own share is small.
    exchange = {"kind": "request_response", "request": "64 B", "response": "64 B", "duration": "2 s"}
    ours = {"name": "ours", "transport": "udp", "traffic": exchange}
    scenario = build({**ours, "transport": "tcp"}, flow("sockperf"), flow("netperf-rr"), rate="1 Mbit/s")
    found = by_name(run(scenario))
    # Ethernet 14 and 24, IP 20, TCP with timestamps 32, payload 64; the shaper lets 200 us pass at once.
    times = {name: record.rtt_us.p50 for name, record in found.items() if record.rtt_us}
    assert set(times) == {"ours", "sockperf", "netperf-rr"}
    for name, time_us in times.items():
        assert time_us == pytest.approx(times["ours"], rel=0.1), (name, times)


def test_a_command_of_ones_own_is_given_the_flow_and_gives_figures(
    build: Callable[..., Scenario], run: Callable[[Scenario], Record]
) -> None:
    server = "import socket,sys; s=socket.create_server((sys.argv[1], int(sys.argv[2]))); s.accept()"
    client = (
        "import socket,sys; s=socket.create_connection((sys.argv[2], int(sys.argv[3])), 5, (sys.argv[1], 0));"
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
    assert [(problem.setting, problem.value) for problem in missing] == [
        ("tool", "no-such-program is not installed")
    ]
    assert lab.check(build(flow("iperf3", duration="1500 ms")))[0].setting == "duration"
    assert lab.check(build(flow("iperf3", "icmp")))[0].setting == "transport"
    # Debian 12's programs.
    old = [lab.check(build(flow("iperf3", "mptcp"))), lab.check(build(flow("sockperf"), ip=6))]
    assert [problem.setting for problems in old for problem in problems] == ["transport", "ip"]


def test_a_failed_command_fails_the_trial_with_its_words(
    lab: Backend, build: Callable[..., Scenario]
) -> None:
    scenario = build(flow("exec", arguments=["sh", "-c", "echo what a pity >&2; exit 3"]))
    with pytest.raises(Exception, match="exit status: 3: what a pity"):
        lab.run("test", scenario, 60)


def strays() -> set[str]:
    """The command lines of running tools, whoever's they are."""
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
            except OSError:
                continue
            if Path(words[0]).name in PROGRAMS or "nettrial-stray" in words:
                found.add(f"{entry.name}: {' '.join(words)}")
    return found


def test_nothing_is_left_after_a_trial(
    build: Callable[..., Scenario], run: Callable[[Scenario], Record]
) -> None:
    before = strays()
    # One that leaves its parent, its session and its process group.
    escape = "setsid sh -c 'sleep 600' nettrial-stray & echo gone"
    run(build(flow("iperf3"), flow("netperf"), flow("exec", arguments=["sh", "-c", escape])))
    assert wait_for(lambda: not strays() - before, 10), strays() - before


def test_nothing_is_left_after_the_engine_is_killed(build: Callable[..., Scenario], tmp_path: Path) -> None:
    mark = f"{os.getpid()}-{time.monotonic_ns()}"
    names = ["iperf3", "netperf", "ditg", "sockperf", "ping"]
    flows = [
        {**flow(name, "icmp" if name == "ping" else "tcp", duration="20 s"), "start": "0 s"} for name in names
    ]
    escape = "setsid sh -c 'sleep 600' nettrial-stray & sleep 600"
    flows.append({**flow("exec", arguments=["sh", "-c", escape], duration="20 s"), "start": "0 s"})
    (tmp_path / "scenario.json").write_text(build(*flows).model_dump_json(by_alias=True))
    script = (
        "import sys\nfrom pathlib import Path\n"
        "from nettrial.backends import Backend\nfrom nettrial.scenario import Scenario\n"
        "with Backend('lab') as lab:\n"
        "    lab.run('test', Scenario.model_validate_json(Path(sys.argv[1]).read_text()), 60)\n"
    )
    environment = {**os.environ, MARK: mark, "PYTHONPATH": str(ROOT)}
    runner = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path / "scenario.json")],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )

    def running() -> list[str]:
        return [command for command in processes(mark).values() if command.split()[0] in PROGRAMS]

    assert wait_for(lambda: len(running()) >= 9, 20), running()
    time.sleep(0.5)
    homes = {os.readlink(f"/proc/{pid}/ns/net") for pid in processes(mark)}
    homes.remove(os.readlink("/proc/self/ns/net"))
    assert len(homes) == 3  # the engine's and two hosts'
    for pid, command in processes(mark).items():
        if "nettrial-engine lab" in command:
            os.kill(pid, signal.SIGKILL)
    runner.communicate(timeout=60)
    assert runner.returncode != 0
    assert wait_for(lambda: not processes(mark), 10), processes(mark)
    assert wait_for(lambda: not namespaces() & homes, 10), namespaces() & homes


def test_it_runs_without_root(as_user: list[str], build: Callable[..., Scenario], tmp_path: Path) -> None:
    scenario = build(flow("iperf3"), flow("netperf"), flow("ping", "icmp"), flow("ditg"))
    (tmp_path / "scenario.json").write_text(scenario.model_dump_json(by_alias=True))
    script = (
        "import sys\nfrom pathlib import Path\n"
        "from nettrial.backends import Backend\nfrom nettrial.scenario import Scenario\n"
        "with Backend('lab') as lab:\n"
        "    scenario = Scenario.model_validate_json(Path(sys.argv[1]).read_text())\n"
        f"    record = lab.run('test', scenario, {traffic_seconds(scenario) + 60})\n"
        "print(*[flow.name for flow in record.flows])\n"
    )
    done = subprocess.run(
        [*as_user, sys.executable, "-c", script, str(tmp_path / "scenario.json")],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stdout.split() == ["iperf3", "netperf", "ping", "ditg"], done.stderr
