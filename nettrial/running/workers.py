"""Running trials on the workers of a Dask cluster. The runner hands out a few more trials than there are
threads, stores the records that come back, and hands out again the trials that were lost with a worker."""

from __future__ import annotations

import logging
import queue
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from nettrial.backends import TrialFailed, station
from nettrial.design import PlannedTrial
from nettrial.errors import CannotRun, Lack
from nettrial.running import task
from nettrial.running.cluster import LOOK_SECONDS, Cluster
from nettrial.running.events import Listener, Notice
from nettrial.running.pool import Outcome
from nettrial.running.task import TaskResult
from nettrial.study import Study

if TYPE_CHECKING:
    from distributed import Future

IN_FLIGHT = 2
"""The number of trials handed out for each thread of a worker, so that no thread waits for the runner."""
FEWEST_IN_FLIGHT = 8
"""The least number of trials handed out: a cluster that scales with its load has no workers at first."""
ATTEMPTS = 5
"""The number of times that a trial is handed out before it counts as failed. The scheduler retries it itself,
three times by default (`distributed.scheduler.allowed-failures`), before it reports it as lost."""
GATHER_SECONDS = 30.0
"""The time allowed for fetching a record, in seconds."""


_LOG = logging.getLogger(__name__)


@dataclass
class _Flight:
    """A trial that has been handed out."""

    trial: PlannedTrial
    attempts: int = 0
    """The number of times that it was lost."""
    future: Future[TaskResult] | None = None
    workers: set[str] = field(default_factory=set)
    """The workers that may run it; all, if empty."""


class WorkerPool:
    """The workers of a cluster, as the processes that run a run's trials."""

    def __init__(self, cluster: Cluster, study: Study, seed: int, listener: Listener) -> None:
        """Prepares running the trials of a study with the run's seed. The listener hears of refused
        workers."""
        self._tell = listener
        self._cluster = cluster
        self._common = (cluster.session, cluster.build, task.packed(study), seed)
        self._flights: dict[str, _Flight] = {}
        self._news: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._refused: set[str] = set()
        self._sent = 0
        self._ending = self._abandoned = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._drop()
        self._cluster.close()

    def kill(self) -> None:
        """Ends every running trial. May be called in a signal handler."""
        self._abandoned = True
        self._news.put("")

    def standing(self) -> str:
        """Returns the number of workers, in words."""
        count = len(self._good())
        return f"{count} worker{'s' * (count != 1)}"

    def again(self, trial: PlannedTrial) -> None:
        """Does nothing: nothing else disturbs trials in simulated time."""

    def left(self) -> list[str]:
        """Returns no names: workers are no sets of machines."""
        return []

    def warm_up(
        self, trials: Iterable[PlannedTrial], stopped: Callable[[], bool]
    ) -> Iterator[tuple[PlannedTrial, Outcome]]:
        """Runs nothing: simulated trials have no warm-up."""
        return iter(())

    def run(
        self, trials: Iterable[PlannedTrial], stopped: Callable[[], bool], heartbeat: Callable[[], None]
    ) -> Iterator[tuple[PlannedTrial, Outcome]]:
        """Hands out trials in their order, and yields each when it is finished. No trial is started once
        `stopped` returns true; trials that run by then are completed. While none finishes, `heartbeat` is
        called every `LOOK_SECONDS`."""
        waiting = iter(trials)
        while not self._abandoned:
            if stopped() and not self._ending:
                self._ending = True
                self._cluster.tell(station.end)
            while not self._ending and len(self._flights) < self._room():
                trial = next(waiting, None)
                if trial is None:
                    break
                self._submit(_Flight(trial))
            if not self._flights:
                return
            try:
                flight = self._flights.pop(self._news.get(timeout=LOOK_SECONDS), None)
            except queue.Empty:
                flight = None
                heartbeat()
            outcome = self._outcome(flight) if flight else None
            if flight and outcome:
                yield flight.trial, outcome
            self._look()
        self._drop()

    def _good(self) -> set[str]:
        return self._cluster.threads.keys() - self._refused

    def _room(self) -> int:
        threads = self._cluster.threads
        return max(FEWEST_IN_FLIGHT, IN_FLIGHT * sum(threads.get(worker, 0) for worker in self._good()))

    def _submit(self, flight: _Flight) -> None:
        """Hands out a trial to any worker, except those that were refused."""
        good = self._good()
        if self._refused and not good:
            lacks = [Lack(f"worker {each}", "it was refused", "see above") for each in sorted(self._refused)]
            raise CannotRun("running trials on a Dask cluster", lacks, "it can't be used any more")
        flight.workers = good if self._refused or self._cluster.hung else set()
        self._sent += 1
        key = f"nettrial-{self._cluster.session}-{self._sent}"
        trial = flight.trial
        trial_task = task.TrialTask(*self._common, trial.number, trial.block, trial.treatment)
        only: dict[str, Any] = {"workers": sorted(flight.workers)} if flight.workers else {}
        flight.future = self._cluster.client.submit(task.attempt, trial_task, key=key, pure=False, **only)
        self._flights[key] = flight
        flight.future.add_done_callback(lambda future: self._news.put(str(future.key)))

    def _outcome(self, flight: _Flight) -> Outcome | None:
        """Returns the outcome of a trial; None if it was handed out again, or not begun."""
        assert flight.future is not None
        key = str(flight.future.key)
        try:
            result = flight.future.result(GATHER_SECONDS)
        except TimeoutError:  # its worker disappeared after finishing it: the scheduler has it run again
            self._flights[key] = flight
            self._news.put(key)
            return None
        except CancelledError:
            result = TaskResult("lost", "the scheduler forgot it")
            if self._cluster.lost:
                lack = Lack("the scheduler", "it is gone", "start it again, and resume the run")
                raise CannotRun("running trials on a Dask cluster", [lack], "it is lost") from None
            flight.attempts -= 1  # the trial is not at fault
        except Exception as error:  # KilledWorker, or a worker without nettrial that joined late
            result = TaskResult("lost", str(error))
            self._refuse_others()
        flight.future.release()
        outcome: Outcome = Outcome()
        if result.trial:
            outcome.set_result(result.trial)
            return outcome
        if result.kind == "failed":
            outcome.set_exception(TrialFailed(result.text))
            return outcome
        if result.kind == "ended" or self._ending:
            return None
        if result.kind == "refused":
            self._refuse(result.worker, result.text)
        else:
            flight.attempts += 1
            _LOG.warning("trial %d was lost (%d): %s", flight.trial.number, flight.attempts, result.text)
        if flight.attempts >= ATTEMPTS:
            outcome.set_exception(
                TrialFailed(f"it was lost {ATTEMPTS} times, the last time because {result.text}")
            )
            return outcome
        self._submit(flight)
        return None

    def _refuse(self, worker: str, why: str) -> None:
        if worker not in self._refused:
            self._refused.add(worker)
            self._tell(Notice(f"worker {worker} is refused: {why}"))

    def _refuse_others(self) -> None:
        """Refuses workers that joined late and have another build of nettrial, or none."""
        for lack in self._cluster.refused():
            self._refuse(lack.what.removeprefix("worker "), lack.why)

    def _look(self) -> None:
        """Hands out again the trials of hung workers, and those restricted to workers that are gone."""
        hung, there = self._cluster.hung, self._cluster.threads.keys()
        for key, flight in list(self._flights.items()):
            if key in hung or (flight.workers and not flight.workers & there):
                del self._flights[key]
                assert flight.future is not None
                flight.future.release()
                if self._ending:
                    continue
                flight.attempts += 1
                _LOG.warning("trial %d: its worker is silent", flight.trial.number)
                self._submit(flight)

    def _drop(self) -> None:
        """Cancels all trials that are handed out, and ends those that run."""
        futures = [flight.future for flight in self._flights.values() if flight.future]
        self._flights.clear()
        if futures:
            self._cluster.aside(lambda: self._cluster.client.cancel(futures, force=True))
            self._cluster.tell(station.abandon)
