"""The figures printed in a study's source, and their comparison with our treatments."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from nettrial.analysis.changes import change
from nettrial.analysis.counterparts import Counterparts, SystemMatch
from nettrial.analysis.intervals import Interval, StandardError
from nettrial.analysis.run_model import pairs
from nettrial.analysis.spreads import SpreadComparison, compare_spreads, kurtosis_of
from nettrial.analysis.summary import Cell, ResponseSummary, Summary, baseline
from nettrial.store import Run
from nettrial.study import Study
from nettrial.study.published import COMPUTED, PublishedRow, read
from nettrial.study.source_levels import meaning


def published(run: Run) -> list[PublishedRow]:
    """Returns the rows of the run's copy of published.csv, in its order; empty if the study has none.

    Raises BadInput for a column or value that can't be read.
    """
    return read(run.published_text, run.study) if run.published_text else []


NO_TREATMENT = "no treatment here corresponds to it"
"""The reason why a published figure whose levels the run has, but not together, can't be compared."""
Direction: TypeAlias = Literal["same", "opposite", "not shown"]
"""The direction of a measured change relative to the published one; `not shown` if its interval contains 0,
or if the published change is 0."""


@dataclass(frozen=True)
class Agreement:
    """A published figure and the result measured under its counterpart."""

    row: PublishedRow
    """The published figure."""
    cell: Cell | None
    """The measured cell; None without a counterpart."""
    systems: tuple[SystemMatch, ...]
    """The operating systems among the figure's levels, each with the hosts that have it."""
    ratio: float | None
    """The measured mean over the published value."""
    inside: bool | None
    """True if the published value lies in the interval of the measured mean or, if its source prints the
    standard deviation and the number of trials, if 0 lies in the interval of the difference of both means. A
    reading error widens either interval."""
    published_change: float | None
    """The published change from the figure at the baseline, in percent: as printed, or computed from both
    values."""
    computed: bool
    """True if its source does not print the change, so that it was computed from the printed values."""
    direction: Direction | None
    """The direction; None if either change is absent, or if the level is the baseline."""
    change_inside: bool | None
    """True if the published change lies in the interval of the measured change."""
    absent: str | None
    """The reason why nothing can be compared."""
    difference: float | None = None
    """The measured counterpart of the published `row.difference`, in the response's unit."""
    difference_interval: Interval | None = None
    """The 95% interval of `difference`, paired by block."""
    difference_inside: bool | None = None
    """True if the published difference lies in this interval."""
    spread: SpreadComparison | None = None
    """The measured standard deviation compared with the published one; None if none is printed."""


def agreement(run: Run, summary: Summary) -> list[Agreement]:
    """Returns every published figure of a run's study with its measured counterpart, in the order of
    publication. A figure has a counterpart at each level of the factors that the source does not name, each
    of which is compared alone.

    Raises BadInput for published figures that can't be read."""
    rows = published(run)
    if not rows:
        return []
    factor = run.study.layout.rows
    counterparts = Counterparts(run.study, summary)
    printed = {(row.table, row.response, tuple(row.levels.items())): row for row in rows if row.value}
    changes = {(row.response, tuple(row.levels.items())) for row in rows if row.change_percent}
    ours = {level: meaning(run.study, factor, level).own for row in rows if (level := row.levels.get(factor))}
    agreements: list[Agreement] = []
    for row in rows:
        base = None
        for level in ours:
            other = printed.get((row.table, row.response, tuple({**row.levels, factor: level}.items())))
            if other and ours[level] == baseline(run.study):
                base = other
        if not row.change_percent and (row.response, tuple(row.levels.items())) in changes:
            base = None
        agreements += _agreements(counterparts, summary, row, base)
    return agreements


def _agreements(
    counterparts: Counterparts, summary: Summary, row: PublishedRow, base: PublishedRow | None
) -> Iterator[Agreement]:
    """Yields a published figure with each of its measured counterparts, or once with the reason why it has
    none."""
    response = next((r for r in summary.responses if r.response.name == row.response), None)
    theirs, computed = _published_change(row, base)
    base_agreement = Agreement(row, None, (), None, None, theirs, computed, None, None, None)
    if response is None:
        yield replace(base_agreement, absent=f"the study has no response {row.response}")
        return
    treatments = counterparts.at(row.levels)
    if not treatments:
        yield replace(base_agreement, absent=NO_TREATMENT)
    systems = counterparts.matches(row.levels)
    for treatment in treatments:
        of = replace(base_agreement, cell=response.cell(treatment), systems=systems)
        yield _compared(counterparts, response, of)


def _compared(counterparts: Counterparts, response: ResponseSummary, beside: Agreement) -> Agreement:
    """Returns a published figure and its counterpart with their comparison."""
    study, row, cell, theirs = counterparts.study, beside.row, beside.cell, beside.published_change
    if cell is None:
        return replace(beside, absent=NO_TREATMENT)
    if cell.mean is None:
        return replace(beside, absent="; ".join(cell.absent) or "no trial of it has finished")
    if row.unit == response.response.unit:
        value = float(row.value) if row.value else None
        if value is not None:
            beside = replace(
                beside, ratio=cell.mean / value if value else None, inside=_inside(study, cell, row)
            )
        if row.sd:
            kurtosis = kurtosis_of(response.cells)
            beside = replace(beside, spread=compare_spreads(cell, float(row.sd), row.n, kurtosis))
        if row.difference and row.other:
            beside = _beside_difference(counterparts, beside, response)
    else:
        beside = replace(beside, absent=f"published in {row.unit}, measured in {response.response.unit}")
    measured_change = cell.change
    if theirs is None or measured_change is None or measured_change.interval is None:
        return beside
    shown = not measured_change.interval.contains(0) and theirs != 0
    same = (measured_change.interval.low > 0) == (theirs > 0)
    direction: Direction = "not shown" if not shown else "same" if same else "opposite"
    return replace(beside, direction=direction, change_inside=measured_change.interval.contains(theirs))


def _inside(study: Study, cell: Cell, row: PublishedRow) -> bool | None:
    """Returns whether the measured mean and the published value agree; None without an interval of the mean.

    With the source's standard deviation and number of trials, both means are uncertain, and the interval is
    that of their difference (`StandardError`). This does not apply to runs with a stopping rule, because that
    interval holds only at a fixed number of trials."""
    if cell.interval is None or cell.mean is None:
        return None
    value, half = float(row.value), cell.interval.half_width
    if row.sd and row.n and row.n > 1 and cell.deviation is not None and study.until is None:
        parts = ((cell.deviation, cell.n), (float(row.sd), row.n))
        half = StandardError(tuple((sd / math.sqrt(n), n - 1) for sd, n in parts)).half_width()
    return abs(cell.mean - value) <= half + float(row.reading_error or 0)


def _beside_difference(
    counterparts: Counterparts, compared: Agreement, response: ResponseSummary
) -> Agreement:
    """Returns the figure with the measured difference of both treatments, paired by block."""
    row, cell = compared.row, compared.cell
    if row.other is None or cell is None:
        return compared
    changed = [name for name, level in row.other.items() if level != row.levels[name]]
    others = counterparts.beside(cell.treatment, row.other, changed)
    other = response.cell(others[0]) if others else None
    if other is None:
        return compared
    measured = change(pairs(other.values, cell.values), counterparts.study.capabilities.deterministic)
    interval = measured.difference_interval
    inside = interval.contains(float(compared.row.difference)) if interval else None
    return replace(
        compared, difference=measured.difference, difference_interval=interval, difference_inside=inside
    )


def _published_change(row: PublishedRow, base: PublishedRow | None) -> tuple[float | None, bool]:
    """Returns the change from the published baseline in percent, and whether it had to be computed."""
    if row.change_percent:
        return float(row.change_percent), row.mark == COMPUTED
    if base is None or base is row or not row.value or not base.value or base.unit != row.unit:
        return None, False
    theirs = float(base.value)
    return (100 * (float(row.value) / theirs - 1), True) if theirs > 0 else (None, False)
