"""The connections of switches to a controller: it serves a bounded number of them, and ends those that do
not soon turn out to be switches.

os-ken serves any number, and keeps two threads for each connection that has ended."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from typing import Any

import os_ken.base.app_manager  # noqa: F401  os-ken's parts import each other in a circle that begins here
from os_ken.controller.controller import Datapath
from os_ken.controller.handler import MAIN_DISPATCHER
from os_ken.lib import hub

OPENING_SECONDS = 20.0
"""The time in seconds in which a connection must have told its datapath and ports."""
SPARE = 8
"""The number of places in addition to two for each switch: a switch that connects again may do so before its
old connection has ended."""
_LOOK_SECONDS = 1.0


class Connection(Datapath):
    """A connection that may be that of a switch."""

    def __init__(self, connected: socket.socket, address: Any) -> None:
        """Serves a connected socket."""
        super().__init__(connected, address)
        self.since = time.monotonic()

    @property
    def is_switch(self) -> bool:
        """Returns whether the far end has told its datapath and ports."""
        return bool(self.state == MAIN_DISPATCHER)

    def end(self) -> None:
        """Ends the connection from another thread, whatever its own threads wait for."""
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)

    def _recv_loop(self) -> None:
        try:
            super()._recv_loop()
        finally:
            # os-ken waits for the thread that sends, and that thread for a message.
            self.send(b"", close_socket=True)


class SwitchListener(hub.StreamServer):
    """A listener for the connections of switches."""

    most = SPARE
    """The number of places, set before os-ken creates the listener."""

    def __init__(self, at: tuple[str, int], *_: Any, **__: Any) -> None:
        """Listens at an address and a port."""
        super().__init__(at)
        self._open: list[Connection] = []
        self._changed = threading.Condition()

    def serve_forever(self) -> None:
        """Serves connections for as long as the process runs."""
        self.server.settimeout(_LOOK_SECONDS)
        while True:
            with contextlib.suppress(OSError):  # Nobody came, or whoever came has left again.
                connected, address = self.server.accept()
                self._admit(connected, address)
            self._end_strangers(time.monotonic() - OPENING_SECONDS)

    def _admit(self, connected: socket.socket, address: Any) -> None:
        """Serves a connection in a thread of its own. If there is no place, the oldest stranger leaves
        first."""
        with self._changed:
            while len(self._open) >= self.most:
                for stranger in self._strangers()[:1]:
                    stranger.end()
                self._changed.wait(_LOOK_SECONDS)
            connection = Connection(connected, address)
            self._open.append(connection)
        hub.spawn(self._serve, connection)

    def _serve(self, connection: Connection) -> None:
        try:
            with contextlib.closing(connection):
                connection.serve()
        finally:
            with self._changed:
                self._open.remove(connection)
                self._changed.notify_all()

    def _strangers(self) -> list[Connection]:
        return [connection for connection in self._open if not connection.is_switch]

    def _end_strangers(self, before: float) -> None:
        """Ends the connections that were there before a time and are still those of strangers."""
        with self._changed:
            for stranger in self._strangers():
                if stranger.since < before:
                    stranger.end()
