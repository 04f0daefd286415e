"""A table as data, and its output formats: CSV for programs, Markdown and LaTeX for texts, and HTML.

CSV contains the values in base units; the other formats contain the texts of the report."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TypeAlias

Raw: TypeAlias = str | int | float | bool | None
"""A value for programs; None if it is absent."""


@dataclass(frozen=True)
class DataTable:
    """A table in two forms: for people, and for programs."""

    name: str
    """The table's name, unique within a report and usable as a file's name."""
    caption: str
    """The table's caption."""
    headings: tuple[str, ...]
    """The headings of the columns."""
    lines: tuple[tuple[str, ...], ...]
    """The lines of the table as shown, with a text for each heading."""
    columns: tuple[str, ...]
    """The names of the columns for programs, which include units."""
    rows: tuple[tuple[Raw, ...], ...]
    """The rows for programs, with a value for each column."""
    groups: tuple[tuple[str, int], ...] = ()
    """Titles above groups of headings, beginning with the second heading, each with the number of its
    headings; may be empty."""
    notes: tuple[str, ...] = ()
    """The notes below the table."""

    def _repr_html_(self) -> str:
        return as_html(self)


def plain(name: str, caption: str, headings: Sequence[str], lines: Sequence[Sequence[str]]) -> DataTable:
    """Returns a table of texts that is the same for programs, with columns named after the headings."""
    columns = tuple(re.sub(r"\W+", "_", heading.lower()).strip("_") for heading in headings)
    texts = tuple(tuple(line) for line in lines)
    return DataTable(name, caption, tuple(headings), texts, columns, texts)


def as_csv(table: DataTable) -> str:
    """Returns a table as CSV by RFC 4180, with a line of column names and lines that end in CR LF. Absent
    values, NaN and infinity are empty."""
    file = io.StringIO(newline="")
    writer = csv.writer(file, lineterminator="\r\n")
    writer.writerow(table.columns)
    writer.writerows([_value(value) for value in row] for row in table.rows)
    return file.getvalue()


def _value(value: Raw) -> str | int | float:
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return ""
    return str(value).lower() if isinstance(value, bool) else value


def as_markdown(table: DataTable) -> str:
    """Returns a table in GitHub Flavored Markdown, with its caption above and its notes below."""
    headings = [in_markdown(text) for text in _full_headings(table)]
    rule = [("--:" if right else "---") for right in _right(table)]
    lines = [headings, rule, *([in_markdown(text) for text in line] for line in table.lines)]
    drawn = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    notes = "".join(f"\n{in_markdown(note)}\n" for note in table.notes)
    return f"{in_markdown(table.caption)}\n\n{drawn}\n{notes}"


def _full_headings(table: DataTable) -> list[str]:
    """Returns each heading with its group's title, because Markdown has only one line of headings."""
    titles = [title for title, width in table.groups for _ in range(width)]
    first, *rest = table.headings
    if titles:
        rest = [f"{title}: {text}" for title, text in zip(titles, rest, strict=True)]
    return [first, *rest]


def in_markdown(text: str) -> str:
    """Returns a text on one line, escaped so that Markdown takes no character for mark-up."""
    text = re.sub(r"([\\`*_<>|~$&])", r"\\\1", _line(text))
    text = re.sub(r"\](?=[(\[:])", r"\\]", text)  # a link; brackets alone do not make one
    return re.sub(r"^([#+-]|\d+[.)])(?=\s|$)", _escaped_start, text)


def _escaped_start(start: re.Match[str]) -> str:
    """Escapes a beginning that would start a heading or a list."""
    return f"{start[1][:-1]}\\{start[1][-1]}"


def as_latex(table: DataTable) -> str:
    """Returns a LaTeX table for the package booktabs, in UTF-8."""
    sides = "".join("r" if right else "l" for right in _right(table))
    body = [_row(table.headings), r"\midrule", *map(_row, table.lines)]
    lines = [
        r"% \usepackage{booktabs}",
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{_latex(table.caption)}}}",
        rf"\label{{tab:{table.name}}}",
        rf"\begin{{tabular}}{{@{{}}{sides}@{{}}}}",
        r"\toprule",
        *_group_lines(table),
        *body,
        r"\bottomrule",
        r"\end{tabular}",
        *(rf"\par\footnotesize {_latex(note)}" for note in table.notes),
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _group_lines(table: DataTable) -> list[str]:
    """Returns the titles above the headings, each with a rule below it."""
    if not table.groups:
        return []
    cells = [rf"\multicolumn{{{width}}}{{c}}{{{_latex(title)}}}" for title, width in table.groups]
    rules, at = [], 2
    for _, width in table.groups:
        rules.append(rf"\cmidrule(lr){{{at}-{at + width - 1}}}")
        at += width
    return [" & ".join(["", *cells]).strip() + r" \\", " ".join(rules)]


def _row(texts: Sequence[str]) -> str:
    line = " & ".join(map(_latex, texts))
    guard = "{}" if line.lstrip()[:1] in ("[", "*") else ""  # \\ would take them as its optional argument
    return rf"{guard}{line} \\"


_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "`": r"\textasciigrave{}",
    **{character: rf"\{character}" for character in "&%$#_{}"},
    "\0": "{}",
    "\N{MINUS SIGN}": "$-$",
    "\N{MULTIPLICATION SIGN}": r"$\times$",
    "\N{PLUS-MINUS SIGN}": r"$\pm$",
    "\N{RIGHTWARDS ARROW}": r"$\rightarrow$",
    "\N{LESS-THAN OR EQUAL TO}": r"$\leq$",
    "\N{GREATER-THAN OR EQUAL TO}": r"$\geq$",
    "\N{MICRO SIGN}": r"$\mu$",
    "\N{EN DASH}": "--",
}


def _latex(text: str) -> str:
    """Returns a text on one line, escaped for LaTeX; a hyphen before a number becomes a minus sign."""
    text = re.sub(r"(?<![\w-])-(?=\d)", "\N{MINUS SIGN}", _line(text))
    text = re.sub(r"[-–](?=[-–])|'(?=')", r"\g<0>\0", text)  # two of them would be typeset as one sign
    return "".join(_LATEX.get(character, character) for character in text)


def as_html(table: DataTable) -> str:
    """Returns a table as one HTML element without styles."""
    groups = "".join(f'<th colspan="{width}">{escape(title)}</th>' for title, width in table.groups)
    above = f"<tr><th></th>{groups}</tr>" if groups else ""
    headings = "".join(f'<th scope="col">{escape(text)}</th>' for text in table.headings)
    lines = "".join(
        "<tr>" + "".join(f"<td>{escape(text)}</td>" for text in line) + "</tr>" for line in table.lines
    )
    notes = "".join(f"<p>{escape(note)}</p>" for note in table.notes)
    caption = f"<caption>{escape(table.caption)}</caption>"
    return f"<table>{caption}<thead>{above}<tr>{headings}</tr></thead><tbody>{lines}</tbody></table>{notes}"


def as_json(tables: Sequence[DataTable]) -> str:
    """Returns the text forms of tables by name as JSON, `{NAME: {csv, markdown, latex}}`, for the copy
    buttons of a page. It contains no `<`, so that it can stand in a script element."""
    forms = {
        table.name: {"csv": as_csv(table), "markdown": as_markdown(table), "latex": as_latex(table)}
        for table in tables
    }
    return json.dumps(forms, separators=(",", ":")).replace("<", r"\u003c")


def _line(text: str) -> str:
    """Returns a text without control characters in which every run of white space is a single space."""
    return re.sub(r"[\x00-\x1f\x7f]", "", re.sub(r"\s+", " ", text)).strip()


def _right(table: DataTable) -> list[bool]:
    """Returns for each column whether it is aligned to the right, as columns of numbers are."""
    columns = zip(*table.lines, strict=True) if table.lines else ((),) * len(table.headings)
    return [any(map(_is_number, texts)) and not any(map(_is_word, texts)) for texts in columns]


def _is_number(text: str) -> bool:
    return bool(re.match(r"[-+]?\d", text))


def _is_word(text: str) -> bool:
    return bool(text) and text != "absent" and not _is_number(text) and bool(re.search(r"[^\W\d]", text))
