"""The tables of a publication in their own rows and columns, with the measured figures beside the published
ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nettrial.report.formats import DataTable
from nettrial.report.tables import marked, published_label
from nettrial.study import Study
from nettrial.study.published import PublishedRow

NOTHING = "–"
"""The text where nothing is published or measured."""
CAPTION = (
    "{place}, {response}, in {unit}: as published, and here the mean ± half-width of its 95% interval under "
    "the counterpart. In brackets the change from {rows} {baseline}."
)
"""The caption of a table."""


@dataclass(frozen=True)
class Figure:
    """A published figure and the measured one."""

    row: PublishedRow
    """The published figure."""
    value: str
    """The measured mean with its half-width; empty if there is none."""
    change: str
    """The measured change from the baseline; empty if there is none."""


def tables(study: Study, figures: Sequence[Figure]) -> list[DataTable]:
    """Returns a table for each table of the source that has values in at least two rows and two columns."""
    by_place: dict[tuple[str, str, str], list[Figure]] = {}
    for figure in figures:
        row = figure.row
        if (row.value or row.change_percent) and study.layout.rows in row.levels:
            by_place.setdefault((row.table, row.response, row.unit), []).append(figure)
    made = (_table(study, *place, of_place) for place, of_place in by_place.items())
    return [table for table in made if table is not None]


def _table(study: Study, place: str, response: str, unit: str, figures: Sequence[Figure]) -> DataTable | None:
    rows_name = study.layout.rows
    rows = list(dict.fromkeys(figure.row.levels[rows_name] for figure in figures))
    columns = list(dict.fromkeys(published_label(study, figure.row) for figure in figures))
    if len(rows) < 2 or len(columns) < 2:
        return None
    cells: dict[tuple[str, str], list[Figure]] = {}
    for figure in figures:
        cells.setdefault((figure.row.levels[rows_name], published_label(study, figure.row)), []).append(
            figure
        )
    measured = [
        any(cell.value or cell.change for row in rows for cell in cells.get((row, each), []))
        for each in columns
    ]
    lines = []
    for row in rows:
        line = [row]
        for column, has_counterpart in zip(columns, measured, strict=True):
            in_place = cells.get((row, column), [])
            # One that has counterparts at several levels of added factors is printed once.
            line.append(_joined(list(dict.fromkeys(_published(each.row) for each in in_place))))
            if has_counterpart:
                line.append(_joined([_bracketed(each.value, each.change) for each in in_place]))
        lines.append(tuple(line))
    factor = study.factors[rows_name]
    title = next((each.title for each in study.responses if each.name == response), response)
    caption = CAPTION.format(
        place=f"Table {place}" if place.isdigit() else place,
        response=title,
        unit=unit,
        rows=factor.title,
        baseline=factor.baseline or factor.levels[0],
    )
    parts = [("published", "here") if here else ("published",) for here in measured]
    headings = (factor.title, *(part for each in parts for part in each))
    groups = tuple((column, len(each)) for column, each in zip(columns, parts, strict=True))
    name = f"{study.study}-{place}-{response}".replace(" ", "-").lower()
    return DataTable(name, caption, headings, tuple(lines), headings, tuple(lines), groups)


def _published(row: PublishedRow) -> str:
    change = row.change_percent
    signed = f"+{change}" if change and not change.startswith("-") and float(change) else change
    return marked(_bracketed(row.value, f"{signed}%" if signed else ""), row)


def _bracketed(value: str, change: str) -> str:
    return f"{value} ({change})" if value and change else value or change


def _joined(texts: Sequence[str]) -> str:
    return "; ".join(filter(None, texts)) or NOTHING
