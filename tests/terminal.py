"""A terminal for commands: a pseudo-terminal whose output pyte interprets as a terminal would."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import termios
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType

import pyte

from tests import forked

CTRL_C = b"\x03"
"""The character that a terminal sends for Ctrl-C."""
PATIENCE_SECONDS = 300.0
"""The time within which an expected text must appear, which takes a moment on a quiet machine."""


class Terminal:
    """A terminal in which a command of nettrial runs."""

    def __init__(
        self,
        arguments: tuple[str, ...],
        environment: Mapping[str, str],
        directory: Path,
        *,
        width: int = 80,
        height: int = 24,
    ) -> None:
        """Starts the command in a terminal of that many columns and lines, which keeps scrolled lines."""
        self._near, far = pty.openpty()
        fcntl.ioctl(far, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
        # Otherwise Ctrl-C discards what this process has not read yet, which may be half a control sequence.
        modes = termios.tcgetattr(far)
        modes[3] |= termios.NOFLSH
        termios.tcsetattr(far, termios.TCSANOW, modes)
        self._screen = pyte.HistoryScreen(width, height, history=10_000)
        self._stream = pyte.ByteStream(self._screen)
        self.sent = b""
        """The bytes that the command has sent."""
        command = forked.Command(arguments, environment, directory, terminal=Path(os.ttyname(far)))
        self.process = forked.Process(command)
        """The command."""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._changed = threading.Condition()
        self._reader.start()
        self._far = far

    def __enter__(self) -> Terminal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.end()
        os.close(self._near)

    def _read(self) -> None:
        while True:
            try:
                data = os.read(self._near, 4096)
            except OSError:  # EIO: nobody has the terminal open any more
                return
            with self._changed:
                self.sent += data
                self._stream.feed(data)
                self._changed.notify_all()

    def type(self, keys: bytes) -> None:
        """Sends what a user types."""
        os.write(self._near, keys)

    @property
    def lines(self) -> list[str]:
        """The lines on the screen and above it, without trailing spaces and empty lines at the end."""
        with self._changed:
            above = [
                "".join(line[at].data for at in range(self._screen.columns))
                for line in self._screen.history.top
            ]
            found = [line.rstrip() for line in (*above, *self._screen.display)]
        while found and not found[-1]:
            found.pop()
        return found

    @property
    def text(self) -> str:
        """The lines as one text."""
        return "\n".join(self.lines)

    def wait_for(self, found: str | Callable[[str], bool]) -> str:
        """Waits until the text matches the pattern or fulfils the condition, and returns it."""
        fulfilled = found if callable(found) else lambda text: re.search(found, text) is not None
        end = time.monotonic() + PATIENCE_SECONDS
        while not fulfilled(text := self.text):
            over = time.monotonic() > end or (self.process.poll() is not None and text == self.text)
            assert not over, f"the terminal shows:\n{text}"
            with self._changed:
                self._changed.wait(0.5)
        return text

    def end(self) -> int:
        """Waits for the end of the command and of its output, and returns the exit status."""
        status = self.process.wait(PATIENCE_SECONDS)
        if self._far >= 0:
            os.close(self._far)
            self._far = -1
        self._reader.join(PATIENCE_SECONDS)
        return status
