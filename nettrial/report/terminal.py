"""The report as text, for a terminal of any width or a file."""

import textwrap
from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from nettrial.analysis import baseline
from nettrial.report import conclusions, numbers, sentences, sweeps, tables, verdicts
from nettrial.report.content import Report, Section, gather
from nettrial.report.tables import PublishedComparison, Table, TableCell
from nettrial.store import Run

STEPS_SHOWN = 12
"""The number of steps shown for a curve; the page shows all."""
_GAP = 2
_SPREAD = " (standard deviation over trials, number of trials)"


def render(run: Run, console: Console, report: Report | None = None, spread: bool = False) -> None:
    """Prints a run's report on `console`. `report` is the gathered content, if it was gathered before; with
    `spread`, each mean has its standard deviation and its number of trials.

    The rows of tables follow the study's layout, and there is a group of columns for each combination of the
    other levels; groups that do not fit into the width are printed below."""
    report = report or gather(run)
    _heading(report, console, spread)
    for section in report.sections:
        _section(report, section, console, spread)
    if report.sweeps:
        _sweeps(report, report.sweeps, console)
    _agreement(report, console)
    _verdicts(report, console)
    failures = [f"{group.message} ({numbers.numbered(group.trials, 'trial')})" for group in report.failures]
    absent = [f"{a.title}: {a.reason} ({numbers.counted(a.trials, 'trial')})" for a in report.absent]
    _list(console, "Pacing", report.pacing)
    _list(console, "Warnings", _warnings(report))
    _list(console, "Not measured", absent)
    _list(console, "Failed trials", failures)
    _list(console, "Limits of this run", conclusions.limits(report))
    _title(console, "To repeat this run")
    console.print(Text(run.command), soft_wrap=True)


def _heading(report: Report, console: Console, spread: bool) -> None:
    study = report.run.study
    factor = study.factors[study.layout.rows].title
    _title(console, f"{study.study}: {study.title}")
    _say(console, study.question)
    _say(console, ", ".join(report.facts))
    console.print()
    _say(console, conclusions.answer(report))
    console.print()
    across = tables.column_title(study)
    columns = f"{across} across. " if across else ""
    _say(
        console,
        f"Tables: {columns}Mean ± half-width of its 95% interval{_SPREAD if spread else ''}; change from "
        f"{factor} {baseline(study)} in % [its 95% interval], paired by block.",
    )
    if report.machines:
        _say(console, f"Machines: {'; '.join(report.machines)}.")
    for sentence in (*report.disturbed, *report.stopping):
        _say(console, sentence)
    if report.general_warnings:
        _say(console, f"In every treatment: {numbers.numbered(report.general_warnings, 'warning')}.")
    matches = tables.counterparts(study, report.answers.agreement)
    for theirs, ours in matches.items():
        if ours:
            _say(console, f"Published {theirs} is the counterpart of {ours} here.")
    alone = [theirs for theirs, ours in matches.items() if ours is None]
    if alone:
        _say(console, f"Published without a counterpart here: {'; '.join(alone)}.")


def _section(report: Report, section: Section, console: Console, spread: bool) -> None:
    groups = tables.column_title(report.run.study)
    _title(console, f"{section.title}, {section.unit}")
    unit = f"{section.unit}; change in %"
    _grids(
        console,
        section.measured,
        groups,
        unit,
        [[_parts(e, spread) for e in row] for row in section.measured.entries],
    )
    if section.published:
        console.print()
        _say(console, f"Published, {section.published_table}: {unit}")
        printed = [[[e.value, f"  {e.change}"] for e in row] for row in section.published.entries]
        _grids(console, section.published, groups, unit, printed)
    if section.sentences:
        console.print()
    for sentence in section.sentences:
        _say(console, sentence, bullet="- ")
    pairs = dict.fromkeys((c.measured_column, c.published_column) for c in section.comparisons)
    for ours, theirs in pairs:
        console.print()
        _say(console, f"Change in %: {ours} here, published {theirs}")
        _comparisons(console, [c for c in section.comparisons if c.measured_column == ours])


def _sweeps(report: Report, sweep_results: sweeps.Sweeps, console: Console) -> None:
    study = report.run.study
    _title(console, "Round-trip time by packet size, us")
    texts = [[_parts(entry) for entry in row] for row in sweep_results.table.entries]
    _grids(console, sweep_results.table, "Sweep", f"us; change from {sweeps.caption(study)} in %", texts)
    _list(console, "Steps of the smallest round-trip time", sweep_results.findings)
    for each in sweep_results.steps:
        lines = [sweeps.listed(step) for step in sweeps.every(each)]
        if lines:
            _title(console, f"Steps, {sweeps.name(study, each.curve)}")
            grid = _grid(sweeps.LISTED)
            for line in lines[:STEPS_SHOWN]:
                grid.add_row(*map(Text, line))
            console.print(grid)
            if len(lines) > STEPS_SHOWN:
                _say(console, f"and {len(lines) - STEPS_SHOWN} more on the page")


def _parts(entry: TableCell, spread: bool = False) -> list[str]:
    """Returns the parts of a measured cell: the value, half-width, standard deviation and number of trials,
    marks, and the change with its interval."""
    told = f" (SD {entry.deviation or '–'}, n {entry.n})" if spread and entry.value else ""
    half = f" ± {entry.half_interval}" if entry.half_interval else ""
    marks = ",".join(map(str, entry.marks))
    interval = f" {entry.change_interval}" if entry.change_interval else ""
    change = f"  {entry.change}" if entry.change else ""
    return [entry.value or "absent", half, told, f" *{marks}" if marks else "", change, interval]


def _grids(
    console: Console, table: Table, groups: str, unit: str, texts: Sequence[Sequence[Sequence[str]]]
) -> None:
    """Draw a table: groups of columns side by side, in pieces where the width asks for it.

    Where not even two fit, the groups go below each other in one narrow table.
    """
    cells = _aligned(texts)
    titles = [table.heading(title).replace(" – ", " –\n") for title in table.columns]
    levels = [table.heading(row) for row in table.rows]
    widths = [
        max([len(line) for line in title.split("\n")] + [len(row[i]) for row in cells])
        for i, title in enumerate(titles)
    ]
    room = console.width - max(map(len, [table.row_title, *levels]))
    fitting = room // (max(widths) + _GAP + 1)  # one more for the rule between columns
    if fitting < 2 <= len(titles):
        grid = _grid([groups, table.row_title, unit])
        for i, title in enumerate(table.columns):
            for level, row in zip(levels, cells, strict=True):
                grid.add_row(*map(Text, [table.heading(title) if level == levels[0] else "", level, row[i]]))
        console.print(grid)
        return
    pieces = -(-len(titles) // max(1, fitting))
    each = -(-len(titles) // pieces)
    for start in range(0, len(titles), each):
        grid = _grid([table.row_title, *titles[start : start + each]])
        for level, row in zip(levels, cells, strict=True):
            grid.add_row(*map(Text, [level, *row[start : start + each]]))
        if start:
            console.print()
        console.print(grid)


def _aligned(texts: Sequence[Sequence[Sequence[str]]]) -> list[list[str]]:
    """Joins the parts of each cell so that corresponding parts of a column are aligned."""
    joined: list[list[str]] = [[] for _ in texts]
    for column in zip(*texts, strict=True):
        widths = [max(map(len, part)) for part in zip(*column, strict=True)]
        for line, cell in zip(joined, column, strict=True):
            line.append("".join(part.rjust(width) for part, width in zip(cell, widths, strict=True)))
    return joined


def _comparisons(console: Console, comparisons: Sequence[PublishedComparison]) -> None:
    grid = _grid(["", "measured", "published", "the published change is"])
    for each in comparisons:
        measured = each.measured
        text = f"{measured.change} {measured.change_interval}".strip() or f"absent: {measured.note}"
        where = {True: "in the interval", False: "outside the interval", None: "–"}[each.inside]
        grid.add_row(*map(Text, (each.row, text, each.published, where)))
    console.print(grid)


def _agreement(report: Report, console: Console) -> None:
    """Prints one table of all published figures that have a counterpart."""
    said = sentences.agreement(report.answers.agreement)
    if not said:
        return
    _title(console, "Agreement with the published figures")
    _say(console, said)
    grid = _grid(tables.AGREEMENT)
    for row in tables.agreement(report.run.study, report.answers.agreement):
        grid.add_row(*map(Text, row))
    console.print(grid)
    if spreads := tables.spreads(report.run.study, report.answers.agreement):
        _title(console, "Measured and published spread")
        _say(console, sentences.spreads(report.answers.agreement))
        grid = _grid(tables.SPREADS)
        for row in spreads:
            grid.add_row(*map(Text, row))
        console.print(grid)


def _verdicts(report: Report, console: Console) -> None:
    """Prints the source's conclusions, each with its verdict and the comparison on which it is based."""
    judgements = report.answers.verdicts
    if not judgements:
        return
    _title(console, "The source's conclusions")
    _say(console, verdicts.counted(judgements))
    for each in judgements:
        _say(
            console,
            f"{each.conclusion.name}: {verdicts.judged(each)}. {verdicts.in_words(report.run.study, each)}",
            bullet="- ",
        )


def _grid(titles: Sequence[str]) -> Grid:
    grid = Grid(
        box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, _GAP, 0, 0), header_style=""
    )
    for title in titles:
        grid.add_column(Text(title), overflow="fold")
    return grid


def _warnings(report: Report) -> list[str]:
    return [
        f"*{number} {group.object}: {group.message} ({numbers.counted(group.trials, 'trial')}); "
        f"{group.consequence}"
        for number, group in enumerate(report.warnings, start=1)
    ]


def _list(console: Console, title: str, items: Sequence[str]) -> None:
    if items:
        _title(console, title)
        for item in items:
            _say(console, item, bullet="- ")


def _title(console: Console, text: str) -> None:
    console.print()
    console.print(Text(text, style="bold"))


def _say(console: Console, text: str, bullet: str = "") -> None:
    """Prints a text verbatim (names come from users and are not mark-up), wrapped at the terminal's width."""
    filled = textwrap.fill(text, console.width, initial_indent=bullet, subsequent_indent=" " * len(bullet))
    console.print(Text(filled))
