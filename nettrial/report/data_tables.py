"""The tables of a report as data, and as files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from nettrial.analysis import Cell, Change, ResponseSummary, baseline, estimate, merit
from nettrial.analysis.summary import Levels
from nettrial.metrics.base_units import BaseUnit, base_unit, factor_columns
from nettrial.report import numbers, pages, sentences, sweeps, tables, verdicts
from nettrial.report.change_words import WOULD_BE, verdict_in_words
from nettrial.report.content import Report, Section
from nettrial.report.formats import DataTable, Raw, as_csv, as_latex, as_markdown, plain
from nettrial.report.tables import TableCell
from nettrial.study import Response

FORMS = {"csv": as_csv, "md": as_markdown, "tex": as_latex}
"""The functions that format tables, by file extension."""
WRITING = "writing the tables"
"""The current action, for error messages."""
CHANGE_COLUMNS = (
    *("change_percent", "change_low_percent", "change_high_percent"),
    *("corrected_low_percent", "corrected_high_percent", "p_value", "p_corrected", "effect_hedges_g"),
    *("pairs", "verdict", "change_absent"),
)
"""The columns of a change: the percentage with its own 95% interval, the interval that holds together with
all others of its family, the p-values, Hedges' g, the number of blocks, the verdict, and the reason for an
absent value."""


def write_tables(report: Report, directory: Path) -> list[Path]:
    """Writes every table of a report as NAME.csv, NAME.md and NAME.tex into an existing directory, replacing
    files of these names, and returns the files. Raises BadInput if a file can't be written."""
    written = []
    for table in data_tables(report):
        for end, form in FORMS.items():
            target = directory / f"{table.name}.{end}"
            pages.write(target, form(table).encode(), WRITING)
            written.append(target)
    return written


def data_tables(report: Report) -> list[DataTable]:
    """Returns the tables of a report in its order, each with a unique name."""
    parts = [*_glance(report)]
    for section in report.sections:
        parts += _of_section(report, section)
    if report.sweeps:
        parts += [_sweep(report, report.sweeps), *_steps(report, report.sweeps)]
    parts += [
        *_agreement(report),
        *_verdicts(report),
        *_packet_sizes(report),
        *_warnings(report),
        *_processors(report),
    ]
    return [table for table in parts if table.lines]


def _of_section(report: Report, section: Section) -> list[DataTable]:
    made = [measured(report, section)]
    if section.published:
        made.append(_published(report, section))
    if section.comparisons:
        made.append(_comparison(report, section))
    return made


def measured(report: Report, section: Section) -> DataTable:
    """Returns the table of a response by treatment: in the study's layout for people, with a row for each
    treatment for programs."""
    study = report.run.study
    table = section.measured
    base = base_unit(section.unit)
    own = [base.column(name) for name in ("mean", "median", "deviation", "mean_low", "mean_high")]
    columns = ("trials", *own, *CHANGE_COLUMNS, "absent", "warnings")
    factors = factor_columns(study.factors, columns)
    rows = [
        (
            *(cell.treatment[name] for name in factors),
            *_estimates(section.response.response, cell, base),
            *_reasons(report, section, cell),
        )
        for cell in section.response.cells
    ]
    lines = [
        (level, *(text for entry in entries for text in _shown(entry)))
        for level, entries in zip(table.rows, table.entries, strict=True)
    ]
    factor = study.factors[study.layout.rows].title
    caption = (
        f"{section.title}, {section.unit}: mean ± half-width of its 95% interval; change from {factor} "
        f"{baseline(study)} in %, with its 95% interval, paired by block."
    )
    return DataTable(
        section.name,
        caption,
        (table.row_title, *((section.unit, "change, %") * len(table.columns))),
        tuple(lines),
        (*factors.values(), *columns),
        tuple(rows),
        tuple((column, 2) for column in table.columns),
        _notes(report, [entry for entries in table.entries for entry in entries]),
    )


def _shown(entry: TableCell) -> tuple[str, str]:
    """Returns a measured entry as two texts: the value, and its change."""
    value = " ± ".join(filter(None, [entry.value, entry.half_interval])) or "absent"
    marks = f" *{','.join(map(str, entry.marks))}" if entry.marks else ""
    return f"{value}{marks}", f"{entry.change} {entry.change_interval}".strip()


def _estimates(response: Response, cell: Cell, base: BaseUnit) -> list[Raw]:
    """Returns the number of trials, the mean, median, standard deviation and bounds of the mean in base
    units, and the change."""
    bounds = (cell.interval.low, cell.interval.high) if cell.interval else (None, None)
    values, change = (cell.mean, cell.median, cell.deviation, *bounds), change_values(response, cell.change)
    return [cell.n, *(None if x is None else base.value(x) for x in values), *change]


def change_values(response: Response, change: Change | None) -> list[Raw]:
    """Returns the values of CHANGE_COLUMNS, all None at the baseline."""
    if change is None:
        return [None] * len(CHANGE_COLUMNS)
    intervals = (change.interval, change.simultaneous)
    bounds = [bound for each in intervals for bound in ((each.low, each.high) if each else (None, None))]
    tested = (change.p_value, change.p_corrected, change.effect)
    verdict = str(merit(response, change, change.shown))
    return [change.percent, *bounds, *tested, change.pairs, verdict, change.absent]


def _reasons(report: Report, section: Section, cell: Cell) -> list[Raw]:
    """Returns the reasons for absent values, and the codes of the warnings of the treatment's trials."""
    codes = {group.code for group in report.warnings if cell.treatment in group.treatments}
    return ["; ".join(cell.absent) or None, " ".join(sorted(codes)) or None]


def _notes(report: Report, entries: Sequence[TableCell]) -> tuple[str, ...]:
    """Returns the warnings to which the marks of entries refer."""
    marks = sorted({mark for entry in entries for mark in entry.marks})
    return tuple(_note(report, mark) for mark in marks)


def _note(report: Report, number: int) -> str:
    group = report.warnings[number - 1]
    return f"*{number} {group.object}: {group.message}. {group.consequence}"


def _published(report: Report, section: Section) -> DataTable:
    """Returns the table of the published figures of a response: as printed, and for programs also in base
    units."""
    table = section.published
    assert table is not None
    study = report.run.study
    base = base_unit(section.unit)
    columns = (
        *("place", "printed", "unit", base.column("value"), "change_percent", "counterpart"),
        *("sd", "n", "difference", "difference_from", "mark", "reading_error"),
    )
    rows = [row for row in report.published if row.response == section.response.response.name]
    ours: dict[int, list[str]] = {}
    for each in report.answers.agreement:
        if each.cell is not None:
            ours.setdefault(id(each.row), []).append(tables.label(study, each.cell.treatment))
    names = list(dict.fromkeys(name for row in rows for name in row.levels))
    factors = factor_columns(names, columns)
    lines = [
        (level, *(text for entry in entries for text in (entry.value, entry.change)))
        for level, entries in zip(table.rows, table.entries, strict=True)
    ]
    return DataTable(
        f"{section.name}-published",
        f"{section.title}, {section.unit}; change in %: as published in {section.published_table}.",
        (table.row_title, *((section.unit, "change, %") * len(table.columns))),
        tuple(lines),
        (*factors.values(), *columns),
        tuple(
            (
                *(row.levels.get(name) for name in names),
                *(row.table, row.value or None, row.unit),
                base_unit(row.unit).exact(row.value) if row.value else None,
                float(row.change_percent) if row.change_percent else None,
                "; ".join(ours.get(id(row), ())) or None,
                *(row.sd or None, row.n, row.difference or None),
                tables.label(study, row.other) if row.other else None,
                *(row.mark, row.reading_error or None),
            )
            for row in rows
        ),
        tuple((column, 2) for column in table.columns),
    )


def _comparison(report: Report, section: Section) -> DataTable:
    """Returns the table of measured and published changes."""
    study = report.run.study
    factor = study.factors[study.layout.rows].title
    words = {True: "in the interval", False: "outside the interval", None: "can't be judged"}
    lines: list[tuple[str, ...]] = []
    rows: list[tuple[Raw, ...]] = []
    for change in section.comparisons:
        shown = _shown(change.measured)[1] or f"absent: {change.measured.note}"
        place = (change.row, change.measured_column)
        lines.append((*place, shown, change.published_column, change.published, words[change.inside]))
        cell = section.response.cell(_treatment(report, *place))
        values = change_values(section.response.response, cell.change if cell else None)
        printed = float(change.published)
        rows.append((*place, *values, change.published_column, printed))
        rows[-1] += (change.inside,)
    headings = (factor, "here", "measured", "there", "published", "the published change is")
    columns = ("level", "here", *CHANGE_COLUMNS, "there", "published_percent", "in_interval")
    caption = f"{section.title}: change from {factor} {baseline(study)} in %, measured and published."
    return DataTable(f"{section.name}-comparison", caption, headings, tuple(lines), columns, tuple(rows))


def _treatment(report: Report, level: str, group: str) -> Levels:
    """Returns the treatment of a row and a group of columns."""
    study = report.run.study
    levels = next(levels for levels in tables.combinations(study) if tables.label(study, levels) == group)
    return {**levels, study.layout.rows: level}


def _glance(report: Report) -> list[DataTable]:
    """Returns one table of the changes of all responses, at all levels and in all groups."""
    study = report.run.study
    columns = ("response", *CHANGE_COLUMNS)
    factors = factor_columns(study.factors, columns)
    titles = [factor.title for factor in study.factors.values()]
    lines: list[tuple[str, ...]] = []
    rows: list[tuple[Raw, ...]] = []
    for section in report.sections:
        for cell in section.response.cells:
            if cell.change is None:
                continue
            levels = [cell.treatment[name] for name in factors]
            entry = _entry(report, section, section.response, cell.treatment)
            response = section.response.response
            shown = _shown(entry)[1]
            judged = merit(response, cell.change, cell.change.shown)
            verdict = verdict_in_words(judged, cell.change, response.smallest_effect) if shown else ""
            lines.append((section.title, *levels, shown or f"absent: {entry.note}", verdict))
            rows.append((section.name, *levels, *change_values(response, cell.change)))
    factor = study.factors[study.layout.rows].title
    caption = f"Changes from {factor} {baseline(study)} in %, with their 95% intervals, paired by block."
    if any(line[-1].endswith(" would be") for line in lines):
        caption = f"{caption} {WOULD_BE[0].upper()}{WOULD_BE[1:]}."
    headings = ("Response", *titles, "change, %", "verdict")
    names = ("response", *factors.values(), *CHANGE_COLUMNS)
    return [DataTable("changes", caption, headings, tuple(lines), names, tuple(rows))]


def _entry(report: Report, section: Section, response: ResponseSummary, treatment: Levels) -> TableCell:
    study, table = report.run.study, section.measured
    group = tables.label(study, {name: treatment[name] for name in tables.combinations(study)[0]})
    return table.entries[table.rows.index(treatment[study.layout.rows])][table.columns.index(group)]


def _sweep(report: Report, sweep_results: sweeps.Sweeps) -> DataTable:
    """Returns the table of round-trip times at the sizes that the report shows."""
    study, table = report.run.study, sweep_results.table
    lines = [
        (size, *(text for entry in entries for text in _shown(entry)))
        for size, entries in zip(table.rows, table.entries, strict=True)
    ]
    columns = ("flow", "size_bytes", "trials", "rtt_s", "rtt_low_s", "rtt_high_s")
    factors = factor_columns(study.factors, columns)
    sizes = {float(size.removesuffix(" B")) for size in table.rows}
    rows: list[tuple[Raw, ...]] = []
    for curve in sweep_results.curves:
        levels = [curve.treatment[name] for name in factors]
        shown = estimate(curve.sizes, curve.rtt_us)
        bounds = (shown.low, shown.high) if len(curve.blocks) > 1 else (None, None)
        for at, size in enumerate(shown.sizes):
            if size in sizes:
                times = [None if part is None else float(part[at]) / 1e6 for part in (shown.mean, *bounds)]
                rows.append((*levels, curve.flow, int(size), len(curve.blocks), *times))
    return DataTable(
        "round-trip-times",
        f"Round-trip time by packet size, us: mean ± half-width of its 95% interval; change from "
        f"{sweeps.caption(study)} in %, with its 95% interval, paired by block.",
        (table.row_title, *(("us", "change, %") * len(table.columns))),
        tuple(lines),
        (*factors.values(), *columns),
        tuple(rows),
        tuple((column, 2) for column in table.columns),
    )


def _steps(report: Report, sweep_results: sweeps.Sweeps) -> list[DataTable]:
    """Returns the table of the steps of all curves."""
    study = report.run.study
    columns = ("flow", "after_bytes", "packets", "height_s", "height_low_s", "height_high_s")
    judgements = ("adjusted_probability", "found_by_search")
    factors = factor_columns(study.factors, (*columns, *judgements))
    lines: list[tuple[str, ...]] = []
    rows: list[tuple[Raw, ...]] = []
    for each in sweep_results.steps:
        curve = each.curve
        for step in sweeps.every(each):
            lines.append((sweeps.name(study, curve), *sweeps.listed(step)))
            bounds = [step.interval.low, step.interval.high] if step.interval else [None, None]
            heights = [None if us is None else us / 1e6 for us in (step.height_us, *bounds)]
            levels = [curve.treatment[name] for name in factors]
            place: list[Raw] = [*levels, curve.flow, step.after_bytes, step.packets]
            rows.append((*place, *heights, step.probability, step.seen))
    caption = "Steps of the smallest round-trip time, with 95% intervals."
    headings = ("sweep", *sweeps.LISTED)
    names = (*factors.values(), *columns, *judgements)
    return [DataTable("steps", caption, headings, tuple(lines), names, tuple(rows))]


def _agreement(report: Report) -> list[DataTable]:
    """Returns the tables of the published figures that have a counterpart."""
    lines = tables.agreement(report.run.study, report.answers.agreement)
    headings = ("figure", *tables.AGREEMENT[1:])
    caption = "Published figures and those measured under their counterparts, with 95% intervals."
    spreads = tables.spreads(report.run.study, report.answers.agreement)
    titles = (
        "figure",
        "published SD",
        "published trials",
        "measured SD",
        "measured trials",
        *tables.SPREADS[5:],
    )
    beside = f"Published and measured standard deviations. {sentences.F_TEST}"
    return [plain("agreement", caption, headings, lines), plain("spreads", beside, titles, spreads)]


def _verdicts(report: Report) -> list[DataTable]:
    """Returns the table of the source's conclusions with their verdicts."""
    lines = verdicts.lines(report.run.study, report.answers.verdicts)
    return [plain("verdicts", verdicts.CAPTION, verdicts.COLUMNS, lines)]


def _packet_sizes(report: Report) -> list[DataTable]:
    lines = [(item.treatment, item.interface, str(item.packets), item.most) for item in report.packet_sizes]
    headings = ("treatment", "interface", "packets", "sizes")
    return [plain("packet-sizes", "IP packets on the wire, the most frequent sizes.", headings, lines)]


def _warnings(report: Report) -> list[DataTable]:
    study = report.run.study
    lines = [
        (
            *(str(number), group.code, group.object, group.message, group.consequence, str(group.trials)),
            "; ".join(
                ", ".join(f"{study.factors[name].title} {level}" for name, level in treatment.items())
                for treatment in group.treatments
            ),
        )
        for number, group in enumerate(report.warnings, start=1)
    ]
    headings = ("number", "code", "object", "message", "consequence", "trials", "treatments")
    trials = numbers.counted(len(report.trials), "trial")
    caption = (
        f"Warnings, in {report.warned_trials} of {trials}."
        if report.warned_trials
        else "Warnings, which follow from the values of all trials."
    )
    return [plain("warnings", caption, headings, lines)]


def _processors(report: Report) -> list[DataTable]:
    lines = [
        (place.host, place.processor, place.shared_with, str(place.trials)) for place in report.placements
    ]
    headings = ("host", "CPU", "shared with", "trials")
    return [plain("processors", "CPUs of the hosts.", headings, lines)]
