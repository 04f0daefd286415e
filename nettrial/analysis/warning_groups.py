"""The warnings and failures of a run, with equal ones merged."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from nettrial.analysis.run_digest import digest
from nettrial.analysis.summary import Levels
from nettrial.analysis.warning_effects import HarmOfWarnings, effect_of
from nettrial.design import PlannedTrial
from nettrial.metrics import METRICS
from nettrial.scenario import Warning
from nettrial.store import Failure, Run
from nettrial.study import Response

_NUMBER = re.compile(r"\d+(?:\.\d+)?")


@dataclass(frozen=True)
class WarningGroup:
    """Warnings of one kind about one object, or about several whose names differ only in numbers, as do the
    messages."""

    code: str
    """The stable word for the kind of warning, such as `path_mtu`."""
    object: str
    """The objects of the warnings; if there are more than a few, their names with ranges and their number."""
    message: str
    """The observation; a number that differs between trials is given as its range."""
    consequence: str
    """The effect of the warnings' cause on the figures."""
    numbers: frozenset[int]
    """The numbers of the trials with the warning."""
    treatments: tuple[Levels, ...]
    """The distinct treatments of those trials."""
    responses: tuple[str, ...] = ()
    """The names of the responses concerned; empty for all responses of a treatment."""

    @property
    def trials(self) -> int:
        """Returns the number of trials with the warning."""
        return len(self.numbers)

    @property
    def effect(self) -> HarmOfWarnings:
        """Returns the effect that it can have on the answer."""
        return effect_of(self.code)

    def concerns(self, response: Response, hosts: Collection[str]) -> bool:
        """Returns whether the warning concerns a response. A warning about one of the measured `hosts` does
        not concern another host's figures."""
        if self.responses and response.name not in self.responses:
            return False
        of_host = METRICS[response.metric].of == "host"
        return not (of_host and self.object in hosts and self.object != response.of)


@dataclass(frozen=True)
class FailureGroup:
    """Trials that failed with messages that differ only in numbers."""

    message: str
    """The error message; a number that differs between trials is given as its range."""
    trials: tuple[int, ...]
    """The numbers of the trials in run order."""


def failures(run: Run) -> list[FailureGroup]:
    """Returns the trials that gave no record, grouped, in the order of each group's first trial."""
    groups: dict[str, list[Failure]] = {}
    for failure in run.failures():
        groups.setdefault(pattern(failure.message), []).append(failure)
    return [
        FailureGroup(merge([f.message for f in group]), tuple(f.planned.number for f in group))
        for group in groups.values()
    ]


def warnings(run: Run) -> list[WarningGroup]:
    """Returns the warnings of all finished trials, grouped, the most frequent first."""
    groups: dict[tuple[str, ...], list[tuple[Warning, PlannedTrial]]] = {}
    for warning, planned in digest(run).warnings:
        alike = (warning.code, pattern(warning.object), pattern(warning.message), warning.consequence)
        groups.setdefault(alike, []).append((warning, planned))
    return sorted(map(_group, groups.values()), key=lambda group: -group.trials)


def _group(warned: Sequence[tuple[Warning, PlannedTrial]]) -> WarningGroup:
    """Merges equal warnings, each given with its trial, into one group."""
    first, _ = warned[0]
    trials = {planned.number: planned.treatment for _, planned in warned}
    treatments: list[Levels] = []
    for treatment in trials.values():
        if treatment not in treatments:
            treatments.append(treatment)
    objects = {warning.object for warning, _ in warned}
    message = merge([warning.message for warning, _ in warned])
    return WarningGroup(
        first.code, _named(objects), message, first.consequence, frozenset(trials), tuple(treatments)
    )


FEW = 3
"""The largest number of objects that are named individually."""


def _named(objects: set[str]) -> str:
    """Returns one text for objects whose names differ only in numbers."""
    listed = sorted(objects, key=lambda name: [float(number) for number in _NUMBER.findall(name)])
    return ", ".join(listed) if len(listed) <= FEW else f"{merge(listed)} ({len(listed)} of them)"


def pattern(message: str) -> str:
    """Returns the common pattern of messages that differ only in numbers."""
    return _NUMBER.sub("#", message)


def merge(messages: list[str]) -> str:
    """Merges messages that differ only in numbers into one with ranges."""
    columns = zip(*(_NUMBER.findall(message) for message in messages), strict=True)
    merged = []
    for numbers in columns:
        low, high = min(numbers, key=float), max(numbers, key=float)
        merged.append(low if low == high else f"{low} to {high}")
    parts = iter(merged)
    return _NUMBER.sub(lambda _: next(parts), messages[0])
