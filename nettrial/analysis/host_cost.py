"""The model of the CPU costs of packets on a host, and its fit.

A host needs a certain time for each packet that it sends or receives, and a certain time for each 1000 bytes
of it, including IP headers; the simulator's hosts take the sum (`HostCost` of the scenario). Records show
neither the cost of an interrupt nor the number of packets that share one, so that cost is part of the cost of
a packet."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import special

from nettrial.analysis.intervals import CONFIDENCE, Floats, Interval

PARTS = ("per_packet", "per_kilobyte")
"""The fitted costs, by their names in the setting `hosts.NAME.cost`."""
LARGEST_INFLATION = 10.0
"""The largest variance inflation factor at which both costs are fitted: above it the two can't be
distinguished (Kutner, Nachtsheim, Neter and Li, Applied Linear Statistical Models, section 10.5)."""


@dataclass(frozen=True)
class Work:
    """The work of a host: an observation to which costs are fitted."""

    busy_us: float
    """The CPU time in microseconds."""
    packets: float
    """The number of packets sent and received."""
    kilobytes: float
    """The kilobytes (1000 bytes) of IP packets sent and received."""


@dataclass(frozen=True)
class HostCost:
    """The two costs in microseconds, fitted by least squares of relative errors and not below 0."""

    per_packet: float
    """The CPU time for a packet, in microseconds."""
    per_kilobyte: float
    """The CPU time for 1000 bytes, in microseconds."""
    work: tuple[Work, ...]
    """The observations to which they were fitted."""
    parts: tuple[int, ...]
    """The indexes in `PARTS` of the costs that were fitted; the other is 0."""

    @classmethod
    def of(cls, work: Sequence[Work], parts: Sequence[int] = (0, 1)) -> HostCost:
        """Fits costs to at least as many observations as there are `parts`."""
        from scipy import optimize  # imported here: it is slow to load, and only two commands need it

        costs = np.zeros(len(PARTS))
        relative = _relative(work)[:, list(parts)]
        costs[list(parts)], _ = optimize.nnls(relative, np.ones(len(work)))
        per_packet, per_kilobyte = (float(each) for each in costs)
        return cls(per_packet, per_kilobyte, tuple(work), tuple(parts))

    def without(self, held: Work) -> HostCost:
        """Returns the same parts fitted to the other observations."""
        return HostCost.of([each for each in self.work if each is not held], self.parts)

    def at(self, packets: float, kilobytes: float) -> float:
        """Returns the CPU time for that many packets and kilobytes, in microseconds."""
        return self.per_packet * packets + self.per_kilobyte * kilobytes

    def error_percent(self, work: Work) -> float:
        """Returns the signed error of the CPU time that the costs predict for `work`, in percent."""
        return 100 * (self.at(work.packets, work.kilobytes) / work.busy_us - 1)

    def intervals(self) -> dict[str, Interval]:
        """Returns the interval of each cost above 0, by Student's t over the observations, which scatter
        around the model more than their trials do; empty if there are too few observations to estimate their
        scatter."""
        fit = self._regression
        if fit is None:
            return {}
        halves = fit.quantile * np.sqrt(np.diag(fit.covariance))
        return {
            PARTS[part]: Interval(max(float(cost - half), 0.0), float(cost + half))
            for part, cost, half in zip(self._above, fit.costs, halves, strict=True)
        }

    def interval_at(self, packets: float, kilobytes: float) -> Interval | None:
        """Returns the prediction interval of another observation with that many packets and kilobytes, in
        microseconds; None if there are too few observations to estimate their scatter."""
        fit = self._regression
        if fit is None:
            return None
        terms = np.array([packets, kilobytes])[self._above]
        expected = float(terms @ fit.costs)
        scatter = fit.variance * self.at(packets, kilobytes) ** 2
        half = fit.quantile * math.sqrt(float(terms @ fit.covariance @ terms) + scatter)
        return Interval(expected - half, expected + half)

    @property
    def values(self) -> tuple[float, float]:
        """Returns both costs, in the order of `PARTS`."""
        return self.per_packet, self.per_kilobyte

    @property
    def zeros(self) -> tuple[str, ...]:
        """Returns the parts that were fitted and are 0."""
        return tuple(PARTS[part] for part in self.parts if self.values[part] == 0)

    @property
    def _above(self) -> list[int]:
        return [part for part, value in enumerate(self.values) if value > 0]

    @cached_property
    def _regression(self) -> _Regression | None:
        """Returns the same fit of the costs above 0, for their intervals; None if there are too few
        observations for them."""
        degrees = len(self.work) - len(self._above)
        if not self._above or degrees <= 0:
            return None
        relative = _relative(self.work)[:, self._above]
        inverse = np.linalg.inv(relative.T @ relative)
        costs = inverse @ relative.sum(axis=0)
        residuals = 1 - relative @ costs
        variance = float(residuals @ residuals) / degrees
        quantile = float(special.stdtrit(degrees, (1 + CONFIDENCE) / 2))
        return _Regression(
            np.asarray(costs, float), np.asarray(inverse * variance, float), variance, quantile
        )


@dataclass(frozen=True)
class _Regression:
    """A least-squares fit of relative errors (Draper and Smith, Applied Regression Analysis, section 9.2)."""

    costs: Floats
    """The fitted costs in microseconds."""
    covariance: Floats
    """The covariance matrix of their errors."""
    variance: float
    """The variance of an observation's relative error."""
    quantile: float
    """The quantile of Student's t for the observations' degrees of freedom."""


def told_apart(work: Sequence[Work]) -> tuple[int, ...]:
    """Returns the parts that observations can distinguish: both, or only the packet's."""
    relative = _relative(work)
    norms = np.linalg.norm(relative, axis=0)
    cosine = float(relative[:, 0] @ relative[:, 1] / norms.prod())
    # The variance inflation factor of each of the two, without a constant; bounded below by rounding errors.
    inflation = 1 / max(1 - cosine**2, 1e-12)
    return (0, 1) if inflation <= LARGEST_INFLATION else (0,)


def _relative(work: Sequence[Work]) -> Floats:
    """Returns packets and kilobytes divided by the CPU time that they explain, so that errors are
    relative."""
    return np.array([[each.packets / each.busy_us, each.kilobytes / each.busy_us] for each in work])
