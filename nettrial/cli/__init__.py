"""The command line: data on standard output, everything else on standard error."""

from __future__ import annotations

import sqlite3
import sys
import traceback

from nettrial.errors import NettrialError
from nettrial.systems import write_unicode


def main() -> None:
    """Runs a command and ends the process with its exit status. No traceback reaches the user."""
    from nettrial.cli.app import app

    write_unicode()
    try:
        app(prog_name="nettrial")
    except NettrialError as error:
        print(error, file=sys.stderr)
        sys.exit(error.exit_code)
    except (OSError, sqlite3.Error) as error:  # a full disk, a directory that is not the user's
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)
    except Exception as error:  # a fault of nettrial's own
        place = traceback.extract_tb(error.__traceback__)[-1]
        print(f"error: nettrial itself failed: {type(error).__name__}: {error}", file=sys.stderr)
        print(f"  please report it: {place.filename}, line {place.lineno}", file=sys.stderr)
        sys.exit(1)
