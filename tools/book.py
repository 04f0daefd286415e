#!/usr/bin/env python3
"""Makes the chapters of docs/results.md again whose runs are deterministic, or compares them.

    python -m tools.book [--check] [--long] [--runs DIR] [STUDY ...]

Runs the command that each such chapter names (of each STUDY; default: all), and writes the new chapter in
place of the old one. With --check it writes nothing, and fails if a chapter differs in more than the commit
of nettrial and the machine. Runs that take more than ten minutes of CPU time are made only with --long. With
--runs, runs are kept in a directory, and those that are there already are not made again. Chapters whose run
took real time, or was not whole, are left as they are."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from nettrial.report import book
from nettrial.store import Run
from tools.repeats import (
    DETERMINISTIC,
    REAL_TIME,
    ROOT,
    Left,
    Outcome,
    differences,
    directory,
    parser,
    repeat,
)

BOOK = ROOT / "docs" / "results.md"
_BACKEND = re.compile(r"; backend (\w+);")
ALL = "## All conclusions"
"""The heading of the index."""
_MADE_WITH = re.compile(r" \(commit [^)]*\)|; [^;]* CPUs?(?=, Linux)")
"""The parts of a chapter's facts that say on which machine, and by which commit, its run was made."""
_COMMAND = re.compile(r"^```\n(nettrial run .*)\n```$", re.MULTILINE)
_TRIALS = re.compile(r"^(\d+) of (\d+) trials", re.MULTILINE)


def name(chapter: str) -> str:
    """Returns the name of a chapter's study."""
    return chapter.removeprefix("## ").partition(":")[0]


def _title(chapter: str) -> str:
    """Returns the name of a chapter, of which a study may have several."""
    trials = _TRIALS.search(chapter)
    return f"{name(chapter)}, {trials[0]}" if trials else name(chapter)


def conclusions(chapter: str) -> list[tuple[str, ...]]:
    """Returns the rows of a chapter in the index, from its own table of conclusions."""
    _, heading, table = chapter.partition("| conclusion | the source says |")
    lines = table.split("\n\n")[0].splitlines()[2:] if heading else []
    cells = [tuple(cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]) for line in lines]
    return [book.index_line(name(chapter), chapter, line) for line in cells]


def index(chapters: Iterable[str]) -> str:
    """Returns the chapter that has the conclusions of all others."""
    rows = [row for chapter in chapters for row in conclusions(chapter)]
    lines = [book.INDEX, tuple("---" for _ in book.INDEX), *rows]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"{ALL}\n\n{book.INDEX_CAPTION}\n\n{table}\n\n"


def deterministic(chapter: str) -> bool:
    """Returns whether a chapter's run is the same each time."""
    backend = _BACKEND.search(chapter)
    return backend is not None and backend[1] in DETERMINISTIC


def left(chapter: str) -> str | None:
    """Returns the reason why a chapter is not made again; None if it is."""
    trials = _TRIALS.search(chapter)
    if not deterministic(chapter):
        return REAL_TIME
    if trials is None or trials[1] != trials[2]:
        return "its run was not whole"
    return None


def again(chapter: str, runs: Path, *, long: bool) -> str:
    """Repeats a chapter's run, which is kept in the directory `runs`, and returns the new chapter. Raises
    Left if the run is not made."""
    command = _COMMAND.search(chapter)
    assert command is not None
    run = Run.open(repeat(command[1], runs, long=long))
    text = book.markdown([book.chapter(run)])
    run.close()
    return text[text.index(f"## {name(chapter)}") :].strip()


def main() -> int:
    """Makes or compares the chapters, and returns the exit status."""
    given = parser("Makes the chapters of docs/results.md again.").parse_args()
    with directory(given.runs) as runs:
        return renew(given.studies, runs, check=given.check, long=given.long)


def renew(names: Sequence[str], runs: Path, *, check: bool, long: bool) -> int:
    """Makes or compares the chapters of these studies, or of all, and returns the exit status."""
    head, *parts = re.split(r"^(?=## )", BOOK.read_text(encoding="utf-8"), flags=re.MULTILINE)
    chapters = [each for each in parts if not each.startswith(ALL)]
    outcome = Outcome()
    for number, chapter in enumerate(chapters):
        old = chapter.strip()
        if names and name(old) not in names:
            continue
        try:
            if why := left(old):
                raise Left(why)
            new = again(old, runs, long=long)
        except Left as reason:
            outcome.leave(_title(old), str(reason))
            continue
        lines = list(differences(*(_MADE_WITH.sub("", text) for text in (old, new))))
        outcome.compare(_title(old), lines)
        if lines:
            chapters[number] = f"{new}\n\n"
    outcome.end()
    if not check:
        text = head + index(chapters) + "".join(f"{each.strip()}\n\n" for each in chapters)
        BOOK.write_text(text.rstrip() + "\n", encoding="utf-8")
    return int(check and bool(outcome.differing))


if __name__ == "__main__":
    sys.exit(main())
