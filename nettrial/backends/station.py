"""The engines of a worker, which runs trials for a runner elsewhere. They are kept between trials, and end
with the worker's process, however it ends.

The functions here run in the worker. A runner gives its session a unique name."""

from __future__ import annotations

import hashlib
import platform
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from typing import TypeVar
from weakref import WeakKeyDictionary

import nettrial
from nettrial.backends import find
from nettrial.backends.backend import BACKENDS, Configuration
from nettrial.backends.keeper import Keeper
from nettrial.scenario import Event, Record, Request, Scenario

Kept = TypeVar("Kept", bound=Keeper)

MOST_ENDED = 1000
"""The number of ended sessions that a worker remembers."""
IDLE_SECONDS = 20.0
"""The time in seconds after which an idle engine with a session on the user's machines ends, so that these
restore their settings if the runner is gone."""

_LOCK = threading.Lock()
_IDLE: dict[tuple[str, ...], list[Keeper]] = defaultdict(list)
_OWNERS: WeakKeyDictionary[Keeper, str] = WeakKeyDictionary()
_RUNNING: dict[str, set[Keeper]] = defaultdict(set)
_ENDED: dict[str, None] = {}
_USED: WeakKeyDictionary[Keeper, float] = WeakKeyDictionary()


class EngineStopped(Exception):
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
    with _engine(session, (backend,), lambda: BACKENDS[backend].start(Configuration())) as engine:
        return engine.run(trial, scenario, None)


def exchange(session: str, arguments: tuple[str, ...], request: Request, timeout: float | None) -> Event:
    """Returns the answer of the session's own engine in this process with these arguments, within `timeout`
    seconds; raises EngineLost, CannotRun, and SessionEnded if the session has ended."""
    kind = (session, *arguments)
    with _engine(session, kind, lambda: Keeper(*arguments)) as engine:
        event = engine.event(request, timeout)
    timer = threading.Timer(IDLE_SECONDS, _expire, [kind])
    timer.daemon = True
    timer.start()
    return event


@contextmanager
def _engine(session: str, kind: tuple[str, ...], make: Callable[[], Kept]) -> Iterator[Kept]:
    """Yields an engine for a session: an idle one of that kind, which any session may have used, or one that
    `make` returns."""
    with _LOCK:
        if session in _ENDED:
            raise EngineStopped
        engine: Kept = _IDLE[kind].pop() if _IDLE[kind] else make()  # type: ignore[assignment]
        _RUNNING[session].add(engine)
    try:
        yield engine
    finally:
        with _LOCK:
            kept = engine in _RUNNING[session]
            _RUNNING[session].discard(engine)
            if kept:
                _IDLE[kind].append(engine)
                _OWNERS[engine] = session
                _USED[engine] = time.monotonic()
        if not kept:  # it was killed
            engine.close()


def _expire(kind: tuple[str, ...]) -> None:
    """Ends the engines of that kind that have been idle for long."""
    with _LOCK:
        limit = time.monotonic() - IDLE_SECONDS
        ended = _take_idle(kind, lambda engine: _USED[engine] <= limit)
    for engine in ended:
        engine.close()


def _take_idle(kind: tuple[str, ...], is_taken: Callable[[Keeper], bool]) -> list[Keeper]:
    """Removes the idle engines of that kind for which `is_taken` is true, and returns them."""
    taken = [engine for engine in _IDLE[kind] if is_taken(engine)]
    _IDLE[kind] = [engine for engine in _IDLE[kind] if engine not in taken]
    if not _IDLE[kind]:
        del _IDLE[kind]
    return taken


def end(session: str) -> None:
    """Prevents a session from starting more trials here. Running trials continue."""
    with _LOCK:
        _ENDED[session] = None
        while len(_ENDED) > MOST_ENDED:
            del _ENDED[next(iter(_ENDED))]


def abandon(session: str) -> None:
    """Ends a session's trials at once, and the idle engines that it used last. Those of other sessions, which
    may hold machines for a run in progress, stay."""
    end(session)
    with _LOCK:
        running = _RUNNING.pop(session, set())
        own = [_take_idle(kind, lambda engine: _OWNERS[engine] == session) for kind in list(_IDLE)]
    for engine in running:
        engine.kill()
    for engine in chain(*own):
        engine.close()
