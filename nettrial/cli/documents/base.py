"""The parts that documents have in common, and printing them."""

from __future__ import annotations

from typing import Annotated, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field

import nettrial

Levels = dict[str, str]
"""The level of each factor, by the factor's name."""

Bounds = Annotated[list[float], Field(min_length=2, max_length=2)]
"""The ends of an interval: the lower, then the upper."""

Shown = Literal["higher", "lower", "none"]
"""The direction of a change that is shown."""

Verdict = Literal["better", "worse", "none"]
"""The direction of a change that is shown, as better or worse."""


class Part(BaseModel):
    """A part of a document."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True, populate_by_name=True)


class JsonDocument(Part):
    """A whole document."""

    format: Literal[1] = 1
    """The version of the document's form."""
    nettrial: str = nettrial.__version__
    """The version of nettrial that wrote it."""


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


def judged(shown: int, better: str) -> tuple[Shown, Verdict]:
    """Returns the direction of a change from its sign, and its verdict if the direction `better` is
    better."""
    if shown == 0:
        return "none", "none"
    direction: Shown = "higher" if shown > 0 else "lower"
    return direction, "better" if direction == better else "worse"
