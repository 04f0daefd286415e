"""Killed at any moment, a run leaves nothing behind and goes on where it stopped."""

import contextlib
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path

import pytest

from benches import fabric
from nettrial.backends.find import engine

FABRIC_KILLS = 3
FABRIC_SECONDS = 5.0
"""Within these the fabric is built, and its traffic goes."""
KILLS = {"0 ns": 3, "2 ms": 1}
"""How often a run is killed, by the links' delay."""
REPLICATES = {"0 ns": 2, "2 ms": 1}
"""Of the run; with a delay a trial takes longer."""
MARK = "NETTRIAL_KILL_TEST"
"""An environment variable that marks every process of a run."""
ROOT = Path(__file__).parents[2]
STUDY = [
    "jumbo-ipv6",
    "--set=workload.transfer.traffic.duration=150 ms",
    "--set=workload.probe.traffic.duration=150 ms",
    "--seed=1",
]
TREATMENTS = 12


def processes(mark: str) -> dict[int, str]:
    """The running processes with this mark in their environment, by number, with their command."""
    wanted = f"{MARK}={mark}".encode()
    found = {}
    for entry in Path("/proc").iterdir():
        # A process may end while it is looked at.
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and wanted in (entry / "environ").read_bytes().split(b"\0"):
                command = (entry / "cmdline").read_bytes().decode(errors="replace")
                if command:  # a zombie has none
                    found[int(entry.name)] = command.replace("\0", " ")
    return found


def namespaces(of: Collection[int] | None = None) -> set[str]:
    """The network namespaces that any process, or one of these, is in or holds by a descriptor."""
    found = set()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or (of is not None and int(entry.name) not in of):
            continue
        with contextlib.suppress(OSError):
            found.add(os.readlink(entry / "ns" / "net"))
        with contextlib.suppress(OSError):
            for descriptor in (entry / "fd").iterdir():
                with contextlib.suppress(OSError):
                    target = os.readlink(descriptor)
                    if target.startswith("net:"):
                        found.add(target)
    return found


def links() -> set[str]:
    """The network interfaces of this namespace."""
    return set(os.listdir("/sys/class/net"))


def mounts() -> list[str]:
    return Path("/proc/self/mountinfo").read_text().splitlines()


def start(directory: Path, mark: str, prefix: list[str], delay: str) -> subprocess.Popen[bytes]:
    """Starts the run, or goes on with it if it was started before."""
    what = (
        ["--resume"]
        if directory.exists()
        else [
            *STUDY,
            f"--set=network.delay={delay}",
            f"--replicates={REPLICATES[delay]}",
        ]
    )
    command = [*prefix, sys.executable, "-m", "nettrial.cli", "run", *what, f"--out={directory}"]
    environment = {**os.environ, MARK: mark, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        command, env=environment, cwd=directory.parent, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )


def finished(directory: Path) -> Counter[int]:
    """How often each trial's number is in the run file as finished."""
    with contextlib.closing(sqlite3.connect(directory / "run.sqlite")) as connection:
        return Counter(number for (number,) in connection.execute("SELECT number FROM trial"))


def wait_for(condition: object, seconds: float) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():  # type: ignore[operator]
            return True
        time.sleep(0.02)
    return False


@pytest.fixture
def nothing_left() -> Iterator[str]:
    """A mark for processes; afterwards none with it is left, nor a namespace, link or mount."""
    mark = f"{os.getpid()}-{time.monotonic_ns()}"
    before = namespaces(), links(), mounts()
    yield mark
    assert wait_for(lambda: not processes(mark), 10), processes(mark)
    assert wait_for(lambda: namespaces() <= before[0], 10), namespaces() - before[0]
    assert links() == before[1]
    assert mounts() == before[2]


@pytest.mark.parametrize(
    ("victim", "who", "delay"),
    [
        ("runner", "root", "0 ns"),
        ("runner", "user", "0 ns"),
        ("engine", "root", "0 ns"),
        ("engine", "user", "0 ns"),
        # A delay line has threads, rings and a namespace of its own.
        ("engine", "root", "2 ms"),
        ("engine", "user", "2 ms"),
    ],
)
def test_a_killed_run_leaves_nothing_and_resumes(
    victim: str, who: str, delay: str, tmp_path: Path, nothing_left: str, request: pytest.FixtureRequest
) -> None:
    prefix = request.getfixturevalue("as_user") if who == "user" else []
    directory, chance = tmp_path / "run", random.Random(f"{victim} {who} {delay}")
    for _ in range(KILLS[delay]):
        runner = start(directory, nothing_left, prefix, delay)
        if victim == "runner":
            time.sleep(chance.uniform(0.2, 4.0))
            os.kill(runner.pid, signal.SIGKILL)
        else:
            kill_engine(nothing_left, runner, chance)
            runner.terminate()  # like Ctrl-C: it ends after the trial that runs
        runner.communicate(timeout=60)
        assert wait_for(lambda: not processes(nothing_left), 10), processes(nothing_left)
        left = [path for path in tmp_path.iterdir() if path != directory and ".tmp" not in path.name]
        assert left == []

    runner = start(directory, nothing_left, prefix, delay)
    _, errors = runner.communicate(timeout=300)
    assert runner.returncode == 0, errors.decode()
    assert finished(directory) == Counter(range(1, TREATMENTS * REPLICATES[delay] + 1))
    assert (directory / "report.html").stat().st_size > 10_000
    assert list(tmp_path.iterdir()) == [directory]


def kill_engine(mark: str, runner: subprocess.Popen[bytes], chance: random.Random) -> None:
    """Kills the engine at a random moment after it was started."""

    def engines() -> list[int]:
        return [pid for pid, command in processes(mark).items() if "nettrial-engine lab" in command]

    assert wait_for(lambda: engines() or runner.poll() is not None, 20)
    time.sleep(chance.uniform(0.0, 1.5))
    for pid in engines():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("who", ["root", "user"])
def test_a_killed_engine_takes_a_fabric_of_90_with_it(
    who: str, nothing_left: str, request: pytest.FixtureRequest
) -> None:
    prefix = request.getfixturevalue("as_user") if who == "user" else []
    trial = fabric.scenario(90)
    for flow in trial["workload"]:
        flow.update(transport="tcp", traffic={"kind": "transfer", "duration": "9 s"})
    line = json.dumps({"request": "run", "trial": "killed", "scenario": trial}) + "\n"
    chance, seen = random.Random(who), []
    for kill in range(FABRIC_KILLS):
        before = namespaces()
        with subprocess.Popen(
            [*prefix, str(engine()), "lab"],
            env={**os.environ, MARK: nothing_left},
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
        ) as process:
            assert process.stdin is not None
            process.stdin.write(line)
            process.stdin.flush()
            # From before the first namespace to the middle of the traffic.
            time.sleep((kill + chance.random()) * FABRIC_SECONDS / FABRIC_KILLS)
            running = processes(nothing_left)
            made = namespaces(running) - before
            seen.append((len(made), len(running)))
            process.kill()
        assert wait_for(lambda: not processes(nothing_left), 10), processes(nothing_left)
        assert wait_for(lambda made=made: not namespaces() & made, 10), namespaces() & made
    # Some kills met all nodes and their agents.
    assert any(nodes > 180 and agents > 90 for nodes, agents in seen), seen
