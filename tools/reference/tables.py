"""The tables that `nettrial export` writes, from the types of the record."""

from __future__ import annotations

import polars as pl
from pydantic import BaseModel

from nettrial.export.layout import TABLES, TRIAL, Column, RecordTable, columns
from nettrial.scenario import Distribution
from reference.markdown import one_line, page, table
from reference.study_file import docstrings

INTRO = """
`nettrial export DIR --to parquet` (or `csv`) writes each of these tables to a file, and `nettrial.load`
returns them in Python. The names of columns end with the unit: `_bps` (bits per second), `_bytes`, `_pkts`,
`_ns`, `_us`, `_s` (seconds), `_percent`. Every table begins with the trial's `number` (its place in the run),
its `block`, and a column for each factor, whose levels keep the study's order (a factor with the name of
another column becomes `factor_NAME`). A value that was not measured is null; in CSV it is empty.

In Parquet, lists are lists. In CSV, a list is one text: numbers are separated by spaces, texts by commas. CSV
follows RFC 4180, in UTF-8.
"""
OWN = {
    "trials": [
        ("state", "text", "`finished`, `failed` or `pending`."),
        ("*NAME_UNIT*", "number", "Each response of the study, in base units: `throughput_bps`, `rtt_s`."),
        ("warnings", "whole number", "The number of the trial's warnings."),
    ],
    "responses": [
        ("response", "text", "The response's name in the study."),
        ("unit", "text", "The response's unit."),
        ("value", "number", "The value in that unit."),
        ("absent", "text", "The reason for the absence of the value."),
    ],
    "failures": [("message", "text", "The error message of the last attempt.")],
    "reruns": [("reason", "text", "What disturbed the attempt.")],
    "sessions": [
        ("session", "whole number", "The session's number, from 1."),
        ("started", "time", "The start, in UTC."),
        ("ended", "time", "The end, in UTC; null if the session was killed."),
        ("note", "text", "The outcome of the session."),
        ("engine_version", "text", "The engine's version."),
        ("commit", "text", "The commit of nettrial; null if it is not known."),
        ("kernel", "text", "The kernel."),
        ("processor", "text", "The CPU's name."),
        ("processors", "whole number", "The number of usable CPUs."),
        ("privileges", "text", "The engine's privileges."),
        ("timer_lateness_median_ns", "whole number", "The lateness of timers at the engine's start: median."),
        ("timer_lateness_p99_ns", "whole number", "The same: 99th percentile."),
        ("timer_lateness_p99_9_ns", "whole number", "The same: percentile 99.9."),
    ],
}
"""The columns that do not come from records."""
HOLD = {
    "trials": "a trial of the plan",
    "responses": "a response of a finished trial",
    "failures": "a trial whose last attempt gave no record",
    "reruns": "an attempt at a trial that was repeated because something else disturbed it",
    "sessions": "a session of the runner",
}
KINDS = {pl.Int64: "whole number", pl.Float64: "number", pl.String: "text", pl.Boolean: "true or false"}


def pages() -> dict[str, str]:
    """Returns the page by the name of its file."""
    parts = [INTRO]
    for name, holds in HOLD.items():
        rows = OWN[name]
        if name == "trials":
            rows = [rows[0], *_rows(TRIAL), *rows[1:]]
        without = " It has no columns of trials." if name == "sessions" else ""
        parts.append(_section(name, holds, rows, without))
    parts += [_section(each.name, each.holds, _rows(each)) for each in TABLES.values()]
    parts.append(
        "## Distributions\n\nThe figures of a distribution, for which `*` stands in names of columns."
    )
    said = docstrings(Distribution)
    figures = [(f"`{column.name}`", one_line(said[column.path[-1]])) for column in columns(Distribution)]
    parts.append(table(["figure", "meaning"], figures))
    return {"tables.md": page("Exported tables", *parts)}


def _section(name: str, holds: str, rows: list[tuple[str, str, str]], more: str = "") -> str:
    listed = table(["column", "type", "meaning"], [(_quoted(column), *rest) for column, *rest in rows])
    return f"## {name}\n\nA row is {holds}.{more}\n\n{listed}"


def _quoted(column: str) -> str:
    return column if column.startswith("*") else f"`{column}`"


def _rows(of: RecordTable) -> list[tuple[str, str, str]]:
    """Returns a row for each column, or for each distribution."""
    rows: dict[str, tuple[str, str, str]] = {}
    for column in (*of.outer, *of.own):
        if column.figure:
            name = column.name.replace(f"_{column.figure}", "_*") if column.figure != "count" else ""
            if column.figure == "mean":
                rows[name] = (name, "[distribution](#distributions)", _said(column.model, column.path[-2]))
        else:
            rows[column.name] = (column.name, _kind(column, of), _said(column.model, column.path[-1]))
    if of.repeats:
        rows["repeat"] = ("repeat", "whole number", "The number of the repeat of the size, from 1.")
    return list(rows.values())


def _kind(column: Column, of: RecordTable) -> str:
    kind = column.kind
    if isinstance(kind, pl.List):
        inner = KINDS[kind.inner if isinstance(kind.inner, type) else type(kind.inner)]
        return inner if column.name in of.repeats else f"list: {inner}"
    return KINDS[kind if isinstance(kind, type) else type(kind)]


def _said(model: type[BaseModel], field: str) -> str:
    return one_line(docstrings(model)[field])
