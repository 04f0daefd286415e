"""Safe standard output and standard error: control characters are shown instead of being sent to the
terminal, and a reader that has closed its end causes no error."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO, cast

from nettrial.texts import visible


class Lasting:
    """A stream that discards data silently once its reader has closed the other end."""

    def __init__(self, stream: TextIO) -> None:
        """Wraps `stream`, and has all of its other attributes."""
        self._stream = stream

    def write(self, text: str) -> int:
        """Writes a text and returns its number of characters."""
        try:
            return self._stream.write(text)
        except BrokenPipeError:
            self._let_go()
            return len(text)

    def flush(self) -> None:
        """Flushes the buffer."""
        try:
            self._stream.flush()
        except BrokenPipeError:
            self._let_go()

    def _let_go(self) -> None:
        """Discards buffered data and all data written from now on."""
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._stream.fileno())
        os.close(nowhere)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class Visible(Lasting):
    """A stream for text that also shows control characters instead of sending them to the terminal."""

    @property
    def rich_proxied_file(self) -> Lasting:
        """The stream below, to which consoles write their own escape sequences unchanged; `console.py` makes
        those of texts visible."""
        return Lasting(self._stream)

    def write(self, text: str) -> int:
        """Writes a text and returns its number of characters."""
        super().write(visible(text))
        return len(text)


@contextmanager
def safe() -> Iterator[None]:
    """Makes standard output and standard error safe."""
    before = sys.stdout, sys.stderr
    for name, stream in zip(("stdout", "stderr"), before, strict=True):
        if stream is not None:  # None if the process was started without it
            setattr(sys, name, cast(TextIO, Visible(stream)))
    try:
        yield
    finally:
        with suppress(ValueError):  # closed
            for stream in (sys.stdout, sys.stderr):
                if stream is not None:
                    stream.flush()
        sys.stdout, sys.stderr = before
