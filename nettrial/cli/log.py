"""Logging of nettrial and its engines, to a file in the run's directory and, on request, to standard
error."""

from __future__ import annotations

import logging
import os
import re
import sys
import tempfile
from pathlib import Path

from nettrial.cli.console import say
from nettrial.errors import BadInput
from nettrial.running.log import KEPT_LEVEL, ROOT, LineForm, LogFile, opened

VARIABLE = "NETTRIAL_LOG"
"""The environment variable for the log level; the engine reads it, too."""
LEVELS = {
    "error": logging.ERROR,
    "warn": logging.WARNING,
    "info": logging.INFO,
    "debug": logging.DEBUG,
    "trace": logging.DEBUG,
}
"""The levels of the environment variable, by name."""
_SET = [""]
"""The value to which `-v` set the environment variable."""


class _Said(logging.Handler):
    """Writes to the current standard error, so that lines appear above a terminal's progress display."""

    def emit(self, record: logging.LogRecord) -> None:
        say(self.format(record))


def begin(verbosity: int) -> None:
    """Starts logging, to standard error at the level of `-v` (1) or `-vv` (2); raises BadInput if the
    environment variable has an unknown level."""
    end()
    given = os.environ.get(VARIABLE, "")
    named = re.findall(r"\b(?:error|warn|info|debug|trace)\b", given.lower())
    if given and not named:
        expected = (
            f"one of {', '.join(LEVELS)}, or a level for a part of the engine, such as nettrial_lab=debug"
        )
        raise BadInput("reading the environment", VARIABLE, given, expected)
    logging.raiseExceptions = False  # a log that can't be written does not stop the command
    shown = min((LEVELS[name] for name in named), default=logging.CRITICAL + 1)
    if verbosity:
        shown = min(shown, logging.INFO if verbosity == 1 else logging.DEBUG)
        if not given:
            os.environ[VARIABLE] = _SET[0] = "info" if verbosity == 1 else "debug"
    ROOT.setLevel(min(shown, KEPT_LEVEL))
    ROOT.propagate = False
    if shown <= logging.CRITICAL:
        _add(_Said(), shown)


def keep(directory: Path) -> None:
    """Also writes the log to a run's directory, appending to the file there; raises BadInput if that is not a
    regular file of the user."""
    if file := opened(directory):
        _add(file, logging.DEBUG)


def end() -> None:
    """Ends logging, closes the files and restores the environment."""
    if _SET[0] and os.environ.get(VARIABLE) == _SET[0]:
        del os.environ[VARIABLE]
    _SET[0] = ""
    for handler in list(ROOT.handlers):
        ROOT.removeHandler(handler)
        handler.close()


def failure() -> Path | None:
    """Logs the exception being handled, with its traceback, and returns the file: the run's log, or a new
    file if there is none. Returns None if no file can be written."""
    files = [handler for handler in ROOT.handlers if isinstance(handler, LogFile)]
    if not files:
        try:
            descriptor, name = tempfile.mkstemp(prefix="nettrial-", suffix=".log")
            files = [LogFile(os.fdopen(descriptor, "a", encoding="utf-8"), Path(name))]
        except OSError:
            return None
        _add(files[0], logging.DEBUG)
    ROOT.error("nettrial itself failed: %s", " ".join(sys.argv), exc_info=True)
    return files[0].path


def _add(handler: logging.Handler, level: int) -> None:
    handler.setLevel(level)
    handler.setFormatter(LineForm())
    ROOT.addHandler(handler)
