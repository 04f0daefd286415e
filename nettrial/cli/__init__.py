"""The command line: data on standard output, everything else on standard error."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Callable

from nettrial.cli import log, streams
from nettrial.errors import NettrialError
from nettrial.systems import write_unicode

FAILED = 1
"""Exit status where neither the input nor the machine is at fault, or the system refused something."""


def main() -> None:
    """Runs a command and ends the process with its exit status. No traceback reaches the user."""
    from nettrial.cli.app import app

    write_unicode()
    status = FAILED
    try:
        with streams.safe():
            status = _run(app)
    except OSError as error:  # what is left could not be written to an output, such as a file on a full disk
        print(f"error: {_in_words(error)}", file=sys.stderr)
    finally:
        log.end()
    sys.exit(status)


def _run(app: Callable[..., object]) -> int:
    """Runs a command; gives its exit status."""
    try:
        app(prog_name="nettrial")
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 0
    except NettrialError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    except (OSError, sqlite3.Error) as error:  # a full disk, a directory that is not the user's
        print(f"error: {_in_words(error)}", file=sys.stderr)
    except Exception as error:  # a fault of nettrial's own
        file = log.failure()
        print(f"error: nettrial itself failed: {type(error).__name__}: {error}", file=sys.stderr)
        where = f"; {file} has the traceback" if file else ""
        print(f"  please report it{where}", file=sys.stderr)
    return FAILED


def _in_words(error: Exception) -> str:
    """Returns what the system refused: of a file, its name first."""
    if not isinstance(error, OSError) or error.strerror is None:
        return str(error)
    return error.strerror if error.filename is None else f"{error.filename}: {error.strerror}"
