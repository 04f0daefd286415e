"""The consoles of standard output and standard error, and tables on them."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr
from typing import IO, TextIO, cast

from rich.console import Console, ConsoleOptions, RenderableType
from rich.file_proxy import FileProxy
from rich.markup import escape
from rich.segment import Segment
from rich.table import Table

from nettrial.cli.streams import Visible
from nettrial.texts import visible

PLAIN_WIDTH = 10_000
"""The width of tables when there is no terminal: nothing is truncated or wrapped."""


class VisibleConsole(Console):
    """A console that shows control characters in texts instead of sending them to the terminal, and writes
    its own escape sequences."""

    @property
    def file(self) -> IO[str]:
        """The stream below all those that change what is written to them: `render` has made texts visible,
        and the console's own escape sequences must reach the terminal unchanged."""
        file = super().file
        while (below := getattr(file, "rich_proxied_file", None)) is not None:
            file = below
        return file

    @file.setter
    def file(self, new: IO[str]) -> None:
        """Sets the stream to write to instead of standard output or standard error."""
        self._file = new

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Yields the segments of a renderable, with the control characters of texts made visible."""
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else visible(text), style, control)


def output() -> Console:
    """Returns the console for data, standard output."""
    return VisibleConsole(highlight=False, soft_wrap=False)


def errors() -> Console:
    """Returns the console for everything else, standard error."""
    return VisibleConsole(stderr=True, highlight=False)


@contextmanager
def above(console: Console) -> Iterator[None]:
    """Prints text that is written to standard error above what the console draws live. Standard output stays
    as it is: data that goes to a file must not end up on the terminal."""
    with redirect_stderr(cast(TextIO, Visible(cast(TextIO, FileProxy(console, sys.stderr))))):
        yield


def say(text: str) -> None:
    """Prints one line on standard error."""
    print(text, file=sys.stderr, flush=True)


def print_lists(lists: Mapping[str, Sequence[str]]) -> None:
    """Prints lists with their titles on standard output; a list without lines is left out."""
    for title, lines in lists.items():
        if lines:
            print(f"\n{title}")
            for line in lines:
                print(f"- {visible(line)}")


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Prints a table on standard output: as wide as the terminal, or as plain text if there is none."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(escape(visible(cell)) for cell in row))
    console = output()
    if console.is_terminal:
        console.print(table)
        return
    plain = Console(width=PLAIN_WIDTH, color_system=None)
    with plain.capture() as captured:
        plain.print(table)
    for line in captured.get().splitlines():
        print(line.rstrip())
