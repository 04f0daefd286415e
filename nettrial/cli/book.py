"""`nettrial book`: the published and measured figures of several runs in one page."""

from __future__ import annotations

from pathlib import Path

from nettrial.cli.console import say
from nettrial.errors import BadInput
from nettrial.store import Run
from nettrial.store.directory import refuse_existing
from nettrial.systems import print_page
from nettrial.temporary import temporary_directory

MAKING = "making the book"
"""The current action, for error messages."""
ANOTHER = "choose another directory for each book"
"""The hint where `--out` exists."""


def show(directories: list[Path], out: Path) -> None:
    """Writes a book of these runs into a new directory: book.html, book.md and, where a browser is installed,
    book.pdf. Raises BadInput."""
    refuse_existing(out, MAKING, "--out", ANOTHER)
    from nettrial.report import book, pages  # imported only when needed: slow to load

    chapters = []
    for directory in directories:
        run = Run.open(directory)
        if not run.finished():
            raise BadInput(MAKING, "RUN", str(directory), "a run with at least one finished trial")
        chapters.append(book.chapter(run))
        run.close()
    out.mkdir(parents=True)
    page = out / "book.html"
    pages.write(page, book.page(chapters).encode(), MAKING)
    pages.write(out / "book.md", book.markdown(chapters).encode(), MAKING)
    say(f"book: {page}")
    say(f"figures and verdicts as Markdown: {out / 'book.md'}")
    with temporary_directory() as profile:
        missing = print_page(page, out / "book.pdf", profile)
    say(f"book.pdf was not written: {missing}" if missing else f"for printing: {out / 'book.pdf'}")
