"""A comparison of two runs for continuous integration: as JUnit XML, and as Markdown for a results page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nettrial.cli.ci_files import ConditionCase, conditions_junit, in_line, write_junit, write_markdown
from nettrial.comparison import Judgement
from nettrial.design.trial_order import in_words
from nettrial.report import pages
from nettrial.report.comparison_tables import Table
from nettrial.store.directory import require_directory

SUITE = "nettrial compare"
"""The name of the JUnit test suite."""


@dataclass(frozen=True)
class ComparisonFiles:
    """The files that a comparison is also written to."""

    junit: Path | None = None
    """The JUnit XML file; None for none."""
    markdown: Path | None = None
    """The Markdown file; None for none."""
    page: Path | None = None
    """The HTML page; None for none."""

    def check(self) -> None:
        """Raises BadInput for a file whose directory does not exist."""
        for option, file in (("--junit", self.junit), ("--markdown", self.markdown), ("--html", self.page)):
            require_directory(option, file)

    def write(self, judged: Sequence[tuple[Judgement, str]], strict: bool, tables: Sequence[Table]) -> None:
        """Writes the files, each completely or not at all. `judged` has each condition under each treatment
        with its change in words. With `strict`, a condition that can't be told is a failure. Raises BadInput
        for a file that can't be written."""
        if self.junit is not None:
            write_junit(self.junit, as_junit(judged, strict))
        if self.markdown is not None:
            write_markdown(self.markdown, as_markdown(tables))
        if self.page is not None:
            pages.write(self.page, as_html(tables).encode(), "writing the page")


NO_FILES = ComparisonFiles()
"""None of the files."""


def as_junit(judged: Sequence[tuple[Judgement, str]], strict: bool) -> bytes:
    """Returns a test suite with a test case for each condition under each treatment."""
    cases = [
        ConditionCase(
            condition=str(each.condition),
            treatment=in_words(each.difference.treatment),
            outcome=each.outcome,
            has_interval=each.difference.interval is not None,
            words=f"{each.outcome}: {words}",
        )
        for each, words in judged
    ]
    return conditions_junit(SUITE, cases, strict)


def as_html(tables: Sequence[Table]) -> str:
    """Returns a self-contained HTML page with the tables that have rows."""
    template = pages.environment().get_template("comparison.html.j2")
    return template.render(tables=[each for each in tables if each.rows], policy=pages.policy(script=False))


def as_markdown(tables: Sequence[Table]) -> str:
    """Returns the tables that have rows as Markdown, each below its heading."""
    lines: list[str] = []
    for table in tables:
        if not table.rows:
            continue
        rows = [table.columns, ["---"] * len(table.columns), *(list(map(in_line, row)) for row in table.rows)]
        lines += [f"## {in_line(table.heading)}", "", *(f"| {' | '.join(row)} |" for row in rows), ""]
    return "\n".join(lines)
