"""The progress of a run, on standard error: on a terminal as a bar below the responses so far, otherwise as a
line every ten seconds.

Drawing takes CPU time that trials may need, so it happens only between trials, and on a terminal at most once
a second. In simulated time, which waits for drawing, it also happens while trials run, every ten seconds."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from types import TracebackType
from typing import TYPE_CHECKING

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Column
from rich.text import Text

from nettrial.cli.console import above, errors, say
from nettrial.design import PlannedTrial
from nettrial.design.trial_order import in_words
from nettrial.report.numbers import as_time
from nettrial.running.events import (
    BlocksAdded,
    Event,
    Notice,
    SessionEnded,
    SessionStarted,
    TrialDisturbed,
    TrialFinished,
    TrialLost,
    TrialsRunning,
    WarmUpFinished,
)
from nettrial.store import Run
from nettrial.texts import visible

if TYPE_CHECKING:
    # Imported only if there is a terminal: it needs statistics.
    from nettrial.running.running_means import Estimates

TERMINAL_SECONDS = 1.0
"""The time between two updates on a terminal."""
LINE_SECONDS = 10.0
"""The time between two lines of progress where there is no terminal."""
OTHER_LINES = 6
"""The number of other lines on a terminal: headings, treatment, the lines above and below them, and the
prompt. The bar's lines are counted when they are drawn."""
BAR_WIDTH = 16
"""The width of the progress bar in characters."""


def on_terminal() -> bool:
    """Returns whether standard error is a terminal."""
    return errors().is_terminal


class Display:
    """Counts and shows the progress of a session."""

    def __init__(
        self,
        done: int,
        total: int,
        left: float | None,
        estimates: Estimates | None = None,
        quiet: bool = False,
        standing: Callable[[], str] = lambda: "",
        unit: str = "trials",
    ) -> None:
        """Begins with `done` of `total` trials finished before the session; `left` is the predicted time for
        the others in seconds, None if it is not known. A terminal shows the `estimates`, if there are any. If
        `quiet`, only notes are shown. `standing` returns a description of the processes that run the trials,
        which is shown with the rate of trials. `unit` is the word for trials."""
        self._standing, self._unit = standing, unit
        self.current = ""
        """The treatment of the running trial, in words; empty if several trials run at the same time."""
        self._done, self._total = done, total
        self._left = left
        self._warnings = self._failed = self._again = self._tried = 0
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
        """Starts counting time, after the warm-up."""
        self._began = time.monotonic()
        if self._view and self.current:
            self._show()

    def finished(self, warnings: int, left: float | None) -> None:
        """Counts a trial that gave a record with that many warnings. Here and below, `left` is the predicted
        time until all trials have ended, in seconds."""
        self._done += 1
        self._warnings += warnings
        self._tell(left)

    def extend(self, trials: int, left: float | None) -> None:
        """Adds that many trials."""
        self._total += trials
        self._left = left

    def again(self, left: float | None) -> None:
        """Counts a trial that something else disturbed, and that is run again."""
        self._again += 1
        self._tell(left)

    def failed(self, message: str, left: float | None) -> None:
        """Counts a trial that gave no record."""
        self._failed += 1
        self.note(f"failed: {message}")
        self._tell(left)

    def running(self, left: float | None) -> None:
        """Shows the progress although no trial has ended."""
        self._left = left
        self._show()

    def note(self, text: str) -> None:
        """Prints a line above the progress."""
        if self._view:
            self._view.note(text)
        else:
            say(text)

    def _tell(self, left: float | None) -> None:
        self._tried += 1
        self._left = left
        if time.monotonic() - self._shown >= self._interval:
            self._show()

    def _show(self) -> None:
        self._shown = time.monotonic()
        if self._quiet:
            return
        elapsed = f"{as_time(self._shown - self._started)} elapsed, "
        left = f"{as_time(self._left)} left, " if self._left else ""
        text = f"{self._done}/{self._total} {self._unit}, {elapsed}{left}warnings: {self._warnings}"
        standing = self._standing()
        if standing:
            text += f", {standing}, {self._tried / max(self._shown - self._began, 1e-3):.3g} {self._unit}/s"
        if self._again:
            text += f", disturbed and run again: {self._again}"
        if self._failed:
            text += f", failed: {self._failed}"
        if self._view:
            self._view.show(self._done, self._total, text, self.current)
        else:
            say(f"{text}; now {self.current}" if self.current else text)


class SessionDisplay:
    """Shows the progress of a session of a run, of which it hears by events."""

    def __init__(self, run: Run, quiet: bool = False) -> None:
        """Prepares the display of a session of the run. If `quiet`, only notices are shown."""
        self._run, self._quiet = run, quiet
        self._estimates: Estimates | None = None
        self._display: Display | None = None
        self._pool = ""
        self._stack = ExitStack()

    def __enter__(self) -> SessionDisplay:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stack.close()

    def hear(self, event: Event) -> None:
        """Shows an event."""
        if isinstance(event, SessionStarted):
            self._start(event)
            return
        display = self._display
        if display is None:
            say_event(event)
            return
        match event:
            case Notice():
                display.note(event.text)
            case WarmUpFinished():
                display.current = _in_words(event.following)
                display.begin()
            case TrialFinished():
                self._pool, display.current = event.pool, _in_words(event.following)
                if self._estimates:
                    self._estimates.add(event.trial, event.result.read_record())
                display.finished(event.result.warnings, event.left)
            case TrialDisturbed():
                self._pool, display.current = event.pool, _in_words(event.following)
                display.again(event.left)
            case TrialLost():
                self._pool, display.current = event.pool, _in_words(event.following)
                display.failed(str(event), event.left)
            case BlocksAdded():
                display.extend(event.trials, event.left)
            case TrialsRunning():
                display.running(event.left)
            case SessionEnded():
                self._stack.close()

    def _start(self, event: SessionStarted) -> None:
        self._pool = event.pool
        if on_terminal() and not self._quiet:
            from nettrial.running.running_means import Estimates  # its statistics are slow to load

            self._estimates = Estimates(self._run)
        self._display = self._stack.enter_context(
            Display(
                *(event.done, event.total, event.left, self._estimates, self._quiet),
                standing=lambda: self._pool,
            )
        )


def _in_words(trial: PlannedTrial | None) -> str:
    return in_words(trial.treatment) if trial else ""


def say_event(event: Event) -> None:
    """Prints an event, where no progress is displayed."""
    say(str(event))


class View:
    """The changing lines on a terminal: the responses so far, and a bar."""

    def __init__(self, console: Console, total: int, estimates: Estimates | None) -> None:
        """Prepares the view; nothing is drawn before `start`."""
        self._console, self._estimates = console, estimates
        text = TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=False))
        self._bar = Progress(BarColumn(BAR_WIDTH), text, console=console)
        self._task = self._bar.add_task("", total=total)
        self._live = Live(
            console=console, auto_refresh=False, transient=True, redirect_stdout=False, redirect_stderr=False
        )
        self._above = ExitStack()

    def start(self) -> None:
        """Starts drawing."""
        self._live.start()
        self._above.enter_context(above(self._console))

    def stop(self) -> None:
        """Stops drawing; the bar stays, and the responses disappear, because the report contains them."""
        self._above.close()
        self._live.stop()
        self._console.print(self._bar.get_renderable())

    def show(self, done: int, total: int, text: str, current: str = "") -> None:
        """Draws the number of finished trials, a text about them, and the treatment of the running trial."""
        self._bar.update(self._task, completed=done, total=total, description=text)
        bar = self._bar.get_renderable()
        # The terminal shows Ctrl-C at the cursor: on a line of its own it can't move the others.
        parts: list[RenderableType] = [bar, ""]
        if current:
            parts.insert(0, Text(f"now {visible(current)}", style="dim", no_wrap=True, overflow="ellipsis"))
        if self._estimates:
            from nettrial.cli.means_table import means_table  # when it is needed

            others = OTHER_LINES + len(self._console.render_lines(bar))
            table = means_table(self._estimates, self._console.width, max(self._console.height - others, 1))
            parts[:0] = [table, ""]
        self._live.update(Group(*parts), refresh=True)

    def note(self, text: str) -> None:
        """Prints a line above the view."""
        self._console.print(visible(text), markup=False)  # before it is divided into lines
