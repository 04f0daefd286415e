"""A study's file of published figures: its columns, and its parser."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from nettrial.errors import BadInput
from nettrial.fields import in_short
from nettrial.registry import near
from nettrial.study.model import Study

READING = "reading published figures"
"""The current action, for error messages."""
REQUIRED = {
    "table": "The source's number of the table, or another place in it.",
    "response": "The name of the study's response.",
    "value": "The value as printed; empty if it is not printed.",
    "unit": "The unit of value, standard deviation, difference and reading error.",
    "change_percent": "The change from the baseline of the rows' factor as printed, with the sign of a "
    "change of the value.",
}
"""The required columns of a file of published figures, apart from one for each factor, with their content."""
OPTIONAL = {
    "difference": "The difference from another treatment as printed, with the sign of a difference of the "
    "value.",
    "against": "The other treatment, by the level in which it differs, as `factor: level`; if empty, the "
    "baseline of the rows' factor.",
    "sd": "The standard deviation over the source's trials, as printed.",
    "n": "The number of these trials.",
    "mark": "The origin of all figures of the line: `printed` (also if empty), `read off a figure`, or "
    "`computed` from printed values.",
    "reading_error": "The largest error of a value that was read off a figure.",
}
"""The optional columns, with their content."""
PRINTED, READ_OFF, COMPUTED = "printed", "read off a figure", "computed"
Levels = dict[str, str]
"""One level of each factor, by the factor's name."""
MARKS = (PRINTED, READ_OFF, COMPUTED)
"""The origins of a figure: printed in the source as a number; read off a chart; or computed from printed
numbers and not printed itself."""


@dataclass(frozen=True)
class PublishedRow:
    """A published figure."""

    table: str
    """The source's number of the table, or another place in it."""
    response: str
    """The name of the study's response to which it belongs."""
    levels: Levels
    """The source's own levels, by factor."""
    value: str
    """The value as printed, in `unit`; empty if it is not printed."""
    unit: str
    """The unit of the figures."""
    change_percent: str
    """The change as printed, with the sign of a change of the value; empty if none is printed."""
    sd: str = ""
    """The standard deviation over the source's trials as printed, in `unit`; empty if none is printed."""
    n: int | None = None
    """The source's number of trials; None if it does not state it."""
    difference: str = ""
    """The published difference from the figure at `other`, in `unit`; empty if none is published."""
    other: Levels | None = None
    """The source's levels from which `difference` is measured; None without a difference."""
    mark: str = PRINTED
    """The origin of the row's figures, one of `MARKS`."""
    reading_error: str = ""
    """The largest error of a value that was read off a figure, in `unit`."""


def read(text: str, study: Study) -> list[PublishedRow]:
    """Returns the rows of a file of published figures, in its order.

    Raises BadInput for an unknown or missing column, and for an invalid value."""
    reader = csv.DictReader(io.StringIO(text))
    try:
        columns = list(reader.fieldnames or [])
    except csv.Error as error:
        raise BadInput(READING, "line 1", str(error), "a CSV file") from None
    _check_columns(columns, study)
    names = [column for column in columns if column in study.factors]
    try:
        return [_row(study, names, Line(line, row)) for line, row in enumerate(reader, start=2)]
    except csv.Error as error:
        raise BadInput(READING, f"line {reader.line_num}", str(error), "a CSV file") from None


def refuse_unknown_levels(rows: Sequence[PublishedRow], study: Study) -> None:
    """Raises BadInput if the study maps levels of the source, or a row refers to one, that no row of the file
    has: such a mapping does nothing. Runs that are stored are read without this."""
    names = list(rows[0].levels) if rows else []
    theirs = {name: list(dict.fromkeys(row.levels[name] for row in rows)) for name in names}
    for factor, levels in (study.published.levels if study.published else {}).items():
        for level in levels:
            if factor in theirs and level not in theirs[factor]:
                place = study.where("published", "levels", factor, level)
                hint = near(level, theirs[factor]) or f"the file's column {factor} has the levels"
                raise BadInput(READING, place, level, in_short(theirs[factor]), hint)
    for line, row in enumerate(rows, start=2):
        for factor, level in (row.other or {}).items():
            mapped = study.published.levels.get(factor, {}) if study.published else {}
            known = [*theirs[factor], *mapped, *study.factors[factor].levels]
            if level not in known:
                place = f"published.csv, line {line}, against"
                raise BadInput(READING, place, level, in_short(theirs[factor]), near(level, theirs[factor]))


def _check_columns(columns: list[str], study: Study) -> None:
    factors = ", ".join(study.factors)
    expected = f"{', '.join(REQUIRED)}; optionally {', '.join(OPTIONAL)}; and the factors {factors}"
    missing = [name for name in REQUIRED if name not in columns]
    if missing:
        hint = "the first line names the columns"
        raise BadInput(READING, "published.csv", f"no column {', '.join(missing)}", expected, hint)
    known = {*REQUIRED, *OPTIONAL, *study.factors}
    for name in columns:
        if name not in known:
            hint = near(name, known) or "a factor's column has the name of the factor"
            raise BadInput(READING, "published.csv, line 1", f"column {name}", expected, hint)
        if columns.count(name) > 1:
            raise BadInput(READING, "published.csv, line 1", f"column {name}", "each column once")


@dataclass(frozen=True)
class Line:
    """A line of the file, whose values are checked when they are read."""

    number: int
    """The number of the line in the file, from 1."""
    values: Mapping[str | Any, Any]
    """The text of each column, None if the line ends before it; the values beyond the last column are stored
    under None."""

    @property
    def length(self) -> str:
        """Returns the number of the line's values, in words."""
        return f"{sum(name is not None for name in self.values)} values, one for each column"

    def text(self, column: str) -> str:
        """Returns a column's text; empty if the file has no such column, or if the line ends before it."""
        return str(self.values.get(column) or "")

    def figure(
        self, column: str, fits: Callable[[float], bool] = lambda _: True, expected: str = "a number"
    ) -> str:
        """Returns a number as printed, or an empty text."""
        text = self.text(column)
        try:
            good = not text or (math.isfinite(float(text)) and fits(float(text)))
        except ValueError:
            good = False
        if not good:
            self.bad(column, f"{expected}, or nothing", "figures are given as printed, without units")
        return text

    def bad(self, column: str, expected: str, hint: str) -> NoReturn:
        """Raises BadInput for the value of a column."""
        place = f"published.csv, line {self.number}, {column}"
        raise BadInput(READING, place, repr(self.text(column)), expected, hint)


def _row(study: Study, names: list[str], line: Line) -> PublishedRow:
    if None in line.values:
        hint = "enclose a value that contains a comma in double quotes"
        raise BadInput(READING, f"published.csv, line {line.number}", "too many values", line.length, hint)
    levels = {name: line.text(name) for name in names}
    trials = line.figure("n", lambda n: n >= 1 and n == int(n), "a whole number of trials, 1 or more")
    difference = line.figure("difference")
    other = _other(study, levels, line) if difference else None
    if line.text("against") and other is None:
        line.bad(
            "against",
            "nothing in a line without a difference",
            "it gives the treatment from which the difference is measured",
        )
    mark = line.text("mark") or PRINTED
    if mark not in MARKS:
        line.bad("mark", f"{', '.join(MARKS)}, or nothing, which is {PRINTED}", near(mark, MARKS))
    error = line.figure("reading_error", lambda e: e >= 0, "a number of 0 or more")
    if bool(error) != (mark == READ_OFF):
        expected = "the largest error of the value" if mark == READ_OFF else "nothing"
        line.bad("reading_error", f"{expected} where mark is {mark}", f"it is only for a value {READ_OFF}")
    return PublishedRow(
        table=line.text("table"),
        response=line.text("response"),
        levels=levels,
        value=line.figure("value"),
        unit=line.text("unit"),
        change_percent=line.figure("change_percent"),
        sd=line.figure("sd", lambda sd: sd >= 0, "a number of 0 or more"),
        n=int(float(trials)) if trials else None,
        difference=difference,
        other=other,
        mark=mark,
        reading_error=error,
    )


def _other(study: Study, levels: Levels, line: Line) -> Levels:
    """Returns the source's levels from which a line's difference is measured: `against` has the other level
    of one factor as `factor: level`; if it is empty, the baseline of the rows' factor is meant."""
    text = line.text("against")
    factor, _, level = (part.strip() for part in text.partition(":"))
    if not text:
        factor = study.layout.rows
        base = study.factors[factor].baseline or study.factors[factor].levels[0]
        mapped = study.published.levels.get(factor, {}) if study.published else {}
        level = next((theirs for theirs, ours in mapped.items() if ours == base), base)
    if factor not in levels or not level:
        expected = f"factor: level, with a factor of {', '.join(levels)}"
        line.bad("against", expected, "it gives the treatment from which the difference is measured")
    return {**levels, factor: level}
