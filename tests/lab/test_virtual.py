"""Trials in virtual time: exact, the same at any load, for any user, and gone without a trace.

They need a kernel in virtual time (`make kernel`, `nettrial systems add`), and are skipped without one."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from nettrial.backends import BACKENDS, Configuration, TrialFailed, find_kernel
from nettrial.backends.find import engine
from nettrial.design import scenario_of
from nettrial.scenario import Request, RunRequest
from nettrial.study import load
from tests.lab.sandbox import children, wait_for

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
        pytest.skip("no kernel in virtual time here: `make kernel` builds one")
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


def test_a_preflight_tells_the_kernel_and_all_cpus_of_the_machine(backend):
    found = backend.preflight()
    assert found.missing == []
    assert found.environment.kernel.startswith("Linux 6.")
    assert found.environment.processors == len(os.sched_getaffinity(0))
    assert {"bbr", "cubic", "dctcp", "vegas"} <= set(found.environment.congestion_controls)


def test_faults_of_a_scenario_are_found(backend):
    scenario = a_scenario()
    scenario.nodes[0].system = "linux-6.1"
    problems = backend.check(scenario)
    assert [problem.setting for problem in problems if problem.setting == "system"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_any_user_gets_the_same_record(kernel):
    scenario = a_scenario()
    become = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--no-new-privs"]
    with tempfile.TemporaryDirectory(dir="/var/tmp") as directory:  # pytest's directories are root's alone
        Path(directory).chmod(0o755)
        own = [shutil.copy(program, Path(directory) / program.name) for program in (engine(), kernel)]
        for program in own:
            program.chmod(0o755)
        record = raw([*become, own[0], "virtual", "--kernel", own[1]], scenario, cwd="/")
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
        assert wait_for(lambda: not [number for number in left if Path(f"/proc/{number}/exe").exists()], 60)
    assert list(tmp_path.iterdir()) == []


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
