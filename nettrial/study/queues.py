"""The disciplines of a link's transmit queue, as a study file writes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from nettrial.study.base import CoDel, DropTail, Mark, Red


def _long(value: Any) -> Any:
    return {"discipline": value} if isinstance(value, str) else value


DisciplineSettings = Annotated[
    Annotated[DropTail | Mark | Red | CoDel, Field(discriminator="discipline")],
    BeforeValidator(_long),
]
"""A discipline; its name alone stands for it with what it has where nothing is said."""
DROP_TAIL = DropTail(discipline="drop_tail")
SHORT = (
    DROP_TAIL.model_dump(),
    CoDel(discipline="co_del").model_dump(),
)
"""Disciplines that their names tell in full."""


def short(value: Any) -> Any:
    """A discipline of plain data as its name where that is enough; all else as it is."""
    return value["discipline"] if isinstance(value, Mapping) and value in SHORT else value
