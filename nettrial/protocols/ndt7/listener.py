"""The listening socket of a server that many unknown clients can reach."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

from nettrial.admission import EXHAUSTED, NOT_ACCEPTED, RECOVERY_SECONDS, Connections, Log

LOOK_SECONDS = 0.5
"""The interval at which connections whose time is over are looked for, in seconds."""


class _Accepted(socket.socket):
    """A connection that tells when it is closed."""

    closed: Callable[[], None]
    """Called before the connection is closed."""

    def close(self) -> None:
        """Closes the connection."""
        self.closed()
        super().close()


class Listener(socket.socket):
    """A listening socket for asyncio's selector event loops, which accept connections by its method `accept`.
    Each connection takes a place until it is released or closed."""

    _log: Log
    _connections: Connections[_Accepted]
    _by_number: dict[int, _Accepted]

    @classmethod
    def opened(cls, address: str, port: int, backlog: int, log: Log, **limits: Any) -> Listener:
        """Opens a port, with the limits of `Connections`; raises OSError."""
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        made = cls(family, socket.SOCK_STREAM)
        try:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            # Two values alone would be a link-local address without its zone.
            made.bind(socket.getaddrinfo(address, port, family, socket.SOCK_STREAM)[0][4])
            made.listen(backlog)
        except OSError:
            made.close()
            raise
        made._log, made._by_number = log, {}
        made._connections = Connections(end=_shut_down, **limits)
        return made

    def accept(self) -> tuple[socket.socket, Any]:
        """Accepts a connection; raises OSError. If the system has no room for one, that is BlockingIOError,
        after which asyncio tries again: for other errors, it writes many tracebacks."""
        try:
            connection, address = super().accept()
        except OSError as error:
            if error.errno not in EXHAUSTED:
                raise
            self._log.line(NOT_ACCEPTED, f"{NOT_ACCEPTED}: {error.strerror}")
            ending = len(self._by_number) > len(self._connections)
            if not ending and not self._connections.make_room():
                time.sleep(RECOVERY_SECONDS)
            raise BlockingIOError from None
        made = _Accepted(connection.family, connection.type, connection.proto, connection.detach())
        number = made.fileno()
        made.closed = lambda: self.release(number)
        self._by_number[number] = made
        self._connections.admit(made, str(address[0]))
        return made, address

    def release(self, number: int) -> None:
        """Frees the place of the connection with this file descriptor, if it has one."""
        made = self._by_number.pop(number, None)
        if made is not None:
            self._connections.release(made)

    @contextlib.asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        """Ends connections whose time is over while the block runs."""
        watching = asyncio.ensure_future(self._watch())
        try:
            yield
        finally:
            watching.cancel()

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            self._connections.expire()


def _shut_down(connection: _Accepted) -> None:
    """Makes a connection end: asyncio reads the end of its data."""
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
