"""The tables of a report as texts in cells, with a group of columns for each combination of levels.

The terminal and the page show the same tables and differ only in how they draw them."""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeGuard

from nettrial.analysis import Agreement, Cell, Interval, PublishedRow, ResponseSummary, WarningGroup, baseline
from nettrial.analysis.sequential import NO_INTERVAL
from nettrial.analysis.summary import Levels
from nettrial.report import numbers
from nettrial.study import Factor, Study
from nettrial.study.published import PRINTED

ALL_EQUAL = "all values are equal, which is no evidence of their spread: no interval"
"""The note on a mean of equal values that were measured."""
UNCLEAR = "unclear"
"""The text for a change in percent that is too uncertain to be a result."""
UNCLEAR_NOTE = "the change may be a hundredfold: there are too few values, or some are near 0"
"""The note on an unclear change."""


@dataclass(frozen=True)
class TableCell:
    """A table's cell; parts that do not exist are empty."""

    value: str = ""
    """The mean or the published value."""
    half_interval: str = ""
    """The half-width of the mean's interval."""
    change: str = ""
    """The change from the baseline in percent, with its sign."""
    change_interval: str = ""
    """The interval of the change."""
    note: str = ""
    """The reason why something is absent."""
    n: int = 0
    """The number of trials with a value."""
    deviation: str = ""
    """The sample standard deviation over the trials."""
    marks: tuple[int, ...] = ()
    """The numbers, from 1, of the warnings in trials of this treatment, except those that every treatment
    has."""


@dataclass(frozen=True)
class Table:
    """A table of entries by row and column."""

    row_title: str
    """The heading of the rows: the title of their factor."""
    rows: tuple[str, ...]
    """The names of the rows."""
    columns: tuple[str, ...]
    """The names of the columns."""
    entries: tuple[tuple[TableCell, ...], ...]
    """The cells, row by row."""
    headings: Mapping[str, str] = field(default_factory=dict)
    """The headings of rows and columns whose names are not sufficient, such as a machine with its operating
    system."""

    def heading(self, name: str) -> str:
        """Returns the heading of a row or a column."""
        return self.headings.get(name, name)


@dataclass(frozen=True)
class PublishedComparison:
    """A measured change and its published counterpart."""

    row: str
    """The level of the rows' factor."""
    measured: TableCell
    """The measured cell."""
    measured_column: str
    """The name of the measured column."""
    published: str
    """The published change in percent, as printed."""
    published_column: str
    """The name of the published column."""
    inside: bool | None
    """True if the published change lies within the measured interval; None without an interval."""


def combinations(study: Study) -> list[Levels]:
    """Returns the levels of each group of columns, in the order of the layout."""
    names = study.layout.columns
    levels = [study.factors[name].levels for name in names]
    return [dict(zip(names, chosen, strict=True)) for chosen in itertools.product(*levels)]


def label(study: Study, levels: Levels) -> str:
    """Returns the label of a group of columns, or of a treatment, from its levels: "Sender linux-cubic –
    Receiver classic". A factor's only level is left out, because all trials have it."""
    told = [
        f"{study.factors[name].title} {level}"
        for name, level in levels.items()
        if study.factors[name].levels != [level]
    ]
    return " – ".join(told) or "all trials"


def column_title(study: Study) -> str:
    """Returns the titles of the columns' factors that have several levels: "Sender – Receiver"."""
    columns = (study.factors[name] for name in study.layout.columns)
    return " – ".join(factor.title for factor in columns if len(factor.levels) > 1)


def headings(study: Study, systems: Mapping[str, str]) -> dict[str, str]:
    """Returns the headings of rows and columns that are the user's machines, by name. `systems` has the
    operating system and version of each machine."""
    chosen = {name for name, each in study.factors.items() if are_machines(each)}

    def heading(levels: Levels) -> str:
        told = {name: f"{level} ({systems[level]})" for name, level in levels.items() if level in systems}
        return label(study, {**levels, **{name: text for name, text in told.items() if name in chosen}})

    names = {label(study, levels): heading(levels) for levels in combinations(study)}
    rows = study.layout.rows
    if rows in chosen:
        levels = study.factors[rows].levels
        names |= {level: f"{level} ({systems[level]})" for level in levels if level in systems}
    return {name: text for name, text in names.items() if name != text}


def are_machines(factor: Factor) -> bool:
    """Returns true if the levels of a factor are the user's machines."""
    paths = factor.paths
    return bool(paths) and all(path.startswith("hosts.") and path.endswith(".machine") for path in paths)


def measured(
    study: Study,
    response: ResponseSummary,
    warnings: Sequence[WarningGroup],
    systems: Mapping[str, str] | None = None,
) -> Table:
    """Returns the table of a response in the study's layout; `systems` has the operating systems of the
    user's machines by name."""
    rows = study.factors[study.layout.rows]
    columns = combinations(study)
    decimals = numbers.value_decimals(response.cells)
    changes = [cell.change for cell in response.cells if cell.change]
    percent = numbers.percent_decimals(changes)

    def entry(treatment: Levels) -> TableCell:
        cell = response.cell(treatment)
        if cell is None or cell.mean is None:
            reasons = "; ".join(cell.absent) if cell else ""
            return TableCell(note=reasons or "no finished trial", marks=_marks(treatment, warnings, response))
        half = numbers.fixed(cell.interval.half_width, decimals) if cell.interval else ""
        shown = TableCell(
            value=numbers.fixed(cell.mean, decimals),
            half_interval=half,
            note="" if cell.interval else _no_interval(cell),
            n=cell.n,
            deviation="" if cell.deviation is None else numbers.fixed(cell.deviation, decimals + 1),
            marks=_marks(treatment, warnings, response),
        )
        change = cell.change
        if change is None:
            return shown
        if change.is_unclear:
            return replace(shown, change=UNCLEAR, note=shown.note or UNCLEAR_NOTE)
        parts = {
            "change": "" if change.percent is None else numbers.signed(change.percent, percent),
            "change_interval": numbers.bounds(change.interval, percent) if change.interval else "",
            "note": shown.note or change.absent or "",
        }
        return TableCell(**{**shown.__dict__, **parts})

    entries = tuple(
        tuple(entry({**column, study.layout.rows: row}) for column in columns) for row in rows.levels
    )
    named = headings(study, systems or {})
    return Table(
        rows.title, tuple(rows.levels), tuple(label(study, column) for column in columns), entries, named
    )


def _no_interval(cell: Cell) -> str:
    """Returns the reason why the mean of a cell has no interval."""
    if cell.n < 2:
        return "a single trial gives no interval"
    return ALL_EQUAL if cell.deviation == 0 else NO_INTERVAL


def _marks(treatment: Levels, warnings: Sequence[WarningGroup], response: ResponseSummary) -> tuple[int, ...]:
    return tuple(
        number
        for number, group in enumerate(warnings, start=1)
        if treatment in group.treatments
        and len(group.treatments) < len(response.cells)
        and (not group.responses or response.response.name in group.responses)
    )


def published(study: Study, response: str, rows: Sequence[PublishedRow]) -> Table | None:
    """Returns the published figures of a response in the same layout; None if there are none."""
    rows = [row for row in rows if row.response == response]
    if not rows:
        return None
    factor = study.layout.rows
    by_place: dict[tuple[str, str], list[PublishedRow]] = {}
    for row in rows:
        by_place.setdefault((row.levels.get(factor, ""), published_label(study, row)), []).append(row)
    levels = tuple(dict.fromkeys(level for level, _ in by_place))
    columns = tuple(dict.fromkeys(column for _, column in by_place))

    def entry(level: str, column: str) -> TableCell:
        here = by_place.get((level, column), [])
        values, changes = (filter(None, map(each, here)) for each in (_published_value, _published_change))
        return TableCell(value="; ".join(values), change="; ".join(changes))

    entries = tuple(tuple(entry(level, column) for column in columns) for level in levels)
    return Table(study.factors[factor].title, levels, columns, entries)


def published_label(study: Study, row: PublishedRow) -> str:
    """Returns the label of a published figure's group of columns, from the source's levels."""
    return label(study, {name: level for name, level in row.levels.items() if name != study.layout.rows})


def counterparts(study: Study, agreements: Sequence[Agreement]) -> dict[str, str | None]:
    """Returns for each published group of columns its counterparts here, or None."""
    groups: dict[str, dict[str, None]] = {}
    for each in agreements:
        ours = groups.setdefault(published_label(study, each.row), {})
        if each.cell is not None:
            ours[_column(study, each.cell)] = None
    return {theirs: "; ".join(ours) or None for theirs, ours in groups.items()}


def _column(study: Study, cell: Cell) -> str:
    """Returns the name of a cell's group of columns."""
    return label(study, {name: cell.treatment[name] for name in study.layout.columns})


def printed(row: PublishedRow) -> str:
    """Returns a published value with its unit and standard deviation, and with its origin if the source does
    not print it."""
    parts = [f"{row.value} {row.unit}", f"SD {row.sd}" if row.sd else ""]
    return marked(", ".join(filter(None, parts)), row)


def _published_value(row: PublishedRow) -> str:
    """Returns a published value with its standard deviation, and with its origin if the source does not print
    it."""
    parts = [row.value, f"SD {row.sd}" if row.sd else ""]
    return marked(", ".join(filter(None, parts)), row)


def _published_change(row: PublishedRow) -> str:
    return marked(_as_printed(row.change_percent), row)


def marked(text: str, row: PublishedRow) -> str:
    """Returns a figure's text with its row's mark, or unchanged if the source prints the figure."""
    if not text or row.mark == PRINTED:
        return text
    error = f", ± {row.reading_error}" if row.reading_error else ""
    return f"{text} ({row.mark}{error})"


def _as_printed(change: str) -> str:
    """Returns a published change with its sign and unchanged digits."""
    return f"+{change}" if change and not change.startswith("-") and float(change) != 0 else change


def comparisons(
    study: Study, response: ResponseSummary, table: Table, agreements: Sequence[Agreement]
) -> list[PublishedComparison]:
    """Returns the measured and published changes of treatments that have a published counterpart."""
    rows = []
    for each in agreements:
        row, cell = each.row, each.cell
        if row.response != response.response.name or cell is None or not row.change_percent:
            continue
        level = cell.treatment[study.layout.rows]
        if level == baseline(study):
            continue
        names = _column(study, cell)
        interval = cell.change.interval if cell.change else None
        rows.append(
            PublishedComparison(
                row=level,
                measured=table.entries[table.rows.index(level)][table.columns.index(names)],
                measured_column=names,
                published=_as_printed(row.change_percent),
                published_column=published_label(study, row),
                inside=interval.contains(float(row.change_percent)) if interval else None,
            )
        )
    return rows


AGREEMENT = (
    *("Figure", "Published value", "Measured value", "Measured ÷ published", "Published value is"),
    *("Published change", "Direction of change", "Published change is"),
)
"""The columns of the table of agreement."""


def agreement_label(study: Study, agreements: Sequence[Agreement], each: Agreement) -> str:
    """Returns the levels of a published figure's counterpart that not all of `agreements` share:
    "MTU 9000 B"."""
    assert each.cell is not None
    there = [other.cell.treatment for other in agreements if other.cell and other.cell.mean is not None]
    names = [study.layout.rows, *study.layout.columns]
    told = [name for name in names if len({treatment[name] for treatment in there}) > 1]
    shown = [f"{study.factors[name].title} {each.cell.treatment[name]}" for name in told]
    return ", ".join(shown) or "all trials"


def agreement(study: Study, agreements: Sequence[Agreement]) -> list[tuple[str, ...]]:
    """Returns a row for each published figure with a measured counterpart: its label, both values, their
    ratio, and whether the published value lies within the measured interval; and the same for its change."""
    titles = {response.name: response.title for response in study.responses}
    units = {response.name: response.unit for response in study.responses}
    lines: list[tuple[str, ...]] = []
    for each in agreements:
        if each.cell is None or each.cell.mean is None:
            continue
        of = f"{titles[each.row.response]}, {agreement_label(study, agreements, each)}"
        if each.row.difference:
            lines.append((of, *_difference(study, each)))
        if not each.row.value and each.published_change is None:
            continue
        change = "" if each.published_change is None else f"{numbers.as_printed(each.published_change)}%"
        mean = numbers.fixed(each.cell.mean, numbers.value_decimals([each.cell]))
        lines.append(
            (
                of,
                marked(f"{each.row.value} {each.row.unit}", each.row) if each.row.value else "",
                f"{mean} {units[each.row.response]}",
                "" if each.ratio is None else f"{each.ratio:.3g}",
                _INSIDE[each.inside],
                f"{change} (computed)" if each.computed else change,
                each.direction or "",
                _INSIDE[each.change_inside],
            )
        )
    return lines


def _difference(study: Study, each: Agreement) -> tuple[str, ...]:
    """Returns a published difference from another treatment and the measured one, in the columns of
    AGREEMENT."""
    row, base = each.row, each.row.other or {}
    apart = [name for name, level in base.items() if level != row.levels[name]]
    other = ", ".join(f"{study.factors[name].title} {base[name]}" for name in apart)
    said = marked(f"{_as_printed(row.difference)} {row.unit} from {other}", row)
    if each.difference is None:
        return (said, "", "", "", "", "", "")
    interval = each.difference_interval
    decimals = max(0, min(9, 1 - math.floor(math.log10(interval.half_width)))) if _wide(interval) else 3
    shown = numbers.signed(each.difference, decimals)
    if interval is not None:
        shown += f" {numbers.bounds(interval, decimals)}"
    theirs = float(row.difference)
    ratio = f"{each.difference / theirs:.3g}" if theirs else ""
    return (said, shown, ratio, _INSIDE[each.difference_inside], "", "", "")


def _wide(interval: Interval | None) -> TypeGuard[Interval]:
    return interval is not None and not numbers.without_spread(interval)


SPREADS = (
    *("Figure", "Published SD", "Published trials", "Measured SD", "Measured trials"),
    *("Measured ÷ published", "p-value", "Spread here"),
)
"""The columns of the table of spreads."""


def spreads(study: Study, agreements: Sequence[Agreement]) -> list[tuple[str, ...]]:
    """Returns a row for each published standard deviation with a measured counterpart: its label, both values
    with their numbers of trials, their ratio with its 95% interval, the p-value of the F test, and the
    verdict."""
    titles = {response.name: response.title for response in study.responses}
    lines: list[tuple[str, ...]] = []
    for each in agreements:
        if each.spread is None or each.cell is None:
            continue
        spread = each.spread
        ratio = "" if spread.ratio is None else f"{spread.ratio:.3g}"
        if spread.interval:
            ratio += f" [{spread.interval.low:.3g}, {spread.interval.high:.3g}]"
        lines.append(
            (
                ", ".join(
                    [
                        titles[each.row.response],
                        *(
                            f"{study.factors[name].title} {level}"
                            for name, level in each.cell.treatment.items()
                        ),
                    ]
                ),
                f"{each.row.sd} {each.row.unit}",
                str(each.row.n or ""),
                "" if spread.measured is None else f"{spread.measured:.3g} {each.row.unit}",
                str(each.cell.n),
                ratio,
                "" if spread.p_value is None else f"{spread.p_value:.2g}",
                spread.verdict,
            )
        )
    return lines


_INSIDE = {True: "inside", False: "outside", None: ""}
