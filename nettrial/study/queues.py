"""What a link's transmit queue does before it is full, as a study file writes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from nettrial.fields import Strict
from nettrial.units import Duration, Queue, Size

Share = Annotated[float, Field(ge=0, le=1)]
"""A probability or a weight, from 0 to 1."""


class DropTailSettings(Strict):
    """The limit alone drops."""

    discipline: Literal["drop_tail"]
    """Says which discipline it is."""


class MarkSettings(Strict):
    """Packets that arrive at a queue longer than the threshold are marked (RFC 8257 section 3.1); those that
    can't bear a mark pass."""

    discipline: Literal["mark"]
    """Says which discipline it is."""
    threshold: Queue
    """The queue above which packets are marked."""


class RedSettings(Strict):
    """Random early detection, gentle (Floyd and Jacobson 1993): the probability of a drop rises with the
    average queue."""

    discipline: Literal["red"]
    """Says which discipline it is."""
    minimum: Size
    """The average queue above which packets are dropped at random."""
    maximum: Size
    """The average queue at which the probability is `probability`; up to twice as much it rises to 1."""
    probability: Share = 0.1
    """The probability at `maximum`."""
    weight: Share = 0.002
    """The weight of a new queue length in the average."""
    ecn: bool = False
    """Whether packets that can bear a mark are marked instead."""


class CoDelSettings(Strict):
    """Controlled delay (RFC 8289): packets are dropped at the queue's head while their delay stays above the
    target."""

    discipline: Literal["co_del"]
    """Says which discipline it is."""
    target: Duration = "5 ms"
    """The delay that may persist."""
    interval: Duration = "100 ms"
    """How long it may."""
    ecn: bool = False
    """Whether packets that can bear a mark are marked instead."""


def _long(value: Any) -> Any:
    return {"discipline": value} if isinstance(value, str) else value


DisciplineSettings = Annotated[
    Annotated[
        DropTailSettings | MarkSettings | RedSettings | CoDelSettings, Field(discriminator="discipline")
    ],
    BeforeValidator(_long),
]
"""A discipline; its name alone stands for it with what it has where nothing is said."""
DROP_TAIL = DropTailSettings(discipline="drop_tail")
SHORT = (
    DROP_TAIL.model_dump(),
    CoDelSettings(discipline="co_del").model_dump(),
)
"""Disciplines that their names tell in full."""


def short(value: Any) -> Any:
    """A discipline of plain data as its name where that is enough; all else as it is."""
    return value["discipline"] if isinstance(value, Mapping) and value in SHORT else value
