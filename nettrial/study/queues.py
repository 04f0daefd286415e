"""The disciplines of a link's transmit queue, in the notation of study files."""

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
"""A discipline; a bare name stands for the discipline with its default settings."""
DROP_TAIL = DropTail(discipline="drop_tail")
"""The discipline of a plain queue, which drops arriving packets while it is full."""
SHORT = (
    DROP_TAIL.model_dump(),
    CoDel(discipline="co_del").model_dump(),
)
"""Disciplines without settings, which their names describe completely."""


def short(value: Any) -> Any:
    """Converts a discipline in plain data into its name, if that is sufficient; returns other values
    unchanged."""
    return value["discipline"] if isinstance(value, Mapping) and value in SHORT else value
