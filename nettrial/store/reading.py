"""Reading a run file that may be damaged, or made by anyone: what is wrong with it is an error of the user's,
with the file named, and not a fault of nettrial."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any, TypeAlias

from nettrial.design import PlannedTrial
from nettrial.errors import BadInput

Unreadable: TypeAlias = Callable[[str, str], BadInput]
"""Makes the error of a kind of entry and what is wrong with it."""

SURROUNDINGS = ("BUSY", "CANTOPEN", "FULL", "INTERRUPT", "IOERR", "LOCKED", "NOMEM", "PERM", "READONLY")
"""SQLite's errors that say nothing of a file's content (https://www.sqlite.org/rescode.html)."""


@contextmanager
def damage(unreadable: Unreadable) -> Iterator[None]:
    """Turns errors of the module sqlite3 about what is in a file into the user's."""
    try:
        yield
    except sqlite3.Error as error:
        name = getattr(error, "sqlite_errorname", "").removeprefix("SQLITE_").partition("_")[0]
        if name in SURROUNDINGS:
            raise
        raise unreadable("table", str(error)) from None
    except UnicodeDecodeError as error:
        # The module sqlite3 decodes names and messages by itself.
        raise unreadable("table", f"text that is not UTF-8: {error.object[:40]!r}") from None


def tables(connection: sqlite3.Connection) -> set[str]:
    """The names of everything in a file that can be read like a table."""
    rows = connection.execute("SELECT name, type FROM sqlite_schema WHERE type IN ('table', 'view')")
    return {str(name) if kind == "table" else f"{name} ({kind})" for name, kind in rows}


def planned(
    number: Any, block: Any, treatment: Any, factors: Mapping[str, Collection[str]], unreadable: Unreadable
) -> PlannedTrial:
    """A trial of the plan; raises BadInput where it is none of a study with these levels of its factors."""
    try:
        levels = json.loads(treatment)
    except (TypeError, ValueError, RecursionError):
        levels = None
    if not isinstance(number, int) or not isinstance(block, int) or number < 1 or block < 1:
        raise unreadable("planned trial", f"number {number!r}, block {block!r}")
    if not isinstance(levels, dict) or list(levels) != list(factors):
        raise unreadable("planned trial", f"trial {number} has no level of each factor")
    for name, level in levels.items():
        if not isinstance(level, str) or level not in factors[name]:
            raise unreadable("planned trial", f"trial {number}: {name} {str(level)[:40]}")
    return PlannedTrial(number, block, levels)


def moment(text: Any, unreadable: Unreadable) -> datetime:
    """Returns the time at which a session began or ended; raises BadInput where that is no time."""
    try:
        found = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        raise unreadable("session", f"the time {str(text)[:40]}") from None
    if found.tzinfo is None:
        raise unreadable("session", f"the time {text} without a zone")
    return found
