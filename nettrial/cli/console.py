"""The two outputs, and tables on them."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

PLAIN_WIDTH = 10_000
"""Width of tables that no terminal shows: nothing is cut or broken."""


def output() -> Console:
    """The console of data: standard output."""
    return Console(highlight=False, soft_wrap=False)


def errors() -> Console:
    """The console of everything else: standard error."""
    return Console(stderr=True, highlight=False)


def say(text: str) -> None:
    """One line on standard error."""
    print(text, file=sys.stderr, flush=True)


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A table on standard output: as wide as the terminal, or plain text without one."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*map(escape, row))
    console = output()
    if console.is_terminal:
        console.print(table)
        return
    plain = Console(width=PLAIN_WIDTH, color_system=None)
    with plain.capture() as captured:
        plain.print(table)
    for line in captured.get().splitlines():
        print(line.rstrip())
