"""Limits of a server that anyone can reach: a bounded number of clients, and a log that a flood does not
fill."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable

from nettrial.texts import visible

LINES, LINES_SECONDS = 20, 10.0
"""The largest number of log lines of one kind within that many seconds."""


class Seats:
    """A bounded number of places, in all and for each address."""

    def __init__(self, most: int, each: int) -> None:
        """Offers `most` places in all, and `each` of them to one address."""
        self._most, self._each = most, each
        self._taken: Counter[str] = Counter()

    def full(self, address: str) -> bool:
        """Returns whether there is no place for an address."""
        return self._taken.total() >= self._most or self._taken[address] >= self._each

    def take(self, address: str) -> bool:
        """Takes a place for an address; returns False if there is none."""
        if self.full(address):
            return False
        self._taken[address] += 1
        return True

    def free(self, address: str) -> None:
        """Returns a place that was taken."""
        self._taken[address] -= 1
        if not self._taken[address]:
            del self._taken[address]


class Log:
    """A log with at most `LINES` lines of one kind within `LINES_SECONDS`; further lines are counted."""

    def __init__(self, say: Callable[[str], None], now: Callable[[], float] = time.monotonic) -> None:
        """Writes lines with `say`, by the clock `now`."""
        self._say, self._now = say, now
        self._began: dict[str, float] = {}
        self._lines: Counter[str] = Counter()

    def line(self, kind: str, text: str) -> None:
        """Writes a line of one of a few kinds, with control characters made visible."""
        now = self._now()
        if now - self._began.get(kind, -LINES_SECONDS) >= LINES_SECONDS:
            omitted = self._lines[kind] - LINES
            if omitted > 0:
                self._say(f"{omitted} more lines like the last ones ({kind})")
            self._began[kind], self._lines[kind] = now, 0
        self._lines[kind] += 1
        if self._lines[kind] <= LINES:
            self._say(visible(text))
