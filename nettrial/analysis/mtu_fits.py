"""The gains and costs of an MTU, each fitted on the levels of a factor, and tested on levels held out.

On the wire each packet takes its headers and what Ethernet puts around a frame, so a larger MTU leaves more
of the line rate to the payload; that is arithmetic, and only the share of the line rate that the transfer
keeps busy is fitted. At a host each packet takes time and each byte takes time (`HostCost`)."""

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
"""Around each IP packet: header 14, frame check sequence 4, preamble 8, gap 12 (IEEE 802.3 clauses 3,
4.4.2)."""


def efficiency(mtu_bytes: float, header_bytes: float) -> float:
    """The share of the line rate that is payload: what a packet of the MTU carries behind its headers, over
    what its frame occupies. With 40 bytes of IPv4 and TCP and 12 of timestamps: 0.941 at 1500 bytes, 0.990
    at 9000."""
    return (mtu_bytes - header_bytes) / (mtu_bytes + ETHERNET_BYTES)


@dataclass(frozen=True)
class WireUse:
    """Goodput of a transfer that the link bounds, Mbit/s."""

    rate_mbps: float
    header_bytes: float
    share: float
    """The transfer's share of what the wire leaves to the payload; it is fitted."""
    spread: float
    """Standard deviation of its logarithm over levels."""
    levels: tuple[float, ...]
    """The MTUs it was fitted on, bytes."""
    errors: dict[float, float]
    """Errors by MTU: by how much the model that is fitted on the others misses it, in percent of it,
    signed."""

    @classmethod
    def of(cls, rate_mbps: float, header_bytes: float, means: Mapping[float, float]) -> WireUse:
        """Fitted on the mean goodput (Mbit/s) at each MTU (bytes), two or more of them."""

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
        """Mbit/s, with Student's prediction interval of the logarithm over levels."""
        value = self.share * self.rate_mbps * efficiency(mtu_bytes, self.header_bytes)
        count = len(self.levels)
        quantile = float(special.stdtrit(count - 1, (1 + CONFIDENCE) / 2))
        half = quantile * self.spread * math.sqrt(1 + 1 / count)
        return value, Interval(value * math.exp(-half), value * math.exp(half))

    def words(self) -> str:
        """Returns the fit in words."""
        rate = units.RATE.print(round(self.rate_mbps * 1e6))
        return f"{100 * self.share:.1f}% of what {rate} leaves to the payload"


@dataclass(frozen=True)
class PayloadCost:
    """CPU time that a kilobyte (1000 bytes) of payload takes a host, us."""

    header_bytes: float
    cost: HostCost
    levels: tuple[float, ...]
    """The MTUs it was fitted on, bytes."""
    errors: dict[float, float]
    """Errors by MTU: by how much the model that is fitted on the others misses it, in percent of it,
    signed."""

    @classmethod
    def of(cls, header_bytes: float, means: Mapping[float, float]) -> PayloadCost:
        """Fitted on the mean cost (us/kB) at each MTU (bytes), three or more of them."""
        work = {mtu: Work(means[mtu], *_carried(header_bytes, mtu)) for mtu in sorted(means)}
        cost = HostCost.of(list(work.values()))
        errors = {mtu: cost.without(each).error_percent(each) for mtu, each in work.items()}
        return cls(header_bytes, cost, tuple(work), errors)

    def at(self, mtu_bytes: float) -> tuple[float, Interval | None]:
        """us/kB, with the prediction interval over levels."""
        carried = _carried(self.header_bytes, mtu_bytes)
        return self.cost.at(*carried), self.cost.interval_at(*carried)

    def words(self) -> str:
        """Returns the fit in words."""
        return f"{self.cost.per_packet:.3g} us a packet and {self.cost.per_kilobyte:.3g} us a kilobyte"


def _carried(header_bytes: float, mtu_bytes: float) -> tuple[float, float]:
    """The packets of the MTU that carry 1000 bytes of payload, and their kilobytes, headers included."""
    packets = 1000 / (mtu_bytes - header_bytes)
    return packets, packets * mtu_bytes / 1000


Fit: TypeAlias = WireUse | PayloadCost
"""A model of one figure by the MTU."""
