"""Trials in virtual time: exact, the same at any load, for any user, and gone without a trace.

They need a kernel in virtual time (`make virtual` builds one), and are skipped without one."""

import itertools
import math
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest

from nettrial.backends import BACKENDS, Configuration, TrialFailed, find_kernel, station
from nettrial.backends.find import engine, stacks
from nettrial.design import scenario_of
from nettrial.guests import Catalogue, UserMode
from nettrial.scenario import Capture, Flow, Link, Outage, RecordEvent, Request, RunRequest
from nettrial.stacks import STACKS
from nettrial.store import Run
from nettrial.study import load
from tests.lab.captured import arrivals
from tests.lab.lacking import lacking
from tests.lab.sandbox import children, wait_for
from tests.lab.test_radio import scenario as of_stations

pytestmark = pytest.mark.virtual
SHORT = {
    "workload.transfer.traffic.duration": "200 ms",
    "workload.probe.traffic.duration": "200 ms",
    "sender": "linux-cubic",
    "receiver": "linux-cubic",
}
NOBODY = 65534


@pytest.fixture(scope="module")
def kernel():
    """Returns the program of the kernel in virtual time."""
    found = find_kernel()
    if found is None:
        lacking("no kernel in virtual time here: `make virtual` builds one")
    return found


@pytest.fixture
def backend(kernel):
    with BACKENDS["virtual"].start(Configuration()) as started:
        yield started


def a_scenario(seed=1, **overrides):
    """Returns the first scenario of `jumbo-ipv6` with a short transfer."""
    given = {name.replace("__", "."): value for name, value in overrides.items()}
    study = load("jumbo-ipv6").with_overrides({**SHORT, **given})
    levels = {name: factor.levels[0] for name, factor in study.factors.items()}
    made = scenario_of(study, levels).model_copy(deep=True)
    made.seed = seed
    return made


def command(kernel):
    return [str(engine()), "virtual", "--kernel", str(kernel)]


@contextmanager
def asked(command, scenario, **options):
    """Yields an engine that was started by this command, and was asked to run a scenario."""
    request = RunRequest(trial="1", scenario=scenario)
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **options) as process:
        process.stdin.write(
            Request(request).model_dump_json(by_alias=True, exclude_none=True).encode() + b"\n"
        )
        process.stdin.flush()
        yield process
        process.stdin.close()


def raw(command, scenario, **options):
    """Returns the bytes of the record from an engine that was started by this command."""
    with asked(command, scenario, **options) as process:
        line = process.stdout.readline()
    assert b'"event":"record"' in line[:200], line[:2000]
    return line


@contextmanager
def other_work() -> Iterator[None]:
    """Keeps all CPUs busy."""
    busy = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2 * (os.cpu_count() or 1))
    ]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


def test_the_same_seed_gives_the_same_bytes_at_any_load_in_any_place(kernel, tmp_path):
    settings = {"network.delay": "1 ms", "network.impairment.loss": "0.1%"}
    scenario = a_scenario(**settings)
    alone = raw(command(kernel), scenario)
    elsewhere = {"cwd": tmp_path, "env": {**os.environ, "SOME_VARIABLE": "x" * 1000}}
    with other_work():
        assert raw(command(kernel), scenario, **elsewhere) == alone
    assert raw(command(kernel), a_scenario(2, **settings)) != alone


@pytest.mark.slow
def test_a_study_has_the_same_records_one_by_one_two_at_once_and_on_a_cluster(kernel, tmp_path):
    settings = [f"--set={name}={value}" for name, value in {**SHORT, "mtu": "1500,9000"}.items()]
    options = ["--backend", "virtual", *settings, "--replicates", "2", "--seed", "1"]
    found = {}
    for name, before, after in (
        ("one by one", ["taskset", "--cpu-list", "0"], []),
        ("two at once", [], []),
        ("cluster", [], ["--on", "local[2]"]),
    ):
        program = Path(sys.executable).with_name("nettrial")
        asked = [*before, program, "run", "jumbo-ipv6", *options, *after]
        with other_work() if name == "two at once" else nullcontext():
            subprocess.run([*asked, "--out", tmp_path / name], check=True, capture_output=True)
        found[name] = dict(Run.open(tmp_path / name).record_texts())
    assert found["one by one"] == found["two at once"] == found["cluster"]
    assert len(found["cluster"]) == 4


@pytest.mark.parametrize("name", ["gvisor", "lwip", "smoltcp"])
def test_a_host_has_the_stack_of_a_program(kernel, name, monkeypatch, tmp_path):
    program = stacks() / f"nettrial-stack-{name}"
    if not program.is_file():
        lacking(f"`make stacks` has not built {name}")
    directory = tmp_path / 'own "stacks"'
    directory.mkdir()
    shutil.copy(program, directory)
    monkeypatch.setenv("NETTRIAL_STACKS", str(directory))
    scenario = a_scenario()
    ends = {"name": "flow", "from": "sender", "to": "receiver", "transport": "tcp", "ip": 6}
    traffic = {"kind": "transfer", "size": "100 kB"}
    size = {"distribution": "uniform", "minimum": "24 B", "maximum": "1400 B"}
    gap = {"distribution": "exponential", "mean": "500 us"}
    packets = {"kind": "packets", "size": size, "gap": gap, "count": 200, "seed": 5}
    scenario.workload = [
        Flow.model_validate(ends | {"traffic": traffic}),
        Flow.model_validate(ends | {"name": "packets", "transport": "udp", "traffic": packets}),
    ]
    for node in scenario.nodes:
        if node.name == "sender":
            node.stack = STACKS[name].stack
    with BACKENDS["virtual"].start(Configuration()) as backend:
        record = backend.run("test", scenario, 200)
    assert [check for check in record.checks if not check.passed] == []
    assert record.flows[0].bytes == 100_000
    counts = record.flows[1].packets
    assert (counts.received_pkts, counts.lost_pkts, counts.reordered_pkts) == (200, 0, 0)
    assert record.flows[1].owd_us.count == 200
    assert [host.stack.name for host in record.hosts if host.stack] == [name]


def test_rates_are_exact_and_nothing_is_warned_of(backend):
    record = backend.run("test", a_scenario(mtu="1500"), None)
    assert record.backend == "virtual"
    assert record.warnings == []
    transfer = next(flow for flow in record.flows if flow.name == "transfer")
    assert transfer.goodput_bps is not None
    # TCP over IPv6 with timestamps in frames of 1500 bytes carries 1428 of 1538 bytes on the wire.
    assert transfer.goodput_bps == pytest.approx(1e9 * 1428 / 1538, rel=0.01)
    reasons = {absence.metric: absence.reason for absence in record.absent or []}
    assert "computing takes no time" in reasons["cpu"]
    assert not record.processors


WIRES = """
study: wires
title: Wires
question: Are the wires exact?
backend: virtual
replicates: 1
full_replicates: 1
warmup: 0
network:
  topology: pair
  ip: 4
  rate: {rate}
  delay: {delay}
  queue: 50 packets
  mtu: 1500 B
hosts:
  client: {{stack: linux-cubic}}
  server: {{stack: linux-cubic}}
workload:
  - {{flow: rtt, from: client, to: server, transport: udp, traffic: {{kind: request_response,
     request: {size} B, response: {size} B, interval: {interval} us, count: 20}}}}
  - {{flow: full, from: client, to: server, transport: udp, start: 2 s, traffic: {{kind: packets,
     size: {size} B, rate: {offered}, duration: {duration} ms}}}}
measurement: {{interval: 100 ms, queue_drops: allowed}}
factors:
  rate: {{title: Rate, sets: network.rate, levels: [{rate}]}}
layout: {{rows: rate}}
responses:
  - {{name: rtt, title: RTT, metric: rtt, of: rtt, unit: ms}}
"""
UDP_AND_IPV4, FRAMING = 28, 38


@pytest.mark.parametrize(
    ("rate", "size", "delay_ns"),
    [(1_000_000, 64, 0), (100_000_000, 1472, 5_000_000), (1_000_000_000, 1472, 1000)],
)
def test_wires_have_the_rate_and_the_delay_of_physics(backend, tmp_path, rate, size, delay_ns):
    frame_ns = (size + UDP_AND_IPV4 + FRAMING) * 8e9 / rate
    settings = {
        "rate": f"{rate // 1000} kbit/s",
        "offered": f"{rate * size / (size + UDP_AND_IPV4 + FRAMING) * 1.2 / 1e3:.0f} kbit/s",
        "delay": f"{delay_ns} ns",
        "size": size,
        "duration": max(math.ceil(300 * frame_ns / 1e6), 1),
        "interval": math.ceil((2 * delay_ns + 3 * frame_ns) / 1e3),
    }
    (tmp_path / "wires.yaml").write_text(WIRES.format(**settings))
    study = load(tmp_path / "wires.yaml")
    scenario = scenario_of(study, {name: factor.levels[0] for name, factor in study.factors.items()})
    (tmp_path / "captures").mkdir()
    capture = Capture(directory=str(tmp_path / "captures"), name="test", snap_bytes=64)
    record = backend.run("test", scenario, None, capture=capture)
    # A capture takes no time here.
    assert record.warnings == []
    rtt, full = record.flows
    # Programs read the clock between the two time stamps, which takes 256 ns each time.
    assert rtt.rtt_us.mean * 1e3 == pytest.approx(2 * (frame_ns + delay_ns), rel=1e-5, abs=6000)
    arrived = arrivals(tmp_path / "captures" / "test-server-eth0.pcapng")
    wire_ns = [max(length + FRAMING - 14, 84) * 8e9 / rate for _, length in arrived]
    pairs = zip(arrived, arrived[1:], wire_ns[1:], strict=False)
    excesses = [later - earlier - least_ns for (earlier, _), (later, _), least_ns in pairs]
    # While packets waited, each arrived when its bits had passed after the one before.
    assert full.packets.received_pkts > 300
    assert len([excess for excess in excesses if abs(excess) <= 1]) > 100


def test_frames_of_a_gso_packet_arrive_one_by_one(backend, tmp_path):
    scenario = a_scenario(mtu="1500", network__offloads__gso="true")
    (tmp_path / "captures").mkdir()
    capture = Capture(directory=str(tmp_path / "captures"), name="test", snap_bytes=64)
    record = backend.run("test", scenario, None, capture=capture)
    [transfer] = [flow for flow in record.flows if flow.name == "transfer"]
    assert transfer.goodput_bps == pytest.approx(1e9 * 1428 / 1538, rel=0.01)
    arrived = arrivals(tmp_path / "captures" / "test-router-eth0.pcapng")
    full = [at for at, length in arrived if length == 1514]
    gaps = [later - earlier for earlier, later in itertools.pairwise(full)]
    # A frame of 1538 bytes on the wire takes 12304 ns at 1 Gbit/s. Programs that read the clock, which takes
    # 256 ns each time, delay some time stamps.
    assert gaps.count(12304) > 10_000
    assert min(gaps) >= 12304 - 4 * 256


def test_a_preflight_tells_the_kernel_and_all_cpus_of_the_machine(backend):
    found = backend.preflight()
    assert found.missing == []
    assert found.environment.kernel.startswith("Linux 6.")
    assert found.environment.processors == len(os.sched_getaffinity(0))
    assert {"bbr", "cubic", "dctcp", "vegas"} <= set(found.environment.congestion_controls)


def test_a_worker_of_a_cluster_finds_its_kernel(backend):
    scenario = a_scenario()
    try:
        assert station.run("session", "virtual", "test", scenario) == backend.run("test", scenario, None)
    finally:
        station.abandon("session")


@pytest.fixture
def systems(kernel, tmp_path, monkeypatch):
    """Adds the kernel to an empty cache, as `mine` and as `yours`."""
    monkeypatch.setenv("NETTRIAL_SYSTEMS", str(tmp_path))
    for name in ("mine", "yours"):
        Catalogue(tmp_path).add_program(name, UserMode(kernel, "6.12.0"), "a test")


def test_hosts_name_the_kernel_of_their_trial(kernel, systems):
    scenario = a_scenario()
    without = raw(command(kernel), scenario)
    for node in scenario.nodes:
        node.system = "mine" if node.stack else None
    assert raw([str(engine()), "virtual"], scenario) == without


@pytest.mark.parametrize(
    ("names", "hint"),
    [
        (["mine", None, "yours"], "set hosts.every.system"),
        (["mine", None, None], "set hosts.every.system"),
        (["other", None, "other"], "nettrial systems add other"),
    ],
)
def test_kernels_that_no_trial_can_have_are_refused(backend, systems, names, hint):
    scenario = a_scenario()
    for node, name in zip(sorted(scenario.nodes, key=lambda node: node.name), names, strict=True):
        node.system = name
    [problem] = backend.check(scenario)
    assert problem.setting == "system"
    assert hint in problem.hint


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_any_user_gets_the_same_record_at_any_level_of_the_log(kernel):
    scenario = a_scenario()
    become = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--no-new-privs"]
    with tempfile.TemporaryDirectory(dir="/var/tmp") as directory:  # pytest's directories are root's alone
        Path(directory).chmod(0o755)
        own = [shutil.copy(program, Path(directory) / program.name) for program in (engine(), kernel)]
        for program in own:
            program.chmod(0o755)
        log = ["env", "NETTRIAL_LOG=debug"]
        record = raw([*become, *log, own[0], "virtual", "--kernel", own[1]], scenario, cwd="/")
    assert record == raw(command(kernel), scenario)


@pytest.mark.parametrize("victim", ["engine", "kernel"])
def test_a_kill_leaves_nothing(kernel, victim, tmp_path):
    scenario = a_scenario(**{"workload.transfer.traffic.duration": "1000 s"})
    with asked(command(kernel), scenario, cwd=tmp_path) as process:
        assert wait_for(
            lambda: [grandchild for child in children(process.pid) for grandchild in children(child)], 120
        )
        [program] = children(process.pid)
        left = [program, *children(program)]
        os.kill(process.pid if victim == "engine" else program, signal.SIGKILL)
        if victim == "kernel":
            assert b"the kernel ended without an answer" in process.stdout.readline()
        assert wait_for(lambda: not [number for number in left if Path(f"/proc/{number}/exe").exists()])
    assert list(tmp_path.iterdir()) == []


def processes_of(program):
    """Returns the numbers of all processes that run a program."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "exe").readlink() == program:
                found.append(int(process.name))
        except OSError:  # the process has ended
            continue
    return found


@pytest.mark.parametrize("longest", [0.01, 0.1])
def test_a_kernel_that_is_killed_as_it_starts_leaves_nothing(kernel, tmp_path, longest):
    own = Path(shutil.copy(kernel, tmp_path / "linux"))
    chance = random.Random(longest)
    request = Request(RunRequest(trial="1", scenario=a_scenario()))
    line = request.model_dump_json(by_alias=True, exclude_none=True).encode() + b"\n"
    with subprocess.Popen(command(own), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        for _ in range(20):
            process.stdin.write(line)
            process.stdin.flush()
            while not (started := children(process.pid)):
                time.sleep(0)
            time.sleep(chance.uniform(0, longest))
            os.kill(started[0], signal.SIGKILL)
            assert b"the kernel ended without an answer" in process.stdout.readline()
            assert wait_for(lambda: not processes_of(own)), processes_of(own)
        process.stdin.close()


def test_a_program_that_is_no_kernel_costs_a_trial_and_shows_what_it_said(tmp_path, monkeypatch):
    program = tmp_path / "linux"
    program.write_text("#!/bin/sh\necho check_ptrace : expected SIGSTOP >&2; exit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("NETTRIAL_KERNEL", str(program))
    with BACKENDS["virtual"].start(Configuration()) as backend:
        [missing] = backend.preflight().missing
        assert "check_ptrace : expected SIGSTOP" in missing.why
        assert "--cap-add=SYS_PTRACE" in missing.remedy
        with pytest.raises(TrialFailed, match="expected SIGSTOP"):
            backend.run("test", a_scenario(), None)


def test_without_a_kernel_the_preflight_tells_how_to_get_one(tmp_path, monkeypatch):
    monkeypatch.delenv("NETTRIAL_KERNEL", raising=False)
    monkeypatch.setenv("NETTRIAL_SYSTEMS", str(tmp_path))
    monkeypatch.setattr("nettrial.backends.virtual.PACKAGE", "no_such_package")
    with BACKENDS["virtual"].start(Configuration()) as backend:
        [missing] = backend.preflight().missing
    assert "nettrial-kernel" in missing.remedy
    assert "nettrial systems add linux --package linux-source-6.12" in missing.remedy


SLOW = {"network.rate": "50 Mbit/s", "network.delay": "2 ms", "network.queue": "300 packets"}
PING = (
    'ping -c 3 -i 0.1 -I {source} {destination} | awk -F/ \'/^rtt/ {print "{\\"rtt_us\\": " $5 * 1000 "}"}\''
)
"""A command that prints the mean round-trip time as JSON."""
TOOLS = {
    "iperf3": {"transport": "tcp"},
    "ping": {"transport": "icmp", "size": "64 B", "arguments": ["-i", "0.01"]},
    "ditg": {"transport": "tcp", "size": "1000 B"},
    "netperf": {"transport": "tcp"},
    "http1": {"transport": "tcp", "size": "1 MB"},
    "exec": {"transport": "icmp", "arguments": ["sh", "-c", PING]},
    "ftp": {"transport": "tcp", "size": "1 MB"},
    "http2": {"transport": "tcp", "size": "1 MB"},
    "http3": {"transport": "udp", "size": "1 MB"},
    "tftp": {"transport": "udp", "size": "100 kB"},
}
FURTHER_DOWNLOADS = ("ftp", "http2", "http3", "tftp")
HIDDEN = "/tmp"
"""The directory of the machine that the kernel hides, in which a checkout may lie."""


@pytest.fixture
def visible(monkeypatch):
    """Copies netperf to where the kernel sees it, if it is in a directory that it hides."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as directory:
        for name in ("netperf", "netserver"):
            found = shutil.which(name)
            if found and found.startswith(HIDDEN):
                shutil.copy(found, directory)
        monkeypatch.setenv("PATH", directory, prepend=os.pathsep)
        yield


def of_study(name, seed=1, level=0, **overrides):
    """Returns the scenario of a study, with one level of each factor."""
    study = load(name)
    study = study.with_overrides({key.replace("__", "."): value for key, value in overrides.items()})
    levels = {
        name: factor.levels[min(level, len(factor.levels) - 1)] for name, factor in study.factors.items()
    }
    made = scenario_of(study, levels).model_copy(deep=True)
    made.seed = seed
    return made


def same_at_any_load(kernel, scenario):
    """Runs a scenario twice at once, of which one yields its CPU to all other processes, compares the records
    byte by byte, and returns the record."""
    run = command(kernel)
    with ThreadPoolExecutor() as pool:
        one, other = pool.map(lambda begin: raw([*begin, *run], scenario), [[], ["nice", "-n", "19"]])
    assert one == other
    return RecordEvent.model_validate_json(one).record


@pytest.mark.parametrize("control", ["lia", "olia", "balia", "wvegas"])
def test_coupled_congestion_controls_are_built_in_and_see_all_subflows(kernel, control):
    scenario = of_study("examples/two-paths", level=1, workload__download__traffic__duration="500 ms")
    for node in scenario.nodes:
        if node.stack:
            node.stack.congestion_control = control
    record = same_at_any_load(kernel, scenario)
    [flow] = record.flows
    assert len(flow.subflows) == 2
    assert {subflow.congestion_control for subflow in flow.subflows} == {control}
    [counted] = record.congestion
    assert counted.name == control
    assert counted.callbacks.coupled > 0
    assert counted.callbacks.repaired == 0
    assert [check for check in record.checks if not check.passed] == []
    assert 15e6 < flow.goodput_bps < 40e6


def with_discipline(scenario, **discipline):
    """Gives the queues of all links a discipline."""
    scenario.links = [
        Link.model_validate({**link.model_dump(by_alias=True, exclude_none=True), "discipline": discipline})
        for link in scenario.links
    ]
    return scenario


@pytest.mark.parametrize("discipline", ["codel", "fq", "fq_codel", "cake", "pie", "fq_pie", "red"])
def test_each_queue_discipline_is_there(kernel, discipline):
    settings = {"minimum": "30 kB", "maximum": "90 kB", "gentle": False} if discipline == "red" else {}
    scenario = with_discipline(a_scenario(mtu="1500", **SLOW), discipline=discipline, **settings)
    record = same_at_any_load(kernel, scenario)
    assert record.warnings == []
    transfer = next(flow for flow in record.flows if flow.name == "transfer")
    assert 30e6 < transfer.goodput_bps < 50e6 * 1428 / 1538


def test_a_gentle_red_is_refused_because_linux_has_none(backend):
    settings = {"discipline": "red", "minimum": "30 kB", "maximum": "90 kB"}
    [problem, *_] = backend.check(with_discipline(a_scenario(**SLOW), **settings))
    assert (problem.setting, problem.expected) == ("gentle", "false")


def test_a_radio_channel_is_the_same_at_any_load(kernel, tmp_path):
    record = same_at_any_load(kernel, of_stations(tmp_path))
    [channel] = record.channels
    assert sum(station.airtime.data_ps for station in channel.stations) > 0


@pytest.mark.parametrize("switches", [25, 90])
def test_a_fabric_at_its_papers_rate_is_the_same_at_any_load(kernel, switches):
    scenario = of_study(
        "jellyfish-mptcp",
        level=2,
        rate="1 Gbit/s",
        switches=str(switches),
        workload__incast__traffic__duration="20 ms",
        measurement__interval="10 ms",
    )
    record = same_at_any_load(kernel, scenario)
    assert len(record.flows) == switches - 1
    assert sum(flow.bytes for flow in record.flows) > 0
    # Where the first segment of a subflow is lost, the kernel opens another.
    assert max(len(flow.subflows) for flow in record.flows) in (2, 3)
    assert {warning.code for warning in record.warnings} <= {"mptcp_fallback"}


def test_a_link_fails_and_returns_at_the_time_of_its_event(kernel):
    scenario = a_scenario(mtu="1500", **SLOW)
    scenario.workload[0].traffic.root.duration = type(scenario.measurement.interval)("1 s")
    scenario.events = [
        Outage.model_validate({"at": "300 ms", "fails": ["sender", "router"], "returns": "500 ms"})
    ]
    record = same_at_any_load(kernel, scenario)
    [event] = record.events
    assert event.at_ns == pytest.approx(300e6, abs=1e5)
    assert event.returned_ns == pytest.approx(500e6, abs=1e5)
    samples = [sample for sample in record.flows[0].intervals if 310e6 < sample.at_ns < 500e6]
    assert sum(sample.bytes for sample in samples) == 0


def test_a_queue_marks_packets_that_ask_for_it(kernel):
    lost, marked = {}, {}
    for ecn in (False, True):
        scenario = a_scenario(mtu="1500", **SLOW)
        # TCP small queues keep a sender's own queue short, so the router's is the bottleneck.
        scenario.links[0].rate = type(scenario.links[0].rate)("1 Gbit/s")
        scenario = with_discipline(scenario, discipline="codel", target="1 ms", interval="10 ms", ecn=True)
        for node in scenario.nodes:
            if node.stack:
                node.stack.ecn = ecn
        flow = same_at_any_load(kernel, scenario).flows[0]
        lost[ecn], marked[ecn] = flow.retransmissions_pkts, flow.marks_pkts
    assert lost[False] > 0
    assert marked[False] == 0
    assert lost[True] == 0
    assert marked[True] > 0


@pytest.mark.usefixtures("visible")
@pytest.mark.parametrize(
    "tool",
    [pytest.param(tool, marks=[pytest.mark.slow] if tool in FURTHER_DOWNLOADS else []) for tool in TOOLS],
)
def test_a_tool_of_the_machine_runs_on_the_virtual_clock(kernel, tool):
    transport = TOOLS[tool]["transport"]
    settings = {key: value for key, value in TOOLS[tool].items() if key != "transport"}
    traffic = {"kind": "tool", "tool": tool, "duration": "1 s", **settings}
    flow = {
        "name": tool,
        "from": "sender",
        "to": "receiver",
        "ip": 4,
        "transport": transport,
        "traffic": traffic,
    }
    scenario = a_scenario(mtu="1500", **SLOW, **{"network.ip": "4"})
    scenario.workload = [Flow.model_validate(flow)]
    with BACKENDS["virtual"].start(Configuration()) as backend:
        problems = backend.check(scenario)
    if problems:
        lacking(str(problems[0]))
    record = same_at_any_load(kernel, scenario)
    assert record.warnings == []
    [found] = record.flows
    assert found.tool.output
    assert found.goodput_bps or found.rtt_us


def test_a_tool_that_reads_the_cpus_counter_is_refused(backend):
    scenario = a_scenario(mtu="1500", **{"network.ip": "4"})
    traffic = {"kind": "tool", "tool": "sockperf", "duration": "1 s", "size": "64 B"}
    ends = {"from": "sender", "to": "receiver", "ip": 4}
    scenario.workload = [
        Flow.model_validate({"name": "sockperf", **ends, "transport": "udp", "traffic": traffic})
    ]
    [problem, *_] = backend.check(scenario)
    assert problem.value == "sockperf"
    assert "cycles" in problem.hint


def test_a_capture_is_the_same_at_any_load(kernel, tmp_path):
    scenario = a_scenario(mtu="1500", **{**SLOW, "workload.transfer.traffic.duration": "100 ms"})
    captured = []
    for place in ("one", "other"):
        (tmp_path / place).mkdir()
        capture = Capture(directory=str(tmp_path / place), name="test", snap_bytes=128)
        with BACKENDS["virtual"].start(Configuration()) as backend:
            backend.run("test", scenario, None, capture=capture)
        captured.append({file.name: file.read_bytes() for file in (tmp_path / place).iterdir()})
    assert captured[0] == captured[1]
    assert any(len(content) > 10_000 for content in captured[0].values())
