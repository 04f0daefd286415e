"""The levels of a source, and what they mean here: levels of the study's factors, and systems that hosts
report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic_core import PydanticCustomError

from nettrial.fields import wrong
from nettrial.registry import near
from nettrial.stacks import STACKS
from nettrial.study.system_names import FAMILIES, family

if TYPE_CHECKING:
    from nettrial.study.model import Study


@dataclass(frozen=True)
class Meaning:
    """The meaning of a source's level of a factor; without either, nothing here corresponds to it."""

    own: str | None
    """The level of the study's factor."""
    system: str | None
    """The system that the factor's hosts must report, where they report one."""


def meaning(study: Study, factor: str, level: str) -> Meaning:
    """Returns the meaning of a level that the source, or a conclusion, names of a factor."""
    published = study.published
    mapped = published.levels.get(factor, {}).get(level, level) if published else level
    if not is_system(study, factor, mapped):
        system = level if mapped != level and is_system(study, factor, level) else None
        return Meaning(mapped if mapped in study.factors[factor].levels else None, system)
    return Meaning(None, mapped)


def levels_in_words(study: Study, levels: Mapping[str, str]) -> str:
    """Returns levels with the titles of their factors: those of the study where it has a level of its own."""
    own = {name: meaning(study, name, level).own or level for name, level in levels.items()}
    return ", ".join(f"{study.factors[name].title} {level}" for name, level in own.items())


def is_system(study: Study, factor: str, level: str) -> bool:
    """Returns true if a level is no level of the factor, but names a system that its hosts may report."""
    if study.published is None or factor not in study.published.systems or family(level) is None:
        return False
    known = study.factors[factor]
    if level in known.levels or not isinstance(known.sets, str):
        return level not in (*known.levels, *known.sets)
    # `linux-cubic` is a stack that this run lacks; any other name may be a machine's or a system's.
    return not known.sets.endswith(".stack") or level not in (*STACKS, *study.stacks)


def checked(study: Study, factor: str, level: str, at: tuple[str | int, ...]) -> str:
    """Returns a level that the study names of a factor in canonical form; a system's name stays. Raises
    pydantic's error for what is neither."""
    if is_system(study, factor, level):
        return level
    try:
        return study.checked_level(factor, level, at)
    except PydanticCustomError:
        if study.published is None or factor not in study.published.systems:
            raise
        levels = study.factors[factor].levels
        families = ", ".join(FAMILIES)
        expected = f"{', '.join(levels)}; or a system, such as ubuntu-14.04 or windows, of {families}"
        hint = near(level, [*levels, *FAMILIES]) or "no host reports such a name"
        raise wrong(at, level, expected, hint) from None
