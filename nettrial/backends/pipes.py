"""Bounded reading of what another process writes: an engine, or a command that reaches a machine. What a
machine sends may be anything, and must not exhaust this one's memory."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import IO


class TooMuch(Exception):
    """The error for output over its limit; the text names the limit."""


def read_line(stream: IO[bytes], most: int) -> bytes:
    """Returns the next line, of up to `most` bytes without its newline, or nothing at the end of the stream;
    raises TooMuch if the line is longer. Never holds more than the limit in memory."""
    line = stream.readline(most + 1)
    if len(line) > most and not line.endswith(b"\n"):
        raise TooMuch(f"a line of more than {most} bytes")
    return line


class Gathered:
    """Collects the output of a process in a separate thread, so that the process never waits for a reader."""

    def __init__(self, stream: IO[bytes], most: int, excess: Callable[[], None]) -> None:
        """Reads `stream` to its end. Calls `excess` once, and reads no more, after more than `most` bytes."""
        self._stream = stream
        self._most = most
        self._excess = excess
        self._kept = bytearray()
        self._changed = threading.Condition()
        self._ended = False
        self.is_too_much = False
        """True if there were more bytes than the limit."""
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        while piece := self._stream.read(min(self._most + 1, 1 << 16)):
            with self._changed:
                self._kept += piece
                self.is_too_much = len(self._kept) > self._most
                self._changed.notify_all()
            if self.is_too_much:
                self._excess()
                break
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def await_line(self, line: bytes) -> bool:
        """Waits for this line; returns false if the output ends without it."""
        with self._changed:
            self._changed.wait_for(lambda: self._ended or self._has(line))
            return self._has(line)

    def _has(self, line: bytes) -> bool:
        return any(kept.strip() == line for kept in self._kept.splitlines())

    def whole(self) -> str:
        """Waits for the end of the output, and returns it as text; bytes that are not UTF-8 are replaced."""
        self._thread.join()
        return self._kept.decode(errors="replace")
