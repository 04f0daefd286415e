"""The output of `nettrial measure --set`: the values of each metric under each treatment, and the answer."""

from __future__ import annotations

from pathlib import Path

from nettrial.analysis import Change, ResponseSummary, merit
from nettrial.cli.console import print_lists, print_table
from nettrial.cli.documents import base as documents
from nettrial.cli.run_document import report_document
from nettrial.measuring.compared import ComparedMeasurement
from nettrial.report import conclusions, numbers
from nettrial.report.change_words import WOULD_BE, verdict_in_words
from nettrial.report.content import Report, gather
from nettrial.report.tables import label
from nettrial.store import Run


def show(measured: ComparedMeasurement, directory: Path, as_json: bool, is_kept: bool) -> None:
    """Prints what the run in a directory shows, which is kept or temporary."""
    report = gather(Run.open(directory))
    if as_json:
        documents.show(report_document(report, None))
        return
    blocks = numbers.counted(measured.options.replicates, "block")
    print(f"{measured.words}; {blocks} of repeats of {measured.duration}")
    for sentence in conclusions.sentences(report):
        print(sentence)
    print()
    _print_table(report)
    if measured.note:
        print(f"\n{measured.note}")
    warned = [
        f"{each.object}: {each.message} ({numbers.counted(each.trials, 'repeat')}); {each.consequence}"
        for each in report.warnings
    ]
    print_lists({"Warnings": warned})
    if is_kept:
        print(f"\nAll tables: nettrial report --tables {directory}")


def _print_table(report: Report) -> None:
    """Prints a row for each metric: its mean under each treatment, and the ratio to the baseline."""
    study = report.run.study
    names = [label(study, cell.treatment) for cell in report.summary.responses[0].cells]
    several = len(names) > 2
    ratios = [f"ratio{f' of {name}' if several else ''}" for name in names[1:]]
    columns = ["metric", "unit", *names]
    for ratio in ratios:
        columns += [ratio, "95% interval", ""]
    rows = [_row(each) for each in report.summary.responses]
    print_table(columns, rows)
    if any(text.endswith(" would be") for row in rows for text in row):
        print(WOULD_BE)


def _row(response: ResponseSummary) -> list[str]:
    decimals = numbers.value_decimals(response.cells)
    row = [response.response.title, response.response.unit]
    row += [
        "absent" if cell.mean is None else numbers.with_half_width(cell, decimals) for cell in response.cells
    ]
    for cell in response.cells[1:]:
        row += _ratio(response, cell.change)
    return row


def _ratio(response: ResponseSummary, change: Change | None) -> list[str]:
    """Returns the ratio of a mean to the baseline's, its interval, and the verdict."""
    if change is None or change.percent is None:
        return ["", "", (change.absent if change else None) or ""]
    bounds = change.simultaneous
    judged = merit(response.response, change, change.shown)
    said = verdict_in_words(judged, change, response.response.smallest_effect)
    if bounds is None:
        return [_of(change.percent), "", change.absent or ""]
    return [_of(change.percent), f"{_of(bounds.low)} to {_of(bounds.high)}", said]


def _of(percent: float) -> str:
    return numbers.three(1 + percent / 100) if abs(percent) >= 10 else numbers.fixed(1 + percent / 100, 4)
