"""An ndt7 client. It needs the extra `nettrial[ndt7]`."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import ssl
import time
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import (
    ConnectionClosed,
    ConnectionClosedOK,
    InvalidHandshake,
    InvalidMessage,
    InvalidStatus,
)
from websockets.frames import CloseCode
from websockets.typing import Subprotocol

import nettrial
from nettrial.protocols.ndt7.load import close, send_load
from nettrial.protocols.ndt7.wire import (
    DURATION,
    INTERVAL,
    LARGEST,
    LIMIT,
    MOST_MESSAGES,
    SUBPROTOCOL,
    Ndt7Measurement,
    TcpInfo,
    congestion_control,
    kernel_figures,
    measurement,
)

OPEN_SECONDS, CLOSE_SECONDS = 10.0, 1.0
"""The time limits for opening and for closing a connection, in seconds."""
AGENT = f"nettrial/{nettrial.__version__}"
"""The client's name and version in its requests."""
_SILENT = logging.Logger("ndt7", logging.CRITICAL + 1)


Kind: TypeAlias = Literal[
    "unreachable", "untrusted_certificate", "tls_failed", "tls_expected", "refused", "not_ndt7"
]
"""The kind of reason why no test began, for programs: the server can't be reached; its certificate is not
trusted; TLS failed; it does not answer HTTP without TLS; it refused; it speaks something else."""


class Ndt7NotReached(Exception):
    """The error if the server can't be reached, or does not speak ndt7; the text is the reason."""

    def __init__(self, why: str, kind: Kind) -> None:
        """Creates the error with the reason for people, and its kind for programs."""
        super().__init__(why)
        self.kind: Kind = kind


@dataclass(frozen=True)
class Ndt7Server:
    """A server."""

    name: str
    """The name or address as the user gave it; a certificate must be valid for it."""
    address: str
    """The IP address to which connections are made."""
    port: int
    """The TCP port of the server."""
    plain: bool = False
    """True for a connection without TLS."""
    verify: bool = True
    """False to accept every certificate."""

    @property
    def host(self) -> str:
        """Returns the name or address without the zone of a link-local address, which means nothing to the
        server (RFC 6874, section 1)."""
        return self.name.partition("%")[0]

    def url(self, direction: str) -> str:
        """Returns the URL of a test."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'ws' if self.plain else 'wss'}://{host}:{self.port}/ndt/v7/{direction}"


@dataclass(frozen=True)
class Ndt7Transfer:
    """A measured download or upload."""

    direction: str
    """The direction: `download` or `upload`."""
    num_bytes: int
    """The number of bytes of messages that this machine received (download), or handed to its kernel
    (upload)."""
    elapsed_us: int
    """The time from the end of the WebSocket handshake to the last of these bytes, in microseconds."""
    own: TcpInfo | None
    """The figures of this machine's kernel at the end."""
    server: tuple[Ndt7Measurement, ...]
    """The server's measurement messages."""
    unreadable: int
    """The number of the server's text messages that are not measurement messages, or too many."""
    ended: str | None
    """The reason why the connection ended abruptly; None for an orderly end."""
    congestion_control: str | None
    """The congestion control of this machine's end."""
    tls: str | None
    """The version of TLS and the cipher; None without TLS."""
    busy_percent: float
    """The CPU time of this process, in percent of the test's duration."""
    progress: tuple[tuple[int, int], ...] = ()
    """The progress of an upload: times in microseconds, in order, and the bytes sent until then."""


class Client:
    """Runs tests against a server, one after the other. Another thread, or a signal, can end the running
    one."""

    def __init__(self, target: Ndt7Server) -> None:
        """Prepares tests against `target`."""
        self.target = target
        """The server."""
        self._running: tuple[asyncio.AbstractEventLoop, asyncio.Task[Ndt7Transfer]] | None = None

    def run(self, direction: str, seconds: float = DURATION) -> Ndt7Transfer:
        """Runs a test that takes at most this number of seconds; raises NotReached, and
        asyncio.CancelledError after `kill`."""
        return asyncio.run(self._run(direction, seconds))

    def kill(self) -> None:
        """Ends the running test, if there is one."""
        if self._running:
            loop, task = self._running
            loop.call_soon_threadsafe(task.cancel)

    async def _run(self, direction: str, seconds: float) -> Ndt7Transfer:
        task = asyncio.ensure_future(transfer(self.target, direction, seconds))
        self._running = asyncio.get_running_loop(), task
        try:
            return await task
        finally:
            self._running = None


async def transfer(target: Ndt7Server, direction: str, seconds: float = DURATION) -> Ndt7Transfer:
    """Runs a test that takes at most this number of seconds; the server may end it earlier. Raises
    NotReached."""
    context = None if target.plain else _context(target.verify)
    try:
        connecting = connect(
            target.url(direction),
            host=target.address,
            port=target.port,
            ssl=context,
            server_hostname=None if target.plain else target.host,
            subprotocols=[Subprotocol(SUBPROTOCOL)],
            compression=None,
            user_agent_header=AGENT,
            proxy=None,  # A proxy would be measured instead of the path.
            open_timeout=OPEN_SECONDS,
            close_timeout=CLOSE_SECONDS,
            ping_interval=None,
            max_size=LARGEST,
            max_queue=2,
            logger=_SILENT,
        )
        async with connecting as connection:
            if connection.subprotocol != SUBPROTOCOL:
                why = f"the server does not speak ndt7 (WebSocket subprotocol {SUBPROTOCOL})"
                raise Ndt7NotReached(why, "not_ndt7")
            return await _Test(connection, direction).run(seconds)
    except (OSError, InvalidHandshake, InvalidMessage, ValueError) as error:
        raise Ndt7NotReached(_reason(error), _kind(error)) from None


def _context(verify: bool) -> ssl.SSLContext:
    context = ssl.create_default_context()
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _kind(error: Exception) -> Kind:
    """Returns the kind of reason why a connection could not be opened."""
    match error:
        case ssl.SSLCertVerificationError():
            return "untrusted_certificate"
        case ssl.SSLError():
            return "tls_failed"
        case InvalidStatus():
            return "refused"
        case InvalidMessage():
            return "tls_expected"
        case OSError():
            return "unreachable"
    return "not_ndt7"


def _reason(error: Exception) -> str:
    """Returns the reason why a connection could not be opened, in words."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {error.verify_message}"
    if isinstance(error, ssl.SSLError):
        return f"TLS failed: {error.reason or error or 'the server ended the connection'}"
    if isinstance(error, InvalidStatus):
        body = bytes(error.response.body or b"")[:200].decode(errors="replace").strip()
        return f"the server answered with HTTP status {error.response.status_code}" + (body and f": {body}")
    if isinstance(error, TimeoutError):
        return f"no connection within {OPEN_SECONDS:g} s"
    if isinstance(error, OSError):
        return error.strerror or str(error) or "the server ended the connection"
    if isinstance(error, InvalidMessage):
        return "the server does not answer with HTTP; does its port expect TLS?"
    return str(error)


class _Test:
    """A running test."""

    def __init__(self, connection: ClientConnection, direction: str) -> None:
        self._connection, self._direction = connection, direction
        self._socket: Any = connection.transport.get_extra_info("socket")
        secured = connection.transport.get_extra_info("ssl_object")
        self._tls = f"{secured.version()} {secured.cipher()[0]}" if secured else None
        self._server: list[Ndt7Measurement] = []
        self._unreadable = 0
        self._num_bytes = self._elapsed_us = 0
        self._progress: list[tuple[int, int]] = []
        self._own: TcpInfo | None = None
        self._ended: str | None = None
        self._began, self._busy = time.monotonic_ns(), time.process_time_ns()

    async def run(self, seconds: float) -> Ndt7Transfer:
        """Runs the test, and returns what was measured however it ends."""
        control = congestion_control(self._socket)
        sampling = asyncio.ensure_future(self._sample())
        try:
            async with asyncio.timeout(LIMIT):
                await (self._upload(seconds) if self._direction == "upload" else self._download(seconds))
        except ConnectionClosedOK:
            pass  # The server has ended the test.
        except ConnectionClosed as closed:
            self._ended = f"the connection broke off: {closed}"
        except TimeoutError:
            self._ended = f"the connection was stuck, and was closed after {LIMIT:g} s"
        finally:
            sampling.cancel()
            if self._ended:
                self._connection.transport.abort()
        return Ndt7Transfer(
            direction=self._direction,
            num_bytes=self._num_bytes,
            elapsed_us=self._elapsed_us,
            own=self._own,
            server=tuple(self._server),
            unreadable=self._unreadable,
            ended=self._ended,
            congestion_control=control,
            tls=self._tls,
            busy_percent=100 * (time.process_time_ns() - self._busy) / 1000 / max(self._elapsed(), 1),
            progress=tuple(self._progress),
        )

    def _elapsed(self) -> int:
        return (time.monotonic_ns() - self._began) // 1000

    async def _sample(self) -> None:
        """Reads the kernel's figures repeatedly, because they are no longer available when the connection is
        closed."""
        while True:
            self._own = kernel_figures(self._socket, self._elapsed()) or self._own
            await asyncio.sleep(INTERVAL)

    def _hear(self, text: str) -> None:
        """Keeps a measurement message of the server."""
        try:
            if len(self._server) >= MOST_MESSAGES:
                raise ValueError("too many")
            self._server.append(measurement(text))
        except ValueError:
            self._unreadable += 1

    async def _download(self, seconds: float) -> None:
        """Receives until the server ends the test, or for `seconds` if that is shorter."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds if seconds < DURATION else None):
                async for message in self._connection:
                    self._num_bytes += len(message)
                    self._elapsed_us = self._elapsed()
                    if isinstance(message, str):
                        self._hear(message)
        await close(self._connection)

    async def _upload(self, seconds: float) -> None:
        """Sends for this number of seconds, and keeps the server's messages."""
        hearing = asyncio.ensure_future(self._hear_all())
        try:
            await send_load(self._connection, seconds, self._count)
            self._own = kernel_figures(self._socket, self._elapsed()) or self._own
            await self._connection.close()
            await hearing  # These messages came before the server closed the connection.
        finally:
            hearing.cancel()

    async def _count(self, sent: int) -> None:
        self._num_bytes, self._elapsed_us = sent, self._elapsed()
        self._progress.append((self._elapsed_us, sent))

    async def _hear_all(self) -> None:
        with contextlib.suppress(ConnectionClosed):
            async for message in self._connection:
                if isinstance(message, bytes):
                    await self._connection.close(CloseCode.UNSUPPORTED_DATA, "binary message in an upload")
                    return
                self._hear(message)
