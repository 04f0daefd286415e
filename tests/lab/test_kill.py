"""A run that is killed at any moment leaves nothing behind and can be resumed."""

import contextlib
import json
import os
import random
import signal
import sqlite3
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benches import fabric
from nettrial.backends.find import engine
from tests import forked
from tests.lab import test_radio as radio
from tests.lab.machines import short_study
from tests.lab.sandbox import PATIENCE, Sandbox, wait_for

FABRIC_KILLS = 3
RADIO_KILLS = 3
FABRIC_SECONDS = 5.0
"""The time in seconds within which the fabric is built and its traffic starts."""
SWEEP_KILLS = 100
"""The number of times that the longer sweep kills a run."""
ROOT = Path(__file__).parents[2]
STUDY = short_study("150 ms", receiver="linux-cubic,classic")
TRIALS = 4
VICTIMS = [
    ("runner", "root", "0 ns"),
    ("runner", "user", "0 ns"),
    ("engine", "root", "0 ns"),
    ("engine", "user", "0 ns"),
    # A delay line has its own threads, rings and network namespace.
    ("engine", "root", "2 ms"),
    ("engine", "user", "2 ms"),
]
"""The process that is killed, the user who started it, and the delay of the links."""
SOME_VICTIMS = [("runner", "root", "0 ns"), ("engine", "user", "0 ns"), ("engine", "root", "2 ms")]
"""Victims that together have every process, user and delay. The longer sweep kills all of them."""


def start(directory: Path, sandbox: Sandbox, who: str, delay: str) -> forked.Process:
    """Starts the run, or resumes it if its directory exists."""
    new = [*STUDY, f"--set=network.delay={delay}", f"--out={directory}"]
    what = [f"--resume={directory}"] if directory.exists() else new
    command = forked.Command(
        ("run", *what),
        {**os.environ, "PYTHONPATH": str(ROOT)},
        directory.parent,
        report=False,
        inside=sandbox.first,
        unprivileged=who == "user",
    )
    return forked.Process(command)


def finished(directory: Path) -> Counter[int]:
    """Returns how often the run file contains each trial's number as finished."""
    with contextlib.closing(sqlite3.connect(directory / "run.sqlite")) as connection:
        return Counter(number for (number,) in connection.execute("SELECT number FROM trial"))


@pytest.mark.parametrize(("victim", "who", "delay"), SOME_VICTIMS)
def test_a_killed_run_leaves_nothing_and_resumes(
    victim: str, who: str, delay: str, tmp_path: Path, sandbox: Sandbox, request: pytest.FixtureRequest
) -> None:
    if who == "user":
        request.getfixturevalue("as_user")
    chance = random.Random(f"{victim} {who} {delay}")
    kill(tmp_path / "run", victim, sandbox, who, delay, chance)
    completes(tmp_path / "run", sandbox, who, delay)


@pytest.mark.slow
@pytest.mark.parametrize(("victim", "who", "delay"), VICTIMS)
def test_a_run_killed_a_hundred_times_leaves_nothing_and_resumes(
    victim: str, who: str, delay: str, tmp_path: Path, sandbox: Sandbox, request: pytest.FixtureRequest
) -> None:
    if who == "user":
        request.getfixturevalue("as_user")
    chance = random.Random(f"{victim} {who} {delay}")
    for number in range(SWEEP_KILLS):
        directory = tmp_path / str(number // 3) / "run"  # Each run is killed three times.
        directory.parent.mkdir(exist_ok=True)
        kill(directory, victim, sandbox, who, delay, chance)
        if number % 3 == 2:
            completes(directory, sandbox, who, delay)


def kill(directory: Path, victim: str, sandbox: Sandbox, who: str, delay: str, chance: random.Random) -> None:
    """Starts the run, kills the runner or the engine at a random moment, and checks that nothing is left."""
    with start(directory, sandbox, who, delay) as runner:
        if victim == "runner":
            time.sleep(chance.uniform(0.2, 4.0))
            sandbox.send(runner.pid, signal.SIGKILL)
        else:
            assert wait_for(lambda: engines(sandbox) or runner.poll() is not None)
            time.sleep(chance.uniform(0.0, 1.5))
            sandbox.kill("nettrial-engine lab", signal.SIGKILL)
            sandbox.send(
                runner.pid, signal.SIGTERM
            )  # The runner ends after the current trial, as after Ctrl-C.
        runner.communicate(timeout=PATIENCE)
    sandbox.assert_empty()
    assert [
        path for path in directory.parent.iterdir() if path != directory and ".tmp" not in path.name
    ] == []


def engines(sandbox: Sandbox) -> list[int]:
    return [pid for pid, command in sandbox.processes().items() if "nettrial-engine lab" in command]


def completes(directory: Path, sandbox: Sandbox, who: str, delay: str) -> None:
    """Resumes the run until it ends, and checks that it contains each trial once and leaves only its
    directory."""
    with start(directory, sandbox, who, delay) as runner:
        _, errors = runner.communicate(timeout=PATIENCE)
    assert runner.returncode == 0, errors
    assert finished(directory) == Counter(range(1, TRIALS + 1))
    assert (directory / "report.html").exists()
    assert list(directory.parent.iterdir()) == [directory]


def killed_engines(sandbox: Sandbox, prefix: list[str], trial: dict[str, Any], kills: int) -> Iterator[int]:
    """Starts an engine that runs the trial, this number of times, and kills it when the caller continues.

    Yields the number of each kill, starting at 0. After each, checks that nothing is left."""
    line = json.dumps({"request": "run", "trial": "killed", "scenario": trial}) + "\n"
    for number in range(kills):
        with subprocess.Popen(
            sandbox.command([*prefix, str(engine()), "lab"]),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
        ) as process:
            assert process.stdin is not None
            process.stdin.write(line.encode())
            process.stdin.flush()
            yield number
            sandbox.kill("nettrial-engine lab", signal.SIGKILL)
            process.wait(PATIENCE)
        sandbox.assert_empty()


@pytest.mark.parametrize("who", ["root", pytest.param("user", marks=pytest.mark.slow)])
def test_a_killed_engine_takes_a_fabric_of_90_with_it(
    who: str, sandbox: Sandbox, request: pytest.FixtureRequest
) -> None:
    prefix = request.getfixturevalue("as_user") if who == "user" else []
    trial = fabric.scenario(90)
    for flow in trial["workload"]:
        flow.update(transport="tcp", traffic={"kind": "transfer", "duration": "30 s"})
    chance, seen = random.Random(who), []
    for number in killed_engines(sandbox, prefix, trial, FABRIC_KILLS):
        if number == FABRIC_KILLS - 1:
            # All nodes and their agents are running.
            assert wait_for(lambda: len(sandbox.processes()) > 90)
        else:
            # The moment lies between the creation of the first namespace and the middle of the traffic.
            time.sleep((number + chance.random()) * FABRIC_SECONDS / FABRIC_KILLS)
        seen.append((len(sandbox.namespaces()), len(sandbox.processes())))
    assert any(nodes > 180 and agents > 90 for nodes, agents in seen), seen


@pytest.mark.parametrize("who", ["root", "user"])
def test_a_killed_engine_takes_a_radio_channel_with_it(
    who: str, tmp_path: Path, sandbox: Sandbox, request: pytest.FixtureRequest
) -> None:
    prefix = request.getfixturevalue("as_user") if who == "user" else []
    trial = json.loads(radio.scenario(tmp_path).model_dump_json(by_alias=True, exclude_none=True))
    for flow in trial["workload"]:
        flow["traffic"]["duration"] = "30 s"
    chance, hosts = random.Random(who), sum("stack" in node for node in trial["nodes"])
    for number in killed_engines(sandbox, prefix, trial, RADIO_KILLS):
        if number == RADIO_KILLS - 1:
            # The traffic has started or is about to.
            assert wait_for(lambda: len(sandbox.processes()) > hosts)
        time.sleep(chance.random())
