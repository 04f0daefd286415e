"""The engines of a worker, which runs trials for a runner elsewhere. They are kept between trials, and end
with the worker's process, however it ends.

The functions here run in the worker. A runner gives its session a unique name."""

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
"""The number of ended sessions that a worker remembers."""

_LOCK = threading.Lock()
_IDLE: dict[str, list[Backend]] = defaultdict(list)
_RUNNING: dict[str, set[Backend]] = defaultdict(set)
_ENDED: dict[str, None] = {}


class SessionEnded(Exception):
    """The error for a trial of a session that has ended."""


@dataclass(frozen=True)
class Build:
    """The build of nettrial in a process."""

    version: str
    """The package's version."""
    platform: str
    """The operating system and CPU of its engine."""
    engine: str
    """The SHA-256 of its engine."""

    def differs(self, other: Build) -> str:
        """Returns the reason why two builds are incompatible, in words; empty if they are compatible. Engines
        for different systems or CPUs are different files, for which only the version is compared."""
        if self.version != other.version:
            return f"it runs nettrial {other.version}, and the runner {self.version}"
        if self.platform == other.platform and self.engine != other.engine:
            return f"its engine is a different build of {self.version} than the runner's"
        return ""


def build() -> Build:
    """Returns the build of this process; raises CannotRun if it has no engine."""
    with find.engine().open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return Build(nettrial.__version__, f"{platform.system()} {platform.machine()}", digest)


def run(session: str, backend: str, trial: str, scenario: Scenario) -> Record:
    """Runs a trial with an engine of this process, without a time limit; raises TrialFailed, CannotRun, and
    SessionEnded if the session has ended."""
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
    """Prevents a session from starting more trials here. Running trials continue."""
    with _LOCK:
        _ENDED[session] = None
        while len(_ENDED) > MOST_ENDED:
            del _ENDED[next(iter(_ENDED))]


def abandon(session: str) -> None:
    """Ends a session's trials at once, and its idle engines."""
    end(session)
    with _LOCK:
        running = _RUNNING.pop(session, set())
        idle = [engine for engines in _IDLE.values() for engine in engines]
        _IDLE.clear()
    for engine in running:
        engine.kill()
    for engine in idle:
        engine.close()
