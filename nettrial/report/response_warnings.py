"""The warnings that concern a response and the treatments that have them, in words for the response's section
of a report."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from nettrial.analysis import HarmOfWarnings, WarningGroup
from nettrial.analysis.summary import Levels
from nettrial.report import numbers
from nettrial.study import Response, Study

HARM = {
    HarmOfWarnings.BIAS: "may bias the answer",
    HarmOfWarnings.NARROWER: "may make intervals too narrow",
    HarmOfWarnings.WIDER: "may widen intervals",
    HarmOfWarnings.NOTHING: "changes nothing",
}
"""The effect of a warning on the answer, in words, the gravest first."""
_OF_SEVERAL = {**HARM, HarmOfWarnings.NOTHING: "change nothing"}


def summary(groups: Sequence[WarningGroup]) -> str:
    """Returns the effect of all warnings in one line: "2 warnings may bias the answer, 3 may widen
    intervals"; empty if there are none."""
    counts = {effect: sum(group.effect is effect for group in groups) for effect in HARM}
    parts: list[str] = []
    for effect, count in counts.items():
        if count:
            noun = "" if parts else f" {'warning' if count == 1 else 'warnings'}"
            parts.append(f"{count}{noun} {HARM[effect] if count == 1 else _OF_SEVERAL[effect]}")
    return ", ".join(parts)


def in_one_line(groups: Sequence[WarningGroup], warned: int, trials: int) -> str:
    """Returns the effect of all warnings in one line, and the number of the `warned` trials if there are any:
    warnings that follow from the values of all trials belong to none of them. Empty without warnings."""
    harm = summary(groups)
    return f"warnings in {warned} of {numbers.counted(trials, 'trial')}: {harm}" if warned else harm


@dataclass(frozen=True)
class Caution:
    """A warning as a response's section shows it."""

    number: int
    """The number of the warning in the report, from 1."""
    group: WarningGroup
    """The warning."""
    where: str
    """The treatments that have the warning, in words."""


def cautions(
    study: Study, response: Response, groups: Sequence[WarningGroup], hosts: Collection[str]
) -> list[Caution]:
    """Returns the warnings that concern a response; `hosts` are the measured ones."""
    return [
        Caution(number, group, where(study, group.treatments))
        for number, group in enumerate(groups, start=1)
        if group.concerns(response, hosts)
    ]


def where(study: Study, treatments: Sequence[Levels]) -> str:
    """Returns treatments in words, by the levels that distinguish them from others: "MTU 1500 B, Sender
    classic"."""
    levels_of = {
        name: [level for level in factor.levels if any(each[name] == level for each in treatments)]
        for name, factor in study.factors.items()
    }
    total = math.prod(len(factor.levels) for factor in study.factors.values())
    if len(treatments) >= total:
        return "every treatment"
    if math.prod(len(levels) for levels in levels_of.values()) != len(treatments):
        return f"{len(treatments)} of {total} treatments"
    parts = [
        f"{study.factors[name].title} {' or '.join(levels)}"
        for name, levels in levels_of.items()
        if len(levels) < len(study.factors[name].levels)
    ]
    return ", ".join(parts)
