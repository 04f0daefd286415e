"""A UDP socket with the kernel's timestamps, the TTL and the DSCP of packets.

Python has no names for some options of Linux; their numbers are those of x86-64 and ARM
(include/uapi/asm-generic/socket.h, linux/in.h, linux/in6.h, linux/net_tstamp.h)."""

from __future__ import annotations

import contextlib
import socket
import struct
import time
from dataclasses import dataclass
from typing import Any

from nettrial.systems import IS_LINUX

_TIMESTAMPING = 37
_SEND, _RECEIVE, _SOFTWARE, _NUMBERED, _ONLY = 1 << 1, 1 << 3, 1 << 4, 1 << 7, 1 << 11
"""Timestamps of departures and of arrivals, by the kernel, with numbers, and without the packet."""
_RECEIVE_TTL, _RECEIVE_TOS, _PACKET_INFO = 12, 13, 8
_RECEIVE_HOPS, _HOPS, _RECEIVE_CLASS, _CLASS, _RECEIVE_INFO6, _INFO6 = 51, 52, 66, 67, 49, 50
_ERRORS = 0x2000
"""The flag by which recvmsg reads the error queue, which contains the timestamps of departures
(MSG_ERRQUEUE)."""
_DO_NOT_WAIT = getattr(socket, "MSG_DONTWAIT", 0)
_ROOM, _LARGEST = 512, 65_535
MOST_TTL = 255
"""The TTL of test packets. The other end computes the number of hops from the TTL on arrival."""


@dataclass(frozen=True)
class Arrival:
    """A packet that has arrived."""

    payload: bytes
    """The payload of the UDP datagram."""
    source: Any
    """The sender's address, as the socket gives it."""
    arrived_ns: int
    """The time of arrival, in nanoseconds since 1970."""
    by_kernel: bool
    """True if the kernel took the time; otherwise this program took it when it was notified."""
    ttl: int | None
    """The TTL or hop limit with which the packet arrived; None if the system does not report it."""
    tos: int
    """The TOS byte or traffic class: DSCP and ECN."""
    own: bytes
    """This machine's address to which the packet was sent; empty if the system does not report it."""


class Port:
    """A UDP socket for test packets."""

    def __init__(self, family: int, dscp: int = 0, departures: bool = False) -> None:
        """Opens a socket. With `departures`, the kernel also takes the time of each packet that leaves."""
        self.socket: Any = socket.socket(family, socket.SOCK_DGRAM)  # Windows lacks some of these methods.
        self._six = family == socket.AF_INET6
        level = socket.IPPROTO_IPV6 if self._six else socket.IPPROTO_IP
        flags = _RECEIVE | _SOFTWARE | ((_SEND | _NUMBERED | _ONLY) if departures else 0)
        if self._six:
            wanted = [(level, socket.IPV6_UNICAST_HOPS, MOST_TTL)]
            tos = (level, _CLASS, dscp << 2)
            told = [(level, each, 1) for each in (_RECEIVE_HOPS, _RECEIVE_CLASS, _RECEIVE_INFO6)]
        else:
            wanted = [(level, socket.IP_TTL, MOST_TTL)]
            tos = (level, socket.IP_TOS, dscp << 2)
            told = [(level, each, 1) for each in (_RECEIVE_TTL, _RECEIVE_TOS, _PACKET_INFO)]
        if dscp:
            wanted.append(tos)
        if IS_LINUX:
            wanted += [*told, (socket.SOL_SOCKET, _TIMESTAMPING, flags)]
        for option in wanted:
            with contextlib.suppress(OSError):  # Figures that the system lacks are absent from arrivals.
                self.socket.setsockopt(*option)

    def close(self) -> None:
        """Closes the socket."""
        self.socket.close()

    def receive(self) -> Arrival:
        """Returns the next packet; raises OSError, such as the refusal of an earlier packet."""
        if not hasattr(self.socket, "recvmsg"):  # Windows has no recvmsg.
            payload, source = self.socket.recvfrom(_LARGEST)
            return Arrival(payload, source, time.time_ns(), False, None, 0, b"")
        payload, told, _, source = self.socket.recvmsg(_LARGEST, _ROOM)
        arrived, by_kernel, ttl, tos, own = time.time_ns(), False, None, 0, b""
        for level, kind, data in told:
            if (level, kind) == (socket.SOL_SOCKET, _TIMESTAMPING):
                taken = _nanoseconds(data)
                arrived, by_kernel = (taken, True) if taken else (arrived, by_kernel)
            elif level == socket.IPPROTO_IP and kind == socket.IP_TTL:
                ttl = struct.unpack_from("=i", data)[0]
            elif level == socket.IPPROTO_IP and kind == socket.IP_TOS:
                tos = data[0]
            elif level == socket.IPPROTO_IP and kind == _PACKET_INFO:
                own = data[4:8]
            elif level == socket.IPPROTO_IPV6 and kind == _HOPS:
                ttl = struct.unpack_from("=i", data)[0]
            elif level == socket.IPPROTO_IPV6 and kind == _CLASS:
                tos = struct.unpack_from("=i", data)[0]
            elif level == socket.IPPROTO_IPV6 and kind == _INFO6:
                own = data[:16]
        return Arrival(payload, source, arrived, by_kernel, ttl, tos, own)

    def answer(self, payload: bytes | bytearray, to: Arrival) -> None:
        """Sends an answer to the source of a packet, with the packet's DSCP, and from the address to which it
        was sent."""
        if not IS_LINUX:
            self.socket.sendto(payload, to.source)
            return
        tos = struct.pack("=i", to.tos & ~3)  # The ECN bits belong to the network and are not copied.
        told: list[tuple[int, int, bytes]]
        if self._six:
            told = [(socket.IPPROTO_IPV6, _CLASS, tos)]
            told += [(socket.IPPROTO_IPV6, _INFO6, to.own + struct.pack("=i", 0))] if to.own else []
        else:
            told = [(socket.IPPROTO_IP, socket.IP_TOS, tos)]
            info = struct.pack("=i", 0) + to.own + bytes(4)
            told += [(socket.IPPROTO_IP, _PACKET_INFO, info)] if to.own else []
        self.socket.sendmsg([payload], told, 0, to.source)

    def departures(self) -> dict[int, int]:
        """Returns the times at which packets have left since the last call, by their numbers from 0."""
        times: dict[int, int] = {}
        if not IS_LINUX:
            return times
        while True:
            try:
                _, told, _, _ = self.socket.recvmsg(0, _ROOM, _ERRORS | _DO_NOT_WAIT)
            except OSError:
                return times
            taken = next((_nanoseconds(data) for level, kind, data in told if kind == _TIMESTAMPING), 0)
            # The last number of struct sock_extended_err is that of the packet.
            numbers = [data for level, kind, data in told if kind != _TIMESTAMPING and len(data) >= 16]
            if taken and numbers:
                times[struct.unpack_from("=IBBBBII", numbers[-1])[6]] = taken


def _nanoseconds(data: bytes) -> int:
    """Returns the time in a control message with timestamps; 0 if the kernel took none."""
    if len(data) < 16:
        return 0
    seconds, rest = struct.unpack_from("=qq", data)
    return int(seconds * 10**9 + rest)
