"""A book of results: published and measured figures of several runs side by side, with verdicts and
limits."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from nettrial.analysis import Agreement
from nettrial.capabilities import IMPORTED
from nettrial.report import (
    conclusions,
    numbers,
    pages,
    published_layout,
    response_warnings,
    sentences,
    tables,
    verdicts,
)
from nettrial.report.content import Report, gather
from nettrial.report.formats import DataTable, as_markdown, plain
from nettrial.store import Run
from nettrial.store.fingerprint import commit_in_words

FIGURES = ("place", "figure", "published", "measured", "verdict")
"""The columns of the table of published figures."""
INDEX = ("study", "backend", "conclusion", "the source says", "verdict", "measured change")
"""The columns of the table of all conclusions."""
INDEX_CAPTION = (
    "All conclusions with their verdicts, and the change that was measured: the smallest and the largest of "
    "its comparisons."
)
"""The caption of that table."""
_DECIMALS = 3
_PERCENT = re.compile(r"([+-]\d[\d.]*)% \[")
CONCLUSIONS = "-conclusions"
"""The end of the name of a chapter's table of conclusions."""
_PLACED = {True: "inside the interval", False: "outside the interval", None: "no interval"}


@dataclass(frozen=True)
class Chapter:
    """The chapter of a book about one run."""

    name: str
    """The study's name."""
    title: str
    """The study's title."""
    question: str
    """The study's question."""
    source: str
    """The publication that the study reproduces; empty if there is none."""
    facts: str
    """The facts of the run: trials, backend, seed, version, machine, warnings."""
    command: str
    """The command that repeats the run."""
    answer: str
    """The answer to the question, in words."""
    counted: str
    """The number of published figures with a counterpart and the number of each verdict, in sentences."""
    tables: tuple[DataTable, ...]
    """The source's tables in their own shape with the measured figures, and the tables of all published and
    measured figures and of conclusions, without empty ones."""
    limits: tuple[str, ...]
    """The limits of the run's conclusions, in a few sentences each."""


def chapter(run: Run) -> Chapter:
    """Returns the chapter of a run; raises BadInput for published figures that can't be read."""
    report = gather(run)
    study, answers = run.study, report.answers
    figures = plain(
        f"{study.study}-figures",
        "Each published figure beside the measured one: mean ± half-width of its 95% interval over the "
        "trials, or the change with its interval, paired by block.",
        FIGURES,
        [line for each in answers.agreement for line in _lines(report, each)],
    )
    judged = plain(
        f"{study.study}{CONCLUSIONS}",
        verdicts.CAPTION,
        verdicts.COLUMNS,
        verdicts.lines(study, answers.verdicts),
    )
    layouts = published_layout.tables(study, [_figure(each) for each in answers.agreement])
    counted = [sentences.agreement(answers.agreement)]
    counted += [verdicts.counted(answers.verdicts)] if answers.verdicts else []
    source = study.source
    return Chapter(
        name=study.study,
        title=study.title,
        question=study.question,
        source=f"{source.authors.rstrip('.')}. {source.title}. {source.venue}." if source else "",
        facts=_facts(report),
        command=run.command,
        answer=conclusions.answer(report),
        counted=" ".join(filter(None, counted)),
        tables=tuple(table for table in (*layouts, figures, judged) if table.lines),
        limits=tuple(conclusions.limits(report)),
    )


def _facts(report: Report) -> str:
    run = report.run
    environment = run.sessions[-1].environment
    harm = response_warnings.in_one_line(report.warnings, report.warned_trials, len(report.trials))
    machine = ""
    if not run.study.capabilities.modelled_hosts:
        cpus = numbers.counted(environment.processors, "CPU") if environment.processors else ""
        known = [environment.processor, cpus, environment.kernel.split(" #")[0]]
        machine = ", ".join(filter(None, known))
    of_trials = [] if run.study.measured else [f"backend {run.study.backend}", f"seed {run.seed}"]
    imported = run.study.backend == IMPORTED
    commit = commit_in_words(run.sessions[-1].fingerprint)
    program = environment.engine_version if imported else f"nettrial {environment.engine_version} ({commit})"
    parts = [
        report.progress,
        *of_trials,
        program,
        *filter(None, [machine, *report.machines, harm or "no warnings"]),
    ]
    return f"{'; '.join(parts)}."


def _lines(report: Report, agreement: Agreement) -> list[tuple[str, ...]]:
    """Returns a table row each for the value, the standard deviation, the change and the difference of a
    published figure, as far as they exist."""
    row = agreement.row
    titles = {response.name: response.title for response in report.run.study.responses}
    place = f"Table {row.table}" if row.table.isdigit() else row.table
    further = {} if agreement.cell is None else agreement.cell.treatment
    factors = report.run.study.factors
    added = [
        f"{factors[name].title} {level}"
        for name, level in further.items()
        if name not in row.levels and len(factors[name].levels) > 1
    ]
    of = ", ".join([titles.get(row.response, row.response), *row.levels.values(), *added])
    lines: list[tuple[str, ...]] = []
    if row.value:
        lines.append((place, of, tables.printed(row), *_value(agreement)))
    if row.sd:
        trials = f" (n {row.n})" if row.n else ""
        lines.append(
            (place, f"standard deviation of {of}", f"{row.sd} {row.unit}{trials}", *_deviation(agreement))
        )
    if agreement.published_change is not None:
        change = f"{numbers.as_printed(agreement.published_change)}%"
        told = f"{change} (computed)" if agreement.computed else change
        lines.append((place, f"change of {of}", told, *_change(agreement)))
    if row.difference:
        lines.append((place, f"difference of {of}", f"{row.difference} {row.unit}", *_difference(agreement)))
    return lines


def _figure(agreement: Agreement) -> published_layout.Figure:
    cell = agreement.cell
    value = (
        numbers.with_half_width(cell)
        if cell and cell.mean is not None and agreement.ratio is not None
        else ""
    )
    change = "" if agreement.published_change is None else _change(agreement)[0].partition(" ")[0]
    return published_layout.Figure(agreement.row, value, "" if change == "0" else change)


def _value(agreement: Agreement) -> tuple[str, str]:
    cell = agreement.cell
    if cell is None or cell.mean is None or agreement.ratio is None:
        return "", agreement.absent or "no counterpart to compare it with"
    shown = f"{numbers.with_half_width(cell)} {agreement.row.unit} (n {cell.n})"
    return shown, f"{_PLACED[agreement.inside]}; measured/published {agreement.ratio:.3g}"


def _deviation(agreement: Agreement) -> tuple[str, str]:
    spread = agreement.spread
    if spread is None or spread.measured is None or agreement.cell is None:
        return "", agreement.absent or (
            spread.absent if spread else None
        ) or "no counterpart to compare it with"
    shown = f"{spread.measured:.3g} {agreement.row.unit} (n {agreement.cell.n})"
    if spread.interval is None:
        return shown, spread.verdict
    low, high = spread.interval.low, spread.interval.high
    said = spread.verdict if spread.interval.contains(1) else f"{spread.verdict} here"
    return shown, f"{said}; measured/published {spread.ratio:.3g} [{low:.3g}, {high:.3g}]"


def _change(agreement: Agreement) -> tuple[str, str]:
    change = agreement.cell.change if agreement.cell else None
    if agreement.cell is not None and change is None:
        return "0", "baseline of both"
    if change is None or change.percent is None:
        return "", agreement.absent or (
            change.absent if change else None
        ) or "no counterpart to compare it with"
    decimals = numbers.percent_decimals([change])
    shown = tables.UNCLEAR if change.is_unclear else f"{numbers.signed(change.percent, decimals)}%"
    if change.interval is None:
        return shown, "no interval"
    direction = {"same": "same direction", "opposite": "opposite direction"}.get(
        agreement.direction or "", "no direction shown"
    )
    return (
        f"{shown} {numbers.bounds(change.interval, decimals)}",
        f"{direction}; {_PLACED[agreement.change_inside]}",
    )


def _difference(agreement: Agreement) -> tuple[str, str]:
    if agreement.difference is None:
        return "", agreement.absent or "no counterpart to compare it with"
    decimals = 3
    bounds = agreement.difference_interval
    span = f" {numbers.bounds(bounds, decimals)}" if bounds else ""
    return f"{numbers.signed(agreement.difference, decimals)}{span} {agreement.row.unit}", _PLACED[
        agreement.difference_inside
    ]


def index(chapters: Sequence[Chapter]) -> DataTable:
    """Returns the table of the conclusions of all chapters."""
    lines = [
        index_line(each.name, each.facts, line)
        for each in chapters
        for table in each.tables
        if table.name.endswith(CONCLUSIONS)
        for line in table.lines
    ]
    return plain("conclusions", INDEX_CAPTION, INDEX, lines)


def index_line(study: str, facts: str, line: Sequence[str]) -> tuple[str, ...]:
    """Returns the row of a conclusion in the index, from its study, the facts of its chapter and its line
    there."""
    name, says, verdict, comparison, _ = line
    backend = re.search(r"backend (\w+)", facts)
    sizes = sorted(
        {text: float(text) for text in _PERCENT.findall(comparison)}.items(), key=lambda each: each[1]
    )
    change = " to ".join(dict.fromkeys(f"{text}%" for text, _ in (*sizes[:1], *sizes[-1:])))
    return study, backend[1] if backend else "", name, says, verdict, change


def page(chapters: Sequence[Chapter]) -> str:
    """Returns the book as a self-contained HTML page."""
    template = pages.environment().get_template("book.html.j2")
    return template.render(chapters=chapters, index=index(chapters), policy=pages.policy(script=False))


def markdown(chapters: Sequence[Chapter]) -> str:
    """Returns the book's figures and verdicts as Markdown, for storing in a repository and quoting in
    texts."""
    parts = ["# Published and measured figures", PREFACE]
    judged = index(chapters)
    parts += ["## All conclusions", as_markdown(judged).strip()] if judged.lines else []
    for each in chapters:
        parts += [f"## {each.name}: {each.title}", f"{each.question} {each.source}".strip()]
        parts += [f"{each.facts} To repeat the run:", f"```\n{each.command}\n```"]
        parts += [each.answer, each.counted, *(as_markdown(table).strip() for table in each.tables)]
        if each.limits:
            parts.append("Limits:\n\n" + "\n".join(f"- {limit}" for limit in each.limits))
    return "\n\n".join(filter(None, parts)) + "\n"


PREFACE = (
    "Generated by `nettrial book` from these runs: the published figures, the results measured under each "
    "figure's counterpart, and the verdicts. Where there is no counterpart, the reason is given instead."
)
"""The introduction of the book."""
