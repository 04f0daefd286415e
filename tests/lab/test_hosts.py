"""Trials on machines that the test creates and reaches through OpenSSH. Whatever happens, changed settings
are restored."""

from __future__ import annotations

import hashlib
import json
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator

import pytest

from nettrial.backends import Backend
from nettrial.backends.find import engine
from nettrial.store import Run
from tests.lab.machines import (
    MACHINES,
    OWN_SYSCTL,
    ROOT,
    Machines,
    environment,
    installed,
    settled,
    short_study,
)
from tests.lab.sandbox import PATIENCE, Sandbox, wait_for
from tests.measuring import ATTEMPTS

STUDY = [
    *short_study("150 ms", receiver="linux-cubic,classic"),
    f"--set=hosts.sender.sysctls.{'='.join(OWN_SYSCTL)}",
    "--backend=hosts",
    "--machines=machines.yaml",
]
TRIALS = 4
RUNNER = "runner"
VICTIMS = {
    "engine": "nettrial-engine hosts",
    "ssh": "ServerAliveInterval",
    "connection": "sshd: root@notty",
    "parent of the guard": "machine serve",
    "guard": "machine guard",
    "agent": "/proc/self/exe agent",
}
"""The processes that are killed in addition to the runner, and words in the command line of each."""
KILLS = 50


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    """Yields machines with an installed engine, for tests that leave them unchanged."""
    with installed(tmp_path_factory.mktemp("machines")) as made:
        yield made


@pytest.fixture
def machines(shared: Machines) -> Iterator[Machines]:
    """Yields the shared machines, for a test that changes how they are reached or what is installed on
    them."""
    own = shared.folder / "runner/.ssh"
    kept = {path: path.read_text() for path in (own / "config", own / "known_hosts", shared.file)}
    yield shared
    for path, text in kept.items():
        path.write_text(text)


def test_a_study_runs_over_ssh_and_leaves_the_machines_as_they_were(shared: Machines) -> None:
    before = shared.state()
    done = shared.nettrial("run", *STUDY, "--out=whole")
    assert done.returncode == 0, done.stderr
    settled(shared, before)
    run = Run.open(shared.folder / "whole")
    trials = list(run.trials())
    assert len(trials) == TRIALS
    for trial in trials:
        record = trial.record
        assert [check for check in record.checks if not check.passed] == []
        size = int(trial.planned.treatment["mtu"].split()[0])
        own = [(check.object, check.found) for check in record.checks if check.name == "sysctl"]
        assert own == [(f"sender {OWN_SYSCTL[0]}", OWN_SYSCTL[1])]
        assert {"path_mtu", "mss", "tcp_options", "clock_offset"} <= {check.name for check in record.checks}
        assert [c.found for c in record.checks if c.name == "path_mtu"] == [f"{size} B"] * 2
        assert record.flows[0].bytes > 0
        assert record.flows[1].rtt_us.count > 0
        # The links have no rate limit, and the machines share a kernel; there is a warning of each.
        assert {"same_machine", "unexpected_rate"} <= {warning.code for warning in record.warnings}
        # One kernel runs them all, so the work of one is no other work of another.
        absent = {absence.metric for absence in record.absent}
        assert absent == {"cpu", "service_demand", "other_work", "radio"}
        assert sorted(each.machine for each in record.disturbances) == sorted(MACHINES)
        for each in record.disturbances:
            assert (each.other_work_percent, each.clock_step_ns is None) == (None, False)
            assert each.stolen_percent is not None
            assert each.timer_lateness_us is not None
    environment = run.sessions[0].environment
    assert sorted(machine.name for machine in environment.machines) == sorted(MACHINES)


def test_the_check_says_what_the_machines_are_and_that_jumbo_frames_pass(shared: Machines) -> None:
    before = shared.state()
    done = shared.nettrial("machines", "check")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("driver veth") == 4
    assert done.stdout.count("packets of 9000 B pass: jumbo frames pass") == 12
    settled(shared, before)


MESH = """
mesh: pairs
machines: mesh-machines.yaml
hosts:
  one: {machine: sender}
  other: {machine: receiver}
  lost: {machine: lost}
limits: {share: 100%}
measurements:
  goodput: {kind: tcp, from: [one], to: [other, lost], every: 10 min, duration: 200 ms, streams: 2}
  loss: {kind: udp, from: [other], to: [one], every: 10 min, duration: 200 ms}
  delay: {kind: rr, from: [other], to: [one], every: 10 min, duration: 200 ms, ip: 6}
  path: {kind: path, from: [one], to: [other], every: 10 min}
"""
MEASURE = """
import json, pathlib
from nettrial.monitor import mesh
from nettrial.monitor.kinds import KINDS
from nettrial.monitor.outcome import Missed
found = {}
for task in mesh.load(pathlib.Path("mesh.yaml")).tasks():
    try:
        made = KINDS[task.settings.kind].run(task)
        figures = {each.name: each.value for each in made.figures}
        found[task.key] = figures, made.states, json.loads(made.document)
    except Missed as missed:
        found[task.key] = missed.reason, missed.detail
print(json.dumps(found))
"""


@pytest.mark.settles
def test_a_monitor_measures_between_two_machines_and_changes_nothing(shared: Machines) -> None:
    lost = '  lost: {command: ["false"], interfaces: {eth0: ["10.81.2.99"]}}\n'
    (shared.folder / "mesh-machines.yaml").write_text(shared.file.read_text() + lost)
    (shared.folder / "mesh.yaml").write_text(MESH)
    ends = (("router", "eth1"), ("receiver", "eth0"))
    for machine, interface in ends:
        shared.do(machine, "ip", "link", "set", interface, "mtu", "1400")
    before = shared.state()
    variables = [f"{name}={value}" for name, value in environment().items() if name.isidentifier()]
    try:
        said = shared.do(
            "runner",
            "env",
            *variables,
            "HOME=" + str(shared.folder / "runner"),
            sys.executable,
            "-c",
            MEASURE,
        )
        found = json.loads(said.splitlines()[-1])
        settled(shared, before)
    finally:
        for machine, interface in ends:
            shared.do(machine, "ip", "link", "set", interface, "mtu", "1500")
        for machine in shared.names:  # Hosts keep the path MTU that they have met for ten minutes.
            shared.do(machine, "sh", "-c", "ip route flush cache && ip -6 route flush cache")
    goodput, states, record = found["goodput one other"]
    assert goodput["goodput"] > 0
    assert 0 < goodput["fairness"] <= 1
    assert len(record["flows"]) == 2
    assert [check for check in record["checks"] if not check["passed"] and check["name"] != "path_mtu"] == []
    assert "unexpected_delay" not in {warning["code"] for warning in record["warnings"]}
    assert int(states["segment size"].split()[0]) <= 1400 - 40
    assert found["loss other one"][0]["loss"] == 0
    assert found["delay other one"][0]["rtt"] > 0
    assert found["delay other one"][2]["flows"][0]["ip"] == 6
    assert found["path one other"][:2] == [
        {"path_mtu": 1400, "reverse_path_mtu": 1400},
        {"path MTU": "1400 B", "path MTU back": "1400 B"},
    ]
    assert found["goodput one lost"][0] == "host gone"
    assert "machine lost (false)" in found["goodput one lost"][1]


def test_a_machine_may_be_a_level_of_a_factor(shared: Machines) -> None:
    levels = "--set=hosts.receiver.machine=receiver,router"
    fixed = ["--set=mtu=1500", "--set=sender=linux-cubic", "--set=receiver=linux-cubic"]
    options = [
        option for option in STUDY if not option.startswith(("--set=mtu", "--set=sender", "--set=receiver"))
    ]
    topology = ["--set=network.topology=pair"]
    done = shared.nettrial("run", *options, *fixed, *topology, levels, "--out=levels")
    assert done.returncode == 0, done.stderr
    trials = list(Run.open(shared.folder / "levels").trials())
    named = {trial.scenario.nodes[-1].machine for trial in trials}
    assert named == {"receiver", "router"}


UNCHANGED = {
    "jumbo-path": ["workload.transfer.traffic.duration=300 ms"],
    "mtu-packet-size": ["workload.sweep.traffic.step=20000 B"],
    "tool-agreement": [
        "rate=100 Mbit/s",
        *(
            f"workload.{flow}.{setting}"
            for number, flow in enumerate(
                (
                    "iperf3",
                    "netperf",
                    "ditg",
                    "nettrial-rr",
                    "netperf-rr",
                    "sockperf",
                    "nettrial-paced",
                    "ping",
                ),
                1,
            )
            for setting in (f"start={1500 * number} ms", "traffic.duration=1 s")
        ),
    ],
}
"""The studies that can run on the user's machines, and the settings that shorten each."""


def without_warm_up(machines: Machines, study: str) -> str:
    """Returns the directory of a copy of a shipped study without warm-up."""
    folder = machines.folder / f"{study}-cold"
    shutil.copytree(ROOT / "studies" / study, folder, dirs_exist_ok=True)  # a test may be repeated
    file = folder / "study.yaml"
    file.write_text(re.sub(r"^warmup: \d+$", "warmup: 0", file.read_text(), flags=re.M))
    return str(folder)


@pytest.mark.slow
def test_the_other_studies_run_unchanged_between_four_machines(row: Machines) -> None:
    # In the study, a switch forwards jumbo frames, and the machines in its place must do so too.
    jumbo = [(name, interface) for name in ("left", "right") for interface in row.interfaces[name]]
    for name, interface in jumbo:
        row.do(name, "ip", "link", "set", interface, "mtu", "9000")
    before = row.state()
    for study, shorter in UNCHANGED.items():
        options = [
            without_warm_up(row, study),
            "--backend=hosts",
            "--machines=machines.yaml",
            "--replicates=1",
            "--seed=1",
        ]
        done = row.nettrial("run", *options, *(f"--set={each}" for each in shorter), f"--out={study}")
        assert done.returncode == 0, (study, done.stderr)
        settled(row, before)
    trials = list(Run.open(row.folder / "jumbo-path").trials())
    assert len(trials) == 8
    for trial in trials:
        levels = trial.planned.treatment
        smallest = min(int(levels[name].split()[0]) for name in ("mtu", "middle"))
        filtered = levels["icmp"] == "filtered"
        checks = {check.name: check for check in trial.record.checks if check.name in ("path_mtu", "mss")}
        assert checks["path_mtu"].found == f"{smallest} B", levels
        assert trial.record.flows[0].bytes > 0, levels
        # Segments have their final size from the start if ICMP reports the MTU or if no packet is too large.
        if not filtered or levels["mtu"] == f"{smallest} B":
            assert trial.record.flows[0].mss_bytes == smallest - 52, levels
    for trial in Run.open(row.folder / "mtu-packet-size").trials():
        assert [check for check in trial.record.checks if not check.passed] == []
        assert len(trial.record.flows[0].sizes or []) > 1
    (trial,) = Run.open(row.folder / "tool-agreement").trials()
    assert all(flow.bytes or flow.rtt_us for flow in trial.record.flows)


@pytest.mark.settles
def test_other_traffic_and_a_starved_agent_are_warned_of(row: Machines) -> None:
    row.shape("100mbit", 100)
    study = [
        option for option in STUDY if not option.startswith(("--set=mtu", "--set=receiver", "--set=work"))
    ]
    study += ["--set=mtu=1500", "--set=receiver=linux-cubic", "--set=network.rate=100 Mbit/s"]
    study += ["--set=workload.probe.traffic.duration=4 s", "--set=workload.transfer.traffic.duration=4 s"]
    study[0] = without_warm_up(row, study[0])
    out = f"disturbed-{time.monotonic_ns()}"
    runner = row.start("run", *study, f"--out={out}")
    agents = lambda: [c for c in row.sandbox.processes().values() if VICTIMS["agent"] in c]  # noqa: E731
    assert wait_for(lambda: len(agents()) >= 2)
    time.sleep(1.0)
    # The other traffic lasts as long as the run, because on a busy machine the start of the trial's traffic
    # can't be predicted.
    blast = "import socket, time; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
    blast += "while not time.sleep(0.01):\n for _ in range(100): s.sendto(bytes(1400), ('10.81.1.1', 9))"
    other = subprocess.Popen(row.inside("left", [sys.executable, "-c", blast]))
    # So do the pauses of the agents.
    deadline = time.monotonic() + 120
    while runner.poll() is None and time.monotonic() < deadline:
        row.sandbox.kill("machine serve", signal.SIGSTOP)
        time.sleep(0.3)
        row.sandbox.kill("machine serve", signal.SIGCONT)
        time.sleep(0.7)
    _, said = runner.communicate(timeout=PATIENCE)
    row.sandbox.kill("time.sleep(0.01)", signal.SIGKILL)
    other.wait()
    assert runner.returncode == 0, said
    (trial,) = Run.open(row.folder / out).trials()
    warned = {(warning.code, warning.object) for warning in trial.record.warnings}
    assert ("other_traffic", "machine sender") in warned, trial.record.warnings
    assert ("agent_starved", "machine sender") in warned, trial.record.warnings


def killed(
    machines: Machines, sandbox: Sandbox, out: str, victim: str, chance: random.Random, *more: str
) -> None:
    """Starts or resumes a run, and kills one of the processes at a random moment."""
    before = machines.state()
    resumes = (machines.folder / out).exists()
    new, again = [*STUDY, *more, f"--out={out}"], [f"--resume={out}", "--machines=machines.yaml"]
    with machines.start("run", *(again if resumes else new)) as runner:
        # No setting is changed before the parent of the guard runs, and no run goes on that does not exist.
        words = VICTIMS["parent of the guard"]
        seen = lambda: [c for c in sandbox.processes().values() if words in c]  # noqa: E731
        exists = (machines.folder / out).exists
        assert wait_for(lambda: (exists() and seen()) or runner.poll() is not None)
        time.sleep(chance.uniform(0.0, 1.5))
        if victim == RUNNER:
            sandbox.send(runner.pid, signal.SIGKILL)
        else:
            sandbox.kill(VICTIMS[victim], signal.SIGKILL)
        sandbox.send(runner.pid, signal.SIGTERM)  # The runner ends after the current trial, as after Ctrl-C.
        runner.communicate(timeout=PATIENCE)
    settled(machines, before)


def completes(machines: Machines, out: str, trials: int = TRIALS) -> None:
    """Resumes the run until it is complete, and checks that it contains each trial once."""
    done = machines.nettrial("run", f"--resume={out}", "--machines=machines.yaml")
    assert done.returncode == 0, done.stderr
    numbers = Counter(trial.planned.number for trial in Run.open(machines.folder / out).trials())
    assert numbers == Counter(range(1, trials + 1))


def test_whoever_is_killed_every_setting_is_as_before_and_the_run_resumes(shared: Machines) -> None:
    # A single run survives all of these kills, because it has more trials than there are victims.
    replicates = 2
    for victim in (RUNNER, *VICTIMS):
        killed(shared, shared.sandbox, "killed", victim, random.Random(victim), f"--replicates={replicates}")
    completes(shared, "killed", TRIALS * replicates)


@pytest.mark.slow
def test_killed_at_fifty_random_moments_every_setting_is_as_before(shared: Machines) -> None:
    chance = random.Random("fifty")
    for number in range(KILLS):
        out = f"slow-{number // 3}"  # Each run is killed three times.
        killed(shared, shared.sandbox, out, chance.choice([RUNNER, *VICTIMS]), chance)
        if number % 3 == 2 and (shared.folder / out).exists():
            completes(shared, out)


def test_after_a_power_cut_the_journal_restores(machines: Machines) -> None:
    before = machines.state()
    for number in range(ATTEMPTS):
        power_cut(machines, f"cut-{number}")
        if machines.state() != before:
            break
        machines.nettrial("machines", "restore")
    assert machines.state() != before, "nothing was changed at any of these moments"
    done = machines.nettrial("machines", "restore")
    assert done.returncode == 0, done.stderr
    assert "restored the MTU of eth0: 1500" in done.stderr
    settled(machines, before)


def power_cut(machines: Machines, out: str) -> None:
    """Runs the study, and kills all of nettrial's processes on the machines as soon as a setting is about to
    change."""
    runner = machines.start("run", *STUDY, f"--out={out}")
    journal = machines.journal("sender")
    assert wait_for(lambda: journal.exists() and "mtu" in journal.read_text())
    # A power cut ends the guard together with all other processes. SIGSTOP first, so that none of them
    # notices the end of another.
    for signal_number in (signal.SIGSTOP, signal.SIGKILL):
        for words in ("machine guard", "machine serve"):
            machines.sandbox.kill(words, signal_number)
    machines.sandbox.send(runner.pid, signal.SIGKILL)
    runner.communicate(timeout=PATIENCE)
    assert wait_for(lambda: not machines.engines()), machines.engines()


def error_of(done: subprocess.CompletedProcess[str], status: int) -> str:
    """Returns the output of a command that ended with this status and without a traceback."""
    assert done.returncode == status, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout + done.stderr


def test_a_machine_that_is_not_reached_is_told_with_its_remedy(machines: Machines) -> None:
    machines.write(sender="ssh: root@192.0.2.1")
    (machines.folder / "runner/.ssh/config").write_text("Host 192.0.2.1\n  ProxyCommand false\n")
    said = error_of(machines.nettrial("run", *STUDY), 3)
    assert "machine sender (ssh root@192.0.2.1)" in said
    assert "remedy: " in said


def test_a_wrong_host_key_is_told_with_its_remedy(machines: Machines) -> None:
    known = machines.folder / "runner/.ssh/known_hosts"
    keys = [line.split()[-2] for line in known.read_text().splitlines()]
    known.write_text("".join(f"10.80.0.{n} ssh-ed25519 {keys[n % 3]}\n" for n in (1, 2, 3)))
    said = error_of(machines.nettrial("run", *STUDY), 3)
    assert "Host key verification failed" in said
    assert "ssh-keygen -R" in said


def test_a_missing_permission_is_told_by_name(machines: Machines) -> None:
    before = machines.state()
    machines.write(may_change="mtu, sysctls")
    said = error_of(machines.nettrial("run", *STUDY), 3)
    assert re.search(
        r"offloads of node .*: expected offloads .*, as machine (sender|receiver|router) has", said
    )
    assert "add `offloads` to may_change" in said
    machines.write(may_change="mtu, offloads")
    said = error_of(machines.nettrial("run", *STUDY), 3)
    assert "add `sysctls` to may_change of sender" in said
    machines.write()
    unknown = [option.replace(OWN_SYSCTL[0], "net.ipv4.nonesuch") for option in STUDY]
    assert "has no net.ipv4.nonesuch" in error_of(machines.nettrial("run", *unknown), 3)
    machines.write(may_change="mtu, sysctls")
    coupled = [option for option in STUDY if not option.startswith("--set=sender")]
    said = error_of(machines.nettrial("run", *coupled, "--set=sender=linux-lia"), 3)
    assert "machine sender does not have it" in said
    assert "congestion controls exist only in the lab and the simulator" in said
    settled(machines, before)


def test_versions_that_differ_never_talk(machines: Machines) -> None:
    for there in (machines.folder / "router/.local/share/nettrial").iterdir():
        there.write_text('#!/bin/sh\necho \'nettrial-machine {"version": "0.0.9"}\'; cat\n')
    said = error_of(machines.nettrial("run", *STUDY), 3)
    assert "the engine's version there is 0.0.9" in said
    assert "nettrial machines install" in said
    machines.install()
    assert machines.nettrial("machines", "check").returncode == 0


@pytest.mark.slow
def test_a_full_disk_there_is_told_and_nothing_is_changed(machines: Machines) -> None:
    before = machines.state()
    state = "/var/lib"
    machines.do("receiver", "mount", "-t", "tmpfs", "-o", "size=4k,mode=755", "none", state)
    machines.do("receiver", "sh", "-c", f"mkdir {state}/nettrial; cat /dev/zero > {state}/zeros || true")
    said = error_of(machines.nettrial("run", *STUDY, "--out=full"), 4)
    assert "No space left on device" in said
    settled(machines, before)
    machines.do("receiver", "umount", state)
    completes(machines, "full")
    engines = machines.folder / "receiver/.local/share"
    machines.do("receiver", "mount", "-t", "tmpfs", "-o", "size=64k", "none", str(engines))
    said = error_of(machines.nettrial("machines", "install", "receiver"), 3)
    assert "No space left on device" in said
    assert "free space on the machine's disk" in said
    machines.do("receiver", "umount", str(engines))


@pytest.mark.slow
def test_a_machine_of_another_kind_gets_the_engine_that_is_named(machines: Machines) -> None:
    machines.write(receiver="ssh: root@receiver\n    binary: other-engine")
    other = machines.folder / "other-engine"
    other.write_text("an engine for another CPU")
    said = error_of(machines.nettrial("machines", "install", "receiver"), 3)
    assert "its `binary` in the inventory" in said
    other.write_bytes(engine().read_bytes() + b"another build")
    machines.install()
    engines = machines.folder / "receiver/.local/share/nettrial"
    digest = hashlib.sha256(other.read_bytes()).hexdigest()[:16]
    assert [file for file in engines.iterdir() if file.name.endswith(digest)]
    done = machines.nettrial("machines", "check")
    assert done.returncode == 0, done.stderr


def test_a_machine_that_vanishes_in_the_middle_of_a_trial_costs_that_trial(machines: Machines) -> None:
    before = machines.state()
    study = [option for option in STUDY if "duration" not in option]
    long = ["--set=workload.transfer.traffic.duration=60 s", "--set=workload.probe.traffic.duration=60 s"]
    one = ["--set=mtu=9000", "--set=receiver=linux-cubic"]
    study = [option for option in study if not option.startswith(("--set=mtu", "--set=receiver"))]
    runner = machines.start("run", *study, *long, *one, "--out=vanished")
    agents = lambda: [c for c in machines.sandbox.processes().values() if VICTIMS["agent"] in c]  # noqa: E731
    assert wait_for(lambda: len(agents()) >= 2)
    machines.do("receiver", "ip", "link", "set", "control", "down")
    time.sleep(0.1)
    machines.sandbox.send(runner.pid, signal.SIGTERM)
    _, said = runner.communicate(timeout=PATIENCE)
    assert runner.returncode in (4, 130), said
    # The machine notices by itself that the runner is gone, and restores its settings.
    machines.do("receiver", "ip", "link", "set", "control", "up")
    settled(machines, before)


RATE = "100 Mbit/s"
"""A rate that both kinds of shapers can sustain beside other work."""
REPLICATES = 5
TOLERANCE = 0.01
"""The relative difference that is allowed, because the two networks' shapers allow bursts of different
sizes."""


@pytest.mark.measures
@pytest.mark.slow
def test_throughput_round_trip_time_and_the_effect_of_the_mtu_agree_with_the_labs(
    lab: Backend, shared: Machines
) -> None:
    shared.shape("100mbit", 100)
    study = [*STUDY[1:4], f"--set=network.rate={RATE}", "--set=network.queue=100 packets"]
    study = [option.replace("linux-cubic,classic", "linux-cubic") for option in study]
    study += ["--set=workload.transfer.traffic.duration=600 ms"]
    study += ["--set=workload.probe.traffic.duration=600 ms", f"--replicates={REPLICATES}", "--seed=1"]

    def figures(where: list[str], out: str) -> dict[str, list[float]]:
        """Returns, by name, one value for each block: throughput and round-trip time at each MTU, and the
        effect of the MTU on throughput."""
        done = shared.nettrial("run", "jumbo-ipv6", *where, *study, f"--out={out}")
        assert done.returncode == 0, done.stderr
        found: dict[str, list[float]] = {}
        blocks: dict[int, dict[str, float]] = {}
        for trial in Run.open(shared.folder / out).trials():
            transfer, probe = trial.record.flows
            mtu = trial.planned.treatment["mtu"]
            assert transfer.goodput_bps is not None
            assert probe.rtt_us is not None
            found.setdefault(f"throughput at {mtu}", []).append(transfer.goodput_bps)
            found.setdefault(f"round-trip time at {mtu}", []).append(probe.rtt_us.mean)
            blocks.setdefault(trial.planned.block, {})[mtu] = transfer.goodput_bps
        found["effect of the MTU"] = [block["9000 B"] / block["1500 B"] for block in blocks.values()]
        return found

    attempts = 3
    for attempt in range(1, attempts + 1):
        ours = figures(["--backend=hosts", "--machines=machines.yaml"], f"agreement-{attempt}")
        theirs = figures([], f"agreement-lab-{attempt}")
        apart = [
            f"{name}: {interval(ours[name])}, in the lab {interval(theirs[name])}"
            for name in ours
            if not overlap(interval(ours[name]), interval(theirs[name]))
        ]
        if not apart:
            return
    pytest.fail("; ".join(apart))


def interval(values: list[float]) -> tuple[float, float]:
    """Returns the 95% confidence interval of the mean, widened by half of the tolerance."""
    mean = statistics.fmean(values)
    from scipy import stats  # imported only when needed: every worker loads this file

    half = stats.t.ppf(0.975, len(values) - 1) * statistics.stdev(values) / len(values) ** 0.5
    return mean - half - TOLERANCE / 2 * mean, mean + half + TOLERANCE / 2 * mean


def overlap(one: tuple[float, float], other: tuple[float, float]) -> bool:
    """Returns true if two intervals have a value in common."""
    return one[0] <= other[1] and other[0] <= one[1]
