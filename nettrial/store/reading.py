"""Reading a run file that may be damaged or come from anyone: its faults are reported as errors of the user's
input with the file's name, not as faults of nettrial."""

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
"""A function that returns the error for a kind of entry and its fault."""

SURROUNDINGS = ("BUSY", "CANTOPEN", "FULL", "INTERRUPT", "IOERR", "LOCKED", "NOMEM", "PERM", "READONLY")
"""SQLite's errors that do not concern a file's content (https://www.sqlite.org/rescode.html)."""


@contextmanager
def damage(unreadable: Unreadable) -> Iterator[None]:
    """Converts errors of the module sqlite3 about a file's content into errors for the user."""
    try:
        yield
    except sqlite3.Error as error:
        name = getattr(error, "sqlite_errorname", "").removeprefix("SQLITE_").partition("_")[0]
        if name in SURROUNDINGS:
            raise
        # "Could not decode to UTF-8 column 'study' with text '…'", with a part of the damaged text.
        raise unreadable("table", str(error).partition(" with text ")[0]) from None
    except UnicodeDecodeError as error:
        # The module sqlite3 decodes names and messages itself.
        raise unreadable("table", f"text that is not UTF-8: {error.object[:40]!r}") from None


def tables(connection: sqlite3.Connection) -> set[str]:
    """Returns the names of the tables and views in a file."""
    rows = connection.execute("SELECT name, type FROM sqlite_schema WHERE type IN ('table', 'view')")
    return {str(name) if kind == "table" else f"{name} ({kind})" for name, kind in rows}


def planned(
    number: Any, block: Any, treatment: Any, factors: Mapping[str, Collection[str]], unreadable: Unreadable
) -> PlannedTrial:
    """Returns a trial of the plan; raises BadInput if it does not match a study with these levels of its
    factors."""
    try:
        levels = json.loads(treatment)
    except (TypeError, ValueError, RecursionError):
        levels = None
    if not isinstance(number, int) or not isinstance(block, int) or number < 1 or block < 1:
        raise unreadable("planned trial", f"number {number!r}, block {block!r}")
    if not isinstance(levels, dict) or list(levels) != list(factors):
        raise unreadable("planned trial", f"trial {number} does not have a level of each factor")
    for name, level in levels.items():
        if not isinstance(level, str) or level not in factors[name]:
            raise unreadable("planned trial", f"trial {number}: {name} {str(level)[:40]}")
    return PlannedTrial(number, block, levels)


def facts(text: Any, unreadable: Unreadable) -> dict[str, str]:
    """Returns the fingerprint of a session; raises BadInput if it is not a mapping of texts."""
    try:
        content = json.loads(text)
    except (TypeError, ValueError, RecursionError):
        content = None
    if not isinstance(content, dict) or not all(isinstance(value, str) for value in content.values()):
        raise unreadable("session", f"the fingerprint {str(text)[:40]}")
    return content


def moment(text: Any, unreadable: Unreadable) -> datetime:
    """Returns the time at which a session began or ended; raises BadInput for an invalid time."""
    try:
        time = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        raise unreadable("session", f"the time {str(text)[:40]}") from None
    if time.tzinfo is None:
        raise unreadable("session", f"the time {text} without a time zone")
    return time
