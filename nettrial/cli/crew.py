"""Trials that run in parallel: each engine runs one at a time, and a single thread stores what is
finished."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self, TypeAlias

from nettrial.backends import Backend
from nettrial.design import PlannedTrial
from nettrial.scenario import Record, Scenario
from nettrial.store.recorder import as_json
from nettrial.systems import WAKE_SECONDS


@dataclass(frozen=True)
class Made:
    """The documents of a finished trial as the run file stores them, so that large ones need not be parsed
    again."""

    scenario: str
    """The scenario as JSON."""
    record: str
    """The record as JSON."""
    warnings: int
    """The number of the record's warnings."""

    @classmethod
    def of(cls, scenario: Scenario, record: Record) -> Made:
        """Serialises a scenario and its record."""
        return cls(as_json(scenario), as_json(record), len(record.warnings))

    def read_record(self) -> Record:
        """Parses the record."""
        return Record.model_validate_json(self.record)


Outcome: TypeAlias = Future[Made]
"""The outcome of a trial: its `result` raises what running it raised."""


class Hands(Protocol):
    """The processes that run trials: engines on this machine, or workers elsewhere."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...

    def kill(self) -> None:
        """Ends every running trial at once. May be called in a signal handler."""

    def run(
        self, trials: Iterable[PlannedTrial], stopped: Callable[[], bool]
    ) -> Iterator[tuple[PlannedTrial, Outcome]]:
        """Starts trials in their order, and yields each when it is finished. No trial is started once
        `stopped` returns true; trials that run by then are completed."""

    def standing(self) -> str:
        """Returns a description of the processes for the progress display; empty if there is nothing to
        tell."""


class Crew:
    """Engines of one backend on this machine, one for each trial that may run at the same time."""

    def __init__(self, backend: Backend, size: int, attempt: Callable[[Backend, PlannedTrial], Made]) -> None:
        """Sets up `size` engines, of which `backend` is the first; its owner closes that one. `attempt` runs
        a trial."""
        self._attempt = attempt
        self._others = [backend.another() for _ in range(size - 1)]
        self._idle = [backend, *self._others]
        self._all = list(self._idle)
        self._pool = ThreadPoolExecutor(size)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is not None:
            self.kill()
        self._pool.shutdown()
        for backend in self._others:
            backend.close()

    def kill(self) -> None:
        """Ends every running trial at once. May be called in a signal handler."""
        for backend in self._all:
            backend.kill()

    def standing(self) -> str:
        """Returns an empty text: the user knows this machine."""
        return ""

    def run(
        self, trials: Iterable[PlannedTrial], stopped: Callable[[], bool]
    ) -> Iterator[tuple[PlannedTrial, Outcome]]:
        """Starts trials in their order, and yields each when it is finished. No trial is started once
        `stopped` returns true; trials that run by then are completed. With a single engine, the next trial
        starts only after the caller has processed the one before."""
        waiting = iter(trials)
        running: dict[Outcome, tuple[PlannedTrial, Backend]] = {}
        while True:
            while self._idle and not stopped():
                trial = next(waiting, None)
                if trial is None:
                    break
                backend = self._idle.pop()
                running[self._pool.submit(self._attempt, backend, trial)] = trial, backend
            if not running:
                return
            finished, _ = wait(running, WAKE_SECONDS, FIRST_COMPLETED)
            for outcome in sorted(finished, key=lambda each: running[each][0].number):
                trial, backend = running.pop(outcome)
                self._idle.append(backend)
                yield trial, outcome
