"""The engines of a worker, which runs trials for a runner elsewhere: kept from trial to trial, and gone with
the worker's process, however that ends.

The functions here run in the worker. A runner names its session by a text that no other one has."""

from __future__ import annotations

import hashlib
import platform
import threading
from collections import defaultdict
from dataclasses import dataclass

import nettrial
from nettrial.backends import find
from nettrial.backends.backend import Backend
from nettrial.scenario import Record, Scenario

MOST_ENDED = 1000
"""The sessions that a worker remembers to have ended."""

_LOCK = threading.Lock()
_IDLE: dict[str, list[Backend]] = defaultdict(list)
_RUNNING: dict[str, set[Backend]] = defaultdict(set)
_ENDED: dict[str, None] = {}


class SessionEnded(Exception):
    """The session begins no more trials."""


@dataclass(frozen=True)
class Build:
    """The build of nettrial that a process has."""

    version: str
    """The package's version."""
    platform: str
    """The system and CPU that its engine is for."""
    engine: str
    """The SHA-256 of its engine."""

    def differs(self, other: Build) -> str:
        """Returns why the two do not go together, in words; empty where they do. Engines for different
        systems or CPUs are different files: there the version alone counts."""
        if self.version != other.version:
            return f"it has nettrial {other.version}, and the runner {self.version}"
        if self.platform == other.platform and self.engine != other.engine:
            return f"its engine is another build of {self.version} than the runner's"
        return ""


def build() -> Build:
    """Returns the build that this process has; raises CannotRun where it has no engine."""
    with find.engine().open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return Build(nettrial.__version__, f"{platform.system()} {platform.machine()}", digest)


def run(session: str, backend: str, trial: str, scenario: Scenario) -> Record:
    """Runs a trial by an engine of this process, without a bound on its time; raises TrialFailed, CannotRun,
    and SessionEnded where none may begin."""
    with _LOCK:
        if session in _ENDED:
            raise SessionEnded
        engine = _IDLE[backend].pop() if _IDLE[backend] else Backend(backend)
        _RUNNING[session].add(engine)
    try:
        return engine.run(trial, scenario, None)
    finally:
        with _LOCK:
            kept = engine in _RUNNING[session]
            _RUNNING[session].discard(engine)
            if kept:
                _IDLE[backend].append(engine)
        if not kept:  # it was killed
            engine.close()


def end(session: str) -> None:
    """Lets a session begin no more trials here. Those that run go on."""
    with _LOCK:
        _ENDED[session] = None
        while len(_ENDED) > MOST_ENDED:
            del _ENDED[next(iter(_ENDED))]


def abandon(session: str) -> None:
    """Ends a session's trials at once, and the engines that wait for one."""
    end(session)
    with _LOCK:
        running = _RUNNING.pop(session, set())
        idle = [engine for engines in _IDLE.values() for engine in engines]
        _IDLE.clear()
    for engine in running:
        engine.kill()
    for engine in idle:
        engine.close()
