"""The benefits and costs of an MTU, fitted to the levels of a factor and tested on held-out levels.

On the wire, each packet carries headers and Ethernet's overhead around the frame, so that a larger MTU leaves
more of the line rate to the payload; that is arithmetic, and only the share of the line rate that the
transfer uses is fitted. On a host, each packet and each byte takes time (`HostCost`)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TypeAlias

import numpy as np
from scipy import special

from nettrial import units
from nettrial.analysis.host_cost import HostCost, Work
from nettrial.analysis.intervals import CONFIDENCE, Interval

ETHERNET_BYTES = 38
"""The overhead of Ethernet around each IP packet: header 14, frame check sequence 4, preamble 8, gap 12 (IEEE
802.3 clauses 3, 4.4.2)."""


def efficiency(mtu_bytes: float, header_bytes: float) -> float:
    """Returns the share of the line rate that is payload: the payload of a packet of MTU size over the bytes
    that its frame occupies. With 40 bytes of IPv4 and TCP headers and 12 of timestamps it is 0.941 at 1500
    bytes, and 0.990 at 9000."""
    return (mtu_bytes - header_bytes) / (mtu_bytes + ETHERNET_BYTES)


@dataclass(frozen=True)
class WireUse:
    """The goodput in Mbit/s of a transfer limited by the link."""

    rate_mbps: float
    """The link's rate in Mbit/s."""
    header_bytes: float
    """The bytes of headers and framing in each full packet."""
    share: float
    """The fitted share of the payload rate possible on the wire that the transfer reaches."""
    spread: float
    """The standard deviation over levels of the share's logarithm."""
    levels: tuple[float, ...]
    """The MTUs to which it was fitted, in bytes."""
    errors: dict[float, float]
    """The signed error in percent by MTU, of the prediction by the model fitted to the other MTUs."""

    @classmethod
    def of(cls, rate_mbps: float, header_bytes: float, means: Mapping[float, float]) -> WireUse:
        """Fits the model to the mean goodput (Mbit/s) at two or more MTUs (bytes)."""

        def logs(of: Sequence[float]) -> list[float]:
            return [math.log(means[mtu] / rate_mbps / efficiency(mtu, header_bytes)) for mtu in of]

        levels = tuple(sorted(means))
        every = logs(levels)
        errors = {
            mtu: 100 * math.expm1(fmean(logs([other for other in levels if other != mtu])) - log)
            for mtu, log in zip(levels, every, strict=True)
        }
        spread = float(np.std(every, ddof=1))
        return cls(rate_mbps, header_bytes, math.exp(fmean(every)), spread, levels, errors)

    def at(self, mtu_bytes: float) -> tuple[float, Interval | None]:
        """Returns the goodput in Mbit/s, with Student's prediction interval of its logarithm over levels."""
        value = self.share * self.rate_mbps * efficiency(mtu_bytes, self.header_bytes)
        count = len(self.levels)
        quantile = float(special.stdtrit(count - 1, (1 + CONFIDENCE) / 2))
        half = quantile * self.spread * math.sqrt(1 + 1 / count)
        return value, Interval(value * math.exp(-half), value * math.exp(half))

    def words(self) -> str:
        """Returns the fit in words."""
        rate = units.RATE.print(round(self.rate_mbps * 1e6))
        return f"{100 * self.share:.1f}% of the payload rate at {rate}"


@dataclass(frozen=True)
class PayloadCost:
    """The CPU time in microseconds that a host needs for a kilobyte (1000 bytes) of payload."""

    header_bytes: float
    """The bytes of headers in each full packet."""
    cost: HostCost
    """The costs of a packet and of a kilobyte."""
    levels: tuple[float, ...]
    """The MTUs to which it was fitted, in bytes."""
    errors: dict[float, float]
    """The signed error in percent by MTU, of the prediction by the model fitted to the other MTUs."""

    @classmethod
    def of(cls, header_bytes: float, means: Mapping[float, float]) -> PayloadCost:
        """Fits the model to the mean cost (us/kB) at three or more MTUs (bytes)."""
        work = {mtu: Work(means[mtu], *_carried(header_bytes, mtu)) for mtu in sorted(means)}
        cost = HostCost.of(list(work.values()))
        errors = {mtu: cost.without(each).error_percent(each) for mtu, each in work.items()}
        return cls(header_bytes, cost, tuple(work), errors)

    def at(self, mtu_bytes: float) -> tuple[float, Interval | None]:
        """Returns the cost in us/kB, with the prediction interval over levels."""
        carried = _carried(self.header_bytes, mtu_bytes)
        return self.cost.at(*carried), self.cost.interval_at(*carried)

    def words(self) -> str:
        """Returns the fit in words."""
        return f"{self.cost.per_packet:.3g} us per packet and {self.cost.per_kilobyte:.3g} us per kilobyte"


def _carried(header_bytes: float, mtu_bytes: float) -> tuple[float, float]:
    """Returns the number of packets of MTU size that carry 1000 bytes of payload, and their kilobytes
    including headers."""
    packets = 1000 / (mtu_bytes - header_bytes)
    return packets, packets * mtu_bytes / 1000


Fit: TypeAlias = WireUse | PayloadCost
"""A model of one figure by the MTU."""
