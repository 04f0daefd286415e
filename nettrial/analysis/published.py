"""The figures that a study's source printed, and which of our treatments they are comparable with."""

import csv
import io
from dataclasses import dataclass

from nettrial.analysis.summary import Levels
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
    """As printed, in `unit`; empty where only a change is printed."""
    unit: str
    change_percent: str
    """As printed, signed as a change of the value; empty where none is printed."""
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
