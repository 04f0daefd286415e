"""Trials that run in parallel: each engine runs one at a time, and a single thread stores what is
finished."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from types import TracebackType
from typing import Protocol, Self, TypeAlias

from nettrial.backends import Backend, TrialFailed
from nettrial.design import PlannedTrial
from nettrial.running.sets import SetLost, Slot, TrialQueue, WarmUpQueue, named
from nettrial.running.trial_result import TrialResult
from nettrial.systems import WAKE_SECONDS

HEARTBEAT_SECONDS = 10.0
"""The time without a finished trial after which the caller is called."""
Outcome: TypeAlias = Future[TrialResult]
"""The outcome of a trial: its `result` raises what running it raised."""


class Executor(Protocol):
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
        """Runs these trials, whose records are not kept, in each slot, and yields each when it is
        finished."""

    def run(
        self, trials: Iterable[PlannedTrial], stopped: Callable[[], bool], heartbeat: Callable[[], None]
    ) -> Iterator[tuple[PlannedTrial, Outcome]]:
        """Starts trials in their order, and yields each when it is finished. No trial is started once
        `stopped` returns true; trials that run by then are completed. While none finishes, `heartbeat` is
        called at least every `HEARTBEAT_SECONDS`."""

    def again(self, trial: PlannedTrial) -> None:
        """Has a trial that was just yielded run again, at the end of its block."""

    def standing(self) -> str:
        """Returns a description of the processes for the progress display; empty if there is nothing to
        tell."""

    def left(self) -> list[str]:
        """Returns the names of the sets of machines that can run trials; empty without sets."""


class EnginePool:
    """Engines on this machine, one for each slot, which runs a trial at a time."""

    def __init__(
        self,
        slots: Sequence[Slot],
        attempt: Callable[[Backend, PlannedTrial, bool], TrialResult],
        homes: Mapping[int, str | None] | None = None,
    ) -> None:
        """Takes over the backends of `slots`. `attempt` runs a trial, as a warm-up if its last argument is
        true; `homes` has the set of machines of each block that has begun."""
        self._attempt = attempt
        self._homes = dict(homes or {})
        self._slots = list(slots)
        self._idle = list(slots)
        self._killed = False
        self._pool = ThreadPoolExecutor(len(slots))
        self._queue = TrialQueue((), self._homes)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is not None:
            self.kill()
        self._pool.shutdown()
        with ThreadPoolExecutor(len(self._slots) or 1) as pool:  # sets restore settings at the same time
            for slot in self._slots:
                pool.submit(slot.backend.close)

    def kill(self) -> None:
        """Ends every running trial at once. May be called in a signal handler."""
        self._killed = True
        for slot in self._slots:
            slot.backend.kill()

    def standing(self) -> str:
        """Returns the number of sets of machines, if there are sets: otherwise the user knows this
        machine."""
        names = named(slot.name for slot in self._slots)
        return f"{len(names)} set{'s' * (len(names) != 1)}" if names else ""

    def left(self) -> list[str]:
        """Returns the names of the sets of machines that can run trials."""
        return named(slot.name for slot in self._slots)

    def warm_up(
        self, trials: Iterable[PlannedTrial], stopped: Callable[[], bool]
    ) -> Iterator[tuple[PlannedTrial, Outcome]]:
        """Runs these trials in each slot, in order, and yields each when it is finished."""
        return self._run(WarmUpQueue(trials), True, stopped, lambda: None)

    def run(
        self, trials: Iterable[PlannedTrial], stopped: Callable[[], bool], heartbeat: Callable[[], None]
    ) -> Iterator[tuple[PlannedTrial, Outcome]]:
        """Starts trials in their order, and yields each when it is finished. No trial is started once
        `stopped` returns true; trials that run by then are completed. While none finishes, `heartbeat` is
        called at least every `HEARTBEAT_SECONDS`. With a single slot, the next trial
        starts only after the caller has processed the one before. A block with a trial on a set of machines
        stays there; if the set is lost, its other trials are not run."""
        self._queue = TrialQueue(trials, self._homes)
        return self._run(self._queue, False, stopped, heartbeat)

    def again(self, trial: PlannedTrial) -> None:
        """Has a trial that was just yielded run again, at the end of its block."""
        self._queue.again(trial)

    def _run(
        self,
        queue: TrialQueue | WarmUpQueue,
        warm_up: bool,
        stopped: Callable[[], bool],
        heartbeat: Callable[[], None],
    ) -> Iterator[tuple[PlannedTrial, Outcome]]:
        running: dict[Outcome, tuple[PlannedTrial, Slot]] = {}
        while True:
            for slot in list(self._idle):
                trial = None if stopped() else queue.next(slot.name)
                if trial is not None:
                    self._idle.remove(slot)
                    running[self._pool.submit(self._run_in, slot, trial, warm_up)] = trial, slot
            if not running:
                return
            finished, _ = wait(running, WAKE_SECONDS or HEARTBEAT_SECONDS, FIRST_COMPLETED)
            if not finished:
                heartbeat()
            for outcome in sorted(finished, key=lambda each: running[each][0].number):
                trial, slot = running.pop(outcome)
                error = outcome.exception()
                if isinstance(error, SetLost):
                    self._slots.remove(slot)
                    queue.lost(slot.name)
                else:
                    self._idle.append(slot)
                if error is None:
                    queue.finished(trial)
                yield trial, outcome

    def _run_in(self, slot: Slot, trial: PlannedTrial, warm_up: bool) -> TrialResult:
        """Runs a trial in a slot; raises SetLost if it failed on a set that can run no more trials, whose
        other machines have then restored their settings."""
        try:
            return self._attempt(slot.backend, trial, warm_up)
        except TrialFailed as failed:
            why = "" if slot.name is None or self._killed else slot.lacking()
            if slot.name is None or not why:
                raise
            slot.backend.close()
            raise SetLost(str(failed), slot.name, why) from None
