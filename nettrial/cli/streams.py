"""The two outputs, safe to write to: what a terminal would obey is shown and not obeyed, and a reader that
has left changes nothing."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO, cast

from nettrial.texts import visible


class Lasting:
    """A stream that takes what is written to it when its reader has left."""

    def __init__(self, stream: TextIO) -> None:
        """Writes to `stream`, whose every other attribute this has, too."""
        self._stream = stream

    def write(self, text: str) -> int:
        """Writes; gives how many characters."""
        try:
            return self._stream.write(text)
        except BrokenPipeError:
            self._let_go()
            return len(text)

    def flush(self) -> None:
        """Hands on what was written."""
        try:
            self._stream.flush()
        except BrokenPipeError:
            self._let_go()

    def _let_go(self) -> None:
        """Has what is written from here on, and what is buffered, go nowhere."""
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._stream.fileno())
        os.close(nowhere)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class Visible(Lasting):
    """The same for text: what a terminal would obey is shown instead."""

    @property
    def rich_proxied_file(self) -> Lasting:
        """The stream that rich's consoles write to, whose own escapes are meant; `console.py` has theirs."""
        return Lasting(self._stream)

    def write(self, text: str) -> int:
        """Writes; gives how many characters."""
        super().write(visible(text))
        return len(text)


@contextmanager
def safe() -> Iterator[None]:
    """Has both outputs be so."""
    before = sys.stdout, sys.stderr
    for name, stream in zip(("stdout", "stderr"), before, strict=True):
        if stream is not None:  # None: the process was started without
            setattr(sys, name, cast(TextIO, Visible(stream)))
    try:
        yield
    finally:
        with suppress(ValueError):  # closed
            for stream in (sys.stdout, sys.stderr):
                if stream is not None:
                    stream.flush()
        sys.stdout, sys.stderr = before
