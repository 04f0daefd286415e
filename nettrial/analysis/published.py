"""The figures that a study's source printed, and which of our treatments they are comparable with."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from nettrial.analysis.summary import Cell, Levels, Summary, baseline
from nettrial.errors import BadInput
from nettrial.store import Run
from nettrial.study import Study

_FIXED = {"table", "response", "value", "unit", "change_percent"}


@dataclass(frozen=True)
class PublishedRow:
    """One printed figure."""

    table: str
    """The source's number of the table."""
    response: str
    """The name of the study's response that it is of."""
    levels: Levels
    """The source's own levels, by factor."""
    value: str
    """The value as printed, in `unit`; empty where only a change is printed."""
    unit: str
    change_percent: str
    """The change as printed, signed as a change of the value; empty where none is printed."""
    counterpart: Levels | None
    """The treatment here that means the same, or None where there is none."""


def published(run: Run) -> list[PublishedRow]:
    """The rows of the run's copy of published.csv, in its order; none where the study has none.

    Raises BadInput for a column or number that can't be read.
    """
    if not run.published_text:
        return []
    reader = csv.DictReader(io.StringIO(run.published_text))
    columns = reader.fieldnames or []
    missing = sorted(_FIXED - set(columns))
    if missing:
        raise BadInput(
            "reading published figures",
            "published.csv",
            f"no column {', '.join(missing)}",
            f"{', '.join(sorted(_FIXED))} and one column for each factor",
            "the first line names the columns",
        )
    names = [column for column in columns if column not in _FIXED]
    rows = []
    for line, row in enumerate(reader, start=2):
        for column in ("value", "change_percent"):
            _check_number(row[column], column, line)
        levels = {name: row[name] for name in names}
        rows.append(
            PublishedRow(
                table=row["table"],
                response=row["response"],
                levels=levels,
                value=row["value"],
                unit=row["unit"],
                change_percent=row["change_percent"],
                counterpart=_counterpart(run.study, levels),
            )
        )
    return rows


def _counterpart(study: Study, levels: Levels) -> Levels | None:
    """Our treatment for the source's levels; a level without a mapping must be one of ours as it is."""
    if study.published is None or set(levels) != set(study.factors):
        return None
    ours = {}
    for name, level in levels.items():
        mapped = study.published.levels.get(name, {}).get(level, level)
        if mapped not in study.factors[name].levels:
            return None
        ours[name] = mapped
    return ours


def _check_number(text: str, column: str, line: int) -> None:
    if not text:
        return
    try:
        float(text)
    except ValueError:
        raise BadInput(
            "reading published figures",
            f"published.csv, line {line}, {column}",
            repr(text),
            "a number, or nothing",
            "figures stand as printed, without a unit",
        ) from None


Direction: TypeAlias = Literal["same", "opposite", "not shown"]
"""The direction of a measured change beside the published one; `not shown` where its interval holds 0, or the
published one is 0."""


@dataclass(frozen=True)
class Agreement:
    """A published figure beside what was measured under its counterpart."""

    row: PublishedRow
    cell: Cell | None
    """The measured cell; None without a counterpart."""
    ratio: float | None
    """The measured mean over the published value."""
    inside: bool | None
    """True if the published value lies in the interval of the measured mean."""
    published_change: float | None
    """Against the published figure at the baseline, in percent: as printed, or else from both values."""
    computed: bool
    """True if it is not printed but follows from the printed values."""
    direction: Direction | None
    """None where either change is absent, or the level is the baseline."""
    change_inside: bool | None
    """True if the published change lies in the interval of the measured one."""
    absent: str | None
    """Why nothing can be compared."""


def agreement(run: Run, summary: Summary) -> list[Agreement]:
    """Every published figure of a run's study beside its own, in the order of publication.

    Raises BadInput for published figures that can't be read."""
    rows = published(run)
    factor = run.study.layout.rows
    printed = {(row.table, row.response, tuple(row.levels.items())): row for row in rows}
    found = []
    for row in rows:
        base = None
        for level in dict.fromkeys(other.levels.get(factor, "") for other in rows):
            other = printed.get((row.table, row.response, tuple({**row.levels, factor: level}.items())))
            if other and other.counterpart and other.counterpart[factor] == baseline(run.study):
                base = other
        found.append(_agreement(run.study, summary, row, base))
    return found


def _agreement(study: Study, summary: Summary, row: PublishedRow, base: PublishedRow | None) -> Agreement:
    response = next((r for r in summary.responses if r.response.name == row.response), None)
    cell = response.cell(row.counterpart) if response and row.counterpart else None
    theirs, computed = _published_change(row, base)
    found = Agreement(row, cell, None, None, theirs, computed, None, None, None)
    if response is None:
        return replace(found, absent=f"the study has no response {row.response}")
    if cell is None:
        return replace(found, absent="no treatment here corresponds to it")
    if cell.mean is None:
        return replace(found, absent="; ".join(cell.absent) or "no trial of it has finished")
    value = float(row.value) if row.value else None
    if value is not None and row.unit == response.response.unit:
        inside = cell.interval.contains(value) if cell.interval else None
        found = replace(found, ratio=cell.mean / value if value else None, inside=inside)
    elif value is not None:
        found = replace(found, absent=f"published in {row.unit}, measured in {response.response.unit}")
    change = cell.change
    if theirs is None or change is None or change.interval is None:
        return found
    shown = not change.interval.contains(0) and theirs != 0
    same = (change.interval.low > 0) == (theirs > 0)
    direction: Direction = "not shown" if not shown else "same" if same else "opposite"
    return replace(found, direction=direction, change_inside=change.interval.contains(theirs))


def _published_change(row: PublishedRow, base: PublishedRow | None) -> tuple[float | None, bool]:
    """The change against the published baseline in percent, and whether it had to be computed."""
    if row.change_percent:
        return float(row.change_percent), False
    if base is None or base is row or not row.value or not base.value or base.unit != row.unit:
        return None, False
    theirs = float(base.value)
    return (100 * (float(row.value) / theirs - 1), True) if theirs > 0 else (None, False)
