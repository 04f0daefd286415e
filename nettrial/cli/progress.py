"""How far a run is, on standard error: a bar on a terminal, else a line every ten seconds.

Drawing takes processor time that the trials may need: it is done between trials only, and on a
terminal at most once a second."""

from __future__ import annotations

import time
from types import TracebackType

from rich.progress import BarColumn, Progress, TextColumn

from nettrial.cli.console import errors, say
from nettrial.cli.design import as_time

TERMINAL_SECONDS = 1.0
LINE_SECONDS = 10.0


class Display:
    """Counts what a session has done, and shows it."""

    def __init__(self, done: int, total: int, seconds: float) -> None:
        """`done` of `total` trials are finished before the session; the others are expected to take
        `seconds`."""
        self._done, self._total = done, total
        self._left = seconds
        self._warnings = self._failed = self._tried = 0
        self._began = self._shown = time.monotonic()
        console = errors()
        self._interval = TERMINAL_SECONDS if console.is_terminal else LINE_SECONDS
        self._bar: Progress | None = None
        if console.is_terminal:
            columns = (BarColumn(), TextColumn("{task.description}"))
            self._bar = Progress(*columns, console=console, auto_refresh=False)
            self._task = self._bar.add_task("", total=total)

    def __enter__(self) -> Display:
        if self._bar:
            self._bar.start()
        self._show()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._show()
        if self._bar:
            self._bar.stop()

    def begin(self) -> None:
        """The warm-up is over: time is counted from here."""
        self._began = time.monotonic()

    def finished(self, warnings: int) -> None:
        """A trial gave a record with so many warnings."""
        self._done += 1
        self._warnings += warnings
        self._tell()

    def extend(self, trials: int, seconds: float) -> None:
        """So many trials more, which are expected to take `seconds`."""
        self._total += trials
        self._left += seconds
        if self._bar:
            self._bar.update(self._task, total=self._total)

    def failed(self, message: str) -> None:
        """A trial gave no record."""
        self._failed += 1
        self.note(f"failed: {message}")
        self._tell()

    def note(self, text: str) -> None:
        """A line above the progress."""
        if self._bar:
            self._bar.console.print(text, markup=False)
        else:
            say(text)

    def _tell(self) -> None:
        self._tried += 1
        now = time.monotonic()
        remaining = self._total - self._done - self._failed
        self._left = (now - self._began) / self._tried * remaining
        if now - self._shown >= self._interval:
            self._show()

    def _show(self) -> None:
        self._shown = time.monotonic()
        left = f"{as_time(self._left)} left, " if self._left else ""
        text = f"{self._done}/{self._total} trials, {left}warnings: {self._warnings}"
        if self._failed:
            text += f", failed: {self._failed}"
        if self._bar:
            self._bar.update(self._task, completed=self._done, description=text, refresh=True)
        else:
            say(text)
