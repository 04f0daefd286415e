"""Two sets of machines, reached through OpenSSH, that share a run. Whatever happens, changed settings are
restored on the machines of both."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections import defaultdict
from itertools import pairwise

import pytest

from nettrial.store import Run, Trial
from tests.lab.machines import SETS, Machines, environment, settled, short_study
from tests.lab.sandbox import PATIENCE, wait_for

FILE = "--machines=sets.yaml"
TREATMENTS = 2


def study(duration: str, replicates: int) -> list[str]:
    """Returns the words of a run of two treatments, which change the MTU and offloads of the machines."""
    return [
        "run",
        *short_study(duration, replicates=replicates),
        "--set=network.topology=pair",
        "--backend=hosts",
        FILE,
    ]


@pytest.fixture
def pairs(row: Machines) -> Machines:
    """Returns the row of machines with an inventory in which they are two sets."""
    row.write_sets("sets.yaml", SETS)
    return row


def finished(machines: Machines, out: str) -> list[Trial]:
    """Returns the finished trials of a run."""
    return Run.open(machines.folder / out).trials()


def sets_of(trials: list[Trial]) -> dict[int, set[str | None]]:
    """Returns the sets that ran the trials of each block."""
    found: dict[int, set[str | None]] = defaultdict(set)
    for trial in trials:
        found[trial.planned.block].add(trial.record.set)
    return found


def exclusive(trials: list[Trial]) -> None:
    """Checks that no set ran two trials at the same time."""
    spans = defaultdict(list)
    for trial in trials:
        phases = trial.record.phases
        length = phases.network_ns + phases.checks_ns + phases.traffic_ns + phases.tear_down_ns
        spans[trial.record.set].append((trial.record.started_unix_ns, length))
    for of_set in spans.values():
        of_set.sort()
        for (start, length), (later, _) in pairwise(of_set):
            assert start + length <= later


def begun(machines: Machines, out: str, sets: int) -> bool:
    """Returns whether trials of that many sets are finished."""
    try:
        return len({trial.record.set for trial in finished(machines, out)}) >= sets
    except Exception:  # the run does not exist yet
        return False


def test_sets_share_a_run_and_a_killed_runner_leaves_every_machine_as_it_was(pairs: Machines) -> None:
    before = pairs.state()
    with pairs.start(*study("700 ms", replicates=3), "--out=killed-sets") as runner:
        assert wait_for(lambda: begun(pairs, "killed-sets", 2) or runner.poll() is not None)
        pairs.sandbox.send(runner.pid, signal.SIGKILL)
        runner.communicate(timeout=PATIENCE)
    settled(pairs, before)
    first = sets_of(finished(pairs, "killed-sets"))
    done = pairs.nettrial("run", "--resume", "killed-sets", FILE)
    assert done.returncode == 0, done.stderr
    settled(pairs, before)
    trials = finished(pairs, "killed-sets")
    assert [trial.planned.number for trial in trials] == list(range(1, 3 * TREATMENTS + 1))
    found = sets_of(trials)
    assert {len(sets) for sets in found.values()} == {1}
    assert {block: found[block] for block in first} == first
    exclusive(trials)
    for trial in trials:
        checks = [check.found for check in trial.record.checks if check.name == "path_mtu"]
        assert checks == [trial.planned.treatment["mtu"]] * 2
    (first_session, _) = Run.open(pairs.folder / "killed-sets").sessions
    assert sorted(machine.name for machine in first_session.environment.machines or []) == sorted(pairs.names)


@pytest.mark.slow
def test_a_set_whose_machine_vanishes_costs_its_trial_and_the_run_goes_on(pairs: Machines) -> None:
    before = pairs.state()
    with pairs.start(*study("1 s", replicates=4), "--out=lost-set") as runner:
        assert wait_for(lambda: begun(pairs, "lost-set", 2) or runner.poll() is not None)
        pairs.do("receiver", "ip", "link", "set", "control", "down")
        pairs.sandbox.kill("root@receiver sh", signal.SIGKILL)  # ssh here; otherwise it takes 15 s to notice
        _, said = runner.communicate(timeout=PATIENCE)
    pairs.do("receiver", "ip", "link", "set", "control", "up")
    settled(pairs, before)
    assert runner.returncode == 4, said
    assert "the set other is lost: machine receiver (ssh root@receiver): " in said
    assert "the run goes on with one" in said
    found = sets_of(finished(pairs, "lost-set"))
    assert {len(sets) for sets in found.values()} == {1}
    missing = {trial.block for trial in Run.open(pairs.folder / "lost-set").pending()}
    assert len(missing) == 1
    done = pairs.nettrial("run", "--resume", "lost-set", FILE)
    assert done.returncode == 0, done.stderr
    settled(pairs, before)
    assert len(finished(pairs, "lost-set")) == 4 * TREATMENTS


@pytest.mark.slow
def test_workers_of_a_cluster_drive_the_sets_and_restore_them_if_the_runner_is_killed(
    pairs: Machines,
) -> None:
    pytest.importorskip("distributed")
    before = pairs.state()
    address = "tcp://127.0.0.1:8786"
    options = ["--host", "127.0.0.1", "--no-dashboard"]
    resources = ["--nthreads", "2", "--no-nanny", "--resources", "one=1 other=1"]
    variables = [f"{name}={value}" for name, value in environment().items() if name.isidentifier()]
    dask = [
        subprocess.Popen(pairs.inside("runner", ["env", *variables, sys.executable, "-m", *words, *options]))
        for words in (
            ["distributed.cli.dask_scheduler", "--port", "8786"],
            ["distributed.cli.dask_worker", address, *resources],
        )
    ]
    try:
        with pairs.start(*study("700 ms", replicates=3), "--out=far", f"--on={address}") as runner:
            assert wait_for(lambda: begun(pairs, "far", 2) or runner.poll() is not None)
            pairs.sandbox.send(runner.pid, signal.SIGKILL)
            runner.communicate(timeout=PATIENCE)
        assert pairs.state() != before  # the worker keeps its session
        settled(pairs, before)
        done = pairs.nettrial("run", "--resume", "far", FILE, f"--on={address}")
        assert done.returncode == 0, done.stderr
        settled(pairs, before)
    finally:
        pairs.sandbox.kill("distributed.cli", signal.SIGKILL)
        for process in dask:
            process.wait()
    trials = finished(pairs, "far")
    assert len(trials) == 3 * TREATMENTS
    assert {len(sets) for sets in sets_of(trials).values()} == {1}
    exclusive(trials)
