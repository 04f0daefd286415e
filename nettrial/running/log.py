"""The log of a run, in its directory: nettrial's own entries and those of its engines."""

from __future__ import annotations

import logging
import textwrap
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TextIO

from nettrial.files import Unsafe, appended
from nettrial.texts import one_line, visible

LOG_FILE = "nettrial.log"
"""The name of the log in a run's directory."""
FORM = "%(asctime)s %(levelname)-7s %(name)s: %(message)s"
"""The form of a line of the log."""
KEPT_LEVEL = logging.INFO
"""The level from which entries are kept."""

ROOT = logging.getLogger("nettrial")
"""The logger above all those of nettrial."""


class LineForm(logging.Formatter):
    """Writes an entry on one line, and a traceback on indented lines below it: texts of others, such as the
    names of levels, can't add an entry, nor a line that means something to another program."""

    def __init__(self) -> None:
        """Takes the form of nettrial's log."""
        super().__init__(FORM)

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802
        """Returns the line of an entry."""
        return one_line(super().formatMessage(record))

    def formatException(self, ei: Any) -> str:  # noqa: N802
        """Returns the lines of an exception."""
        return textwrap.indent(visible(super().formatException(ei)), "    ", lambda line: True)


class LogFile(logging.StreamHandler[TextIO]):
    """Writes to a file that is open already, and closes it at the end."""

    def __init__(self, file: TextIO, path: Path) -> None:
        """Takes an open file and its path."""
        super().__init__(file)
        self.setFormatter(LineForm())
        self.path = path.absolute()

    def close(self) -> None:
        """Closes the file."""
        super().close()
        with suppress(OSError):
            self.stream.close()


def opened(directory: Path) -> LogFile | None:
    """Returns a handler that appends to the log of a run's directory, or None if it can't be written, which
    is logged; raises BadInput if that is not a regular file of the user."""
    path = directory / LOG_FILE
    try:
        return LogFile(appended(path), path)
    except Unsafe as why:
        raise why.as_bad_input("writing the log", path) from None
    except OSError as error:
        ROOT.warning("can't write a log in %s: %s", directory, error.strerror)
        return None


class _Caller(logging.Handler):
    """Passes entries to the handlers of the caller's program that would receive them without a run's log."""

    def emit(self, record: logging.LogRecord) -> None:
        if ROOT.parent is not None:
            ROOT.parent.callHandlers(record)


_LOCK = threading.Lock()
_RUNS: list[Path] = []
"""The directories of the runs in this process whose logs are written."""
_BEFORE: list[int] = []
"""The level that the user's program set, while a run's log is written."""
_CALLER = _Caller()


@contextmanager
def kept(directory: Path) -> Iterator[None]:
    """Writes the log of a run in a program of the user's, whose own logging stays as it is; raises BadInput
    as `opened` does."""
    file = opened(directory)
    if file is None:
        yield
        return
    with _LOCK:
        if not _RUNS and ROOT.propagate:
            _CALLER.setLevel(ROOT.getEffectiveLevel())
            ROOT.addHandler(_CALLER)
            ROOT.propagate = False
            _BEFORE.append(ROOT.level)
            ROOT.setLevel(min(ROOT.getEffectiveLevel(), KEPT_LEVEL))
        _RUNS.append(directory)
        ROOT.addHandler(file)
    try:
        yield
    finally:
        with _LOCK:
            ROOT.removeHandler(file)
            _RUNS.remove(directory)
            if not _RUNS and _CALLER in ROOT.handlers:
                ROOT.removeHandler(_CALLER)
                ROOT.propagate = True
                ROOT.setLevel(_BEFORE.pop())
        file.close()
