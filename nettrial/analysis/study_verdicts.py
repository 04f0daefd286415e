"""Verdicts on the conclusions of a study's source, by the run's own comparisons."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from nettrial.analysis.changes import Change, change
from nettrial.analysis.counterparts import Counterparts, SystemMatch
from nettrial.analysis.intervals import Interval
from nettrial.analysis.outcomes import Outcome, above, below, together, within
from nettrial.analysis.run_model import changes, paired, pairs
from nettrial.analysis.sequential import family
from nettrial.analysis.summary import Cell, Levels, ResponseSummary, Summary
from nettrial.analysis.warning_effects import HarmOfWarnings
from nettrial.analysis.warning_groups import WarningGroup
from nettrial.metrics import METRICS
from nettrial.study import Conclusion, Response, Study
from nettrial.study.source_levels import levels_in_words

Judged: TypeAlias = Literal["confirmed", "contradicted", "no change", "mixed", "not shown", "not testable"]
"""The verdict: the conclusion holds at every level of the factors that it does not name; at none; the change
is known to be smaller than the smallest effect of interest at every level; the conclusion holds at some and
not at others; neither, because the intervals of some can't tell; or there is no comparison."""
VERDICTS: tuple[Judged, ...] = (
    *("confirmed", "contradicted", "no change", "mixed", "not shown", "not testable"),
)
"""All verdicts, in the order in which reports count them."""


@dataclass(frozen=True)
class Compared:
    """One comparison of a conclusion."""

    subject: str
    """The level with its factor's title, or the response's title."""
    against: str
    """The level, or the response's title, with which it is compared."""
    change: Change
    """The change there, corrected for all comparisons of the conclusion."""


@dataclass(frozen=True)
class JudgedPlace:
    """The comparisons of a conclusion at one combination of the levels of the factors that it does not name.

    A source that does not name a factor says nothing of its levels, so each is judged alone: an average over
    levels that the source did not have may have any sign."""

    levels: Levels
    """The levels of these factors; empty if there are none with several levels."""
    compared: tuple[Compared, ...]
    """The comparisons with each level or response that the conclusion names."""
    outcome: Outcome
    """The outcome of the conclusion: it holds if every comparison agrees with it."""


@dataclass(frozen=True)
class Doubt:
    """Warnings of trials that a verdict rests on."""

    effect: HarmOfWarnings
    """The gravest effect of the warnings: the verdict may be biased, or its intervals may be too narrow."""
    warned: int
    """The number of trials with such a warning."""
    trials: int
    """The number of trials that the verdict rests on."""


@dataclass(frozen=True)
class Verdict:
    """The verdict on a conclusion."""

    conclusion: Conclusion
    """The source's conclusion."""
    judged: Judged
    """The verdict in a word."""
    places: tuple[JudgedPlace, ...]
    """The comparisons at each level of the factors that the conclusion does not name; empty if it is not
    testable."""
    unit: str
    """The response's unit."""
    absent: str | None
    """The reason why it is not testable, or not shown."""
    smallest: float = 0.0
    """The smallest effect of interest, in percent."""
    doubt: Doubt | None = None
    """The warnings that may make the verdict wrong; None if there are none."""
    systems: tuple[SystemMatch, ...] = ()
    """The operating systems that the conclusion names, each with the hosts that have it."""


def of_published_size(verdict: Verdict) -> tuple[float, float] | None:
    """Returns the smallest and the largest measured change, in parts of the published size, if the size of
    every comparison is known and none has the published one in its interval; otherwise None."""
    size = verdict.conclusion.size
    compared = [each.change for place in verdict.places for each in place.compared]
    if not size or not compared:
        return None
    published = -size if verdict.conclusion.expect == "lower" else size
    parts = [each.percent / published for each in compared if each.percent is not None]
    inside = any(each.simultaneous is None or each.simultaneous.contains(published) for each in compared)
    return None if inside or len(parts) < len(compared) else (min(parts), max(parts))


def verdicts(study: Study, summary: Summary, warnings: Sequence[WarningGroup] = ()) -> tuple[Verdict, ...]:
    """Returns the verdicts on the conclusions of a run's study, in the study's order; empty before a trial
    has finished. `warnings` are those of the run."""
    if not any(cell.n for response in summary.responses for cell in response.cells):
        return ()
    counterparts = Counterparts(study, summary)
    return tuple(_verdict(counterparts, summary, each, warnings) for each in study.conclusions)


@dataclass(frozen=True)
class _Side:
    """A cell of a conclusion, and what it is compared with."""

    cell: Cell
    base: Cell | None
    against: str
    """The name of `base`."""
    elsewhere: tuple[Cell | None, Cell | None] | None = None
    """The cell and the base of the change with which theirs is compared."""


def _verdict(
    counterparts: Counterparts, summary: Summary, conclusion: Conclusion, warnings: Sequence[WarningGroup]
) -> Verdict:
    study = counterparts.study
    if conclusion.not_testable is not None:
        return Verdict(conclusion, "not testable", (), "", conclusion.not_testable)
    sets = _levels_named(conclusion)
    missing = next(filter(None, map(counterparts.missing, sets)), None)
    if missing is not None:
        return Verdict(conclusion, "not testable", (), "", missing)
    known = {each.response.name: each for each in summary.responses}
    response = known[conclusion.response or ""]
    other = known.get(conclusion.than_response or "")
    if other is not None and other.response.unit != response.response.unit:
        units = [f"{each.response.title} in {each.response.unit}" for each in (response, other)]
        reason = f"the units differ: {', '.join(units)}"
        return Verdict(conclusion, "not testable", (), "", reason)
    sides = _sides(counterparts, conclusion, response, other)
    if not sides:
        return Verdict(conclusion, "not testable", (), "", "no two treatments here are the two sides of it")
    if conclusion.factor is not None and conclusion.than_where:
        compared = _changes_of_changes(study, conclusion, sides)
    else:
        compared = _changes(study, response, [(side.cell, side.base) for side in sides], other is not None)
    places = _places(study, conclusion, response, zip(sides, compared, strict=True))
    judged, absent = _judged(conclusion, places)
    doubt = None
    if judged != "not testable":
        cells = [
            each
            for side in sides
            for each in (side.cell, side.base, *(side.elsewhere or ()))
            if each is not None
        ]
        concerned = [response.response] + ([other.response] if other else [])
        doubt = _doubt(cells, concerned, _measured_hosts(study), warnings)
    smallest = response.response.smallest_effect
    systems = dict.fromkeys(match for levels in sets for match in counterparts.matches(levels))
    return Verdict(
        *(conclusion, judged, places, response.response.unit, absent, smallest, doubt), tuple(systems)
    )


def _levels_named(conclusion: Conclusion) -> list[Levels]:
    """Returns the levels at which the conclusion's own side is measured, and those of each other side."""
    own = _named(conclusion)
    named = [own]
    if conclusion.factor is not None:
        named += [{**own, conclusion.factor: level} for level in conclusion.than]
    return [*named, *({**each, **levels} for each in tuple(named) for levels in conclusion.than_where)]


def _sides(
    counterparts: Counterparts,
    conclusion: Conclusion,
    response: ResponseSummary,
    other: ResponseSummary | None,
) -> list[_Side]:
    """Returns the comparisons of a conclusion, cell by cell."""
    named, factor = _named(conclusion), conclusion.factor

    def beside(cell: Cell, levels: Levels, changed: Iterable[str]) -> list[Cell]:
        cells = (response.cell(each) for each in counterparts.beside(cell.treatment, levels, changed))
        return [each for each in cells if each is not None and each is not cell]

    def elsewhere(cell: Cell, levels: Levels, than: str) -> Iterator[tuple[Cell | None, Cell | None]]:
        assert factor is not None
        for there in beside(cell, {**named, **levels}, levels):
            for base in beside(there, {**named, **levels, factor: than}, [factor]):
                yield there, base

    sides = []
    for cell in filter(None, map(response.cell, counterparts.at(named))):
        if other is not None:
            sides.append(_Side(cell, other.cell(cell.treatment), other.response.title))
        elif factor is None:
            for levels in conclusion.than_where:
                against = levels_in_words(counterparts.study, levels)
                sides += [_Side(cell, base, against) for base in beside(cell, {**named, **levels}, levels)]
        else:
            for than in conclusion.than:
                for base in beside(cell, {**named, factor: than}, [factor]):
                    if not conclusion.than_where:
                        sides.append(_Side(cell, base, than))
                    for levels in conclusion.than_where:
                        where = levels_in_words(counterparts.study, levels)
                        against = f"{than}, compared with that change at {where},"
                        sides += [_Side(cell, base, against, pair) for pair in elsewhere(cell, levels, than)]
    return sides


def _changes(
    study: Study,
    response: ResponseSummary,
    sides: Sequence[tuple[Cell, Cell | None]],
    between: bool,
) -> list[Change]:
    """Returns the changes of a conclusion's comparisons. The two values that a trial has `between` responses
    depend on each other, so that only their differences are known to have independent errors."""
    exact, sequential = study.capabilities.deterministic, study.until is not None
    if between:
        alone = [change(pairs(base.values if base else {}, cell.values), exact) for cell, base in sides]
        return family(alone, sequential)
    positions = {id(cell): number for number, cell in enumerate(response.cells)}
    compared = [(positions.get(id(base)), positions[id(cell)]) for cell, base in sides]
    return changes([cell.values for cell in response.cells], compared, exact, sequential)


def _changes_of_changes(study: Study, conclusion: Conclusion, sides: Sequence[_Side]) -> list[Change]:
    """Returns how much larger the conclusion's changes are than those at `than_where`: within each block the
    ratio of both ratios, which are inverted if the conclusion's direction is down, or, if it names none, if
    the change at `than_where` is a fall."""
    exact, sequential = study.capabilities.deterministic, study.until is not None
    alone = []
    for side in sides:
        here, there = (
            paired(base.values if base else {}, cell.values if cell else {})
            for cell, base in ((side.cell, side.base), side.elsewhere or (None, None))
        )
        logs = {
            block: tuple(math.log(value / base) for base, value in (there[block], here[block]))
            for block in sorted(here.keys() & there.keys())
            if min(*here[block], *there[block]) > 0
        }
        falls = sum(before for before, _ in logs.values()) < 0
        direction = -1 if (conclusion.direction or ("lower" if falls else "higher")) == "lower" else 1
        ratios = [
            (math.exp(direction * before), math.exp(direction * after)) for before, after in logs.values()
        ]
        alone.append(change(ratios, exact))
    return family(alone, sequential)


def _named(conclusion: Conclusion) -> Levels:
    """Returns the levels at which the conclusion's own side is measured."""
    if conclusion.factor is None:
        return conclusion.where
    return {**conclusion.where, conclusion.factor: conclusion.level or ""}


def _places(
    study: Study,
    conclusion: Conclusion,
    response: ResponseSummary,
    side_changes: Iterable[tuple[_Side, Change]],
) -> tuple[JudgedPlace, ...]:
    """Returns the comparisons by the levels of the factors that the conclusion does not name."""
    subject = response.response.title
    if conclusion.than_response is None and conclusion.factor is None:
        subject = levels_in_words(study, conclusion.where)
    elif conclusion.factor is not None:
        subject = levels_in_words(study, {conclusion.factor: conclusion.level or ""})
    unnamed = [
        name
        for name, factor in study.factors.items()
        if len(factor.levels) > 1 and name not in _named(conclusion)
    ]
    by_levels: dict[tuple[str, ...], list[Compared]] = {}
    for side, there in side_changes:
        levels = tuple(side.cell.treatment[name] for name in unnamed)
        by_levels.setdefault(levels, []).append(Compared(subject, side.against, there))
    return tuple(
        JudgedPlace(
            dict(zip(unnamed, levels, strict=True)),
            tuple(group),
            together(_outcome(conclusion, each.change, response.response.smallest_effect) for each in group),
        )
        for levels, group in by_levels.items()
    )


def _bounds(conclusion: Conclusion, there: Change) -> Interval | None:
    """Returns the simultaneous interval that judges a comparison: without a ratio, that of the difference."""
    if there.simultaneous is None and not conclusion.by:
        return there.simultaneous_difference
    return there.simultaneous


def _outcome(conclusion: Conclusion, there: Change, smallest: float) -> Outcome:
    """Returns the outcome of a comparison. A direction is none if the change is known to be smaller than the
    `smallest` effect of interest, in percent."""
    bounds = _bounds(conclusion, there)
    if conclusion.expect != "same" and conclusion.by < smallest and there.is_smaller_than(smallest):
        return Outcome.NO_CHANGE
    if conclusion.expect == "same":
        return within(bounds, conclusion.by)
    return above(bounds, conclusion.by) if conclusion.expect == "higher" else below(bounds, -conclusion.by)


def _judged(conclusion: Conclusion, places: Sequence[JudgedPlace]) -> tuple[Judged, str | None]:
    """Returns the verdict, and the reason if there is no comparison, or if one has no interval."""
    compared = [each.change for place in places for each in place.compared]
    without = [each for each in compared if _bounds(conclusion, each) is None]
    absent = without[0].absent or "there is no interval" if without else None
    if all(each.difference is None for each in compared):
        return "not testable", absent
    outcomes = {place.outcome for place in places}
    if outcomes == {Outcome.HOLDS}:
        return "confirmed", None
    if outcomes == {Outcome.NO_CHANGE}:
        return "no change", None
    if outcomes <= {Outcome.DOES_NOT_HOLD, Outcome.NO_CHANGE}:
        return "contradicted", None
    against = outcomes & {Outcome.DOES_NOT_HOLD, Outcome.NO_CHANGE}
    return ("mixed" if Outcome.HOLDS in outcomes and against else "not shown"), absent


def _measured_hosts(study: Study) -> set[str]:
    """Returns the hosts of which the study has a response."""
    return {each.of for each in study.responses if METRICS[each.metric].of == "host"}


def _doubt(
    cells: Sequence[Cell],
    responses: Sequence[Response],
    hosts: Collection[str],
    warnings: Sequence[WarningGroup],
) -> Doubt | None:
    """Returns the warnings of the trials of these cells that may bias the responses, or else those by which
    intervals may be too narrow."""
    trials = {trial for cell in cells for trial in cell.trials.values()}
    for effect in (HarmOfWarnings.BIAS, HarmOfWarnings.NARROWER):
        warned = {
            number
            for group in warnings
            if group.effect is effect and any(group.concerns(response, hosts) for response in responses)
            for number in group.numbers & trials
        }
        if warned:
            return Doubt(effect, len(warned), len(trials))
    return None
