"""What the commands say of themselves, and what they exit with."""

from __future__ import annotations

import os
import subprocess
import sys

from nettrial.cli.run import INTERRUPTED
from nettrial.errors import NettrialError
from reference.markdown import one_line, page, table

COMMANDS = (
    "",
    "run",
    "show",
    "report",
    "export",
    "watch",
    "compare",
    "predict",
    "calibrate",
    "list",
    "draw",
    "doctor",
    "path",
)


def pages() -> dict[str, str]:
    """The pages by their file's name."""
    return {"commands.md": _commands(), "exit-status.md": _exit_status()}


def _commands() -> str:
    parts = ["Data goes to standard output, everything else to standard error."]
    environment = {**os.environ, "COLUMNS": "80", "NO_COLOR": "1"}
    for command in COMMANDS:
        arguments = [sys.executable, "-m", "nettrial.cli", *command.split(), "--help"]
        done = subprocess.run(arguments, stdout=subprocess.PIPE, text=True, check=True, env=environment)
        parts.append(f"## {f'nettrial {command}'.strip()}\n\n```text\n{done.stdout.strip()}\n```")
    return page("Commands", *parts)


def _exit_status() -> str:
    meanings = {
        0: "Done.",
        1: "`nettrial compare`: a condition of `--fail-if` holds. Any other command: nettrial itself failed; "
        "please report it.",
        INTERRUPTED: "Stopped by Ctrl-C or SIGTERM. `nettrial run --resume` goes on.",
        **{kind.exit_code: one_line(kind.__doc__) for kind in NettrialError.__subclasses__()},
    }
    rows = [(str(status), meanings[status]) for status in sorted(meanings)]
    return page("Exit status", table(["status", "meaning"], rows))
