"""A trial as a task: the data that a runner sends to a worker, and the answer. Both are plain data, so that
only this module has to be the same at both ends before they have compared their versions."""

from __future__ import annotations

import zlib
from functools import cache, lru_cache
from typing import Literal, NamedTuple, TypeAlias

import nettrial
from nettrial.backends import TrialFailed, station
from nettrial.backends.backend import TrialInterrupted
from nettrial.backends.engine import EngineLost
from nettrial.design import resolve
from nettrial.errors import NettrialError
from nettrial.running.trial_result import TrialResult
from nettrial.scenario import Request
from nettrial.study import Study

Kind: TypeAlias = Literal["finished", "failed", "lost", "ended", "refused"]
"""The outcome of a task: a record; a failure that would recur; a failure that may not recur; not begun,
because the session has ended; not begun, because the worker has another build."""


class TrialTask(NamedTuple):
    """A trial to run."""

    session: str
    """The identifier of the runner's session."""
    build: station.Build
    """The runner's build."""
    study: bytes
    """The study as JSON, compressed."""
    seed: int
    """The run's seed."""
    number: int
    """The trial's number in the run's order."""
    block: int
    """The trial's block."""
    treatment: dict[str, str]
    """The level of each factor."""


class TaskResult(NamedTuple):
    """The outcome of a trial."""

    kind: Kind
    """The kind of outcome."""
    text: str = ""
    """The reason, if there is no record; the event that answers a request."""
    worker: str = ""
    """The worker's address."""
    trial: TrialResult | None = None
    """The scenario and the record; None without one."""


def packed(study: Study) -> bytes:
    """Returns a study in the form used in tasks."""
    return zlib.compress(study.model_dump_json(by_alias=True, exclude_none=True).encode())


@lru_cache(maxsize=4)
def _study(text: bytes) -> Study:
    return Study.model_validate_json(zlib.decompress(text))


@cache
def _build() -> station.Build:
    return station.build()


class RequestTask(NamedTuple):
    """A request to the engine that drives a set of machines."""

    session: str
    """The identifier of the runner's session."""
    build: station.Build
    """The runner's build."""
    arguments: tuple[str, ...]
    """The engine's arguments, the subcommand first."""
    request: str
    """The request as JSON."""
    timeout: float | None
    """The time limit of the answer in seconds; None without one."""


def version() -> str:
    """Returns the version of nettrial in this process."""
    return nettrial.__version__


def attempt(task: TrialTask) -> TaskResult:
    """Runs a trial in this process, which is a worker."""
    result = _attempt(task)
    from distributed import get_worker  # imported here: a runner without Dask imports this module, too

    return result._replace(worker=get_worker().address)


def ask(task: RequestTask) -> TaskResult:
    """Has an engine of this process, which is a worker, answer a request; the text of the answer is the event
    as JSON."""
    result = _ask(task)
    from distributed import get_worker  # as above

    return result._replace(worker=get_worker().address)


def _ask(task: RequestTask) -> TaskResult:
    try:
        differs = task.build.differs(_build())
        if differs:
            return TaskResult("refused", differs)
        request = Request.model_validate_json(task.request)
        event = station.exchange(task.session, task.arguments, request, task.timeout)
    except station.EngineStopped:
        return TaskResult("ended")
    except (EngineLost, NettrialError) as failed:
        return TaskResult("failed", str(failed))
    return TaskResult("finished", event.model_dump_json(by_alias=True, exclude_none=True))


def _attempt(task: TrialTask) -> TaskResult:
    try:
        differs = task.build.differs(_build())
        if differs:
            return TaskResult("refused", differs)
        study = _study(task.study)
        scenario = resolve(study, task.treatment, task.block, task.seed).scenario
        record = station.run(task.session, study.backend, str(task.number), scenario)
    except station.EngineStopped:
        return TaskResult("ended")
    except TrialInterrupted as lost:
        return TaskResult("lost", str(lost))
    except (TrialFailed, NettrialError) as failed:
        return TaskResult("failed", str(failed))
    return TaskResult("finished", trial=TrialResult.of(scenario, record))
