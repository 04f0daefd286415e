"""`nettrial watch`: a run followed live in the browser."""

from __future__ import annotations

import signal
from pathlib import Path

from nettrial.cli.console import say
from nettrial.report import live


def watch(directory: Path, port: int | None) -> None:
    """Serves until Ctrl-C; raises BadInput where there is no run, CannotRun where the port is taken."""
    # Also where a shell that started it in the background has it ignore Ctrl-C.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    try:
        live.serve(
            directory, port or 0, lambda address: say(f"watching {directory} at {address} until Ctrl-C")
        )
    except KeyboardInterrupt:
        say("")
