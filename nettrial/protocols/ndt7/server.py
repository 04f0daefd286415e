"""An ndt7 server. It needs the extra `nettrial[ndt7]`."""

from __future__ import annotations

import asyncio
import contextlib
import http
import logging
import ssl
import time
import uuid
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.frames import CloseCode
from websockets.http11 import Request, Response
from websockets.typing import Subprotocol

import nettrial
from nettrial.admission import Log, Seats
from nettrial.protocols.ndt7.listener import Listener
from nettrial.protocols.ndt7.load import MOST_BYTES, close, send_load
from nettrial.protocols.ndt7.wire import (
    DURATION,
    INTERVAL,
    LARGEST,
    LIMIT,
    MOST_QUERY,
    PATHS,
    SMALLEST,
    SUBPROTOCOL,
    AppInfo,
    ConnectionInfo,
    Ndt7Measurement,
    congestion_control,
    kernel_figures,
    use_bbr,
)
from nettrial.systems import raise_descriptor_limit

MOST_TESTS, MOST_TESTS_EACH = 8, 4
"""The largest number of tests at a time, in all and of one network."""
OPEN_SECONDS, CLOSE_SECONDS = 10.0, 1.0
"""The time limits for the handshakes of TLS and WebSocket together, and for closing a connection, in
seconds."""
MOST_OPENING, MOST_OPENING_EACH = 64, 16
"""The largest number of connections in these handshakes, in all and of one network, but at most a quarter of
the file descriptors. Each takes up to 0.6 MB of memory with TLS."""
BACKLOG = 128
"""The largest number of connections that wait to be accepted."""
MOST_PARAMETERS = 100
"""The largest number of parameters in a query string."""
_SILENT = logging.Logger("ndt7", logging.CRITICAL + 1)


class Ndt7TestServer:
    """Serves ndt7 clients: at most `MOST_TESTS` tests at a time, each for at most `duration` seconds."""

    def __init__(self, log: Log, duration: float = DURATION) -> None:
        """Writes a line about each test to `log`."""
        self._log, self._duration = log, duration
        self._seats = Seats(MOST_TESTS, MOST_TESTS_EACH)

    @contextlib.asynccontextmanager
    async def serving(
        self, address: str, port: int, context: ssl.SSLContext | None
    ) -> AsyncIterator[tuple[str, int]]:
        """Listens while the block runs, with TLS if `context` is given; yields the address and the port.
        Raises OSError if the port can't be opened."""
        secured: dict[str, Any] = {"ssl_handshake_timeout": OPEN_SECONDS} if context else {}
        most = min(MOST_OPENING, raise_descriptor_limit() // 4)
        each = min(MOST_OPENING_EACH, most // 2)
        listener = Listener.opened(
            address, port, BACKLOG, self._log, most=most, each=each, seconds=OPEN_SECONDS
        )

        def request(connection: ServerConnection, request: Request) -> Response | None:
            refused = self._request(connection, request)
            if refused is None:
                listener.release(connection.transport.get_extra_info("socket").fileno())
            return refused

        serving = serve(
            self._handle,
            sock=listener,
            ssl=context,
            subprotocols=[Subprotocol(SUBPROTOCOL)],
            compression=None,
            process_request=request,
            server_header=f"nettrial/{nettrial.__version__}",
            open_timeout=OPEN_SECONDS,
            close_timeout=CLOSE_SECONDS,
            ping_interval=None,
            max_size=LARGEST,
            max_queue=2,
            logger=_SILENT,
            backlog=BACKLOG,
            **secured,
        )
        asyncio.get_running_loop().set_exception_handler(self._failed)
        async with listener.watching(), serving:
            yield listener.getsockname()[:2]

    def _failed(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Writes a line about a connection that failed in an unexpected way, where asyncio would write a
        traceback."""
        error = context.get("exception")
        reason = f": {type(error).__name__}: {error}" if error else ""
        self._log.line("failed", f"a connection failed: {context['message']}{reason}")

    def _request(self, connection: ServerConnection, request: Request) -> Response | None:
        """Returns the refusal of a request that is not one of ndt7, or for which there is no place; None
        otherwise."""
        reason = refusal(request)
        status = http.HTTPStatus.BAD_REQUEST
        if not reason and self._seats.full(_address(connection)):
            reason, status = "all places are taken; try again later", http.HTTPStatus.SERVICE_UNAVAILABLE
        if not reason:
            return None
        client = _end(connection.remote_address)
        self._log.line("refused", f"{client}: refused: {reason}", _address(connection))
        return connection.respond(status, f"{reason}\n")

    async def _handle(self, connection: ServerConnection) -> None:
        """Runs a test."""
        address = _address(connection)
        if not self._seats.take(address):  # Another client has taken the last place since the request.
            await connection.close(CloseCode.TRY_AGAIN_LATER, "all places are taken")
            return
        try:
            async with asyncio.timeout(LIMIT):
                assert connection.request is not None
                await _Test(connection, PATHS[urlsplit(connection.request.path).path], self._log).run(
                    self._duration
                )
        except TimeoutError:
            connection.transport.abort()
        finally:
            self._seats.free(address)


def refusal(request: Request) -> str:
    """Returns the reason why a request is refused; an empty text for a valid request of ndt7."""
    try:
        url = urlsplit(request.path)
    except ValueError:  # It begins with an address in brackets that is none.
        return "the path of the request is malformed"
    if url.path not in PATHS:
        return f"no such test; expected {' or '.join(PATHS)}"
    offered = ",".join(request.headers.get_all("Sec-WebSocket-Protocol"))
    if SUBPROTOCOL not in [each.strip() for each in offered.split(",")]:
        return f"not a request of ndt7: it lacks the WebSocket subprotocol {SUBPROTOCOL}"
    if len(url.query) > MOST_QUERY:
        return f"a query string of {len(url.query)} bytes; at most {MOST_QUERY} are allowed"
    try:
        parse_qsl(url.query, keep_blank_values=True, errors="strict", max_num_fields=MOST_PARAMETERS)
    except (ValueError, UnicodeError):
        return "a query string that is not URL-encoded UTF-8"
    return ""


def _address(connection: ServerConnection) -> str:
    return str((connection.remote_address or ("",))[0])


def _end(address: Any) -> str:
    """Returns an address with its port."""
    host, port = (address or ("", 0))[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


class _Test:
    """A running test."""

    def __init__(self, connection: ServerConnection, direction: str, log: Log) -> None:
        self._connection, self._direction, self._log = connection, direction, log
        self._socket: Any = connection.transport.get_extra_info("socket")
        self._client = _end(connection.remote_address)
        self._info = ConnectionInfo(
            client=self._client, server=_end(connection.local_address), uuid=str(uuid.uuid4())
        )
        self._num_bytes = self._elapsed_us = 0
        self._reported_us = 0.0
        self._began, self._busy = time.monotonic_ns(), time.process_time_ns()

    async def run(self, seconds: float) -> None:
        """Runs the test until its end and logs it."""
        if self._direction == "download":
            use_bbr(self._socket)
        control = congestion_control(self._socket)
        try:
            with contextlib.suppress(ConnectionClosed):
                await (self._upload(seconds) if self._direction == "upload" else self._download(seconds))
        finally:
            rate = 8 * self._num_bytes / self._elapsed_us if self._elapsed_us else 0.0
            busy = (time.process_time_ns() - self._busy) / 10 / max(self._elapsed(), 1)
            self._log.line(
                "test",
                f"{self._client}: {self._direction}, {self._num_bytes} bytes in "
                f"{self._elapsed_us / 1e6:.2f} s, {rate:.1f} Mbit/s, {busy:.0f}% of a CPU"
                + (f", {control}" if control else ""),
                _address(self._connection),
            )

    def _elapsed(self) -> int:
        return (time.monotonic_ns() - self._began) // 1000

    async def _tell(self) -> None:
        """Sends a measurement message."""
        elapsed = self._elapsed()
        message = Ndt7Measurement(
            app_info=AppInfo(elapsed_time=elapsed, num_bytes=self._num_bytes),
            tcp_info=kernel_figures(self._socket, elapsed),
            connection_info=self._info,
            origin="server",
            test=self._direction,
        )
        await self._connection.send(message.text())

    async def _download(self, seconds: float) -> None:
        listening = asyncio.ensure_future(self._listen())
        try:
            await send_load(self._connection, seconds, self._after_sending)
            await self._tell()
            await self._connection.close()
            await listening
        finally:
            listening.cancel()

    async def _after_sending(self, sent: int) -> None:
        self._num_bytes, self._elapsed_us = sent, self._elapsed()
        if self._elapsed_us - self._reported_us >= INTERVAL * 1e6:
            self._reported_us = self._elapsed_us
            await self._tell()

    async def _listen(self) -> None:
        """Reads and ignores the client's measurement messages; ends the connection after a binary one."""
        with contextlib.suppress(ConnectionClosed):
            async for message in self._connection:
                if isinstance(message, bytes):
                    self._refuse("a binary message in a download")
                    await self._connection.close(CloseCode.UNSUPPORTED_DATA, "binary message in a download")
                    return

    async def _upload(self, seconds: float) -> None:
        telling = asyncio.ensure_future(self._tell_all())
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    async for message in self._connection:
                        if isinstance(message, bytes) and len(message) < SMALLEST:
                            self._refuse(f"a binary message of {len(message)} bytes")
                            await self._connection.close(CloseCode.POLICY_VIOLATION, "message too small")
                            return
                        self._num_bytes += len(message)
                        self._elapsed_us = self._elapsed()
                        if self._num_bytes > MOST_BYTES:
                            return
            await close(self._connection)
        finally:
            telling.cancel()

    async def _tell_all(self) -> None:
        with contextlib.suppress(ConnectionClosed):
            while True:
                await asyncio.sleep(INTERVAL)
                await self._tell()

    def _refuse(self, what: str) -> None:
        text = f"{self._client}: {self._direction} ended: it sent {what}"
        self._log.line("refused", text, _address(self._connection))
