"""Models with a smaller memory footprint."""

from __future__ import annotations

from typing import TypeVar

from pydantic import BaseModel

Model = TypeVar("Model", bound=BaseModel)
_SHARED: dict[frozenset[str], set[str]] = {}


def lean(document: Model) -> Model:
    """Returns the document with shared field sets: pydantic stores for each part the set of the fields that
    were given, which takes more memory than most parts' values. Parts with the same given fields share one
    set, so `model_fields_set` does not reflect later assignments."""
    parts: list[BaseModel] = [document]
    while parts:
        part = parts.pop()
        given = part.model_fields_set
        shared = _SHARED.setdefault(frozenset(given), given)
        object.__setattr__(part, "__pydantic_fields_set__", shared)
        for value in part.__dict__.values():
            if isinstance(value, list):
                if value and isinstance(value[0], BaseModel):
                    parts += value
            elif isinstance(value, BaseModel):
                parts.append(value)
    return document
