"""`nettrial watch`: follows a run, or an archive of `nettrial monitor`, live in the browser."""

from __future__ import annotations

import signal
import threading
from pathlib import Path

from nettrial.cli.console import say
from nettrial.monitor.archive import FILE
from nettrial.report import live
from nettrial.report.serving import ADDRESS


def watch(directory: Path, port: int | None) -> None:
    """Serves the page until Ctrl-C; raises BadInput if there is no run, and CannotRun if the port is
    taken."""
    # Needed in the background of a shell, which makes its jobs ignore Ctrl-C.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)

    def ready(address: str) -> None:
        say(f"watching {directory} at {address} until Ctrl-C")

    try:
        if (directory / FILE).is_file():
            from nettrial.monitor.site import server  # imported only when needed

            with server(directory, ADDRESS, port or 0) as served, served.running():
                ready(served.url)
                threading.Event().wait()
        else:
            live.serve(directory, port or 0, ready)
    except KeyboardInterrupt:
        say("")
