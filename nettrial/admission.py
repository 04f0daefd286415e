"""Protection of a listening port that anyone can reach: a bounded number of connections, none of which keeps
others out, a bounded number of places for work, and a log in which a flood of one kind hides no other.

It follows the rules of the engine's `admission`, and knows nothing of the protocols spoken behind it."""

from __future__ import annotations

import errno
import ipaddress
import math
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Generic, TypeVar

from nettrial.texts import visible

LINES, LINES_EACH, LINES_SECONDS = 20, 5, 10.0
"""The largest number of log lines of one kind within that many seconds, in all and about one network."""
MOST_NETWORKS = 4096
"""The largest number of networks whose lines are counted separately; all further ones share `LINES`."""
RECOVERY_SECONDS = 0.1
"""The pause after a connection could not be accepted, for want of descriptors or memory, in seconds."""
NOT_ACCEPTED = "a connection could not be accepted"
"""The kind of log line about such a connection."""
EXHAUSTED = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}
"""The errors of accept(2) for want of descriptors or memory."""

Connection = TypeVar("Connection")


@lru_cache(MOST_NETWORKS)
def network(address: str) -> str:
    """Returns the network of an address, for which places are counted: an IPv4 address, or the first 64 bits
    of an IPv6 address, because a host can use all addresses with these."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv4Address):
        return str(parsed)
    if parsed.ipv4_mapped:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.IPv6Address(int(parsed) >> 64 << 64))


class Seats:
    """A bounded number of places, in all and for each network."""

    def __init__(self, most: int, each: int) -> None:
        """Offers `most` places in all, and `each` of them to one network."""
        self._most, self._each = most, each
        self._taken: Counter[str] = Counter()

    def full(self, address: str) -> bool:
        """Returns whether there is no place for an address."""
        return self._taken.total() >= self._most or self._taken[network(address)] >= self._each

    def take(self, address: str) -> bool:
        """Takes a place for an address; returns False if there is none."""
        if self.full(address):
            return False
        self._taken[network(address)] += 1
        return True

    def free(self, address: str) -> None:
        """Returns a place that was taken."""
        self._taken[network(address)] -= 1
        if not self._taken[network(address)]:
            del self._taken[network(address)]


@dataclass(frozen=True)
class _Open:
    """An open connection: its network, and the time at which it was accepted."""

    network: str
    since: float


class Connections(Generic[Connection]):
    """The connections of a port that have not yet made a valid request: a bounded number, in all and of each
    network.

    A new connection is never refused. If there is no place, the oldest connection of its own network ends,
    or the oldest one of the network that has the most. A client that makes its request at once is therefore
    served however many others hold connections."""

    def __init__(
        self,
        most: int,
        each: int,
        seconds: float,
        end: Callable[[Connection], None],
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """Offers `most` places in all and `each` of them to one network, for at most `seconds` by the clock
        `now`. `end` makes a connection end soon, and must not block."""
        self._most, self._each, self._seconds = most, each, seconds
        self._end, self._now = end, now
        self._open: dict[Connection, _Open] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """Returns the number of connections."""
        return len(self._open)

    def admit(self, connection: Connection, address: str) -> None:
        """Adds a new connection, and ends older ones that are too many."""
        new = _Open(network(address), self._now())
        with self._lock:
            own = [each for each, known in self._open.items() if known.network == new.network]
            ended = [self._forget(own[0])] if len(own) >= self._each else []
            if len(self._open) >= self._most:
                ended += self._oldest_of_most()
            self._open[connection] = new
        for each in ended:
            self._end(each)

    def make_room(self) -> bool:
        """Ends one connection, because the system has no room for a new one; returns False if there is
        none."""
        with self._lock:
            ended = self._oldest_of_most()
        for each in ended:
            self._end(each)
        return bool(ended)

    def release(self, connection: Connection) -> None:
        """Forgets a connection: it has made a valid request, or has ended."""
        with self._lock:
            self._open.pop(connection, None)

    def hold(self, connection: Connection) -> None:
        """Stops the time of a connection, which still ends if its place is needed: it has made a request,
        and its answer takes time to make."""
        self._set_since(connection, math.inf)

    def renew(self, connection: Connection) -> None:
        """Begins the time of a connection anew."""
        self._set_since(connection, self._now())

    def _set_since(self, connection: Connection, since: float) -> None:
        with self._lock:
            if connection in self._open:
                self._open[connection] = replace(self._open[connection], since=since)

    def expire(self) -> None:
        """Ends the connections whose time is over. Must be called now and then."""
        before = self._now() - self._seconds
        with self._lock:
            ended = [self._forget(each) for each, known in list(self._open.items()) if known.since < before]
        for each in ended:
            self._end(each)

    def _forget(self, connection: Connection) -> Connection:
        del self._open[connection]
        return connection

    def _oldest_of_most(self) -> list[Connection]:
        """Forgets and returns the oldest connection of the network with the most connections."""
        counts = Counter(known.network for known in self._open.values())
        most = max(counts.values(), default=0)
        for connection, known in self._open.items():  # in the order in which they came
            if counts[known.network] == most:
                return [self._forget(connection)]
        return []


class Log:
    """A log with at most `LINES` lines of one kind within `LINES_SECONDS`, `LINES_EACH` of them about one
    network. Further lines are counted."""

    def __init__(self, say: Callable[[str], None], now: Callable[[], float] = time.monotonic) -> None:
        """Writes lines with `say`, by the clock `now`."""
        self._say, self._now = say, now
        self._began = -LINES_SECONDS
        self._written: Counter[str] = Counter()
        self._omitted: Counter[str] = Counter()
        self._each: Counter[tuple[str, str]] = Counter()
        self._lock = threading.Lock()

    def line(self, kind: str, text: str, address: str = "") -> None:
        """Writes a line of one of a few kinds about an address, with control characters made visible."""
        with self._lock:
            lines = self._lines(kind, text, address)
        for line in lines:
            self._say(line)

    def _lines(self, kind: str, text: str, address: str) -> list[str]:
        """Returns the lines to write now: the counts of a period that is over, and the line itself."""
        now, lines = self._now(), []
        if now - self._began >= LINES_SECONDS:
            lines = [f"{n} more lines like the last ones ({kind})" for kind, n in self._omitted.items()]
            self._began = now
            for counted in (self._written, self._omitted, self._each):
                counted.clear()
        caller = (kind, network(address)) if address else None
        if caller and (caller in self._each or len(self._each) < MOST_NETWORKS):
            self._each[caller] += 1
        if self._written[kind] < LINES and (caller is None or self._each[caller] <= LINES_EACH):
            self._written[kind] += 1
            lines.append(visible(text))
        else:
            self._omitted[kind] += 1
        return lines
