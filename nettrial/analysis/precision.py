"""Which treatments did not reach the precision that a study declares for a response."""

from __future__ import annotations

from dataclasses import dataclass

from nettrial.analysis.summary import Levels, ResponseSummary, Summary
from nettrial.study import Response


@dataclass(frozen=True)
class Shortfall:
    """A treatment whose mean is not as tight as the study wants it."""

    treatment: Levels
    reached: float | None
    """Half of the interval of the mean, in percent of the mean; None without an interval or
    of a mean of 0."""


@dataclass(frozen=True)
class Precision:
    """How a response stands to its declared precision."""

    response: Response
    wanted: float
    """Half of the 95% interval of each treatment's mean at most, in percent of the mean."""
    shortfalls: tuple[Shortfall, ...]
    """The treatments that did not get there, in the order of treatments."""
    treatments: int
    """How many there are."""

    @property
    def reached(self) -> bool:
        """Whether every treatment got there."""
        return not self.shortfalls


def precision(summary: ResponseSummary, wanted: float | None = None) -> Precision | None:
    """How a response stands to `wanted` percent, or else to what the study declares; None where it declares
    nothing."""
    wanted = summary.response.precision if wanted is None else wanted
    if wanted is None:
        return None
    short = [
        Shortfall(cell.treatment, cell.precision)
        for cell in summary.cells
        if cell.precision is None or cell.precision > wanted
    ]
    return Precision(summary.response, wanted, tuple(short), len(summary.cells))


def precisions(summary: Summary) -> tuple[Precision, ...]:
    """How each response with a declared precision stands to it."""
    return tuple(found for response in summary.responses if (found := precision(response)) is not None)
