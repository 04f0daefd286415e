"""What a link's transmit queue does before it is full, as a study file writes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from nettrial.study import base
from nettrial.study.base import DropTail, Mark
from nettrial.units import Duration

Share = Annotated[float, Field(ge=0, le=1)]
"""A probability or a weight, from 0 to 1."""


class RedSettings(base.Red):
    """Random early detection, gentle (Floyd and Jacobson 1993): the probability of a drop rises with the
    average queue."""

    probability: Share = 0.1
    weight: Share = 0.002


class CoDelSettings(base.CoDel):
    """Controlled delay (RFC 8289): packets are dropped at the queue's head while their delay stays above the
    target."""

    target: Duration = "5 ms"
    interval: Duration = "100 ms"


def _long(value: Any) -> Any:
    return {"discipline": value} if isinstance(value, str) else value


DisciplineSettings = Annotated[
    Annotated[DropTail | Mark | RedSettings | CoDelSettings, Field(discriminator="discipline")],
    BeforeValidator(_long),
]
"""A discipline; its name alone stands for it with what it has where nothing is said."""
DROP_TAIL = DropTail(discipline="drop_tail")
SHORT = (
    DROP_TAIL.model_dump(),
    CoDelSettings(discipline="co_del").model_dump(),
)
"""Disciplines that their names tell in full."""


def short(value: Any) -> Any:
    """A discipline of plain data as its name where that is enough; all else as it is."""
    return value["discipline"] if isinstance(value, Mapping) and value in SHORT else value
