"""A study's file of published figures: what its columns are, and how it is read."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from nettrial.errors import BadInput
from nettrial.registry import near
from nettrial.study.model import Study

READING = "reading published figures"
REQUIRED = {
    "table": "The source's number of the table, or another place in it.",
    "response": "The name of the study's response.",
    "value": "The value as printed; nothing where it is not.",
    "unit": "The unit of value, standard deviation, difference and reading error.",
    "change_percent": "The change from the baseline of the rows' factor as printed, signed as one of the "
    "value.",
}
"""The columns that every file of published figures has, beside one for each factor, and what stands there."""
OPTIONAL = {
    "difference": "The difference from another treatment as printed, signed as a difference of the value.",
    "against": "That treatment, by its one other level, as `factor: level`; where it is empty, the baseline "
    "of the rows' factor.",
    "sd": "The standard deviation over the source's trials as printed.",
    "n": "The number of these trials.",
    "mark": "`printed`, also where it is empty; `read off a figure`; or `computed` from what is printed. It "
    "is that of all figures of its line.",
    "reading_error": "The largest error of a value that was read off a figure.",
}
"""The columns that it may have, and what stands there."""
PRINTED, READ_OFF, COMPUTED = "printed", "read off a figure", "computed"
Levels = dict[str, str]
"""One level of each factor, by the factor's name."""
MARKS = (PRINTED, READ_OFF, COMPUTED)
"""The ways in which a figure came from its source: it stands there as a number; somebody read it off a chart;
it follows from printed numbers, and the source does not print it itself."""


@dataclass(frozen=True)
class PublishedRow:
    """One published figure."""

    table: str
    """The source's number of the table, or another place in it."""
    response: str
    """The name of the study's response that it is of."""
    levels: Levels
    """The source's own levels, by factor."""
    value: str
    """The value as printed, in `unit`; empty where it is not."""
    unit: str
    change_percent: str
    """The change as printed, signed as a change of the value; empty where none is printed."""
    counterpart: Levels | None
    """The treatment here that means the same, or None where there is none."""
    sd: str = ""
    """The standard deviation over the source's trials as printed, in `unit`; empty where none is."""
    n: int | None = None
    """The source's number of trials; None where it does not say."""
    difference: str = ""
    """The difference from the figure at `other` as published, in `unit`; empty where none is."""
    other: Levels | None = None
    """The source's levels that `difference` is from; None without a difference."""
    against: Levels | None = None
    """The treatment here that means the same as `other`; None where there is none."""
    mark: str = PRINTED
    """One of `MARKS`: where the figures of the row come from."""
    reading_error: str = ""
    """The largest error of a value that was read off a figure, in `unit`."""


def read(text: str, study: Study) -> list[PublishedRow]:
    """The rows of a file of published figures, in its order.

    Raises BadInput for a column that is unknown or missing, and for a value that can't be read.
    """
    reader = csv.DictReader(io.StringIO(text))
    columns = list(reader.fieldnames or [])
    _check_columns(columns, study)
    names = [column for column in columns if column in study.factors]
    return [_row(study, names, Line(line, row)) for line, row in enumerate(reader, start=2)]


def _check_columns(columns: list[str], study: Study) -> None:
    factors = ", ".join(study.factors)
    expected = f"{', '.join(REQUIRED)}; where wanted {', '.join(OPTIONAL)}; and the factors {factors}"
    missing = [name for name in REQUIRED if name not in columns]
    if missing:
        hint = "the first line names the columns"
        raise BadInput(READING, "published.csv", f"no column {', '.join(missing)}", expected, hint)
    known = {*REQUIRED, *OPTIONAL, *study.factors}
    for name in columns:
        if name not in known:
            hint = near(name, known) or "a factor's column has the factor's name"
            raise BadInput(READING, "published.csv, line 1", f"column {name}", expected, hint)
        if columns.count(name) > 1:
            raise BadInput(READING, "published.csv, line 1", f"column {name}", "each column once")


@dataclass(frozen=True)
class Line:
    """A line of the file, whose values are checked as they are asked for."""

    number: int
    values: Mapping[str | Any, Any]
    """A text for each column, None where the line ends before it; under None those beyond the last."""

    @property
    def length(self) -> str:
        """The number of values that a line has, in words."""
        return f"{sum(name is not None for name in self.values)} values, one for each column"

    def text(self, column: str) -> str:
        """A column's text; empty where the file has no such column, or the line ends before it."""
        return str(self.values.get(column) or "")

    def figure(
        self, column: str, fits: Callable[[float], bool] = lambda _: True, expected: str = "a number"
    ) -> str:
        """A number as printed, or nothing."""
        text = self.text(column)
        try:
            good = not text or (math.isfinite(float(text)) and fits(float(text)))
        except ValueError:
            good = False
        if not good:
            self.bad(column, f"{expected}, or nothing", "figures stand as printed, without a unit")
        return text

    def bad(self, column: str, expected: str, hint: str) -> NoReturn:
        """Raises BadInput for the value of a column."""
        place = f"published.csv, line {self.number}, {column}"
        raise BadInput(READING, place, repr(self.text(column)), expected, hint)


def _row(study: Study, names: list[str], line: Line) -> PublishedRow:
    if None in line.values:
        hint = "a value with a comma stands in double quotes"
        raise BadInput(READING, f"published.csv, line {line.number}", "too many values", line.length, hint)
    levels = {name: line.text(name) for name in names}
    trials = line.figure("n", lambda n: n >= 1 and n == int(n), "a whole number of trials, 1 or more")
    difference = line.figure("difference")
    other = _other(study, levels, line) if difference else None
    if line.text("against") and other is None:
        line.bad("against", "nothing in a line without a difference", "it says what the difference is from")
    mark = line.text("mark") or PRINTED
    if mark not in MARKS:
        line.bad("mark", f"{', '.join(MARKS)}, or nothing, which is {PRINTED}", near(mark, MARKS))
    error = line.figure("reading_error", lambda e: e >= 0, "a number of 0 or more")
    if bool(error) != (mark == READ_OFF):
        expected = "the largest error of the value" if mark == READ_OFF else "nothing"
        line.bad("reading_error", f"{expected} where mark is {mark}", f"it belongs to a value {READ_OFF}")
    return PublishedRow(
        table=line.text("table"),
        response=line.text("response"),
        levels=levels,
        value=line.figure("value"),
        unit=line.text("unit"),
        change_percent=line.figure("change_percent"),
        counterpart=_counterpart(study, levels),
        sd=line.figure("sd", lambda sd: sd >= 0, "a number of 0 or more"),
        n=int(float(trials)) if trials else None,
        difference=difference,
        other=other,
        against=_counterpart(study, other) if other else None,
        mark=mark,
        reading_error=error,
    )


def _other(study: Study, levels: Levels, line: Line) -> Levels:
    """The source's levels that a line's difference is from: `against` has another level of one factor, as
    `factor: level`; where it is empty, it is the baseline of the rows' factor."""
    text = line.text("against")
    factor, _, level = (part.strip() for part in text.partition(":"))
    if not text:
        factor = study.layout.rows
        base = study.factors[factor].baseline or study.factors[factor].levels[0]
        mapped = study.published.levels.get(factor, {}) if study.published else {}
        level = next((theirs for theirs, ours in mapped.items() if ours == base), base)
    if factor not in levels or not level:
        expected = f"factor: level, with a factor of {', '.join(levels)}"
        line.bad("against", expected, "it says what the difference is from")
    return {**levels, factor: level}


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
