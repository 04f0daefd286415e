"""Repeated measurements with other programs: running them, and showing their figures."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from nettrial.analysis import Cell, cell_of
from nettrial.cli import READING, documents
from nettrial.cli.console import print_lists, print_table
from nettrial.cli.progress import Display
from nettrial.cli.run import INTERRUPTED
from nettrial.cli.signals import Signals
from nettrial.errors import BadInput, TrialsFailed
from nettrial.protocols.figures import Figure, Outcome
from nettrial.report import numbers
from nettrial.running.stop import Stop

if TYPE_CHECKING:
    from nettrial.imports.figures import Source


class Made(Protocol):
    """A repeat that was made."""

    @property
    def outcome(self) -> Outcome:
        """Its figures and warnings."""


T = TypeVar("T", bound=Made)
"""A kind of finished test."""


def refuse(protocol: str, given: dict[str, object]) -> None:
    """Raises BadInput for the first option that was given (has a true value) and does not belong to a
    protocol."""
    for option, value in given.items():
        if value:
            shown = "" if value is True else str(value)
            raise BadInput(READING, option, shown, f"no {option} with {protocol}")


@dataclass
class Repeats(Generic[T]):
    """The repeats of a measurement."""

    made: list[T] = field(default_factory=list)
    """The repeats that succeeded."""
    failed: list[str] = field(default_factory=list)
    """The reasons of those that failed."""
    stopped: bool = False
    """True if the user ended the measurement."""

    def check(self) -> None:
        """Raises TrialsFailed if a repeat failed."""
        if self.failed:
            raise TrialsFailed(f"{len(self.failed)} of {len(self.made) + len(self.failed)} repeats failed")


def repeat(
    count: int,
    seconds: float,
    quiet: bool,
    once: Callable[[], T],
    failure: type[Exception] | tuple[type[Exception], ...],
    kill: Callable[[], None],
) -> Repeats[T]:
    """Calls `once` that many times, and shows the progress; each call takes about `seconds`.

    A `failure` of the first call is raised; later ones are kept. `kill` ends a running call."""
    found: Repeats[T] = Repeats()
    with (
        Signals(Stop(kill), unit="repeat") as stop,
        Display(0, count, count * seconds, quiet=quiet, unit="repeats") as display,
    ):
        for number in range(1, count + 1):
            if stop.wanted:
                break
            try:
                made = once()
            except asyncio.CancelledError:
                break
            except failure as error:
                if stop.at_once:
                    break
                if number == 1:
                    raise
                found.failed.append(f"repeat {number}: {error}")
                display.failed(found.failed[-1])
            else:
                found.made.append(made)
                display.finished(len(made.outcome.warnings))
        found.stopped = stop.wanted
    return found


def finish(
    found: Repeats[T],
    words: str,
    heading: str,
    document: Callable[[Sequence[T], Sequence[Outcome]], documents.Document] | None,
    out: Path | None,
    parts: Callable[[T], Sequence[Source]],
) -> int:
    """Prints the repeats as a `document`, or else as tables under a heading, and returns the exit status;
    raises TrialsFailed if a repeat failed.

    With `out`, the repeats are stored as a run in that directory; `parts` returns those of a repeat, and
    `words` describes the measurement."""
    if found.made:
        outcomes = [made.outcome for made in found.made]
        if out:
            from nettrial.cli.peer_runs import store  # imported only when needed: studies are slow to load

            store(out, words, [parts(made) for made in found.made])
        if document:
            documents.show(document(found.made, outcomes))
        else:
            show(heading, outcomes)
    found.check()
    return INTERRUPTED if found.stopped else 0


def cells(outcomes: Sequence[Outcome]) -> list[tuple[Figure, Cell]]:
    """Returns the values of each metric that has one over the repeats, with its first figure."""
    kinds = {(each.direction, each.metric): each for outcome in outcomes for each in outcome.figures}
    found = []
    for kind, first in kinds.items():
        values = {
            number: each.value
            for number, outcome in enumerate(outcomes, start=1)
            for each in outcome.figures
            if (each.direction, each.metric) == kind and not isinstance(each.value, str)
        }
        if values:
            found.append((first, cell_of({}, values, {number: number for number in values}, {})))
    return found


def metrics(outcomes: Sequence[Outcome]) -> list[documents.DirectedMeasured]:
    """Returns the metrics over the repeats."""
    return [
        documents.DirectedMeasured(
            direction=figure.direction,
            metric=figure.metric,
            unit=figure.unit,
            repeats=cell.n,
            mean=cell.mean,
            median=cell.median,
            deviation=cell.deviation,
            interval=documents.bounds(cell.interval),
        )
        for figure, cell in cells(outcomes)
    ]


def absent(outcomes: Sequence[Outcome]) -> list[documents.AbsentMetric]:
    """Returns the metrics that some repeats did not give, with the reasons."""
    reasons = Counter(
        (each.direction, each.metric, each.value)
        for outcome in outcomes
        for each in outcome.figures
        if isinstance(each.value, str)
    )
    return [
        documents.AbsentMetric(direction=direction, metric=metric, reason=reason, repeats=repeats)
        for (direction, metric, reason), repeats in reasons.items()
    ]


def warnings(outcomes: Sequence[Outcome]) -> list[documents.Observed]:
    """Returns the warnings, with the number of repeats that have each."""
    counted = Counter(text for outcome in outcomes for text in dict.fromkeys(outcome.warnings))
    return [documents.Observed(message=text, repeats=repeats) for text, repeats in counted.items()]


def show(heading: str, outcomes: Sequence[Outcome]) -> None:
    """Prints a table of the metrics, the warnings, and the metrics that are absent."""
    print(f"{heading}\n")
    columns = ["metric", "mean ± half-width of its 95% interval", "median", "unit", "repeats"]
    print_table(columns, [_row(figure, cell) for figure, cell in cells(outcomes)])
    warned = [f"{one.message} ({numbers.counted(one.repeats, 'repeat')})" for one in warnings(outcomes)]
    titles = {(each.direction, each.metric): _title(each) for one in outcomes for each in one.figures}
    lacking = [
        f"{titles[one.direction, one.metric]}: {one.reason} ({numbers.counted(one.repeats, 'repeat')})"
        for one in absent(outcomes)
    ]
    print_lists({"Warnings": warned, "Not measured": lacking})


def _title(figure: Figure) -> str:
    return f"{figure.direction}: {figure.title}"


def _row(figure: Figure, cell: Cell) -> list[str]:
    """Returns a row of the table of metrics."""
    assert cell.median is not None
    median = numbers.fixed(cell.median, numbers.value_decimals([cell]))
    return [_title(figure), numbers.with_half_width(cell), median, figure.unit, str(cell.n)]
