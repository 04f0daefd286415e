"""The messages of ndt7, its limits, and the kernel's figures in them."""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable
from typing import Annotated, Any, Protocol

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from nettrial.systems import tcp_option

SUBPROTOCOL = "net.measurementlab.ndt.v7"
"""The WebSocket subprotocol of ndt7."""
PATHS = {"/ndt/v7/download": "download", "/ndt/v7/upload": "upload"}
"""The direction of a test by the path of its URL."""
SMALLEST, FIRST, LARGEST = 2**10, 2**13, 2**24
"""The sizes of binary messages in bytes: the smallest, the first, and the largest that must be accepted."""
LARGEST_SENT = 2**20
"""The largest binary message that is sent: M-Lab's own Go client accepts no larger ones."""
SCALE = 16
"""A message is at most this part of the bytes sent before it (the specification's appendix)."""
DURATION = 10.0
"""The longest duration of a test in seconds, from the end of the WebSocket handshake."""
LIMIT = 13.0
"""The time in seconds after which a connection is closed, whatever its state."""
INTERVAL = 0.25
"""The time between two measurement messages in seconds; the specification allows ten a second."""
MOST_TEXT = 2**16
"""The largest measurement message that is read, in bytes; those of M-Lab's server have 2 kB."""
MOST_MESSAGES = 200
"""The largest number of the other end's measurement messages that are kept."""
MOST_QUERY = 4096
"""The largest length of a query string in bytes."""

Count = Annotated[int, Field(ge=0, lt=2**63)]


def _name(field: str) -> str:
    """Returns a field's name in messages: `min_rtt` is "MinRTT"."""
    parts = field.split("_")
    return "".join(part.upper() if part in ("rtt", "uuid") else part.capitalize() for part in parts)


class _Part(BaseModel):
    model_config = ConfigDict(
        extra="ignore", alias_generator=_name, populate_by_name=True, use_attribute_docstrings=True
    )


class AppInfo(_Part):
    """Bytes that one end has counted at the application."""

    elapsed_time: Count
    """The time since the test began, in microseconds."""
    num_bytes: Count
    """The number of bytes of messages sent or received since then."""


class TcpInfo(_Part):
    """Figures of the connection in the kernel of one end (TCP_INFO). Times are in microseconds; bytes include
    those of TLS and of WebSocket frames."""

    elapsed_time: Count | None = None
    """The time since the test began."""
    busy_time: Count | None = None
    """The time with data to send."""
    bytes_acked: Count | None = None
    """The number of bytes that the other end has acknowledged."""
    bytes_received: Count | None = None
    """The number of bytes received."""
    bytes_sent: Count | None = None
    """The number of bytes sent, including those retransmitted."""
    bytes_retrans: Count | None = None
    """The number of bytes retransmitted."""
    min_rtt: Count | None = None
    """The smallest round-trip time."""
    rtt: Count | None = None
    """The smoothed round-trip time."""
    rtt_var: Count | None = None
    """The variation of the round-trip time."""
    rwnd_limited: Annotated[Count | None, Field(alias="RWndLimited")] = None
    """The time in which the receiver's window limited the sender."""
    snd_buf_limited: Count | None = None
    """The time in which the send buffer limited the sender."""


class ConnectionInfo(_Part):
    """The two ends of the connection, as the server sees them."""

    client: str = ""
    """The client's address and port."""
    server: str = ""
    """The server's address and port."""
    uuid: str = ""
    """The server's name for the connection."""


class Ndt7Measurement(_Part):
    """A measurement message; every part is optional."""

    app_info: AppInfo | None = None
    """The bytes counted at the application."""
    tcp_info: Annotated[TcpInfo | None, Field(alias="TCPInfo")] = None
    """The kernel's figures."""
    connection_info: ConnectionInfo | None = None
    """The two ends; only servers send it."""
    origin: str | None = None
    """The end that measured: `client` or `server`."""
    test: str | None = None
    """The direction: `download` or `upload`."""

    def text(self) -> str:
        """Returns the message as JSON, without the parts that are absent."""
        return self.model_dump_json(by_alias=True, exclude_none=True)


def measurement(text: str) -> Ndt7Measurement:
    """Returns a message of the other end; raises ValueError with the reason in one line."""
    if len(text) > MOST_TEXT:
        raise ValueError(f"a measurement message of {len(text)} characters; at most {MOST_TEXT} are read")
    try:
        return Ndt7Measurement.model_validate_json(text)
    except ValidationError as error:
        first: Any = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "the message"
        raise ValueError(f"not a measurement message: {where}: {first['msg']}") from None


def next_size(size: int, sent: int) -> int:
    """Returns the size of the next binary message after one of `size` bytes, with `sent` bytes sent in all:
    doubled while it is at most a sixteenth of these (the specification's appendix)."""
    return size if size >= LARGEST_SENT or size * SCALE > sent else 2 * size


_TCP_INFO: dict[str, tuple[str, int]] = {
    "rtt": ("I", 68),
    "rtt_var": ("I", 72),
    "bytes_acked": ("Q", 120),
    "bytes_received": ("Q", 128),
    "min_rtt": ("I", 148),
    "busy_time": ("Q", 168),
    "rwnd_limited": ("Q", 176),
    "snd_buf_limited": ("Q", 184),
    "bytes_sent": ("Q", 200),
    "bytes_retrans": ("Q", 208),
}
"""The form and the offset of each figure in `struct tcp_info` (Linux, include/uapi/linux/tcp.h)."""
_UNKNOWN_RTT = 2**32 - 1
"""The kernel's smallest round-trip time before the first sample."""


class Options(Protocol):
    """The options of a socket, which are all that asyncio exposes of it."""

    def getsockopt(self, level: int, name: int, size: int, /) -> bytes:
        """Returns an option's value."""

    def setsockopt(self, level: int, name: int, value: bytes, /) -> None:
        """Sets an option."""


def kernel_figures(connection: Options, elapsed_us: int) -> TcpInfo | None:
    """Returns the kernel's figures of a connection; None on systems other than Linux, and for a connection
    that is closed. Figures that the kernel does not have are absent."""
    option = tcp_option("TCP_INFO")
    if option is None:
        return None
    try:
        raw = connection.getsockopt(socket.IPPROTO_TCP, option, 256)
    except OSError:
        return None
    figures = {
        name: struct.unpack_from(form, raw, at)[0]
        for name, (form, at) in _TCP_INFO.items()
        if at + struct.calcsize(form) <= len(raw)
    }
    if figures.get("min_rtt") == _UNKNOWN_RTT:
        del figures["min_rtt"]
    return TcpInfo(elapsed_time=elapsed_us, **figures)


def congestion_control(connection: Options) -> str | None:
    """Returns the name of the congestion control of a connection; None if the system does not report it."""
    option = tcp_option("TCP_CONGESTION")
    if option is None:
        return None
    try:
        return connection.getsockopt(socket.IPPROTO_TCP, option, 16).rstrip(b"\0").decode()
    except OSError:
        return None


def use_bbr(connection: Options, available: Callable[[], str] | None = None) -> None:
    """Sets a sender's congestion control to BBR, as the specification asks, if the kernel has loaded it and
    allows this process to use it."""
    option = tcp_option("TCP_CONGESTION")
    if option is None:
        return
    try:
        names = (available or _available)()
        if "bbr" in names.split():
            connection.setsockopt(socket.IPPROTO_TCP, option, b"bbr")
    except OSError:
        return  # The connection keeps the system's congestion control, which the log names.


def _available() -> str:
    with open("/proc/sys/net/ipv4/tcp_available_congestion_control", encoding="ascii") as names:
        return names.read()
