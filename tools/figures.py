#!/usr/bin/env python3
"""Writes the figures of simulated runs into the tables of the studies' pages, or compares them.

    python -m tools.figures [--check] [--long] [--runs DIR] [STUDY ...]

A comment before a table says what its cells are:

    <!-- figures
    columns: [rtt, {response: throughput, queue: FQ-CoDel}]
    rows: {station: [downloads itself, another], rate: [65 Mbit/s, 6.5 Mbit/s]}
    -->

The run is that of the last command above the table, which names its seed. `columns` are the table's last
columns, each a response, or a response with levels, or null for what is not of the run. `rows` are the
products of these levels, or a list of such products, with null for a row that is not of the run; a row's
response is in place of the columns'. Factors with one level need not be named. With `scale: 1000` means are
a thousand times the response's, as microseconds are of one in milliseconds.

Of each cell, the last mean with its half-width ("42.21 ± 0.03"), standard deviation ("42.21 (SD 0.03)") or
both, or else the last number without a sign, is the response's mean. A number with a sign is its change from
the baseline in percent, with its interval if the cell has one, and "4.9 times" its ratio to the baseline.
All keep their number of digits, and all else stays.

With --check nothing is written, and the command fails if a figure differs. Runs that take more than ten
minutes of CPU time are made only with --long. With --runs, runs are kept in a directory, and those that are
there already are not made again."""

from __future__ import annotations

import itertools
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

import nettrial
from tools.repeats import ROOT, Left, Outcome, differences, directory, parser, repeat

_COMMAND = re.compile(
    r"`(nettrial run [^`]*--seed [^`]*)`|^(nettrial run [^`]*?--seed(?:.*\\\n)*.*)$", re.MULTILINE
)
TABLE = re.compile(r"<!-- figures\n(.*?)-->\n+((?:\|[^\n]*\n)+)", re.DOTALL)
"""A comment that says what the cells of a table are, and the table."""
_NUMBER = r"\d+(?:,\d{3})*(?:\.\d+)?"
_MEAN = re.compile(rf"({_NUMBER})( ± | \((?:SD )?)({_NUMBER})(?:( \((?:SD )?)({_NUMBER}))?")
_CHANGE = re.compile(rf"([+−]{_NUMBER}|0\.0+(?=%| \[))(?:(%?) \[([+−]?{_NUMBER}), ([+−]?{_NUMBER})\])?")
_TIMES = re.compile(rf"({_NUMBER}) times")
_PLAIN = re.compile(rf"(?<![\d.+−±([]){_NUMBER}(?![\d.]| ±| \()")

Levels = Mapping[str, str]


@dataclass(frozen=True)
class Value:
    """The values of a response under a treatment, in a run."""

    mean: float | None
    """The mean of the trials."""
    half_width: float | None
    """The half-width of the mean's 95% interval."""
    deviation: float | None
    """The standard deviation."""
    change: tuple[float | None, float | None, float | None]
    """The change from the baseline in percent, and its interval."""

    def scaled(self, by: float) -> Value:
        """Returns the values in a unit of which there are `by` in the response's."""
        mean, half_width, deviation = (
            None if each is None else by * each for each in (self.mean, self.half_width, self.deviation)
        )
        return Value(mean, half_width, deviation, self.change)


class Values:
    """The values of a run, by response and levels."""

    def __init__(self, run: Path) -> None:
        """Reads the run in a directory."""
        results = nettrial.load(run)
        self._factors = results.study.factors
        self._means = list(results.summary().iter_rows(named=True))
        self._changes = list(results.changes().iter_rows(named=True))

    def of(self, response: str, levels: Levels) -> Value:
        """Returns the values of a response at these levels, which must name one treatment."""
        if unknown := set(levels) - set(self._factors):
            raise SystemExit(f"no factor {', '.join(sorted(unknown))}")
        mean, change = (_one(rows, response, levels) for rows in (self._means, self._changes))
        assert mean is not None, f"{response} at {levels}: no such treatment, or several"
        low, high = mean["mean_low"], mean["mean_high"]
        ends = ("change_percent", "change_low_percent", "change_high_percent")
        return Value(
            mean["mean"],
            None if low is None else (high - low) / 2,
            mean["deviation"],
            (change[ends[0]], change[ends[1]], change[ends[2]]) if change else (None, None, None),
        )


def _one(rows: list[dict[str, Any]], response: str, levels: Levels) -> dict[str, Any] | None:
    wanted = {"response": response, **levels}
    matches = [row for row in rows if all(str(row[name]) == value for name, value in wanted.items())]
    return matches[0] if len(matches) == 1 else None


def figure(old: str, value: float | None, *, sign: bool = False) -> str:
    """Returns a value with the digits of the figure that it replaces; with a sign if it is a change."""
    if value is None:
        return "–"
    text = f"{abs(value):,.{len(old.partition('.')[2])}f}"
    if "," not in old:
        text = text.replace(",", "")
    if not text.strip("0.,") or not (sign or value < 0):
        return text
    return ("−" if value < 0 else "+") + text


def cell(old: str, value: Value) -> str:
    """Returns a table's cell with the figures of a run."""

    def mean(match: re.Match[str]) -> str:
        spread = value.half_width if "±" in match[2] else value.deviation
        more = match[4] + figure(match[5], value.deviation) if match[4] else ""
        return f"{figure(match[1], value.mean)}{match[2]}{figure(match[3], spread)}{more}"

    def change(match: re.Match[str]) -> str:
        made, low, high = (
            figure(old, each, sign=True) if old else ""
            for old, each in zip(match.group(1, 3, 4), value.change, strict=True)
        )
        return f"{made}{match[2]} [{low}, {high}]" if match[3] else made

    kept, separator, new = old.rpartition("; ")
    start = in_percent.start() if (in_percent := _CHANGE.search(new)) else len(new)
    head, tail = new[:start], _CHANGE.sub(change, new[start:], count=1)
    if times := _TIMES.search(head):
        ratio = None if value.change[0] is None else 1 + value.change[0] / 100
        head = head.replace(times[1], figure(times[1], ratio))
    elif _MEAN.search(head):
        head = _MEAN.sub(mean, head, count=1)
    else:
        head = _PLAIN.sub(lambda plain: figure(plain[0], value.mean), head, count=1)
    return kept + separator + head + tail


def treatments(rows: Any) -> Iterator[Levels | None]:
    """Yields the levels of each row; None for a row that is not of the run."""
    for row in rows if isinstance(rows, list) else [rows]:
        if row is None:
            yield None
        else:
            names = list(row)
            lists = [level if isinstance(level, list) else [level] for level in row.values()]
            for levels in itertools.product(*lists):
                yield {name: str(level) for name, level in zip(names, levels, strict=True)}


def table(layout: Mapping[str, Any], text: str, values: Values) -> str:
    """Returns a Markdown table with the figures of a run."""
    head, rule, *lines = text.splitlines()
    rows = list(treatments(layout["rows"]))
    assert len(rows) == len(lines), f"{len(rows)} rows in the comment, {len(lines)} in the table: {head}"
    made = []
    for levels, line in zip(rows, lines, strict=True):
        cells = line.strip().strip("|").split("|")
        first = len(cells) - len(layout["columns"])
        for place, column in enumerate(layout["columns"], first):
            if levels is None or column is None:
                continue
            own = (
                {"response": column}
                if isinstance(column, str)
                else {name: str(of) for name, of in column.items()}
            )
            at = {**own, **levels}
            value = values.of(at.pop("response"), at).scaled(layout.get("scale", 1))
            cells[place] = cell(cells[place], value)
        made.append(f"|{'|'.join(cells)}|")
    return "\n".join([head, rule, *made]) + "\n"


def page(text: str, runs: Path, *, long: bool = False) -> tuple[str, dict[str, Left | None]]:
    """Returns a page with the figures of its runs, which are kept in the directory `runs`, and for each of
    their commands the reason why its run was not made, or None."""
    commands = list(_COMMAND.finditer(text))
    made: dict[str, Values | Left] = {}

    def renewed(match: re.Match[str]) -> str:
        before = [each[1] or each[2] for each in commands if each.end() <= match.start()]
        command = before[-1]
        if command not in made:
            try:
                made[command] = Values(repeat(command, runs, long=long))
            except Left as reason:
                made[command] = reason
        values = made[command]
        if isinstance(values, Left):
            return match[0]
        new = table(yaml.safe_load(match[1]), match[2], values)
        return match[0].removesuffix(match[2]) + new

    new = TABLE.sub(renewed, text)
    return new, {command: each if isinstance(each, Left) else None for command, each in made.items()}


def main() -> int:
    """Writes or compares the tables, and returns the exit status."""
    given = parser("Writes figures of runs into the tables of the studies' pages.").parse_args()
    outcome = Outcome()
    with directory(given.runs) as runs:
        for file in sorted(ROOT.glob("studies/*/README.md")):
            old = file.read_text(encoding="utf-8")
            if (given.studies and file.parent.name not in given.studies) or not TABLE.search(old):
                continue
            new, commands = page(old, runs, long=given.long)
            name = str(file.relative_to(ROOT))
            for command, reason in commands.items():
                if reason:
                    outcome.leave(name, f"`{command}`: {reason}")
            if not all(commands.values()):
                outcome.compare(name, list(differences(old, new)))
            if not given.check:
                file.write_text(new, encoding="utf-8")
    outcome.end()
    return int(given.check and bool(outcome.differing))


if __name__ == "__main__":
    sys.exit(main())
