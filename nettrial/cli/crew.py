"""Trials that run at once: each engine has one at a time, and what is finished goes to the one thread that
keeps it."""

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
    """The documents of a finished trial, as the run file keeps them: large ones are not read again to be
    kept."""

    scenario: str
    """The scenario as JSON."""
    record: str
    """The record as JSON."""
    warnings: int
    """The number of the record's warnings."""

    @classmethod
    def of(cls, scenario: Scenario, record: Record) -> Made:
        """Writes both down."""
        return cls(as_json(scenario), as_json(record), len(record.warnings))

    def read_record(self) -> Record:
        """Reads the record."""
        return Record.model_validate_json(self.record)


Outcome: TypeAlias = Future[Made]
"""The outcome of a trial: its `result` raises what running it raised."""


class Hands(Protocol):
    """The hands that run trials: engines of this machine, or workers elsewhere."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...

    def kill(self) -> None:
        """Ends every trial that runs, at once. May be called in a signal handler."""

    def run(
        self, trials: Iterable[PlannedTrial], stopped: Callable[[], bool]
    ) -> Iterator[tuple[PlannedTrial, Outcome]]:
        """Attempts trials, begun in their order, and gives each as it is finished. None is begun once
        `stopped`; those that run then are still waited for."""

    def standing(self) -> str:
        """Returns who they are, in words for the progress; empty where there is nothing to tell."""


class Crew:
    """Engines of one backend on this machine, as many as trials may run at once."""

    def __init__(self, backend: Backend, size: int, attempt: Callable[[Backend, PlannedTrial], Made]) -> None:
        """`backend` is one of `size`, and stays its owner's to close; `attempt` runs a trial."""
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
        """Ends every trial that runs, at once. May be called in a signal handler."""
        for backend in self._all:
            backend.kill()

    def standing(self) -> str:
        """Returns nothing: the user knows this machine."""
        return ""

    def run(
        self, trials: Iterable[PlannedTrial], stopped: Callable[[], bool]
    ) -> Iterator[tuple[PlannedTrial, Outcome]]:
        """Attempts trials, begun in their order, and gives each as it is finished. None is begun once
        `stopped`; those that run then are still waited for. With one engine, none is begun before whoever
        asks has done with the one before."""
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
