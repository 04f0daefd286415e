"""A connection to a database that Ctrl-C interrupts."""

from __future__ import annotations

import sqlite3
from typing import Any


class Interrupted:
    """A connection whose user presses Ctrl-C when a statement that begins with certain words has been
    executed."""

    def __init__(self, connection: sqlite3.Connection, words: str) -> None:
        """Wraps a connection."""
        self._connection, self._words = connection, words

    def execute(self, statement: str, *values: Any) -> sqlite3.Cursor:
        """Executes a statement; raises KeyboardInterrupt if it begins with the words."""
        cursor = self._connection.execute(statement, *values)
        if statement.startswith(self._words):
            raise KeyboardInterrupt
        return cursor

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)
