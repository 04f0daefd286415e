"""A reflector of test packets. It is stateful, and an answer is never longer than the packet that it
answers."""

from __future__ import annotations

import time
from collections import OrderedDict, deque
from dataclasses import dataclass
from typing import Any, NoReturn, TypeAlias

from nettrial.admission import Log, network
from nettrial.protocols.stamp.clock import ntp, own_estimate, timestamping_error, unix_ns
from nettrial.protocols.stamp.packet import NotATestPacket, answers, read_sent, reflected_packet, stamp
from nettrial.protocols.stamp.port import Arrival, Port

PORT = 862
"""The port of reflectors (RFC 8762, 4.1)."""
MOST_SESSIONS, MOST_SESSIONS_EACH = 4096, 64
"""The largest number of sessions whose packets are counted, in all and of one network. Another session takes
the place of the one that has been idle for longest, of which a later packet begins a new session."""
IDLE_SECONDS = 60.0
"""The time without packets after which a session ends, in seconds."""
MOST_RATE = 1000
"""The largest number of packets a second that are answered in a session; the others count as lost."""
RESERVED = 1024
"""The ports below this one belong to services, some of which answer everything, such as echo. Of these ports,
a sender may only use that of reflectors."""
_KEPT = 16
"""The number of packets of which the largest error of a timestamp counts."""


_Source: TypeAlias = tuple[str, int]


@dataclass
class _Session:
    """The state of a session, which is identified by the sender's address and port."""

    began_ns: int
    last_ns: int
    sequence: int = 0
    """The number of packets answered."""
    allowance: float = MOST_RATE
    """The number of packets that may be answered now."""


class Reflector:
    """Answers test packets; it has no socket of its own."""

    def __init__(self, log: Log, key: bytes | None = None) -> None:
        """Answers in authenticated mode if there is a key, and writes a line about each session to `log`."""
        self._log, self._key = log, key
        self._sessions: OrderedDict[_Source, _Session] = OrderedDict()
        """All sessions, the one that has been idle for longest first."""
        self._each: dict[str, OrderedDict[_Source, None]] = {}
        """The sessions of each network, in the same order."""

    def answer(self, arrival: Arrival, now_ns: int, estimate: int) -> bytearray | None:
        """Returns the answer to a packet, without its timestamp; None for a packet that is not answered."""
        source: _Source = (str(arrival.source[0]), int(arrival.source[1]))
        reason = self._refusal(arrival, source, now_ns)
        if reason:
            where = f"[{source[0]}]:{source[1]}" if ":" in source[0] else f"{source[0]}:{source[1]}"
            self._log.line("not answered", f"{where}: not answered: {reason}", source[0])
            return None
        session = self._sessions[source]
        made = reflected_packet(
            arrival.payload,
            session.sequence,
            ntp(arrival.arrived_ns),
            estimate,
            arrival.ttl or 0,
            self._key,
        )
        session.sequence += 1
        return made

    def _refusal(self, arrival: Arrival, source: _Source, now_ns: int) -> str:
        """Returns the reason why a packet is not answered, and counts it in its session otherwise."""
        if source[1] < RESERVED and source[1] != PORT:
            return "its port belongs to another service"
        try:
            read_sent(arrival.payload, self._key)
        except NotATestPacket as why:
            return str(why)
        self._end_idle(now_ns)
        session = self._sessions.get(source)
        # Timestamps are rounded down, by up to 1 ns.
        if session and session.began_ns - 1 <= unix_ns(answers(arrival.payload, self._key), now_ns) <= now_ns:
            return "it answers an answer: the sender is a reflector, too"
        if session is None:
            session = self._begin(source, now_ns)
            text = f"{source[0]} port {source[1]}: a session of {len(arrival.payload)} B"
            self._log.line("session", text, source[0])
        else:
            self._sessions.move_to_end(source)
            self._each[network(source[0])].move_to_end(source)
        passed = max(0, now_ns - session.last_ns) / 1e9
        session.allowance = min(MOST_RATE, session.allowance + passed * MOST_RATE)
        session.last_ns = now_ns
        if session.allowance < 1:
            return f"more than {MOST_RATE} packets a second"
        session.allowance -= 1
        return ""

    def _begin(self, source: _Source, now_ns: int) -> _Session:
        """Adds a session, in the place of an idle one if there are too many."""
        own = self._each.get(network(source[0]), OrderedDict())
        if len(own) >= MOST_SESSIONS_EACH:
            self._end(next(iter(own)))
        if len(self._sessions) >= MOST_SESSIONS:
            self._end(next(iter(self._sessions)))
        self._each.setdefault(network(source[0]), OrderedDict())[source] = None
        made = self._sessions[source] = _Session(now_ns, now_ns)
        return made

    def _end_idle(self, now_ns: int) -> None:
        """Ends the sessions that have had no packets for a while."""
        while self._sessions:
            source, session = next(iter(self._sessions.items()))
            if now_ns - session.last_ns <= IDLE_SECONDS * 1e9:
                return
            self._end(source)

    def _end(self, source: _Source) -> None:
        del self._sessions[source]
        own = self._each[network(source[0])]
        del own[source]
        if not own:
            del self._each[network(source[0])]


def reflect(reflector: Reflector, port: Port, key: bytes | None) -> NoReturn:
    """Answers packets until the process ends."""
    errors: deque[float] = deque([timestamping_error()], maxlen=_KEPT)
    while True:
        took = reflect_one(reflector, port, key, max(errors))
        if took is not None:
            errors.append(took)


def reflect_one(reflector: Reflector, port: Port, key: bytes | None, error: float) -> float | None:
    """Waits for a packet and answers it. The error of its timestamps is `error` seconds in addition to the
    clock's.

    Returns the time between the timestamp and the packet's handover to the kernel, in seconds; None if the
    packet was not answered."""
    try:
        arrival: Any = port.receive()
    except OSError:  # A host has refused an earlier answer.
        return None
    answer = reflector.answer(arrival, time.time_ns(), own_estimate(error).field())
    if answer is None:
        return None
    now = time.time_ns()
    stamp(answer, ntp(now), key)
    try:
        port.answer(answer, arrival)
    except OSError:  # There is no room in the buffer, or no route: the answer is lost.
        return None
    return (time.time_ns() - now) / 1e9
