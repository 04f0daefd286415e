"""Logs: what nettrial and its engines do, in the run's directory and, where that is asked for, on standard
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
from nettrial.texts import visible

VARIABLE = "NETTRIAL_LOG"
"""The environment variable that says how much is logged; the engine reads it, too."""
LEVELS = {
    "error": logging.ERROR,
    "warn": logging.WARNING,
    "info": logging.INFO,
    "debug": logging.DEBUG,
    "trace": logging.DEBUG,
}
LOG_FILE = "nettrial.log"
"""The log's name in a run's directory."""
FORM = "%(asctime)s %(levelname)-7s %(name)s: %(message)s"

_ROOT = logging.getLogger("nettrial")
_SET = [""]
"""The value that `-v` gave the environment variable."""


class _Form(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return visible(super().format(record))


class _Said(logging.Handler):
    """Writes to what standard error is at that moment: a terminal's progress stands below it."""

    def emit(self, record: logging.LogRecord) -> None:
        say(self.format(record))


def begin(verbosity: int) -> None:
    """Starts logging, with what `-v` (1) or `-vv` (2) asks for on standard error; raises BadInput where the
    environment variable asks for what there is not."""
    end()
    given = os.environ.get(VARIABLE, "")
    named = re.findall(r"\b(?:error|warn|info|debug|trace)\b", given.lower())
    if given and not named:
        expected = (
            f"one of {', '.join(LEVELS)}, or such a level by part of the engine, such as nettrial_lab=debug"
        )
        raise BadInput("reading the environment", VARIABLE, given, expected)
    logging.raiseExceptions = False  # a log that can't be written ends nothing
    shown = min((LEVELS[name] for name in named), default=logging.CRITICAL + 1)
    if verbosity:
        shown = min(shown, logging.INFO if verbosity == 1 else logging.DEBUG)
        if not given:
            os.environ[VARIABLE] = _SET[0] = "info" if verbosity == 1 else "debug"
    _ROOT.setLevel(min(shown, logging.INFO))
    _ROOT.propagate = False
    if shown <= logging.CRITICAL:
        _add(_Said(), shown)


def keep(directory: Path) -> None:
    """Writes the log in a run's directory, too, after what is there."""
    try:
        _add(logging.FileHandler(directory / LOG_FILE, encoding="utf-8"), logging.DEBUG)
    except OSError as error:
        _ROOT.warning("no log is kept in %s: %s", directory, error.strerror)


def end() -> None:
    """Ends logging, closes the files, and leaves the environment as it was."""
    if _SET[0] and os.environ.get(VARIABLE) == _SET[0]:
        del os.environ[VARIABLE]
    _SET[0] = ""
    for handler in list(_ROOT.handlers):
        _ROOT.removeHandler(handler)
        handler.close()


def failure() -> Path | None:
    """Logs the exception that is being handled with its traceback; gives the file that has it: the run's log
    where there is one, else one that is made. None where none can be written."""
    files = [handler for handler in _ROOT.handlers if isinstance(handler, logging.FileHandler)]
    if not files:
        try:
            descriptor, name = tempfile.mkstemp(prefix="nettrial-", suffix=".log")
            os.close(descriptor)
            files = [logging.FileHandler(name, encoding="utf-8")]
        except OSError:
            return None
        _add(files[0], logging.DEBUG)
    _ROOT.error("nettrial itself failed: %s", " ".join(sys.argv), exc_info=True)
    return Path(files[0].baseFilename)


def _add(handler: logging.Handler, level: int) -> None:
    handler.setLevel(level)
    handler.setFormatter(_Form(FORM))
    _ROOT.addHandler(handler)
