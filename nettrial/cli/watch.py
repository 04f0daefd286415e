"""`nettrial watch`: follows a run live in the browser."""

from __future__ import annotations

import signal
from pathlib import Path

from nettrial.cli.console import say
from nettrial.report import live


def watch(directory: Path, port: int | None) -> None:
    """Serves the page until Ctrl-C; raises BadInput if there is no run, and CannotRun if the port is
    taken."""
    # Needed in the background of a shell, which makes its jobs ignore Ctrl-C.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    try:
        live.serve(
            directory, port or 0, lambda address: say(f"watching {directory} at {address} until Ctrl-C")
        )
    except KeyboardInterrupt:
        say("")
