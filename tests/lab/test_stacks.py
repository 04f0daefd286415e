"""Hosts whose TCP/IP is a program's: whether they carry what Linux carries, and what they leave behind."""

from __future__ import annotations

import json
import re
import signal
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nettrial.backends import Backend
from nettrial.backends.find import engine, stacks
from nettrial.scenario import Capture, Flow, FlowRecord, Offloads, Record, Request, RunRequest, Scenario, Size
from nettrial.stacks import STACKS
from tests.lab.lacking import lacking
from tests.lab.sandbox import PATIENCE, Sandbox, wait_for
from tests.measuring import DISTURBANCES, Run

PROGRAMS = sorted({profile.stack.program for profile in STACKS.values() if profile.stack.program})
LINUX = "linux-cubic"
ETHERNET_BYTES = 14
SPARE_BYTES = {("gvisor", "smoltcp"): 36} | {("gvisor", other): 28 for other in ("gvisor", "lwip", LINUX)}
"""The bytes that a sender's largest segments to a receiver have less than the MTU, if any."""
STRANGER = Path(__file__).with_name("stranger_to_stack.py")

Prepare = Callable[..., Scenario]


@pytest.fixture(autouse=True, scope="module")
def built() -> None:
    missing = [name for name in PROGRAMS if not (stacks() / f"nettrial-stack-{name}").is_file()]
    if missing:
        lacking(f"`make stacks` has not built {', '.join(missing)}")


@pytest.fixture
def prepare(resolve: Callable[..., Scenario]) -> Prepare:
    """Returns a function that makes a scenario of a sender and a receiver with these stacks, and one flow."""

    def make(
        sender: str, receiver: str, traffic: dict[str, Any], ip: int = 4, mtu: str = "1500", **flow: Any
    ) -> Scenario:
        network = {"network__topology": flow.pop("network", "routed"), "network__ip": str(ip)}
        # Windows as large as these stacks' fill the queue if the machine takes long to empty it.
        network |= {"network__rate": flow.pop("rate", "200 Mbit/s"), "measurement__queue_drops": "allowed"}
        scenario = resolve(mtu=mtu, **network)
        for node in scenario.nodes:
            if node.name in ("sender", "receiver"):
                node.stack = STACKS[{"sender": sender, "receiver": receiver}[node.name]].stack
        ends = {"name": "flow", "from": "sender", "to": "receiver", "transport": "tcp", "ip": ip}
        scenario.workload = [Flow.model_validate(ends | flow | {"traffic": traffic})]
        scenario.measurement.cpu = []
        return scenario

    return make


def checked(record: Record) -> list[FlowRecord]:
    """Returns the records of a trial's flows. Fails if a check failed, or if there is a warning other than
    about the machine's load."""
    noise = {"processor_saturated", "wire_short", "frame_time", "late_timers", "captured", *DISTURBANCES}
    assert {warning.code for warning in record.warnings} <= noise, record.warnings
    assert [check for check in record.checks if not check.passed] == []
    return record.flows


WITH_LINUX = [pair for name in PROGRAMS for pair in ((LINUX, name), (name, LINUX))]
NETWORKS = [(4, 1500), (6, 4000), (6, 9000)]
"""IP versions and MTUs."""
QUICK_PAIRS = [
    (sender, receiver, *NETWORKS[(first + second) % 3])
    for first, sender in enumerate((LINUX, *PROGRAMS))
    for second, receiver in enumerate((LINUX, *PROGRAMS))
    if (sender, receiver) != (LINUX, LINUX)
]
"""Every pair of a sender and a receiver, with one of the networks."""
PAIRS = QUICK_PAIRS + [
    pytest.param(*pair, *network, marks=pytest.mark.slow)
    for pair in WITH_LINUX
    for network in NETWORKS
    if (*pair, *network) not in QUICK_PAIRS
]
"""These pairs, and each program with Linux in the other networks."""
DATAGRAM_BYTES = {("smoltcp", 6): 1400}
"""The largest datagrams of a sweep between Linux and a program that has no fragments of that IP version."""


@pytest.mark.parametrize(("sender", "receiver", "ip", "mtu"), PAIRS)
def test_every_pair_moves_bytes_that_both_ends_count_the_same_in_frames_that_fill_the_mtu(
    sender: str, receiver: str, ip: int, mtu: int, prepare: Prepare, run: Run, tmp_path: Path
) -> None:
    scenario = prepare(sender, receiver, {"kind": "transfer", "size": "4 MB"}, ip, str(mtu))
    capture = Capture(directory=str(tmp_path), name="stack", snap_bytes=64)
    record = run(scenario, capture=capture)
    [flow] = checked(record)
    # A sender fails if the receiver has read another number of bytes.
    congestion_control = STACKS[sender].stack.congestion_control
    assert (flow.bytes, flow.connections, flow.congestion_control) == (4_000_000, 1, congestion_control)
    assert flow.goodput_bps
    assert flow.goodput_bps < 200e6
    assert {check.name for check in record.checks} >= {"path_mtu", "tcp_options", "congestion_control", "mss"}
    of_hosts = {host.name: host.stack for host in record.hosts}
    for host, name in (("sender", sender), ("receiver", receiver)):
        found = of_hosts[host]
        assert (found.name if found else LINUX) == name
        assert found is None or re.match(r"v?\d+\.\d+\.\d+", found.version)
    files = list(tmp_path.glob("*sender*"))
    assert files
    assert max(map(largest, files)) == ETHERNET_BYTES + mtu - SPARE_BYTES.get((sender, receiver), 0)


PACKETS = {
    "kind": "packets",
    "size": {"distribution": "uniform", "minimum": "24 B", "maximum": "1400 B"},
    "gap": {"distribution": "exponential", "mean": "500 us"},
    "count": 200,
    "seed": 5,
}
PACKETS_BYTES = 143_105
PACKETS_NS = 103_429_819
"""The bytes of these packets, and the time from the first to the end of the last gap, from whatever host."""


def packets_arrived(flow: FlowRecord, transport: str, ip: int) -> None:
    """Fails unless a flow's packets are the drawn ones, and both ends have measured them."""
    assert flow.pacing
    assert flow.pacing.asked_bps == PACKETS_BYTES * 8e9 / PACKETS_NS
    assert flow.pacing.lateness_us.count == 200
    assert flow.owd_us
    assert flow.delay_variation_us
    assert flow.jitter_rfc3550_us is not None
    assert flow.goodput_bps
    assert 0 < flow.owd_us.minimum <= flow.owd_us.p50 <= flow.owd_us.maximum
    if transport == "tcp":
        assert (flow.bytes, flow.owd_us.count, flow.packets) == (PACKETS_BYTES, 200, None)
        return
    counts = flow.packets
    assert counts
    assert (counts.sent_pkts, counts.send_errors_pkts, counts.duplicated_pkts) == (200, 0, 0)
    assert counts.received_pkts + counts.lost_pkts == 200
    assert flow.owd_us.count == counts.received_pkts > 100
    assert flow.bytes == PACKETS_BYTES or counts.lost_pkts
    assert flow.ip_bytes in (None, PACKETS_BYTES + 200 * (28 if ip == 4 else 48))


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_stack_exchanges_packets_and_several_requests_with_itself(
    name: str, prepare: Prepare, run: Callable[[Scenario], Record]
) -> None:
    requests = {
        "kind": "request_response",
        "request": "64 B",
        "response": "64 B",
        "count": 500,
        "in_flight": 8,
    }
    scenario = prepare(name, name, requests)
    packets = scenario.workload[0].model_dump(by_alias=True) | {"name": "packets", "traffic": PACKETS}
    scenario.workload.append(Flow.model_validate(packets | {"transport": "udp"}))
    flow, sent = checked(run(scenario))
    assert flow.rtt_us
    assert flow.rtt_us.count == 500
    packets_arrived(sent, "udp", 4)


def test_the_bytes_of_packets_are_those_that_the_interface_counts(
    prepare: Prepare, run: Callable[[Scenario], Record]
) -> None:
    record = run(prepare("smoltcp", LINUX, {"kind": "transfer", "size": "2 MB"}, network="pair"))
    [flow] = checked(record)
    assert flow.ip_bytes
    # 2 MB in segments of 1460 bytes, each with 40 bytes of headers, and a few segments without data.
    assert 2_000_000 + 40 * 1370 <= flow.ip_bytes <= 2_000_000 + 40 * 1370 + 2000
    assert (flow.mss_bytes, flow.retransmissions_pkts, flow.intervals) == (1460, 0, [])
    absent = {absence.metric for absence in record.absent if absence.object == "flow"}
    assert {"cwnd", "srtt", "min_rtt"} <= absent


def test_a_stack_that_ignores_routers_is_refused_where_the_path_has_a_smaller_mtu(
    prepare: Prepare, lab: Backend
) -> None:
    scenario = prepare("smoltcp", LINUX, {"kind": "transfer", "size": "1 MB"}, mtu="4000")
    interfaces = [interface for link in scenario.links for interface in link.ends]
    for interface in interfaces:
        if interface.node == "receiver":
            interface.mtu = Size("1500 B")
    found = [(problem.setting, problem.value) for problem in lab.check(scenario)]
    assert ("from", "a network with an MTU of 1500 B") in found


def largest(file: Path) -> int:
    """Returns the length of the largest packet in a pcapng file."""
    data, place, found = file.read_bytes(), 0, 0
    while place < len(data):
        kind, length = struct.unpack_from("<II", data, place)
        if kind == 6:  # an enhanced packet block
            found = max(found, struct.unpack_from("<I", data, place + 24)[0])
        place += length
    return found


@pytest.mark.parametrize(
    ("transport", "ip"),
    [
        ("tcp", 4),
        ("udp", 6),
        *(pytest.param(*each, marks=pytest.mark.slow) for each in (("tcp", 6), ("udp", 4))),
    ],
)
@pytest.mark.parametrize(("sender", "receiver"), WITH_LINUX)
def test_requests_sweeps_and_packets_are_carried_over_each_transport(
    sender: str,
    receiver: str,
    transport: str,
    ip: int,
    prepare: Prepare,
    run: Callable[[Scenario], Record],
) -> None:
    requests = {"kind": "request_response", "request": "64 B", "response": "64 B", "count": 100}
    scenario = prepare(sender, receiver, requests, ip, transport=transport)
    program = sender if receiver == LINUX else receiver
    last = DATAGRAM_BYTES.get((program, ip), 21_000) if transport == "udp" else 21_000
    step = (last - 1000) // 2
    sizes = {"first": "1000 B", "last": f"{last} B", "step": f"{step} B", "repeats": 2, "bytes": "60 kB"}
    sweep = scenario.workload[0].model_dump(by_alias=True) | {"name": "sweep"}
    sweep["traffic"] = {"kind": "sweep", "answer": "echo"} | sizes
    packets = scenario.workload[0].model_dump(by_alias=True) | {"name": "packets", "traffic": PACKETS}
    scenario.workload += [Flow.model_validate(sweep), Flow.model_validate(packets)]
    flow, swept, sent = checked(run(scenario))
    packets_arrived(sent, transport, ip)
    assert flow.rtt_us
    assert (flow.rtt_us.count, flow.bytes) == (100, 6400)
    assert 0 < flow.rtt_us.minimum <= flow.rtt_us.p50 <= flow.rtt_us.maximum
    assert [size.size_bytes for size in swept.sizes or []] == [1000, 1000 + step, last]
    for size in swept.sizes or []:
        assert len(size.rtt_us) == 2
        assert all(0 < least <= mean for least, mean in zip(size.rtt_minimum_us, size.rtt_us, strict=True))


SWEEP = {
    "kind": "sweep",
    "answer": "echo",
    "first": "1000 B",
    "last": "2000 B",
    "step": "500 B",
    "repeats": 1,
    "bytes": "2 kB",
}


TOO_LARGE = {"distribution": "constant", "value": "2 kB"}


@pytest.mark.parametrize(
    ("changes", "wrong"),
    [
        ({"transport": "mptcp"}, "transport"),
        ({"traffic": {"kind": "tool", "tool": "iperf3", "duration": "1 s"}}, "kind"),
        ({"socket": {"window": "64 KiB"}}, "window"),
        ({"socket": {"zerocopy": True}}, "zerocopy"),
        ({"congestion_control": "bbr"}, "congestion_control"),
        ({"ecn": True}, "ecn"),
        ({"window_scaling": False}, "window_scaling"),
        ({"program": "unheard-of"}, "program"),
        ({"offloads": "tso"}, "tso"),
        ({"stack": "smoltcp", "socket": {"mss": "1000 B"}}, "mss"),
        ({"stack": "smoltcp", "socket": {"dscp": 46}}, "dscp"),
        ({"stack": "smoltcp", "sack": False}, "sack"),
        ({"stack": "smoltcp", "send_buffer": STACKS[LINUX].stack.send_buffer}, "send_buffer"),
        ({"stack": "smoltcp", "ip": 6, "transport": "udp", "traffic": SWEEP}, "last"),
        ({"stack": "smoltcp", "ip": 6, "transport": "udp", "traffic": PACKETS | {"size": TOO_LARGE}}, "size"),
        ({"stack": "lwip", "congestion_control": "cubic"}, "congestion_control"),
        ({"stack": "lwip", "timestamps": False}, "timestamps"),
    ],
)
def test_what_the_stack_cannot_do_is_refused_before_the_trial(
    changes: dict[str, Any], wrong: str, prepare: Prepare, lab: Backend
) -> None:
    of_flow = {name: changes[name] for name in ("transport", "socket", "ip") if name in changes}
    traffic = changes.get("traffic", {"kind": "transfer", "size": "1 MB"})
    scenario = prepare(changes.get("stack", "gvisor"), LINUX, traffic, **of_flow)
    for node in scenario.nodes:
        if node.name == "receiver" and "offloads" in changes:
            node.offloads = Offloads(tso=True)
        if node.name == "sender" and node.stack:
            own = {name: value for name, value in changes.items() if name in type(node.stack).model_fields}
            node.stack = node.stack.model_copy(update=own)
    problems = lab.check(scenario)
    assert [problem.setting for problem in problems] == [wrong]
    assert not problems[0].of_machine


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_killed_engine_takes_the_stacks_with_it(name: str, prepare: Prepare, sandbox: Sandbox) -> None:
    line = order(prepare(name, name, {"kind": "transfer", "duration": "30 s"}))
    command = sandbox.command(["env", f"NETTRIAL_STACKS={stacks()}", str(engine()), "lab"])
    for _ in range(2):
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
            assert process.stdin is not None
            process.stdin.write(line)
            process.stdin.flush()
            assert wait_for(lambda: len(programs(sandbox)) == 2)
            sandbox.kill("nettrial-engine lab", signal.SIGKILL)
            process.wait(PATIENCE)
        sandbox.assert_empty()


def order(scenario: Scenario) -> bytes:
    """Returns the line that has an engine run a scenario."""
    request = Request(RunRequest(trial="stack", scenario=scenario))
    return request.model_dump_json(by_alias=True, exclude_none=True).encode() + b"\n"


def programs(sandbox: Sandbox) -> list[int]:
    """Returns the processes of stacks."""
    return [
        number for number, command in sandbox.processes().items() if "nettrial-stack-" in command.split()[0]
    ]


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_stranger_on_the_network_changes_nothing(name: str, prepare: Prepare, sandbox: Sandbox) -> None:
    # The attack takes about a second, and has to end before the trial does.
    for seconds in (10, 60, 300):
        record = attacked(name, seconds, prepare, sandbox)
        if record:
            break
    assert record, "the trial ended before the attack, or the attack failed"
    flow = record.flows[0]
    assert [check for check in record.checks if not check.passed] == []
    assert flow.bytes > 0
    assert flow.goodput_bps
    counts = record.flows[1].packets
    assert counts
    assert counts.sent_pkts == counts.received_pkts + counts.lost_pkts == 200 * seconds
    assert (counts.reordered_pkts, counts.duplicated_pkts) == (0, 0)


def attacked(name: str, seconds: int, prepare: Prepare, sandbox: Sandbox) -> Record | None:
    """Returns the record of a trial of that length, the receiver of which is attacked; None if the attack did
    not get through, as where the trial ends before it on a busy machine."""
    transfer = {"kind": "transfer", "duration": f"{seconds} s"}
    scenario = prepare(LINUX, name, transfer, network="pair", rate="10 Mbit/s")
    packets = PACKETS | {"gap": {"distribution": "exponential", "mean": "5 ms"}, "count": 200 * seconds}
    packets = scenario.workload[0].model_dump(by_alias=True) | {"name": "packets", "traffic": packets}
    scenario.workload.append(Flow.model_validate(packets | {"transport": "udp"}))
    command = sandbox.command(["env", f"NETTRIAL_STACKS={stacks()}", str(engine()), "lab"])
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(order(scenario))
        process.stdin.flush()

        def senders() -> list[int]:
            return [
                number for number, command in sandbox.processes().items() if "--dies-with-parent" in command
            ]

        assert wait_for(lambda: len(senders()) == 1)
        sender = str(senders()[0])
        enter = ["nsenter", "--target", sender, "--net", "--", sys.executable, str(STRANGER), sender]
        attack = subprocess.run(sandbox.command(enter), stdout=subprocess.PIPE, text=True, check=False)
        said = json.loads(attack.stdout or "null")
        assert said in (None, {"callers": 200, "answered_bytes": 0, "frames": 2000, "datagrams": 2000})
        answer = json.loads(process.stdout.readline())
        process.kill()
    assert "record" in answer, answer
    return Record.model_validate(answer["record"]) if said else None
