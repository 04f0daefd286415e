"""A measurement of any kind, and its repeats."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Generic, Self, TypeAlias, TypeVar

from nettrial.analysis import Cell, cell_of
from nettrial.errors import CannotRun, TrialsFailed
from nettrial.measuring.options import MeasureOptions
from nettrial.protocols.figures import ProtocolOutcome
from nettrial.running.stop import Stop
from nettrial.store.directory import refuse_existing

KEEPING = "keeping the measurement"
"""The current action, for error messages."""
R = TypeVar("R")
"""The result of a repeat."""


class RepeatFailed(Exception):
    """The error of a repeat that gave no result; the text is the reason."""

    def __init__(self, why: str, kind: str) -> None:
        """Creates the error with the reason for people, and its kind for programs: one of the engine's
        (`nettrial.scenario.FailureKind`), or of the protocol's client."""
        super().__init__(why)
        self.kind = kind


class Abandoned(Exception):
    """The end of a repeat that was killed."""


@dataclass(frozen=True)
class RepeatedMetric:
    """A metric over the repeats."""

    direction: str
    """The direction, such as `download`; empty where a kind has none."""
    metric: str
    """The metric's name."""
    title: str
    """The metric in words."""
    unit: str
    """The unit of the values."""
    cell: Cell
    """The values over the repeats: their number, mean, median and intervals."""


def metrics_of(outcomes: Sequence[ProtocolOutcome]) -> list[RepeatedMetric]:
    """Returns the metrics over the outcomes of repeats that gave a value."""
    kinds = {(each.direction, each.metric): each for outcome in outcomes for each in outcome.figures}
    metrics = []
    for kind, first in kinds.items():
        values = {
            number: each.value
            for number, outcome in enumerate(outcomes, start=1)
            for each in outcome.figures
            if (each.direction, each.metric) == kind and not isinstance(each.value, str)
        }
        if values:
            cell = cell_of({}, values, {number: number for number in values}, {})
            metrics.append(RepeatedMetric(*kind, first.title, first.unit, cell))
    return metrics


class Measurement(ABC, Generic[R]):
    """A measurement whose options have been checked."""

    takes: ClassVar[frozenset[str]]
    """The options of this kind beside those of all kinds, by their names in `MeasureOptions`."""
    warms_up: ClassVar[bool] = False
    """True if a warm-up precedes the repeats: a server that can't be used is then known before them."""

    def __init__(self, options: MeasureOptions, server: str, version: int, seconds: float) -> None:
        """Takes the options, the server's address with its port, the IP version, and the expected duration of
        a repeat in seconds."""
        self.options, self.server, self.version, self.seconds = options, server, version, seconds

    @property
    def count(self) -> int:
        """Returns the number of measurements."""
        return self.options.replicates

    @property
    @abstractmethod
    def words(self) -> str:
        """Returns the measurement in words."""

    @property
    @abstractmethod
    def announcement(self) -> str:
        """Returns a line about what will be measured."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Does nothing."""

    def warm_up(self) -> None:
        """Measures once, and discards the result; raises BadInput and CannotRun."""

    @abstractmethod
    def once(self, number: int) -> R:
        """Measures once; raises RepeatFailed, CannotRun, and Abandoned after `kill`."""

    @abstractmethod
    def kill(self) -> None:
        """Ends a running repeat. May be called in a signal handler."""

    @abstractmethod
    def cannot(self, why: str, kind: str) -> CannotRun:
        """Returns the error if the server can't be used for that reason, with the remedy for its kind."""

    @abstractmethod
    def metrics(self, results: Sequence[R]) -> list[RepeatedMetric]:
        """Returns the metrics over the repeats, as far as repeats gave values."""

    @abstractmethod
    def warnings(self, measured: R) -> int:
        """Returns the number of warnings of a repeat."""

    @abstractmethod
    def store(self, directory: Path, results: Sequence[R]) -> None:
        """Stores repeats as a run in a new directory. Raises BadInput and CannotRun."""


@dataclass(frozen=True)
class RepeatFinished:
    """A repeat has ended."""

    number: int
    """The number of the repeat, from 1."""
    warnings: int = 0
    """The number of its warnings."""
    failure: str | None = None
    """The reason why it gave no result; None if it gave one."""

    def __str__(self) -> str:
        return f"repeat {self.number}: {self.failure or 'finished'}"


Listener: TypeAlias = Callable[[RepeatFinished], object]
"""A function that is called after each repeat."""


@dataclass
class Repeats(Generic[R]):
    """The repeats of a measurement."""

    results: list[R] = field(default_factory=list)
    """The results of those that succeeded."""
    failures: list[str] = field(default_factory=list)
    """The reasons of those that failed."""

    def refuse_failures(self) -> None:
        """Raises TrialsFailed if a repeat failed."""
        if self.failures:
            count = len(self.results) + len(self.failures)
            raise TrialsFailed(f"{len(self.failures)} of {count} repeats failed")


def refuse_directory(directory: Path | None) -> None:
    """Raises BadInput if the directory for the run of a measurement exists."""
    if directory is not None:
        refuse_existing(directory, KEEPING, hint="choose another directory for each measurement")


def repeat(measurement: Measurement[R], listener: Listener, stop: Stop) -> Repeats[R]:
    """Measures as many times as the options say, until a request to `stop`. The failure of a first repeat
    that no warm-up preceded is raised as CannotRun; others are kept."""
    repeats: Repeats[R] = Repeats()
    for number in range(1, measurement.count + 1):
        if stop.wanted:
            break
        try:
            measured = measurement.once(number)
        except Abandoned:
            break
        except (RepeatFailed, CannotRun) as error:
            if stop.at_once:
                break
            if number == 1 and not measurement.warms_up:
                kind = error.kind if isinstance(error, RepeatFailed) else "other"
                raise measurement.cannot(str(error), kind) from None
            event = RepeatFinished(number, failure=str(error))
            repeats.failures.append(str(event))
        else:
            repeats.results.append(measured)
            event = RepeatFinished(number, measurement.warnings(measured))
        listener(event)
    return repeats
