"""The warnings and failures of a run, those that say the same put together."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from nettrial.analysis.summary import Levels
from nettrial.analysis.warning_effects import Effect, effect_of
from nettrial.design import PlannedTrial
from nettrial.scenario import Warning
from nettrial.store import Failure, Run

_NUMBER = re.compile(r"\d+(?:\.\d+)?")


@dataclass(frozen=True)
class WarningGroup:
    """Warnings of one kind, about one object or several whose names differ in numbers only, as do the
    messages."""

    code: str
    object: str
    """The objects of the warnings; of more than a few their names with ranges, and their number."""
    message: str
    """The observation; a number that differs between trials is given as its range."""
    consequence: str
    trials: int
    """The number of trials that carry it."""
    treatments: tuple[Levels, ...]
    """The treatments of those trials, each once."""
    responses: tuple[str, ...] = ()
    """The names of the responses that it is about; empty: all of a treatment's."""

    @property
    def effect(self) -> Effect:
        """The harm that it can do to the answer."""
        return effect_of(self.code)


@dataclass(frozen=True)
class FailureGroup:
    """Trials that failed with messages that differ in numbers only."""

    message: str
    """The fault; a number that differs between trials is given as its range."""
    trials: tuple[int, ...]
    """The trials' numbers in the run's order."""


def failures(run: Run) -> list[FailureGroup]:
    """The trials that gave no record, grouped; in the order of each group's first."""
    groups: dict[str, list[Failure]] = {}
    for failure in run.failures():
        groups.setdefault(pattern(failure.message), []).append(failure)
    return [
        FailureGroup(merge([f.message for f in group]), tuple(f.planned.number for f in group))
        for group in groups.values()
    ]


def warnings(run: Run) -> list[WarningGroup]:
    """The warnings of all finished trials, grouped; the most frequent first."""
    groups: dict[tuple[str, ...], list[tuple[Warning, PlannedTrial]]] = {}
    for trial in run.trials():
        for warning in trial.record.warnings:
            alike = (warning.code, pattern(warning.object), pattern(warning.message), warning.consequence)
            groups.setdefault(alike, []).append((warning, trial.planned))
    return sorted(map(_group, groups.values()), key=lambda group: -group.trials)


def _group(found: Sequence[tuple[Warning, PlannedTrial]]) -> WarningGroup:
    """Warnings that say the same, each with its trial, as one."""
    first, _ = found[0]
    trials = {planned.number: planned.treatment for _, planned in found}
    treatments: list[Levels] = []
    for treatment in trials.values():
        if treatment not in treatments:
            treatments.append(treatment)
    objects = {warning.object for warning, _ in found}
    message = merge([warning.message for warning, _ in found])
    return WarningGroup(
        first.code, _named(objects), message, first.consequence, len(trials), tuple(treatments)
    )


FEW = 3
"""So many objects are named one by one."""


def _named(objects: set[str]) -> str:
    """Objects whose names differ in numbers only, as one text."""
    listed = sorted(objects, key=lambda name: [float(number) for number in _NUMBER.findall(name)])
    return ", ".join(listed) if len(listed) <= FEW else f"{merge(listed)} ({len(listed)} of them)"


def pattern(message: str) -> str:
    """Returns what messages that differ in numbers only have in common."""
    return _NUMBER.sub("#", message)


def merge(messages: list[str]) -> str:
    """Messages that differ in numbers only, as one with ranges."""
    columns = zip(*(_NUMBER.findall(message) for message in messages), strict=True)
    merged = []
    for numbers in columns:
        low, high = min(numbers, key=float), max(numbers, key=float)
        merged.append(low if low == high else f"{low} to {high}")
    parts = iter(merged)
    return _NUMBER.sub(lambda _: next(parts), messages[0])
