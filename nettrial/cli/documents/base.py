"""The parts that documents have in common, and printing them."""

from __future__ import annotations

from typing import Annotated, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field

import nettrial
from nettrial.analysis.outcomes import Outcome

Levels = dict[str, str]
"""The level of each factor, by the factor's name."""

Bounds = Annotated[list[float], Field(min_length=2, max_length=2)]
"""The ends of an interval: the lower, then the upper."""

Shown = Literal["higher", "lower", "none"]
"""The direction of a change that is shown."""

Verdict = Literal["better", "worse", "small", "mixed", "none"]
"""The merit of a change: `small` if it is known to be smaller than the response's smallest effect of
interest, `mixed` if it is an average of opposite changes."""


class Part(BaseModel):
    """A part of a document."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True, populate_by_name=True)


class Detectable(Part):
    """The change that a run could have shown."""

    percent: float
    """The smallest change in percent that is shown with a probability of 80%."""
    wanted: float
    """A smaller change in percent."""
    more_blocks: int | None
    """The number of further blocks that would show it; null for more than 1000, and for changes between two
    runs."""


class Condition(Part):
    """A condition of `nettrial run --fail-if` under one treatment."""

    condition: str
    """The condition."""
    treatment: Levels
    """The level of each factor."""
    mean: float | None
    """The mean that it judges, in the response's unit; null without a value."""
    interval: Bounds | None
    """The confidence interval of the mean, which holds together at 95% with those of all other conditions;
    null if there is none."""
    holds: bool | None
    """True if the whole interval is beyond the limit, false if no part of it is; null if the interval has
    values on both sides of the limit, or if there is none."""
    reason: str | None
    """The reason why `holds` is null."""


class JsonDocument(Part):
    """A whole document."""

    format: Literal[1] = 1
    """The version of the document's form."""
    nettrial: str = nettrial.__version__
    """The version of nettrial that wrote it."""


HOLDS = {Outcome.HOLDS: True, Outcome.DOES_NOT_HOLD: False, Outcome.UNKNOWN: None}
"""The value of `holds` for each outcome."""


def show(document: JsonDocument) -> None:
    """Prints a document on standard output."""
    print(document.model_dump_json(indent=2, by_alias=True))


class _Interval(Protocol):
    @property
    def low(self) -> float: ...
    @property
    def high(self) -> float: ...


def bounds(interval: _Interval | None) -> list[float] | None:
    """Returns the lower and the upper end of an interval."""
    return None if interval is None else [interval.low, interval.high]


def direction(shown: int) -> Shown:
    """Returns the direction of a change from its sign."""
    return "none" if shown == 0 else "higher" if shown > 0 else "lower"
