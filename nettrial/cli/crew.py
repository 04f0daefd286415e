"""Trials that run in parallel: each engine runs one at a time, and a single thread stores what is
finished."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self, TypeAlias

from nettrial.backends import Backend, TrialFailed
from nettrial.cli.sets import Deal, Place, SetLost, WarmUp, named
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

    def warm_up(
        self, trials: Iterable[PlannedTrial], stopped: Callable[[], bool]
    ) -> Iterator[tuple[PlannedTrial, Outcome]]:
        """Runs these trials, whose records are not kept, at each place, and yields each when it is
        finished."""

    def run(
        self, trials: Iterable[PlannedTrial], stopped: Callable[[], bool]
    ) -> Iterator[tuple[PlannedTrial, Outcome]]:
        """Starts trials in their order, and yields each when it is finished. No trial is started once
        `stopped` returns true; trials that run by then are completed."""

    def standing(self) -> str:
        """Returns a description of the processes for the progress display; empty if there is nothing to
        tell."""

    def left(self) -> list[str]:
        """Returns the names of the sets of machines that can run trials; empty without sets."""


class Crew:
    """Engines on this machine, one for each place that runs a trial at a time."""

    def __init__(
        self,
        places: Sequence[Place],
        attempt: Callable[[Backend, PlannedTrial, bool], Made],
        homes: Mapping[int, str | None] | None = None,
    ) -> None:
        """Takes over the backends of `places`. `attempt` runs a trial, as a warm-up if its last argument is
        true; `homes` has the set of machines of each block that has begun."""
        self._attempt = attempt
        self._homes = dict(homes or {})
        self._places = list(places)
        self._idle = list(places)
        self._killed = False
        self._pool = ThreadPoolExecutor(len(places))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is not None:
            self.kill()
        self._pool.shutdown()
        with ThreadPoolExecutor(len(self._places) or 1) as pool:  # sets restore settings at the same time
            for place in self._places:
                pool.submit(place.backend.close)

    def kill(self) -> None:
        """Ends every running trial at once. May be called in a signal handler."""
        self._killed = True
        for place in self._places:
            place.backend.kill()

    def standing(self) -> str:
        """Returns the number of sets of machines, if there are sets: otherwise the user knows this
        machine."""
        names = named(place.name for place in self._places)
        return f"{len(names)} set{'s' * (len(names) != 1)}" if names else ""

    def left(self) -> list[str]:
        """Returns the names of the sets of machines that can run trials."""
        return named(place.name for place in self._places)

    def warm_up(
        self, trials: Iterable[PlannedTrial], stopped: Callable[[], bool]
    ) -> Iterator[tuple[PlannedTrial, Outcome]]:
        """Runs these trials at each place, in order, and yields each when it is finished."""
        return self._run(WarmUp(trials), True, stopped)

    def run(
        self, trials: Iterable[PlannedTrial], stopped: Callable[[], bool]
    ) -> Iterator[tuple[PlannedTrial, Outcome]]:
        """Starts trials in their order, and yields each when it is finished. No trial is started once
        `stopped` returns true; trials that run by then are completed. With a single place, the next trial
        starts only after the caller has processed the one before. A block with a trial on a set of machines
        stays there; if the set is lost, its other trials are not run."""
        return self._run(Deal(trials, self._homes), False, stopped)

    def _run(
        self, deal: Deal | WarmUp, warm_up: bool, stopped: Callable[[], bool]
    ) -> Iterator[tuple[PlannedTrial, Outcome]]:
        running: dict[Outcome, tuple[PlannedTrial, Place]] = {}
        while True:
            for place in list(self._idle):
                trial = None if stopped() else deal.next(place.name)
                if trial is not None:
                    self._idle.remove(place)
                    running[self._pool.submit(self._at, place, trial, warm_up)] = trial, place
            if not running:
                return
            finished, _ = wait(running, WAKE_SECONDS, FIRST_COMPLETED)
            for outcome in sorted(finished, key=lambda each: running[each][0].number):
                trial, place = running.pop(outcome)
                error = outcome.exception()
                if isinstance(error, SetLost):
                    self._places.remove(place)
                    deal.lost(place.name)
                else:
                    self._idle.append(place)
                if error is None:
                    deal.finished(trial)
                yield trial, outcome

    def _at(self, place: Place, trial: PlannedTrial, warm_up: bool) -> Made:
        """Runs a trial at a place; raises SetLost if it failed on a set that can run no more trials, whose
        other machines have then restored their settings."""
        try:
            return self._attempt(place.backend, trial, warm_up)
        except TrialFailed as failed:
            why = "" if place.name is None or self._killed else place.lacking()
            if place.name is None or not why:
                raise
            place.backend.close()
            raise SetLost(str(failed), place.name, why) from None
