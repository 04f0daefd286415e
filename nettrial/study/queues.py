"""The disciplines of a link's transmit queue, in the notation of study files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from nettrial.study.base import Cake, CoDel, DropTail, Fq, FqCodel, FqPie, Mark, Pie, Red


def _long(value: Any) -> Any:
    return {"discipline": value} if isinstance(value, str) else value


DisciplineSettings = Annotated[
    Annotated[
        DropTail | Mark | Red | CoDel | Fq | FqCodel | Cake | Pie | FqPie, Field(discriminator="discipline")
    ],
    BeforeValidator(_long),
]
"""A discipline; a bare name stands for the discipline with its default settings."""
DROP_TAIL = DropTail(discipline="drop_tail")
"""The discipline of a plain queue, which drops arriving packets while it is full."""
SHORT = (
    DROP_TAIL.model_dump(),
    CoDel(discipline="codel").model_dump(),
    Fq(discipline="fq").model_dump(),
    FqCodel(discipline="fq_codel").model_dump(),
    Cake(discipline="cake").model_dump(),
    Pie(discipline="pie").model_dump(),
    FqPie(discipline="fq_pie").model_dump(),
)
"""Disciplines without settings, which their names describe completely."""


def short(value: Any) -> Any:
    """Converts a discipline in plain data into its name, if that is sufficient; returns other values
    unchanged."""
    return value["discipline"] if isinstance(value, Mapping) and value in SHORT else value
