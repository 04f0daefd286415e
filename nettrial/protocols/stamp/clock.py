"""Timestamps of test packets, and estimates of their errors."""

from __future__ import annotations

import ctypes
import math
import time
from dataclasses import dataclass
from functools import cache

from nettrial.systems import IS_LINUX

NTP_EPOCH = 2_208_988_800
"""The seconds from NTP's epoch, 1900, to that of Unix."""
ERA = 2**32
"""The seconds after which NTP's timestamps repeat: in 2036 for the first time."""
_BILLION = 10**9
_UNSYNCHRONISED = 0x40
"""The kernel's flag for a clock that nothing synchronises (STA_UNSYNC of adjtimex(2))."""
_COARSEST = 16.0
"""The error of the kernel's estimate in seconds at which it stops; it is then unknown."""


def ntp(since_1970_ns: int) -> int:
    """Returns a time in NTP's format (RFC 5905, 6): seconds and fractions of 2^-32 s."""
    seconds, rest = divmod(since_1970_ns, _BILLION)
    return ((seconds + NTP_EPOCH) % ERA) << 32 | (rest << 32) // _BILLION


def unix_ns(timestamp: int, near_ns: int, ptp: bool = False) -> int:
    """Returns the time of a timestamp in nanoseconds since 1970. A timestamp is ambiguous, and the time
    nearest to `near_ns` is chosen. With `ptp`, the timestamp has PTP's truncated format (RFC 8186): seconds
    and nanoseconds, whose epoch is 1970 by atomic time."""
    seconds, fraction = timestamp >> 32, timestamp & (ERA - 1)
    rest = fraction if ptp else fraction * _BILLION >> 32
    if not ptp:
        seconds -= NTP_EPOCH
    eras = round((near_ns / _BILLION - seconds) / ERA)
    return (seconds + eras * ERA) * _BILLION + rest


@dataclass(frozen=True)
class ErrorEstimate:
    """The Error Estimate field of a test packet (RFC 4656, 4.1.2; RFC 8186, 2.3)."""

    synchronised: bool
    """True if the clock is synchronised to UTC by an external source (S)."""
    ptp: bool
    """True for timestamps in PTP's truncated format (Z)."""
    seconds: float
    """The estimated error; 0 where the field has the multiplier 0, which RFC 4656 forbids."""

    def field(self) -> int:
        """Returns the field: the smallest multiple of a power of two that is no less than the error."""
        units = max(1, math.ceil(self.seconds * ERA))
        scale = min(max(0, (units - 1).bit_length() - 8), 63)
        multiplier = min(-(-units >> scale), 255)
        if multiplier << scale < units and scale < 63:
            scale, multiplier = scale + 1, -(-units >> (scale + 1))
        return self.synchronised << 15 | self.ptp << 14 | scale << 8 | multiplier

    @classmethod
    def of(cls, field: int) -> ErrorEstimate:
        """Returns the estimate that a field holds."""
        scale, multiplier = field >> 8 & 63, field & 255
        return cls(bool(field >> 15 & 1), bool(field >> 14 & 1), multiplier * 2.0**scale / ERA)


class _Timex(ctypes.Structure):
    """The beginning of `struct timex` (Linux, include/uapi/linux/timex.h), and room for the rest."""

    _fields_ = [
        ("modes", ctypes.c_uint),
        ("offset", ctypes.c_long),
        ("freq", ctypes.c_long),
        ("maxerror", ctypes.c_long),
        ("esterror", ctypes.c_long),
        ("status", ctypes.c_int),
        ("rest", ctypes.c_char * 256),
    ]


@cache
def _system() -> ctypes.CDLL:
    """Returns the C library of this process."""
    return ctypes.CDLL(None)


def own_estimate(timestamping_seconds: float) -> ErrorEstimate:
    """Returns the estimate for timestamps of this machine: the kernel's bound of its clock's error
    (adjtimex(2)), plus the error of taking the timestamp.

    If the clock is not synchronised, or the system does not report the bound, the error with respect to UTC
    is unknown. The estimate is then only the error of taking the timestamp, and states that the clock is not
    synchronised."""
    if IS_LINUX:
        timex = _Timex()
        state = _system().adjtimex(ctypes.byref(timex))
        error = timex.maxerror / 1e6
        if state >= 0 and not timex.status & _UNSYNCHRONISED and error < _COARSEST:
            return ErrorEstimate(True, False, error + timestamping_seconds)
    return ErrorEstimate(False, False, timestamping_seconds)


def timestamping_error(calls: int = 20) -> float:
    """Returns the longest of a few intervals between two readings of the clock, in seconds. This part of a
    timestamp's error is known before a packet is sent."""
    longest = 0
    before = time.time_ns()
    for _ in range(calls):
        now = time.time_ns()
        longest, before = max(longest, now - before), now
    return longest / 1e9
