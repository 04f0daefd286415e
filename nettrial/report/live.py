"""The page of a run in progress, served to browsers on this machine.

One thread reads the run and draws the page; others serve the page that it drew last. It draws only while a
browser asks, and only for a limited share of the time, because trials are being measured on this machine."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path

from nettrial.report import html
from nettrial.report.content import gather
from nettrial.report.serving import ADDRESS, Handler, PageServer, opened
from nettrial.store import Run

LOOKS_EVERY = 0.5
"""The interval between two looks at the run file, in seconds."""
DRAWS_AT_MOST = 0.2
"""The largest share of the time that is spent on drawing the page."""
ASKED_WITHIN = 10.0
"""The time in seconds after its last request for which a browser counts as present; a page asks every
second."""


class Live:
    """The latest page of a run."""

    def __init__(self, directory: Path) -> None:
        """Draws the first page; raises BadInput if there is no run."""
        self._directory = directory
        self._requested = time.monotonic()
        self._next = 0.0
        self.page = b""
        self.revision = ""
        self.look()

    def page_requested(self) -> None:
        """Notes that a browser has asked for the page."""
        self._requested = time.monotonic()

    def look(self) -> None:
        """Redraws the page if the run has grown, a browser is present, and the last drawing is long enough
        ago."""
        began = time.monotonic()
        if self.page and (began < self._next or began > self._requested + ASKED_WITHIN):
            return
        run = Run.open(self._directory)
        try:
            revision = run.revision()
            if revision == self.revision:
                return
            self.page = html.page(gather(run), revision).encode()
            self.revision = revision
        finally:
            run.close()
        spent = time.monotonic() - began
        self._next = began + spent / DRAWS_AT_MOST


class _Handler(Handler):
    """Answers requests for the page and for the revision of the run that it shows."""

    live: Live

    def respond(self) -> tuple[HTTPStatus, str, bytes]:
        """Returns the page, or the revision."""
        if self.path == "/":
            self.live.page_requested()
            return HTTPStatus.OK, "text/html", self.live.page
        if self.path == "/version":
            self.live.page_requested()
            return HTTPStatus.OK, "text/plain", self.live.revision.encode()
        return HTTPStatus.NOT_FOUND, "text/plain", b"there is / and /version\n"


def handler(live: Live) -> type[Handler]:
    """Returns a handler class that serves this page."""
    return type("Handler", (_Handler,), {"live": live})


def _server(port: int) -> PageServer:
    """Returns a server with an open port; raises CannotRun."""
    return opened(ADDRESS, port, _Handler, "watching the run")


def serve(
    directory: Path, port: int, ready: Callable[[str], None], end: threading.Event | None = None
) -> None:
    """Serves a run's page on `port` (0: any) until `end` is set, or until an exception such as
    KeyboardInterrupt; `ready` is called with the page's address. Raises BadInput if there is no run, and
    CannotRun if the port can't be opened."""
    Run.open(directory).close()
    with _server(port) as server:
        live = Live(directory)
        server.RequestHandlerClass = handler(live)
        with server.running():
            ready(server.url)
            end = end or threading.Event()
            while not end.wait(LOOKS_EVERY):
                live.look()
