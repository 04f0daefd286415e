"""A small HTTP server for pages of nettrial: it answers GET, with a limited number of connections, each of
limited duration, and only to those who reached it by an address. A connection that keeps others waiting makes
room for them."""

from __future__ import annotations

import ipaddress
import logging
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from nettrial.admission import EXHAUSTED, NOT_ACCEPTED, RECOVERY_SECONDS, Connections
from nettrial.errors import CannotRun, Lack
from nettrial.report import pages
from nettrial.systems import port_remedy

ADDRESS = "127.0.0.1"
"""The default address: only this machine reaches it."""
CONNECTION_SECONDS = 10.0
"""The time allowed for a connection's request, and for sending the answer, in seconds. On a busy machine,
the answer may take longer to make."""
MOST_CONNECTIONS, MOST_CONNECTIONS_EACH = 64, 32
"""The largest number of connections at the same time, in all and of one network. A browser opens six."""
ROOM_SECONDS = 1.0
"""The time in seconds for which a new connection waits until one that was told to end has done so."""
_LOG = logging.getLogger(__name__)


class Handler(BaseHTTPRequestHandler):
    """Answers requests; subclasses say with what."""

    timeout = CONNECTION_SECONDS  # for each read and write

    def respond(self) -> tuple[HTTPStatus, str, bytes]:
        """Returns the status, the media type and the content for `self.path`."""
        raise NotImplementedError

    def do_GET(self) -> None:
        """Answers a request."""
        if not by_address(self.headers.get("Host", "")):
            self._answer(HTTPStatus.FORBIDDEN, "text/plain", b"this page is reached by an address only\n")
        else:
            with self.making_an_answer():
                made = self.respond()
            self._answer(*made)

    def making_an_answer(self) -> AbstractContextManager[None]:
        """Returns the context in which the answer is made, whose time does not count as the connection's."""
        assert isinstance(self.server, PageServer)
        return self.server.making_an_answer(self.connection)

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


def by_address(host: str) -> bool:
    """Returns whether the host of a request (RFC 9110, section 7.2) is an address or `localhost`. A name
    could be one that someone else points to this machine, whose page would then read this one (DNS
    rebinding)."""
    name = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
    with suppress(ValueError):
        return bool(ipaddress.ip_address(name))
    return name == "localhost"


class PageServer(ThreadingHTTPServer):
    """A server that limits the number of connections and the duration of each."""

    daemon_threads = True
    # With the library's 5, a client whose connection finds no place tries again after a second or more.
    request_queue_size = MOST_CONNECTIONS

    def __init__(self, address: str, port: int, handler: type[Handler]) -> None:
        """Opens a port; raises OSError."""
        self.address_family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self._connections: Connections[socket.socket] = Connections(
            MOST_CONNECTIONS, MOST_CONNECTIONS_EACH, CONNECTION_SECONDS, _end
        )
        self._room = threading.BoundedSemaphore(MOST_CONNECTIONS)
        # Two values alone would be a link-local address without its zone.
        at: Any = socket.getaddrinfo(address, port, self.address_family, socket.SOCK_STREAM)[0][4]
        super().__init__(at, handler)

    @property
    def url(self) -> str:
        """The address of the page."""
        address = str(self.server_address[0])
        return f"http://{f'[{address}]' if ':' in address else address}:{self.server_port}/"

    def get_request(self) -> Any:
        """Accepts a connection; raises OSError, after a pause if the system has no room for one."""
        try:
            return super().get_request()
        except OSError as error:
            if error.errno in EXHAUSTED:
                _LOG.warning("%s: %s", NOT_ACCEPTED, error.strerror)
                self._connections.make_room()
                # Its thread needs a moment to end.
                time.sleep(RECOVERY_SECONDS)
            raise

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answers a request in a thread. The connection is closed if there are too many threads, and none of
        them ends."""
        self._connections.admit(request, client_address[0])
        if not self._room.acquire(timeout=ROOM_SECONDS):
            self.shutdown_request(request)
            return
        try:
            super().process_request(request, client_address)
        except RuntimeError:  # The system gives no more threads.
            self._room.release()
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answers a request in this thread."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._room.release()

    @contextmanager
    def making_an_answer(self, request: socket.socket) -> Iterator[None]:
        """Gives a connection another time after an answer was made, however long that took."""
        self._connections.hold(request)
        try:
            yield
        finally:
            self._connections.renew(request)

    def service_actions(self) -> None:
        """Closes connections that take too long, because a request sent byte by byte never times out."""
        self._connections.expire()

    def close_request(self, request: Any) -> None:
        """Forgets a connection that has ended."""
        self._connections.release(request)
        super().close_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Logs the error: a browser may disconnect at any time."""
        _LOG.debug("a connection failed", exc_info=True)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Serves in a thread until the block ends."""
        threading.Thread(target=self.serve_forever, args=(0.1,), daemon=True).start()
        try:
            yield
        finally:
            self.shutdown()


def _end(connection: socket.socket) -> None:
    """Makes a connection end: whatever its thread waits for fails."""
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


def opened(address: str, port: int, handler: type[Handler], doing: str) -> PageServer:
    """Returns a server with an open port (0: any); raises CannotRun. `doing` is for the error."""
    try:
        return PageServer(address, port, handler)
    except OSError as error:
        where = f"port {port} of {address}" if port else address
        why = error.strerror or str(error)
        raise CannotRun(doing, [Lack(f"opening {where}", why, port_remedy(error))]) from None
