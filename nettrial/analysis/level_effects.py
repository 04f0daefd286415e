"""The effects of each level of each factor against the factor's baseline: averaged over the other factors,
and at each combination of their levels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from statistics import median
from typing import Literal, TypeAlias

from nettrial.analysis.changes import Change
from nettrial.analysis.intervals import Interval
from nettrial.analysis.run_model import changes, overall_changes
from nettrial.analysis.summary import Levels, ResponseSummary
from nettrial.study import Response, Study

Exceptional: TypeAlias = Literal["", "opposite", "larger", "smaller", "apart", "not shown", "absent"]
"""The relation of a place to the others: like them (empty); shown to have the opposite direction to the
overall change; shown to be further from 0 than the median of all places, or closer to it, by more than half
of the overall interval; shown although the overall change is not; not shown individually although the overall
change is; or without an interval. All are judged by simultaneous intervals. The median is used so that one
odd place does not turn all others into exceptions."""


@dataclass(frozen=True)
class SimpleEffect:
    """A simple effect: the change at one combination of the other factors' levels, which is called a place in
    what users read."""

    others: Levels
    """The levels of the other factors."""
    change: Change
    """The change; its family consists of all places of all levels of the factor."""
    exceptional: Exceptional
    """The relation of the change to those of the other places."""
    is_small: bool
    """True if the change is known to be smaller than the response's smallest effect of interest."""

    @property
    def is_exception(self) -> bool:
        """Returns whether the data show that the change here differs from the overall change. A place whose
        interval is merely too wide is not an exception."""
        return self.exceptional in ("opposite", "larger", "smaller", "apart")


@dataclass(frozen=True)
class LevelEffect:
    """The effect of one level against the baseline."""

    level: str
    """The level that is not the baseline."""
    overall: Change
    """The change averaged over the other factors' levels within each block, over the blocks that have all of
    them. Its family consists of the factor's levels."""
    places: tuple[SimpleEffect, ...]
    """The places in the order of the other factors' levels; a single one without levels if there is no other
    factor."""

    @property
    def rises(self) -> int:
        """Returns the number of places at which a rise is shown that is not known to be small."""
        return sum(place.change.shown > 0 and not place.is_small for place in self.places)

    @property
    def falls(self) -> int:
        """Returns the number of places at which a fall is shown that is not known to be small."""
        return sum(place.change.shown < 0 and not place.is_small for place in self.places)

    @property
    def is_mixed(self) -> bool:
        """Returns whether `overall` is an average of opposite changes: a rise is shown at some places, and a
        fall at others, of which none is known to be too small to matter."""
        return bool(self.rises and self.falls)

    @property
    def exceptions(self) -> tuple[SimpleEffect, ...]:
        """Returns the places where the change is shown to differ from the overall change."""
        return tuple(place for place in self.places if place.is_exception)


@dataclass(frozen=True)
class Finding:
    """The effect of a factor on a response."""

    response: Response
    """The response that the factor affects."""
    factor: str
    """The factor's name."""
    baseline: str
    """The level from which changes are measured."""
    others: tuple[str, ...]
    """The other factors that have several levels."""
    effects: tuple[LevelEffect, ...]
    """The effects of all levels except the baseline, in the factor's order."""


def findings(study: Study, summary: ResponseSummary) -> tuple[Finding, ...]:
    """Returns the effect of each factor with several levels on a response, the rows' factor first."""
    names = [study.layout.rows, *study.layout.columns]
    return tuple(_finding(study, summary, name) for name in names if len(study.factors[name].levels) > 1)


def _finding(study: Study, summary: ResponseSummary, name: str) -> Finding:
    factor = study.factors[name]
    base = factor.baseline or factor.levels[0]
    levels = [level for level in factor.levels if level != base]
    others = [other for other in study.factors if other != name]
    combinations = [
        dict(zip(others, chosen, strict=True))
        for chosen in product(*(study.factors[other].levels for other in others))
    ]
    positions = {tuple(sorted(cell.treatment.items())): number for number, cell in enumerate(summary.cells)}

    missing = len(positions)

    def place(level: str, others: Levels) -> tuple[int, int]:
        base_and_here = ({**others, name: each} for each in (base, level))
        there, here = (positions.get(tuple(sorted(each.items())), missing) for each in base_and_here)
        return there, here

    compared = [[place(level, others) for others in combinations] for level in levels]
    values = [*(cell.values for cell in summary.cells), {}]
    sequential, exact = study.until is not None, study.capabilities.deterministic
    overall = overall_changes(values, compared, exact, sequential)
    of_family = iter(changes(values, [pair for places in compared for pair in places], exact, sequential))
    smallest = summary.response.smallest_effect
    effects = tuple(
        LevelEffect(
            level,
            whole,
            _places(combinations, [next(of_family) for _ in combinations], whole, smallest),
        )
        for level, whole in zip(levels, overall, strict=True)
    )
    several = tuple(other for other in others if len(study.factors[other].levels) > 1)
    return Finding(summary.response, name, base, several, effects)


def _places(
    combinations: Sequence[Levels], simple_changes: Sequence[Change], overall: Change, smallest: float
) -> tuple[SimpleEffect, ...]:
    ratios = [each.percent for each in simple_changes if each.percent is not None]
    differences = [each.difference for each in simple_changes if each.difference is not None]
    typical = None
    if overall.relative is not None and ratios:
        typical = _around(median(ratios), overall.relative)
    elif overall.simultaneous_difference is not None and differences:
        typical = _around(median(differences), overall.simultaneous_difference)
    return tuple(
        SimpleEffect(
            others,
            change,
            _exceptional(change, overall, typical, smallest),
            change.is_smaller_than(smallest),
        )
        for others, change in zip(combinations, simple_changes, strict=True)
    )


def _around(middle: float, width: Interval) -> Interval:
    """Returns an interval around `middle` as wide as another, and slightly wider to allow for rounding of
    equal values."""
    half = width.half_width + 1e-9 * abs(middle)
    return Interval(middle - half, middle + half)


def _exceptional(change: Change, overall: Change, typical: Interval | None, smallest: float) -> Exceptional:
    """Returns the relation of a place's change to the overall change and to the typical change of places. A
    place that is known to differ from the typical one by less than `smallest` percent is no exception."""
    here = change.simultaneous if overall.relative else change.simultaneous_difference
    if here is None:
        return "absent"
    if typical is None:
        return ""
    if overall.relative and max(here.high - typical.low, typical.high - here.low) < smallest:
        return "" if change.shown or not overall.shown else "not shown"
    if not overall.shown:
        return "apart" if change.shown else ""
    if change.shown == -overall.shown:
        return "opposite"
    above, below = here.low > typical.high, here.high < typical.low
    if above or below:
        return "larger" if above == (overall.shown > 0) else "smaller"
    return "" if change.shown else "not shown"
