"""The commands' own descriptions, and their exit statuses."""

from __future__ import annotations

from typing import Any

import typer
from typer.testing import CliRunner

from nettrial.cli import FAILED
from nettrial.cli.app import app
from nettrial.cli.run import INTERRUPTED
from nettrial.errors import NettrialError
from reference.markdown import one_line, page, table


def pages() -> dict[str, str]:
    """Returns the pages by the names of their files."""
    return {"commands.md": _commands(), "exit-status.md": _exit_status()}


OUTPUTS = (
    "Data goes to standard output, everything else to standard error. Control characters, such as an escape "
    "sequence in a run file that someone else made, are shown as escapes: `\\u001b`. With `--json` the data "
    "is one document, described under [JSON output](json.md); `--quiet` omits the progress.\n\n"
    "`nettrial --install-completion` installs shell completion of commands, options, and the names of "
    "studies, lists and backends.\n\n"
    "`man nettrial` has this page where nettrial is installed in a prefix that man searches, such as "
    "`~/.local`; in a virtual environment, `man -l $VIRTUAL_ENV/share/man/man1/nettrial.1`.\n\n"
    "A run keeps a log, `nettrial.log` in its directory: the beginning and the duration of each trial, and "
    "everything that the engine and its programs wrote to standard error. `-v` shows the log on standard "
    "error as well, `-vv` in detail. The environment variable `NETTRIAL_LOG` (`error`, `warn`, `info`, "
    "`debug` or `trace`) does the same, and sets the engine's level; if it is set, `-v` does not change that "
    "level."
)
"""The description of every command's outputs."""


def _commands() -> str:
    parts = [OUTPUTS]
    runner = CliRunner(env={"COLUMNS": "80", "NO_COLOR": "1"})
    for command in _names():
        done = runner.invoke(app, [*command.split(), "--help"], prog_name="nettrial", catch_exceptions=False)
        parts.append(f"## {f'nettrial {command}'.strip()}\n\n```text\n{done.stdout.strip()}\n```")
    return page("Commands", *parts)


def _names() -> list[str]:
    """Returns the names of all commands, each followed by those of its own commands."""
    names = [""]
    commands: dict[str, Any] = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    for name, command in commands.items():
        names += [name, *(f"{name} {each}" for each in getattr(command, "commands", {}))]
    return names


def exit_statuses() -> dict[int, str]:
    """Returns the meaning of each exit status, in ascending order."""
    meanings = {
        0: "Done.",
        1: "A condition of `--fail-if` of `nettrial run` or `nettrial compare` holds: the whole interval of "
        "a mean or of a change is beyond its limit. No other command ends with this status.",
        FAILED: "The system refused an operation, for example because a disk is full; or nettrial itself "
        "failed, in which case the message names the file with the traceback.",
        INTERRUPTED: "Interrupted by Ctrl-C or SIGTERM. `nettrial run --resume RUN` continues the run.",
        **{kind.exit_code: one_line(kind.__doc__) for kind in NettrialError.__subclasses__()},
    }
    return dict(sorted(meanings.items()))


def _exit_status() -> str:
    rows = [(str(status), meaning) for status, meaning in exit_statuses().items()]
    return page("Exit status", table(["status", "meaning"], rows), READERS)


READERS = (
    "A reader that closes the pipe early, such as `head`, changes nothing: the command continues to its end, "
    "with the same exit status. A run keeps its trials and writes its report."
)
"""The description of broken pipes."""
