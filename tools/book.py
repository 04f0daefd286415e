#!/usr/bin/env python3
"""Makes the chapters of docs/results.md again whose runs are deterministic, or compares them.

    python -m tools.book [--check] [--runs DIR] [STUDY ...]

Runs the command that each such chapter names (of each STUDY; default: all), and writes the new chapter in
place of the old one. With --check it writes nothing, and fails if a chapter differs in more than the commit
of nettrial. With --runs, runs are kept in a directory, and those that are there already are not made again.
Chapters whose run took real time, or was not whole, are left as they are."""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from nettrial.report import book
from nettrial.store import Run
from tools.repeats import directory, parser, repeat

BOOK = Path(__file__).parents[1] / "docs" / "results.md"
DETERMINISTIC = re.compile(r"; backend (?:sim|virtual|fluid);")
"""The part of a chapter's facts that names a deterministic backend."""
ALL = "## All conclusions"
"""The heading of the index."""
LONG = {"jellyfish-mptcp": 6, "jellyfish-mptcp-hosts": 5, "jellyfish-supported-hosts": 1, "wlan-stacks": 60}
"""Studies whose run takes a minute of CPU time or more, with about how many: their chapters are made again
only if they are named."""
_COMMIT = re.compile(r" \(commit [^)]*\)")
_COMMAND = re.compile(r"^```\n(nettrial run .*)\n```$", re.MULTILINE)
_TRIALS = re.compile(r"^(\d+) of (\d+) trials", re.MULTILINE)


def name(chapter: str) -> str:
    """Returns the name of a chapter's study."""
    return chapter.removeprefix("## ").partition(":")[0]


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


def left(chapter: str) -> str | None:
    """Returns the reason why a chapter is not made again; None if it is."""
    trials = _TRIALS.search(chapter)
    if not DETERMINISTIC.search(chapter):
        return "its run took real time"
    if trials is None or trials[1] != trials[2]:
        return "its run was not whole"
    return None


def again(chapter: str, runs: Path) -> str:
    """Repeats a chapter's run, which is kept in the directory `runs`, and returns the new chapter."""
    command = _COMMAND.search(chapter)
    assert command is not None
    run = Run.open(repeat(command[1], runs))
    text = book.markdown([book.chapter(run)])
    run.close()
    return text[text.index(f"## {name(chapter)}") :].strip()


def main() -> int:
    """Makes or compares the chapters, and returns the exit status."""
    options = parser("Makes the chapters of docs/results.md again.")
    options.add_argument("--check", action="store_true", help="compare, and write nothing")
    given = options.parse_args()
    with directory(given.runs) as runs:
        return renew(given.studies, runs, given.check)


def renew(names: Sequence[str], runs: Path, check: bool) -> int:
    """Makes or compares the chapters of these studies, or of all, and returns the exit status."""
    head, *parts = re.split(r"^(?=## )", BOOK.read_text(encoding="utf-8"), flags=re.MULTILINE)
    chapters = [each for each in parts if not each.startswith(ALL)]
    for unknown in sorted(set(names) - {name(each) for each in chapters}):
        print(f"{unknown}: no chapter")
    differs = False
    for number, chapter in enumerate(chapters):
        old = chapter.strip()
        why = left(old)
        if name(old) in LONG and not names:
            why = why or f"it takes about {LONG[name(old)]} min of CPU time, and is made if it is named"
        if why or (names and name(old) not in names):
            print(f"{name(old)}: left as it is{f': {why}' if why else ''}")
            continue
        new = again(old, runs)
        before, after = (_COMMIT.sub("", text).splitlines() for text in (old, new))
        changed = list(difflib.unified_diff(before, after, "docs/results.md", "a new run", lineterm="", n=0))
        print(f"{name(old)}: {'differs' if changed else 'the same'}")
        if check:
            print("\n".join(changed))
            differs |= bool(changed)
        elif changed:
            chapters[number] = f"{new}\n\n"
    if not check:
        text = head + index(chapters) + "".join(f"{each.strip()}\n\n" for each in chapters)
        BOOK.write_text(text.rstrip() + "\n", encoding="utf-8")
    return int(differs)


if __name__ == "__main__":
    sys.exit(main())
