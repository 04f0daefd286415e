"""Absolute limits of responses, and what a run shows of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from nettrial.analysis.intervals import Interval, quantile
from nettrial.analysis.outcomes import Outcome, above, below
from nettrial.analysis.summary import Cell
from nettrial.registry import near
from nettrial.study import Response, Study
from nettrial.units import DURATION, RATE, SIZE

LIMIT_EXPECTED = 'RESPONSE < VALUE or RESPONSE > VALUE with a unit, such as "rtt > 20 ms" or "loss > 0.5%"'
"""The expected form of a limit, for error messages."""
_LIMIT = re.compile(r"\s*(\S+?)\s*([<>])\s*([+-]?\d+(?:\.\d+)?)\s*(\S*)\s*")
_QUANTITIES = (DURATION, RATE, SIZE)


@dataclass(frozen=True)
class Limit:
    """An undesired value: RESPONSE < VALUE, or RESPONSE > VALUE."""

    response: Response
    """The response."""
    relation: Literal["<", ">"]
    """The direction: "<" for values below the limit, ">" for values above it."""
    value: float
    """The limit in the response's unit."""

    def __str__(self) -> str:
        space = "" if self.response.unit == "%" else " "
        return f"{self.response.name} {self.relation} {self.value:g}{space}{self.response.unit}"


class NoLimit(ValueError):
    """The error for a text that states no limit."""

    def __init__(self, expected: str, hint: str = "") -> None:
        """Creates the error; `hint` has the name that was probably meant."""
        super().__init__(expected)
        self.expected = expected
        self.hint = hint


@dataclass(frozen=True)
class LimitJudgement:
    """A limit under one treatment."""

    limit: Limit
    """The limit."""
    cell: Cell
    """The values under the treatment."""
    interval: Interval | None
    """The interval of the mean that holds together with those of all other judgements; None without one."""

    @property
    def outcome(self) -> Outcome:
        """Returns the outcome: the condition holds if the whole interval is beyond the limit, and does not
        hold if no part of it is."""
        beyond = below if self.limit.relation == "<" else above
        return beyond(self.interval, self.limit.value)

    @property
    def reason(self) -> str | None:
        """Returns the reason why the outcome can't be told; None if it can."""
        if self.outcome is not Outcome.UNKNOWN:
            return None
        if self.interval is not None:
            return "the interval has values on both sides of the limit"
        return "; ".join(self.cell.absent) or "there is no interval: too few trials, or all values are equal"


def limit(text: str, study: Study) -> Limit:
    """Returns the limit that a text states for one of the study's responses; raises NoLimit."""
    match = _LIMIT.fullmatch(text)
    if match is None:
        raise NoLimit(LIMIT_EXPECTED)
    name, relation, number, unit = match.groups()
    response = next((each for each in study.responses if each.name == name), None)
    if response is None:
        names = [each.name for each in study.responses]
        raise NoLimit(f"one of {', '.join(names)}", near(name, names))
    value = float(number)
    if unit != response.unit:
        scale = _scale(unit, response.unit)
        if scale is None:
            hint = "a change in percent is a condition of `nettrial compare`" if unit == "%" else ""
            hint = hint or ("" if unit else f"did you mean '{text.strip()} {response.unit}'?")
            raise NoLimit(f"a value in {response.unit}, the unit of {name}", hint)
        value *= scale
    return Limit(response, "<" if relation == "<" else ">", value)


def is_limit(text: str) -> bool:
    """Returns whether a text has the form of a limit with a unit, of whatever response."""
    match = _LIMIT.fullmatch(text)
    return match is not None and match[4] != "%"


def _scale(unit: str, other: str) -> float | None:
    """Returns the number by which values in a unit become values in another one; None if they measure
    different things."""
    for quantity in _QUANTITIES:
        units = {**quantity.units, **quantity.binary}
        if unit in units and other in units:
            return units[unit] / units[other]
    return None


class SummarisedResponse(Protocol):
    """A response with its values under each treatment, in a run or over sessions."""

    @property
    def response(self) -> Response:
        """The response."""

    @property
    def cells(self) -> tuple[Cell, ...]:
        """The values under each treatment."""


def judge(limits: Sequence[Limit], responses: Sequence[SummarisedResponse]) -> list[LimitJudgement]:
    """Returns the outcome of each limit under each treatment. The intervals hold together at 95%
    (Bonferroni)."""
    pairs = [
        (each, cell)
        for each in limits
        for summary in responses
        if summary.response.name == each.response.name
        for cell in summary.cells
    ]
    return [LimitJudgement(each, cell, _together(cell, len(pairs))) for each, cell in pairs]


def _together(cell: Cell, judgements: int) -> Interval | None:
    """Returns the interval of a cell's mean that holds together with those of the other judgements."""
    if cell.interval is None or cell.mean is None or cell.n < 2:
        return None
    wider = quantile(cell.n - 1, judgements) / quantile(cell.n - 1)
    return Interval(
        cell.mean - wider * (cell.mean - cell.interval.low),
        cell.mean + wider * (cell.interval.high - cell.mean),
    )
