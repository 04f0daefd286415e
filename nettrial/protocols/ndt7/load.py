"""The network load of an ndt7 test: binary messages of random bytes, one after the other.

It needs the extra `nettrial[ndt7]`."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Awaitable, Callable

from websockets.asyncio.connection import Connection
from websockets.exceptions import ConnectionClosed

from nettrial.protocols.ndt7.wire import FIRST, LARGEST_SENT, next_size

MOST_BYTES = 2**36
"""The largest number of bytes of a test: those of ten seconds at 50 Gbit/s."""


async def send_load(
    connection: Connection, seconds: float, after_each: Callable[[int], Awaitable[None]] | None = None
) -> tuple[int, int]:
    """Sends binary messages for this number of seconds, and calls `after_each` with the number of bytes sent
    so far.

    Returns the number of bytes, and the time in microseconds until the last message was handed over."""
    block = os.urandom(LARGEST_SENT)
    size, sent, elapsed = FIRST, 0, 0
    message = block[:size]
    began = time.monotonic_ns()
    while elapsed < seconds * 1e6 and sent < MOST_BYTES:
        await connection.send(message)
        sent += size
        elapsed = (time.monotonic_ns() - began) // 1000
        if (following := next_size(size, sent)) != size:
            size, message = following, block[:following]
        if after_each:
            await after_each(sent)
        await asyncio.sleep(0)  # A send that does not have to wait lets no other task run.
    return sent, elapsed


async def close(connection: Connection) -> None:
    """Closes a connection on which the other end may still be sending. Data on their way are dropped, because
    the answer to the close message comes after them."""
    closing = asyncio.ensure_future(connection.close())
    with contextlib.suppress(ConnectionClosed):
        async for _ in connection:
            pass
    await closing
