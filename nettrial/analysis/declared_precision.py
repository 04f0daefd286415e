"""The precision that a study declares for a response, and the treatments that did not reach it."""

from __future__ import annotations

from dataclasses import dataclass

from nettrial.analysis.summary import Levels, ResponseSummary, Summary
from nettrial.study import Response


@dataclass(frozen=True)
class ImpreciseMean:
    """A treatment whose mean is less precise than desired."""

    treatment: Levels
    """The level of each factor."""
    reached: float | None
    """The half-width of the interval of the mean, in percent of the mean; None without an interval, or for a
    mean of 0."""


@dataclass(frozen=True)
class Precision:
    """The precision of a response compared with the declared one."""

    response: Response
    """The response that declares a precision."""
    wanted: float
    """The largest desired half-width of the 95% interval of each treatment's mean, in percent of the mean."""
    shortfalls: tuple[ImpreciseMean, ...]
    """The treatments that did not reach it, in the order of treatments."""
    treatments: int
    """The number of treatments."""

    @property
    def reached(self) -> bool:
        """Returns whether every treatment reached the desired precision."""
        return not self.shortfalls


def precision(summary: ResponseSummary, wanted: float | None = None) -> Precision | None:
    """Returns the precision of a response compared with `wanted` percent or, by default, with the study's
    declaration; None if the study declares nothing."""
    wanted = summary.response.precision if wanted is None else wanted
    if wanted is None:
        return None
    short = [
        ImpreciseMean(cell.treatment, cell.precision)
        for cell in summary.cells
        if cell.precision is None or cell.precision > wanted
    ]
    return Precision(summary.response, wanted, tuple(short), len(summary.cells))


def precisions(summary: Summary) -> tuple[Precision, ...]:
    """Returns the precision of each response that declares one."""
    return tuple(declared for response in summary.responses if (declared := precision(response)) is not None)
