"""The treatments of a run that correspond to levels of its study's source.

A level of an operating system corresponds to what hosts report (`nettrial.study.system_names`). Factors that
the source does not name are free: each of their levels is a counterpart of its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from nettrial.analysis.run_digest import treatment_key
from nettrial.analysis.summary import Levels, Summary
from nettrial.study import Factor, Study
from nettrial.study.flows import EVERY
from nettrial.study.source_levels import meaning
from nettrial.study.system_names import Precision, in_words, precision

_OF_HOSTS = ("machine", "stack", "system")
"""The settings of a host that decide which system it has."""


@dataclass(frozen=True)
class SystemMatch:
    """A source's operating system, and the hosts here that have it."""

    factor: str
    """The factor whose level it is, by name."""
    level: str
    """The source's name of the system."""
    precision: Precision
    """The precision with which both correspond."""
    reported: tuple[str, ...]
    """The systems that these hosts report, each text once; empty for models of hosts."""


@dataclass(frozen=True)
class _Places:
    """The treatments at which a factor has a source's level."""

    places: frozenset[int]
    match: SystemMatch | None = None


class Counterparts:
    """The treatments of a run, and the systems that its hosts reported."""

    def __init__(self, study: Study, summary: Summary) -> None:
        """Takes the treatments of the summary of a run."""
        self.study = study
        self.treatments = [cell.treatment for cell in summary.responses[0].cells]
        self._systems = [summary.systems.get(treatment_key(each), {}) for each in self.treatments]
        self._known: dict[tuple[str, str], _Places] = {}

    def at(self, levels: Mapping[str, str]) -> list[Levels]:
        """Returns the treatments that have these levels of the source or of the study, in their order."""
        places_of_levels = [self._level(factor, level).places for factor, level in levels.items()]
        places = frozenset(range(len(self.treatments))).intersection(*places_of_levels)
        return [self.treatments[place] for place in sorted(places)]

    def beside(self, treatment: Levels, levels: Mapping[str, str], changed: Iterable[str]) -> list[Levels]:
        """Returns the treatments at `levels` that differ from `treatment` in nothing but the factors
        `changed`, and in those that decide which system their hosts have."""
        free = set(changed)
        for factor in tuple(free):
            if factor in self._systems_of_source:
                free |= set(self._deciding(factor))
        return [
            other
            for other in self.at(levels)
            if all(other[name] == level for name, level in treatment.items() if name not in free)
        ]

    def matches(self, levels: Mapping[str, str]) -> tuple[SystemMatch, ...]:
        """Returns how the systems among the `levels` correspond to what hosts report."""
        matches = (self._level(factor, level).match for factor, level in levels.items())
        return tuple(match for match in matches if match is not None)

    def missing(self, levels: Mapping[str, str]) -> str | None:
        """Returns a sentence about the first level that no treatment has; None if each has one."""
        for factor, level in levels.items():
            if self._level(factor, level).places:
                continue
            title = self.study.factors[factor].title
            if meaning(self.study, factor, level).system is None:
                return f"this run has no {title} {level}"
            places = range(len(self.treatments))
            reported = {text for place in places for text in self._reported(factor, place)}
            if reported:
                return f"no host is the {title} {level}: the hosts report {', '.join(sorted(reported))}"
            return f"no host here runs {in_words(level)}; machines of your own may (`--backend hosts`)"
        return None

    @property
    def _systems_of_source(self) -> Mapping[str, Sequence[str]]:
        return self.study.published.systems if self.study.published else {}

    def _hosts(self, factor: str) -> list[str]:
        named = self._systems_of_source[factor]
        return self.study.host_names() if EVERY in named else list(named)

    def _deciding(self, factor: str) -> list[str]:
        """Returns the factors that set the machine, the stack or the system of the hosts of `factor`."""
        hosts = (EVERY, *self._hosts(factor))
        settings = {f"hosts.{host}.{setting}" for host in hosts for setting in _OF_HOSTS}

        def decides(other: Factor) -> bool:
            return not settings.isdisjoint(other.paths)

        return [name for name, other in self.study.factors.items() if decides(other)]

    def _reported(self, factor: str, place: int) -> list[str]:
        """Returns what the hosts of a factor reported in a treatment; empty if one of them is a model."""
        reports = [self._systems[place].get(host) for host in self._hosts(factor)]
        return [text for texts in reports for text in texts or ()] if all(reports) else []

    def _level(self, factor: str, level: str) -> _Places:
        if (factor, level) not in self._known:
            self._known[factor, level] = self._find(factor, level)
        return self._known[factor, level]

    def _find(self, factor: str, level: str) -> _Places:
        means = meaning(self.study, factor, level)
        places = [
            place for place, treatment in enumerate(self.treatments) if means.own in (None, treatment[factor])
        ]
        if means.system is None:
            return _Places(frozenset(places) if means.own is not None else frozenset())
        graded: dict[Precision, list[int]] = {}
        for place in places:
            reported = self._reported(factor, place)
            grades = [precision(means.system, text) for text in reported]
            grades = grades or [Precision.STUDY if means.own is not None else None]
            known = [grade for grade in grades if grade is not None]
            if len(known) == len(grades):
                graded.setdefault(min(known), []).append(place)
        if not graded:
            return _Places(frozenset())
        best = max(graded)
        places = graded[best]
        # Where the factor itself does not decide which system it is, as the stack of a machine that keeps its
        # own, its baseline is the level.
        base = self.study.factors[factor].baseline
        if any(self.treatments[place][factor] == base for place in places):
            places = [place for place in places if self.treatments[place][factor] == base]
        told = dict.fromkeys(text for place in places for text in self._reported(factor, place))
        return _Places(frozenset(places), SystemMatch(factor, level, best, tuple(told)))
