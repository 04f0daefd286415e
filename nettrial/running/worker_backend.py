"""A set of machines that a worker of a Dask cluster drives. The worker has a resource of the set's name, so
that only workers that reach the machines are asked, one request at a time."""

from __future__ import annotations

import logging
import time
from concurrent.futures import CancelledError
from typing import TYPE_CHECKING

from pydantic import BaseModel

from nettrial.backends import Backend, Configuration
from nettrial.backends.engine import EngineLost, Loss
from nettrial.running import task
from nettrial.running.cluster import Cluster
from nettrial.running.task import TaskResult
from nettrial.running.workers import ATTEMPTS
from nettrial.scenario import Event

if TYPE_CHECKING:
    from distributed import Future

POLL_SECONDS = 0.5
"""The interval at which a request in flight is looked at, in seconds."""
ALONE_SECONDS = 30.0
"""The time in seconds that a set waits for a worker that drives it."""


_LOG = logging.getLogger(__name__)


class WorkerBackend(Backend):
    """A backend whose engine runs on a worker. It stays with that worker while it is there, because machines
    serve one session at a time."""

    def __init__(self, cluster: Cluster, name: str, configuration: Configuration, resource: str) -> None:
        """Prepares a backend called `name`, to be started on workers with the resource."""
        super().__init__(name, configuration)
        self._cluster = cluster
        self._resource = resource
        self._worker = ""
        self._sent = 0

    def event(self, request: BaseModel, timeout: float | None) -> Event:
        """Returns the engine's answer; raises EngineLost. A request that was lost with its worker is sent
        again."""
        text = request.model_dump_json(by_alias=True, exclude_none=True)
        request_task = task.RequestTask(
            self._cluster.session, self._cluster.build, self._arguments, text, timeout
        )
        why = ""
        for _ in range(ATTEMPTS):
            answer = self._submitted(request_task)
            self._worker = answer.worker
            if answer.kind == "finished":
                return Event.model_validate_json(answer.text)
            why = answer.text
            if answer.kind != "lost":
                break
            _LOG.warning("the set %s: a request was lost: %s", self._resource, why)
        raise EngineLost(why or "the session has ended", Loss.ABANDONED)

    def kill(self) -> None:
        """Abandons the request in flight. The worker ends the engine when the session is closed."""
        self._killed = True

    def close(self) -> None:
        """Does nothing: the worker ends the engine when the session is closed, or after a while without a
        request."""

    def workers(self) -> list[str]:
        """Returns the workers that drive the set, or the one of them that was asked last, if it is there."""
        addresses = sorted(
            address for address, names in self._cluster.resources.items() if self._resource in names
        )
        return [self._worker] if self._worker in addresses else addresses

    def _submitted(self, request_task: task.RequestTask) -> TaskResult:
        """Submits a request to a worker, and waits for the result."""
        workers = self.workers()
        end = time.monotonic() + ALONE_SECONDS
        while not workers:
            if self._killed or time.monotonic() > end:
                raise EngineLost(f"no worker has the resource {self._resource}", Loss.ABANDONED)
            time.sleep(POLL_SECONDS)
            workers = self.workers()
        self._sent += 1
        key = f"nettrial-{request_task.session}-{self._resource}-{self._sent}"
        future = self._cluster.client.submit(
            task.ask, request_task, key=key, pure=False, workers=workers, resources={self._resource: 1}
        )
        try:
            return self._waited(future, key, workers)
        finally:
            future.cancel()

    def _waited(self, future: Future[TaskResult], key: str, workers: list[str]) -> TaskResult:
        while True:
            try:
                result: TaskResult = future.result(POLL_SECONDS)
                return result
            except TimeoutError:
                if self._killed:
                    raise EngineLost("it was abandoned", Loss.ABANDONED) from None
                if self._cluster.lost:
                    raise EngineLost("the scheduler is gone", Loss.ABANDONED) from None
                if key in self._cluster.hung or not set(workers) & self._cluster.resources.keys():
                    return TaskResult("lost", "its worker is gone or silent")
            except CancelledError:
                return TaskResult("lost", "the scheduler forgot it")
            except Exception as error:  # KilledWorker
                return TaskResult("lost", str(error))
