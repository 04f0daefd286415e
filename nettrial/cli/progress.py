"""The progress of a run, on standard error: on a terminal a bar below the responses so far, else a line every
ten seconds.

Drawing takes CPU time that the trials may need: it is done between trials only, and on a
terminal at most once a second."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress import BarColumn, Progress, TextColumn
from rich.text import Text

from nettrial.cli.console import errors, say
from nettrial.cli.design import as_time

if TYPE_CHECKING:
    from nettrial.cli.running_means import Estimates  # loaded where there is a terminal: it needs statistics

TERMINAL_SECONDS = 1.0
LINE_SECONDS = 10.0
OTHER_LINES = 7
"""The other lines of a terminal: headings, treatment, bar, what is above them, and what is typed."""
BAR_WIDTH = 16


def on_terminal() -> bool:
    """Returns whether there is a terminal to draw on."""
    return errors().is_terminal


class Display:
    """Counts what a session has done, and shows it."""

    def __init__(
        self,
        done: int,
        total: int,
        seconds: float,
        estimates: Estimates | None = None,
        quiet: bool = False,
        standing: Callable[[], str] = lambda: "",
    ) -> None:
        """`done` of `total` trials are finished before the session; the others are expected to take
        `seconds`. A terminal shows the `estimates`, if there are any. Where it is `quiet`, nothing but
        notes is shown. `standing` gives words on who runs the trials, beside which stands how many a
        second."""
        self._standing = standing
        self.current = ""
        """The treatment of the trial that runs, in words; empty where several run at once."""
        self._done, self._total = done, total
        self._left = seconds
        self._warnings = self._failed = self._tried = 0
        self._began = self._shown = time.monotonic()
        console = errors()
        self._interval = TERMINAL_SECONDS if console.is_terminal else LINE_SECONDS
        self._quiet = quiet
        self._view = View(console, total, estimates) if console.is_terminal and not quiet else None
        self._started = self._began

    def __enter__(self) -> Display:
        if self._view:
            self._view.start()
        self._show()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.current = ""
        self._show()
        if self._view:
            self._view.stop()

    def begin(self) -> None:
        """The warm-up is over: time is counted from here."""
        self._began = time.monotonic()
        if self._view and self.current:
            self._show()

    def finished(self, warnings: int) -> None:
        """A trial gave a record with so many warnings."""
        self._done += 1
        self._warnings += warnings
        self._tell()

    def extend(self, trials: int, seconds: float) -> None:
        """So many trials more, which are expected to take `seconds`."""
        self._total += trials
        self._left += seconds

    def failed(self, message: str) -> None:
        """A trial gave no record."""
        self._failed += 1
        self.note(f"failed: {message}")
        self._tell()

    def note(self, text: str) -> None:
        """A line above the progress."""
        if self._view:
            self._view.note(text)
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
        if self._quiet:
            return
        elapsed = f"{as_time(self._shown - self._started)} elapsed, "
        left = f"{as_time(self._left)} left, " if self._left else ""
        text = f"{self._done}/{self._total} trials, {elapsed}{left}warnings: {self._warnings}"
        standing = self._standing()
        if standing:
            text += f", {standing}, {self._tried / max(self._shown - self._began, 1e-3):.3g} trials/s"
        if self._failed:
            text += f", failed: {self._failed}"
        if self._view:
            self._view.show(self._done, self._total, text, self.current)
        else:
            say(f"{text}; now {self.current}" if self.current else text)


class View:
    """A terminal's lines that change: the responses so far, and a bar."""

    def __init__(self, console: Console, total: int, estimates: Estimates | None) -> None:
        """Nothing is drawn before `start`."""
        self._console, self._estimates = console, estimates
        self._bar = Progress(BarColumn(BAR_WIDTH), TextColumn("{task.description}"), console=console)
        self._task = self._bar.add_task("", total=total)
        self._live = Live(console=console, auto_refresh=False, transient=True)

    def start(self) -> None:
        """Begins."""
        self._live.start()

    def stop(self) -> None:
        """Ends; the bar stays, and the responses go: the report has them."""
        self._live.stop()
        self._console.print(self._bar.get_renderable())

    def show(self, done: int, total: int, text: str, current: str = "") -> None:
        """Draws how many trials are done, what is said of them, and the treatment that runs."""
        self._bar.update(self._task, completed=done, total=total, description=text)
        parts: list[RenderableType] = [self._bar.get_renderable()]
        if current:
            parts.insert(0, Text(f"now {current}", style="dim", no_wrap=True, overflow="ellipsis"))
        if self._estimates:
            table = self._estimates.table(self._console.width, max(self._console.height - OTHER_LINES, 1))
            parts[:0] = [table, ""]
        self._live.update(Group(*parts), refresh=True)

    def note(self, text: str) -> None:
        """A line above."""
        self._console.print(text, markup=False)
