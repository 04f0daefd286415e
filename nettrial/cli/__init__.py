"""The command line: data on standard output, everything else on standard error."""

from __future__ import annotations

import gc
import sqlite3
import sys
from collections.abc import Callable

from nettrial.cli import log, streams
from nettrial.errors import READING_OPTIONS, BadInput, NettrialError
from nettrial.systems import write_unicode

READING = READING_OPTIONS
"""The beginning of the error messages about options."""
FAILED = 5
"""Exit status after a fault of nettrial itself or of the operating system. It differs from 1, by which
`nettrial compare` reports a change that is too large."""


def main() -> None:
    """Runs a command and ends the process with its exit status. No traceback reaches the user."""
    # Most objects live until the end: garbage collection would take a tenth of a short command's time.
    gc.set_threshold(100_000, 20)
    from nettrial.cli.app import parser_of

    write_unicode()
    status = FAILED
    try:
        with streams.safe():
            status = _run(parser_of(sys.argv[1] if len(sys.argv) > 1 else ""))
    except OSError as error:  # the rest could not be written to an output, such as a file on a full disk
        print(f"error: {_in_words(error)}", file=sys.stderr)
    finally:
        log.end()
    sys.exit(status)


def _run(app: Callable[..., object]) -> int:
    """Runs a command and returns its exit status."""
    try:
        status = app(prog_name="nettrial", standalone_mode=False)
        return status if isinstance(status, int) else 0
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 0
    except NettrialError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    except (OSError, sqlite3.Error) as error:  # a full disk, or a directory of another user
        print(f"error: {_in_words(error)}", file=sys.stderr)
    except Exception as error:
        if _show_usage(error):
            return BadInput.exit_code
        # a fault of nettrial's own
        file = log.failure()
        print(f"error: nettrial itself failed: {type(error).__name__}: {error}", file=sys.stderr)
        where = f"; the traceback is in {file}" if file else ""
        print(f"  please report it{where}", file=sys.stderr)
    return FAILED


def _show_usage(error: Exception) -> bool:
    """Prints an error of the command-line parser in the style of nettrial's other errors; returns False for
    any other error. A parser's error is recognised by its methods: its class is typer's or click's, depending
    on typer's version."""
    say = getattr(error, "format_message", None)
    if say is None:
        return False
    context, parameter = getattr(error, "ctx", None), getattr(error, "param", None)
    command = getattr(context, "command_path", "nettrial")
    if type(error).__name__ == "NoArgsIsHelpError":
        print(say())
        return True
    first, _, expected = say().partition(": Input should be ")
    value = ""
    if expected and parameter is not None:
        first = parameter.opts[0] if parameter.opts[0].startswith("-") else parameter.metavar
        value, expected = _given(error, expected)
    hint = f"`{command} -h` lists the arguments and options"
    if type(error).__name__ == "NoSuchOption":
        from nettrial.cli.help import OTHER_OPTIONS

        hint = OTHER_OPTIONS.get(command, {}).get(str(getattr(error, "option_name", "")), hint)
        if command == "nettrial run":
            hint += "; `--set NAME=VALUE` sets a factor or a setting"
    first = first[0].lower() + first[1:].rstrip(".")
    refused = BadInput(READING, first, value, expected.partition(", unable")[0], hint)
    print(refused, file=sys.stderr)
    return True


def _given(error: Exception, expected: str) -> tuple[str, str]:
    """Returns the refused value, which typer takes from pydantic's error only, and what is expected."""
    from nettrial.fields import PLAIN_WORDS

    faults: list[dict[str, object]] = getattr(error.__cause__, "errors", list)()
    if not faults:
        return "", expected
    return str(faults[0]["input"]), PLAIN_WORDS.get(str(faults[0]["type"]), expected)


def _in_words(error: Exception) -> str:
    """Returns the operating system's error in words, with the file's name first where it concerns one."""
    if not isinstance(error, OSError) or error.strerror is None:
        return str(error)
    return error.strerror if error.filename is None else f"{error.filename}: {error.strerror}"
