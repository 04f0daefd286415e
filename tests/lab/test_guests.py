"""Hosts that are guests: virtual machines under QEMU, each with its own kernel."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from nettrial.backends import Backend, TrialFailed
from nettrial.backends.find import engine
from nettrial.design import scenario_of, traffic_seconds
from nettrial.guests import Catalogue
from nettrial.guests.archive import archive
from nettrial.scenario import Duration, GuestHardware, Outage, Record, Scenario, Transport
from nettrial.study import load
from nettrial.systems import GUEST_SYSTEMS
from tests.lab import test_radio as radio
from tests.lab.sandbox import PATIENCE, Sandbox, wait_for
from tests.lab.test_routing import diamond
from tests.measuring import timers_now, until_it_holds

SYSTEMS = Path(os.environ.get(GUEST_SYSTEMS) or Path(__file__).parents[2] / ".venv" / "systems")
"""The directory into which tools/setup-tests.sh puts kernels."""
CALIBRATION = SYSTEMS / "calibration"
"""The file in which an engine keeps the rate that two emulated guests can carry."""
KERNELS = {entry.name: entry.release for entry in Catalogue(SYSTEMS).entries()}
OLD, NEW = "linux-6.1", "linux-6.12"

pytestmark = pytest.mark.skipif(
    not {OLD, NEW} <= set(KERNELS), reason=f"no kernels in {SYSTEMS}: tools/setup-tests.sh"
)


@pytest.fixture(scope="module")
def guests(lab: Backend) -> Iterator[Backend]:
    """Yields a lab whose guests stay from one test to the next."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(GUEST_SYSTEMS, str(SYSTEMS))
        with Backend("lab") as backend:
            yield backend


def between(client: str | None, server: str | None, **overrides: str) -> Scenario:
    """Returns a scenario of the study `kernel-versions` with these systems; None means this machine's own
    kernel."""
    given = {name.replace("__", "."): value for name, value in overrides.items()}
    study = load("kernel-versions").with_overrides(given)
    levels = {name: factor.levels[0] for name, factor in study.factors.items()}
    scenario = scenario_of(study, levels).model_copy(deep=True)
    systems = {"client": client, "server": server}
    for node in scenario.nodes:
        node.system = systems.get(node.name, node.system)
    return scenario


RUNNER = [
    "env",
    "NETTRIAL_LOG=info",
    sys.executable,
    "-c",
    "import subprocess, sys\n"
    "with subprocess.Popen([sys.argv[1], 'lab'], stdin=subprocess.PIPE) as engine:\n"
    "    engine.stdin.write(sys.stdin.buffer.read())\n"
    "    engine.stdin.flush()\n"
    "    engine.wait()\n",
]
"""The command of a process that starts the engine, sends it one line, and waits, as a runner does."""
SHORT = {
    "workload__transfer__traffic__duration": "1 s",
    "workload__request__start": "1 s",
    "workload__request__traffic__duration": "1 s",
}


@pytest.mark.settles
def test_two_kernels_are_hosts_of_one_trial_and_boot_once(guests: Backend) -> None:
    scenario = between(OLD, NEW, ip="6", mtu="9000 B", **SHORT)
    assert guests.check(scenario) == []
    record = guests.run("first", scenario, traffic_seconds(scenario) + 300)
    found = {host.name: host.guest for host in record.hosts}
    for node, system in (("client", OLD), ("server", NEW)):
        guest = found[node]
        assert guest is not None
        assert (guest.system, guest.kernel) == (system, KERNELS[system])
    assert [c for c in record.checks if not c.passed and c.name not in ("clock", "delay_line")] == []
    assert {check.object for check in record.checks if check.name == "kernel"} == {"client", "server"}
    transfer, request = record.flows
    assert transfer.goodput_bps
    assert request.rtt_us
    assert request.rtt_us.minimum > 10_000, "the link takes 5 ms each way"
    reasons = {(absence.metric, absence.object) for absence in record.absent or []}
    assert ("cpu", "client") not in reasons, "the study does not ask for it"
    emulated = {warning.object for warning in record.warnings if warning.code == "guest_emulated"}
    assert emulated in ({"client", "server"}, set())
    # The server's last segment may never be acknowledged, in which case its connection outlives the trial.
    again = guests.run("again", between(None, NEW, **SHORT), traffic_seconds(scenario) + 300)
    assert again.hosts[0].guest is None
    assert again.hosts[1].guest == found["server"]


def status_of(process: str) -> dict[str, str]:
    """Returns the status of a process (proc_pid_status(5))."""
    lines = Path("/proc", process, "status").read_text().splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def is_below(process: str, ancestor: int) -> bool:
    """Returns whether a process descends from another one."""
    while process not in ("0", "1"):
        if process == str(ancestor):
            return True
        process = status_of(process)["PPid"]
    return False


def test_the_machine_of_a_guest_has_no_privileges(guests: Backend) -> None:
    """A guest that takes over QEMU gets what QEMU has."""
    guests.run("unprivileged", between(OLD, None, **SHORT), 300)
    found = []
    for process in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):  # other processes end meanwhile
            status = status_of(process)
            if status["Name"].startswith("qemu") and is_below(process, os.getpid()):
                found.append(status)
    assert found
    for status in found:
        assert set(status["Uid"].split()) == {"65534"}
        assert set(status["Gid"].split()) == {"65534"}
        assert "0" not in status["Groups"].split()
        assert {status[name] for name in ("CapEff", "CapPrm", "CapInh", "CapAmb")} == {"0" * 16}
        assert (status["Seccomp"], status["NoNewPrivs"]) == ("2", "1")


@pytest.mark.slow
def test_a_guest_is_a_router_that_takes_another_way_where_one_fails(guests: Backend) -> None:
    """The guest has three interfaces, and routes that the path MTU checks follow."""
    scenario = diamond(4).scenario({"policy": "ecmp", "seed": 1}, flows=6)
    next(node for node in scenario.nodes if node.name == "l").system = NEW
    for flow in scenario.workload:
        flow.traffic.root.duration = Duration("4 s")
    scenario.events = [Outage.model_validate({"at": "500 ms", "fails": ["u"], "returns": "3500 ms"})]
    assert guests.check(scenario) == []
    record = guests.run("router", scenario, traffic_seconds(scenario) + 300)
    assert [c for c in record.checks if not c.passed and c.name not in ("clock", "delay_line")] == []
    assert [(c.object, c.found) for c in record.checks if c.name == "kernel"] == [("l", KERNELS[NEW])]
    [event] = record.events or []
    assert event.returned_ns is not None
    for flow in record.flows:
        # The kernel may delay its reaction to a lost carrier by a second.
        during = [s.bytes for s in flow.intervals if event.at_ns + 1.5e9 < s.at_ns < event.returned_ns]
        assert sum(during) > 0, (flow.name, [s.bytes for s in flow.intervals])


@pytest.mark.settles
def test_a_guest_is_a_station_of_a_radio_channel(guests: Backend, tmp_path: Path) -> None:
    scenario = radio.scenario(tmp_path, mcs=0)
    scenario.nodes[0].system = OLD
    assert guests.check(scenario) == []
    record = guests.run("radio", scenario, traffic_seconds(scenario) + 300)
    assert record.hosts[0].guest
    assert record.hosts[0].guest.system == OLD
    assert all(flow.bytes for flow in record.flows)
    (channel,) = record.channels or []
    assert radio.used_ps(channel) == channel.elapsed_ps
    assert channel.stations[1].delivered_pkts > 0


def test_what_guests_can_not_do_is_refused_where_it_is(guests: Backend) -> None:
    scenario = between(OLD, "linux-0.1")
    (problem,) = guests.check(scenario)
    assert (problem.pointer, problem.value, problem.of_machine) == ("/nodes/1/system", "linux-0.1", True)
    assert f"{OLD}, {NEW}" in problem.expected
    scenario = between(OLD, NEW)
    scenario.workload[0].transport = Transport("mptcp")
    assert [problem.setting for problem in guests.check(scenario)] == ["transport"]
    scenario = between(OLD, None)
    scenario.nodes[0].guest = GuestHardware(pinned=[4096])
    (problem,) = guests.check(scenario)
    assert (problem.pointer, problem.value) == ("/nodes/0/guest/pinned", "4096")


@pytest.mark.slow
def test_a_rate_above_what_guests_were_found_to_carry_is_refused_with_the_figure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, guests: Backend
) -> None:
    scenario = between(OLD, None, network__rate="100 Gbit/s")
    problems = guests.check(scenario)
    if not CALIBRATION.exists():
        pytest.skip("guests run under KVM here")
    (problem,) = problems
    assert (problem.pointer, problem.value, problem.of_machine) == ("/links/0/rate", "100 Gbit/s", True)
    found = json.loads(CALIBRATION.read_text())
    bound = re.fullmatch(r"up to (\S+) ([GM])bit/s, where an end is a guest", problem.expected)
    assert bound is not None
    assert float(bound[1]) * {"M": 1, "G": 1000}[bound[2]] == found["goodput_bps"] // 10**6
    # A rate that another machine measured does not count. The engine measures again, which fails with this
    # kernel.
    (tmp_path / "calibration").write_text(json.dumps({**found, "machine": "another"}))
    broken(tmp_path, kernel=b"no kernel")
    monkeypatch.setenv(GUEST_SYSTEMS, str(tmp_path))
    with Backend("lab") as backend:
        (problem,) = backend.check(scenario)
    assert "the transfer between two emulated guests that measures their rate failed" in problem.hint


def test_without_qemu_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(GUEST_SYSTEMS, str(SYSTEMS))
    with Backend("lab") as backend:
        monkeypatch.setenv("PATH", "/nowhere")
        problems = backend.check(between(OLD, None))
    (problem,) = problems
    assert problem.of_machine
    assert problem.hint == "install QEMU: apt-get install qemu-system-x86"


def broken(directory: Path, modules: bytes = b"no archive", kernel: bytes | None = None) -> None:
    """Creates a cache in which the old kernel has these modules, or is replaced by this file. A kernel panics
    at once if its modules are not a valid archive."""
    good = next(entry for entry in Catalogue(SYSTEMS).entries() if entry.name == OLD)
    assert good.kernel is not None
    if kernel is None:
        (directory / good.kernel).symlink_to((SYSTEMS / good.kernel).resolve())
    else:
        (directory / good.kernel).write_bytes(kernel)
    (directory / ("0" * 64)).write_bytes(modules)
    bad = good.model_copy(update={"modules": "0" * 64})
    (directory / f"{OLD}.json").write_text(bad.model_dump_json(exclude_none=True))


@pytest.mark.parametrize(
    ("modules", "said"),
    [
        (b"no archive", "Kernel panic"),
        # Without its modules, the old kernel has no serial port to the engine, for which init waits.
        pytest.param(archive("modules", []), "no port leads to the guest's owner", marks=pytest.mark.slow),
    ],
)
def test_a_guest_that_does_not_boot_costs_one_trial_and_shows_its_console(
    modules: bytes, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken(tmp_path, modules)
    # Without this file, the engine would first try to measure the rate, with the kernel that does not boot.
    if CALIBRATION.exists():
        (tmp_path / "calibration").write_bytes(CALIBRATION.read_bytes())
    monkeypatch.setenv(GUEST_SYSTEMS, str(tmp_path))
    with Backend("lab") as backend:
        with pytest.raises(TrialFailed) as failure:
            backend.run("bad", between(OLD, None, **SHORT), 300)
        assert "booting the guest of client" in str(failure.value)
        assert said in str(failure.value)
        assert backend.run("good", between(None, None, **SHORT), 300).flows[0].goodput_bps


ENDLESS_QEMU = """#!/bin/sh
case "$*" in
  *--version* | *"-machine help"*) exec {real} "$@" ;;
esac
timeout 60 yes "a line of a console" >&2 &
{output}
"""
"""A program in QEMU's place whose console and port to the engine have no end."""


@pytest.mark.parametrize(
    ("output", "said"),
    [
        ("exec tr '\\\\0' '<' < /dev/zero", "sent a line of more than 67108864 bytes"),
        ("exec yes '<a line of the agent'", "said something before it was ready"),
    ],
)
def test_a_machine_that_sends_without_end_is_read_in_bounded_memory(
    output: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = shutil.which("qemu-system-x86_64")
    started: list[int] = []
    popen = subprocess.Popen

    def noted(*arguments: Any, **options: Any) -> subprocess.Popen[bytes]:
        process = popen(*arguments, **options)
        started.append(process.pid)
        return process

    # QEMU runs as nobody, who can't enter a directory of pytest's.
    with tempfile.TemporaryDirectory() as directory:
        Path(directory).chmod(0o755)
        fake = Path(directory) / "qemu-system-x86_64"
        fake.write_text(ENDLESS_QEMU.format(real=real, output=output))
        fake.chmod(0o755)
        monkeypatch.setenv("PATH", f"{directory}:{os.environ['PATH']}")
        monkeypatch.setenv(GUEST_SYSTEMS, str(SYSTEMS))
        monkeypatch.setattr("nettrial.backends.engine.subprocess.Popen", noted)
        with Backend("lab") as backend:
            with pytest.raises(TrialFailed, match=said):
                backend.run("endless", between(OLD, None, **SHORT), 300)
            status = Path(f"/proc/{started[-1]}/status").read_text()
    (peak,) = re.findall(r"VmHWM:\s+(\d+) kB", status)
    assert int(peak) < 400 * 1024


@pytest.mark.slow
def test_a_guest_that_hangs_in_a_trial_costs_that_trial(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(GUEST_SYSTEMS, str(SYSTEMS))
    hangs = between(OLD, None)
    hangs.workload[0].traffic.root.duration = Duration("10 min")
    requests = [("hangs", hangs), ("good", between(OLD, None, **SHORT))]
    with subprocess.Popen(
        sandbox.command(["env", "NETTRIAL_LOG=info", str(engine()), "lab"]),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        for name, scenario in requests:
            document = scenario.model_dump(mode="json", by_alias=True, exclude_none=True)
            line = json.dumps({"request": "run", "trial": name, "scenario": document}) + "\n"
            process.stdin.write(line.encode())
            process.stdin.flush()
            if name == "hangs":
                assert any(b"starting the traffic" in said for said in process.stderr)
                sandbox.kill("qemu", signal.SIGSTOP)
                Thread(target=process.stderr.read, daemon=True).start()
        answers = [json.loads(process.stdout.readline()) for _ in requests]
        process.stdin.close()
    assert [(answer["event"], answer["trial"]) for answer in answers] == [
        ("failed", "hangs"),
        ("record", "good"),
    ]
    assert "the guest client hangs; the last lines of its console" in answers[0]["message"]


@pytest.mark.parametrize(
    ("victim", "moment"),
    [
        ("runner", "booting"),
        ("engine", "booting"),
        pytest.param("runner", "trial", marks=pytest.mark.slow),
        pytest.param("engine", "trial", marks=pytest.mark.slow),
    ],
)
def test_whoever_is_killed_no_guest_is_left_and_no_file(
    victim: str, moment: str, sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The runner is a process that starts an engine and writes to its input, as `nettrial run` does."""
    monkeypatch.setenv(GUEST_SYSTEMS, str(SYSTEMS))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    kept = sorted(SYSTEMS.iterdir())
    scenario = between(OLD, None).model_dump(mode="json", by_alias=True, exclude_none=True)
    line = json.dumps({"request": "run", "trial": "killed", "scenario": scenario}) + "\n"
    with subprocess.Popen(
        sandbox.command([*RUNNER, str(engine())]),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        process.stdin.write(line.encode())
        process.stdin.close()
        awaited = b"waiting for a guest" if moment == "booting" else b"starting the traffic"
        assert any(awaited in said for said in process.stderr)
        assert any("qemu" in command for command in sandbox.processes().values())
        sandbox.kill({"engine": "nettrial-engine lab", "runner": "import subprocess"}[victim], signal.SIGKILL)
        process.stderr.close()
        process.wait(PATIENCE)
    assert wait_for(lambda: not sandbox.processes())
    assert list(tmp_path.iterdir()) == []
    assert sorted(SYSTEMS.iterdir()) == kept


@pytest.mark.slow
@pytest.mark.measures
@pytest.mark.parametrize("mtu", [1500, 9000])
def test_a_wire_between_guests_is_as_fast_as_it_says(guests: Backend, mtu: int) -> None:
    scenario = between(NEW, NEW, mtu=f"{mtu} B", network__delay="0 ms")
    scenario.workload = [scenario.workload[0]]
    traffic = scenario.workload[0].traffic
    traffic.root.size = None
    traffic.root.duration = Duration("10 s")
    simulated = scenario.model_copy(deep=True)
    for node in simulated.nodes:
        node.system = None
    with Backend("sim") as sim:
        expected = sim.run("test", simulated, 60).flows[0].goodput_bps
    physical = 20e6 * (mtu - 52) / (mtu + 38)

    def attempt(run: Callable[[Scenario], Record]) -> None:
        found = run(scenario).flows[0].goodput_bps
        assert found
        assert found == pytest.approx(physical, rel=0.01)
        assert found == pytest.approx(expected, rel=0.03)

    until_it_holds(
        lambda scenario: guests.run("test", scenario, traffic_seconds(scenario) + 300), attempt, timers_now
    )
