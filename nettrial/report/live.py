"""The page of a run in progress, served to browsers on this machine.

One thread reads the run and draws the page; others serve the page that it drew last. It draws only while a
browser asks, and only for a limited share of the time, because trials are being measured on this machine."""

from __future__ import annotations

import logging
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from nettrial.errors import CannotRun, Lack
from nettrial.report import html, pages
from nettrial.report.content import gather
from nettrial.store import Run

ADDRESS = "127.0.0.1"
LOOKS_EVERY = 0.5
"""The interval between two looks at the run file, in seconds."""
DRAWS_AT_MOST = 0.2
"""The largest share of the time that is spent on drawing the page."""
ASKED_WITHIN = 10.0
"""The time in seconds after its last request for which a browser counts as present; a page asks every
second."""


CONNECTION_SECONDS = 10.0
"""The time allowed for a connection's request and its answer, in seconds."""
MOST_CONNECTIONS = 32
"""The largest number of connections at the same time. A browser opens six."""
_LOG = logging.getLogger(__name__)


class Live:
    """The latest page of a run."""

    def __init__(self, directory: Path) -> None:
        """Draws the first page; raises BadInput if there is no run."""
        self._directory = directory
        self._asked = time.monotonic()
        self._next = 0.0
        self.page = b""
        self.revision = ""
        self.look()

    def asked(self) -> None:
        """Notes that a browser has asked for the page."""
        self._asked = time.monotonic()

    def look(self) -> None:
        """Redraws the page if the run has grown, a browser is present, and the last drawing is long enough
        ago."""
        began = time.monotonic()
        if self.page and (began < self._next or began > self._asked + ASKED_WITHIN):
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


class _Handler(BaseHTTPRequestHandler):
    """Answers requests for the page and for the revision of the run that it shows."""

    live: Live
    timeout = CONNECTION_SECONDS  # for each read and write

    def do_GET(self) -> None:
        """Answers a request."""
        if self.headers.get("Host", "").rpartition(":")[0] not in (ADDRESS, "localhost"):
            self._answer(HTTPStatus.FORBIDDEN, "text/plain", b"this page is for this machine only\n")
        elif self.path == "/":
            self.live.asked()
            self._answer(HTTPStatus.OK, "text/html", self.live.page)
        elif self.path == "/version":
            self.live.asked()
            self._answer(HTTPStatus.OK, "text/plain", self.live.revision.encode())
        else:
            self._answer(HTTPStatus.NOT_FOUND, "text/plain", b"there is / and /version\n")

    def _answer(self, status: HTTPStatus, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("Content-Security-Policy", pages.policy(live=True) + "; frame-ancestors 'none'")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: Any) -> None:
        """Logs nothing: there is a request every second."""


def handler(live: Live) -> type[BaseHTTPRequestHandler]:
    """Returns a handler class that serves this page."""
    return type("Handler", (_Handler,), {"live": live})


class _Server(ThreadingHTTPServer):
    """A server that limits the number of connections and the duration of each."""

    daemon_threads = True

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._open: dict[socket.socket, float] = {}

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answers a request in a thread, or closes the connection if there are too many."""
        if len(self._open) >= MOST_CONNECTIONS:
            self.shutdown_request(request)
            return
        self._open[request] = time.monotonic()
        super().process_request(request, client_address)

    def service_actions(self) -> None:
        """Closes connections that take too long, because a request sent byte by byte never times out."""
        now = time.monotonic()
        for request, began in list(self._open.items()):
            if now - began > CONNECTION_SECONDS:
                with suppress(OSError):
                    request.shutdown(socket.SHUT_RDWR)

    def close_request(self, request: Any) -> None:
        """Forgets a connection that has ended."""
        self._open.pop(request, None)
        super().close_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Logs the error: a browser may disconnect at any time."""
        _LOG.debug("a connection failed", exc_info=True)


def _server(port: int) -> ThreadingHTTPServer:
    """Returns a server with an open port; raises CannotRun."""
    try:
        server = _Server((ADDRESS, port), _Handler)
    except OSError as error:
        where = f"port {port} of {ADDRESS}" if port else ADDRESS
        remedy = "choose another --port, or omit it to use any free port"
        reason = Lack(f"opening {where}", error.strerror or str(error), remedy)
        raise CannotRun("watching the run", [reason]) from None
    return server


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
        thread = threading.Thread(target=server.serve_forever, args=(0.1,), daemon=True)
        thread.start()
        try:
            ready(f"http://{ADDRESS}:{server.server_port}/")
            end = end or threading.Event()
            while not end.wait(LOOKS_EVERY):
                live.look()
        finally:
            server.shutdown()
