"""Documents in less memory."""

from __future__ import annotations

from typing import TypeVar

from pydantic import BaseModel

Document = TypeVar("Document", bound=BaseModel)
_SHARED: dict[frozenset[str], set[str]] = {}


def lean(document: Document) -> Document:
    """The document, its parts sharing what pydantic notes of each: the set of the fields that were given,
    which takes more memory than most parts' values.

    Parts that were given the same fields have one set together, so what is set in one of them later can't be
    told by `model_fields_set`.
    """
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
