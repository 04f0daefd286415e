"""A session of test packets, from this machine to a reflector and back."""

from __future__ import annotations

import selectors
import socket
import threading
import time
from collections import deque
from dataclasses import dataclass, field, replace
from typing import Literal

from nettrial.protocols.stamp.clock import ErrorEstimate, ntp, own_estimate, timestamping_error, unix_ns
from nettrial.protocols.stamp.packet import NotATestPacket, Sent, read_reflected, sender_packet
from nettrial.protocols.stamp.port import Port

WAIT_SECONDS, FIRST_WAIT_SECONDS = 1.0, 4.0
"""The least time in seconds for which answers are awaited after the last packet; later ones count as lost.
The second value holds as long as nothing came back, so that the round-trip time is not known."""
WAIT_ROUND_TRIPS = 4
"""The number of the longest round-trip times so far for which answers are awaited, if that is longer."""
POLL_SECONDS = 0.1
"""The longest time in seconds until a request to end is noticed."""
_KEPT = 16
"""The number of packets of which the largest error of a timestamp counts."""


class StampNotReached(Exception):
    """The error for a session in which no packet was answered; the text is the reason."""

    def __init__(self, why: str, kind: Literal["unreachable", "other_token"]) -> None:
        """Creates the error with the reason for people, and its kind for programs: no packet came back, or
        none that is an answer, as if the reflector has another key."""
        super().__init__(why)
        self.kind: Literal["unreachable", "other_token"] = kind


@dataclass(frozen=True)
class ReflectorSession:
    """The settings of a session."""

    address: str
    """The IP address of the reflector."""
    port: int
    """The UDP port of the reflector."""
    packets: int
    """The number of packets to send."""
    interval: float
    """The time between two packets in seconds."""
    size: int
    """The size of a packet's payload in bytes."""
    dscp: int = 0
    """The DSCP of the packets."""
    key: bytes | None = None
    """The key of authenticated mode; None for unauthenticated mode."""


@dataclass(frozen=True)
class StampReply:
    """An answer to a packet. Times are in nanoseconds since 1970: T1 to T4 of RFC 8762."""

    number: int
    """The packet's number."""
    reflector_number: int
    """The reflector's own number."""
    sent_ns: int
    """T1, at which the packet left: taken by the kernel, or else by this program."""
    received_ns: int
    """T2, at which the packet arrived at the reflector."""
    reflected_ns: int
    """T3, at which the answer left the reflector."""
    arrived_ns: int
    """T4, at which the answer arrived here."""
    ttl: int
    """The TTL with which the packet arrived at the reflector."""
    estimate: ErrorEstimate
    """The reflector's estimate of its errors."""


@dataclass
class StampResult:
    """The packets of a session and the answers to them."""

    sent: int = 0
    """The number of packets sent."""
    answers: list[StampReply] = field(default_factory=list)
    """The answers in order of arrival, with duplicates."""
    foreign: int = 0
    """The number of packets that arrived but are not answers: damaged, forged, or with another key."""
    refused: bool = False
    """True if a host answered that nothing listens at the port."""
    departures: bool = False
    """True if the kernel took the time of every departure."""
    arrivals: bool = True
    """True if the kernel took the time of every arrival."""
    own: ErrorEstimate = field(default_factory=lambda: ErrorEstimate(False, False, 0.0))
    """This machine's estimate of its errors, at the end."""


class Sender:
    """Runs sessions, one after the other; another thread, or a signal, can end the running one."""

    def __init__(self, session: ReflectorSession) -> None:
        """Prepares sessions with these settings."""
        self._session = session
        self._ended = threading.Event()

    def kill(self) -> None:
        """Ends the running session. Later ones end at once."""
        self._ended.set()

    def run(self) -> StampResult:
        """Runs a session; raises NotReached if no packet was answered, and OSError if there is no route to
        the reflector."""
        session = self._session
        port = Port(socket.AF_INET6 if ":" in session.address else socket.AF_INET, session.dscp, True)
        try:
            # Two values alone would be an address without its zone.
            addresses = socket.getaddrinfo(session.address, session.port, type=socket.SOCK_DGRAM)
            port.socket.connect(addresses[0][4])
            port.socket.setblocking(False)
            result = _Run(session, port, self._ended).run()
        finally:
            port.close()
        if not result.answers and not self._ended.is_set():
            raise StampNotReached(_reason(result), "other_token" if _is_foreign(result) else "unreachable")
        return result


def _is_foreign(result: StampResult) -> bool:
    """Returns whether packets came back, and none was an answer."""
    return bool(result.foreign) and not result.refused


def _reason(result: StampResult) -> str:
    if result.refused:
        return "nothing listens at that port"
    if _is_foreign(result):
        return f"{result.foreign} packets came back, and none is an answer: is the key the reflector's?"
    return f"no answer to {result.sent} packets within {FIRST_WAIT_SECONDS:g} s"


class _Run:
    """A running session."""

    def __init__(self, session: ReflectorSession, port: Port, ended: threading.Event) -> None:
        self._session, self._port, self._ended = session, port, ended
        self._result = StampResult()
        self._sent: dict[int, tuple[int, int]] = {}
        """The timestamp and the time of each packet, by number."""
        self._handed: list[int] = []
        """The numbers of the packets that the kernel accepted. The kernel numbers departures in this
        order."""
        self._left: dict[int, int] = {}
        self._errors: deque[float] = deque([timestamping_error()], maxlen=_KEPT)
        self._arrived: list[StampReply] = []
        self._answered: set[int] = set()
        self._longest_ns = 0
        """The longest round-trip time so far; 0 as long as there is none."""

    def run(self) -> StampResult:
        session, result = self._session, self._result
        interval = int(session.interval * 1e9)
        due = time.monotonic_ns()
        for number in range(session.packets):
            self._hear_until(due)
            if self._ended.is_set():
                break
            self._send(number)
            due += interval
        last = time.monotonic_ns()
        # An answer may shorten or lengthen the wait.
        while not self._is_done() and (now := time.monotonic_ns()) < (end := last + self._wait_ns()):
            self._hear_until(min(end, now + int(POLL_SECONDS * 1e9)), until_all=True)
        self._depart()
        result.sent = len(self._sent)
        result.departures = len(self._left) == result.sent > 0
        result.own = own_estimate(max(self._errors))
        result.answers = [self._with_departure(answer) for answer in self._arrived]
        return result

    def _wait_ns(self) -> int:
        """Returns the time for which answers are awaited after the last packet."""
        result = self._result
        if not (self._longest_ns or result.refused or result.foreign):
            return int(FIRST_WAIT_SECONDS * 1e9)
        return max(int(WAIT_SECONDS * 1e9), WAIT_ROUND_TRIPS * self._longest_ns)

    def _is_done(self) -> bool:
        return self._ended.is_set() or len(self._answered) == len(self._sent)

    def _send(self, number: int) -> None:
        session = self._session
        estimate = own_estimate(max(self._errors)).field()
        now = time.time_ns()
        packet = sender_packet(Sent(number, ntp(now), estimate, 0), session.size, session.key)
        self._sent[number] = ntp(now), now
        for _ in range(2):
            try:
                self._port.socket.send(packet)
            except ConnectionRefusedError:  # It belongs to an earlier packet, and this one was not sent.
                self._result.refused = True
            except OSError:
                return  # There is no room in the buffer, or no route for now: the packet is lost.
            else:
                self._handed.append(number)
                break
        self._errors.append((time.time_ns() - now) / 1e9)

    def _hear_until(self, due: int, until_all: bool = False) -> None:
        """Receives answers until a time of the monotonic clock; with `until_all`, at most until every packet
        is answered."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._port.socket, selectors.EVENT_READ)
            while not self._ended.is_set():
                if until_all and self._is_done():
                    return
                left = (due - time.monotonic_ns()) / 1e9
                if left <= 0:
                    return
                selector.select(min(left, POLL_SECONDS))
                self._depart()
                self._receive()

    def _depart(self) -> None:
        for count, taken in self._port.departures().items():
            if count < len(self._handed):
                self._left[self._handed[count]] = taken

    def _receive(self) -> None:
        """Reads the answers that have arrived."""
        result = self._result
        while True:
            try:
                arrival = self._port.receive()
            except ConnectionRefusedError:
                result.refused = True
                continue
            except OSError:
                return
            try:
                reflected = read_reflected(arrival.payload, self._session.key)
            except NotATestPacket:
                result.foreign += 1
                continue
            if reflected.sender_sent != self._sent.get(reflected.sender_sequence, (None, 0))[0]:
                result.foreign += 1
                continue
            result.arrivals &= arrival.by_kernel
            self._answered.add(reflected.sender_sequence)
            round_trip_ns = arrival.arrived_ns - self._sent[reflected.sender_sequence][1]
            self._longest_ns = max(self._longest_ns, round_trip_ns)
            near, ptp = arrival.arrived_ns, reflected.estimate.ptp
            answer = StampReply(
                number=reflected.sender_sequence,
                reflector_number=reflected.sequence,
                sent_ns=self._sent[reflected.sender_sequence][1],
                received_ns=unix_ns(reflected.received, near, ptp),
                reflected_ns=unix_ns(reflected.sent, near, ptp),
                arrived_ns=arrival.arrived_ns,
                ttl=reflected.ttl,
                estimate=reflected.estimate,
            )
            self._arrived.append(answer)

    def _with_departure(self, answer: StampReply) -> StampReply:
        """Returns an answer with the kernel's time of the packet's departure, if there is one."""
        left = self._left.get(answer.number)
        return answer if left is None else replace(answer, sent_ns=left)
