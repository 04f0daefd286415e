"""The progress of a compilation, on standard error."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self

from rich.status import Status

from nettrial.cli.console import errors, say

FILES = 1080
"""The approximate number of files that make writes for a kernel in virtual time."""
LINE_SECONDS = 10.0
"""The time between two lines of progress where there is no terminal."""


class Compilation:
    """Counts and shows the files that were compiled: on a terminal in one line that changes, elsewhere in a
    line every ten seconds."""

    def __init__(self) -> None:
        """Prepares a count from zero."""
        console = errors()
        self._status = Status("configuring the kernel", console=console) if console.is_terminal else None
        self._done = 0
        self._shown = time.monotonic()

    def __enter__(self) -> Self:
        if self._status:
            self._status.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._status:
            self._status.stop()

    def __call__(self, step: str) -> None:
        """Counts a step."""
        self._done += 1
        text = f"compiling the kernel: {self._done} of about {FILES} files"
        if self._status:
            self._status.update(f"{text}, {step}")
        elif time.monotonic() - self._shown >= LINE_SECONDS:
            self._shown = time.monotonic()
            say(text)
