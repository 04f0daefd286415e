"""Trials on the workers of a Dask cluster. The runner hands out a few more than there are threads, keeps what
comes back, and hands out again what was lost with a worker."""

from __future__ import annotations

import logging
import queue
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from nettrial.backends import TrialFailed, station
from nettrial.cli import task
from nettrial.cli.cluster import LOOK_SECONDS, Cluster
from nettrial.cli.console import say
from nettrial.cli.crew import Outcome
from nettrial.cli.task import Answer
from nettrial.design import PlannedTrial
from nettrial.errors import CannotRun, Lack
from nettrial.study import Study

if TYPE_CHECKING:
    from distributed import Future

IN_FLIGHT = 2
"""Trials that are handed out for each thread of a worker, so that none waits for the runner."""
FEWEST_IN_FLIGHT = 8
"""Trials that are handed out at least: a cluster that grows with its work has no workers at first."""
ATTEMPTS = 5
"""The times that a trial is handed out before it is a failure. The scheduler hands it out again itself, three
times as a rule (`distributed.scheduler.allowed-failures`), before it says that it was lost."""
GATHER_SECONDS = 30.0
"""The time that fetching a record may take."""


_LOG = logging.getLogger(__name__)


@dataclass
class _Flight:
    """A trial that is handed out."""

    trial: PlannedTrial
    attempts: int = 0
    """The times that it was lost."""
    future: Future[Answer] | None = None
    workers: set[str] = field(default_factory=set)
    """The workers that alone may have it; empty: all."""


class Workers:
    """The workers of a cluster as those who run a run's trials."""

    def __init__(self, cluster: Cluster, study: Study, seed: int) -> None:
        """`seed` is the run's."""
        self.note: Callable[[str], None] = say
        """Tells the user of a worker that is refused."""
        self._cluster = cluster
        self._asked = (cluster.session, cluster.build, task.packed(study), seed)
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
        """Ends every trial that runs. May be called in a signal handler."""
        self._abandoned = True
        self._news.put("")

    def standing(self) -> str:
        """Returns how many workers there are."""
        count = len(self._good())
        return f"{count} worker{'s' * (count != 1)}"

    def run(
        self, trials: Iterable[PlannedTrial], stopped: Callable[[], bool]
    ) -> Iterator[tuple[PlannedTrial, Outcome]]:
        """Hands trials out in their order, and gives each as it is finished. None is begun once `stopped`;
        those that run then are still waited for."""
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
        """Hands a trial out: to any worker, or where some are no good to the others."""
        good = self._good()
        if self._refused and not good:
            lacks = [Lack(f"worker {each}", "it was refused", "see above") for each in sorted(self._refused)]
            raise CannotRun("running trials on a Dask cluster", lacks)
        flight.workers = good if self._refused or self._cluster.hung else set()
        self._sent += 1
        key = f"nettrial-{self._cluster.session}-{self._sent}"
        trial = flight.trial
        asked = task.Asked(*self._asked, trial.number, trial.block, trial.treatment)
        only: dict[str, Any] = {"workers": sorted(flight.workers)} if flight.workers else {}
        flight.future = self._cluster.client.submit(task.attempt, asked, key=key, pure=False, **only)
        self._flights[key] = flight
        flight.future.add_done_callback(lambda future: self._news.put(str(future.key)))

    def _outcome(self, flight: _Flight) -> Outcome | None:
        """Takes what came back of a trial; None where it is handed out again, or was not begun."""
        assert flight.future is not None
        key = str(flight.future.key)
        try:
            answer = flight.future.result(GATHER_SECONDS)
        except TimeoutError:  # its worker went after it was finished: the scheduler has it run again
            self._flights[key] = flight
            self._news.put(key)
            return None
        except CancelledError:
            answer = Answer("lost", "the scheduler forgot it")
            if self._cluster.lost:
                lack = Lack("the scheduler", "it is gone", "start it again, and resume the run")
                raise CannotRun("running trials on a Dask cluster", [lack]) from None
            flight.attempts -= 1  # that is no fault of the trial's
        except Exception as error:  # KilledWorker; or a worker without nettrial, which joined late
            answer = Answer("lost", str(error))
            self._refuse_others()
        flight.future.release()
        outcome: Outcome = Outcome()
        if answer.made:
            outcome.set_result(answer.made)
            return outcome
        if answer.kind == "failed":
            outcome.set_exception(TrialFailed(answer.text))
            return outcome
        if answer.kind == "ended" or self._ending:
            return None
        if answer.kind == "refused":
            self._refuse(answer.worker, answer.text)
        else:
            flight.attempts += 1
            _LOG.warning("trial %d was lost (%d): %s", flight.trial.number, flight.attempts, answer.text)
        if flight.attempts >= ATTEMPTS:
            outcome.set_exception(TrialFailed(f"it was lost {ATTEMPTS} times, last because {answer.text}"))
            return outcome
        self._submit(flight)
        return None

    def _refuse(self, worker: str, why: str) -> None:
        if worker not in self._refused:
            self._refused.add(worker)
            self.note(f"worker {worker} is refused: {why}")

    def _refuse_others(self) -> None:
        """Looks for workers that joined late and have another build, or none."""
        for lack in self._cluster.refused():
            self._refuse(lack.what.removeprefix("worker "), lack.why)

    def _look(self) -> None:
        """Hands out again what a hung worker has, and what may go to workers that are gone alone."""
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
        """Cancels what is handed out, and ends it where it runs."""
        futures = [flight.future for flight in self._flights.values() if flight.future]
        self._flights.clear()
        if futures:
            self._cluster.aside(lambda: self._cluster.client.cancel(futures, force=True))
            self._cluster.tell(station.abandon)
