"""The one model of the costs of packets to a host, and its fit.

A host takes a time for each packet that it sends or receives, and a time for each 1000 bytes of it, headers
of IP included: the sum that the simulator's hosts take (`HostCost` of the scenario). An interrupt's cost and
how many packets share one can't be determined from records, so theirs is part of a packet's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from nettrial.analysis.intervals import CONFIDENCE, Floats, Interval

PARTS = ("per_packet", "per_kilobyte")
"""The costs that are fitted, as the setting `hosts.NAME.cost` names them."""
LARGEST_INFLATION = 10.0
"""The largest inflation of a cost's variance by the other one's being fitted, too: beyond it the two can't be
told apart (Kutner, Nachtsheim, Neter and Li, Applied Linear Statistical Models, section 10.5)."""


@dataclass(frozen=True)
class Work:
    """The work of a host: an observation to fit costs on."""

    busy_us: float
    """CPU time."""
    packets: float
    """Sent and received."""
    kilobytes: float
    """Sent and received in IP packets, 1000 bytes each."""


@dataclass(frozen=True)
class HostCost:
    """The two costs, us, by least squares of relative errors, none below 0."""

    per_packet: float
    per_kilobyte: float
    work: tuple[Work, ...]
    """The observations that they were fitted on."""
    parts: tuple[int, ...]
    """The indexes in `PARTS` of the costs that were fitted; the other is 0."""

    @classmethod
    def of(cls, work: Sequence[Work], parts: Sequence[int] = (0, 1)) -> HostCost:
        """Fitted on as many observations as `parts`, or more."""
        from scipy import optimize  # it is slow to load, and two commands need it

        found = np.zeros(len(PARTS))
        relative = _relative(work)[:, list(parts)]
        found[list(parts)], _ = optimize.nnls(relative, np.ones(len(work)))
        per_packet, per_kilobyte = (float(each) for each in found)
        return cls(per_packet, per_kilobyte, tuple(work), tuple(parts))

    def without(self, held: Work) -> HostCost:
        """The same parts, fitted on the other observations."""
        return HostCost.of([each for each in self.work if each is not held], self.parts)

    def at(self, packets: float, kilobytes: float) -> float:
        """CPU time of that many packets and kilobytes, us."""
        return self.per_packet * packets + self.per_kilobyte * kilobytes

    def error_percent(self, work: Work) -> float:
        """Returns the error of the costs in the CPU time of `work`, in percent of it, signed."""
        return 100 * (self.at(work.packets, work.kilobytes) / work.busy_us - 1)

    def intervals(self) -> dict[str, Interval]:
        """Returns the interval of each cost above 0, by Student's t over the observations, which scatter
        about the model by more than their trials do; empty where none is left to tell how far they
        scatter."""
        if self._regression is None:
            return {}
        bounds = self._regression.conf_int(alpha=1 - CONFIDENCE)
        return {
            PARTS[part]: Interval(max(float(low), 0.0), float(high))
            for part, (low, high) in zip(self._above, bounds, strict=True)
        }

    def interval_at(self, packets: float, kilobytes: float) -> Interval | None:
        """In which one more observation with that many packets and kilobytes lies (statsmodels' prediction
        interval), us; None where none is left to tell how far they scatter."""
        if self._regression is None:
            return None
        terms = np.array([[packets, kilobytes]])[:, self._above]
        predicted = self._regression.get_prediction(terms, weights=1 / self.at(packets, kilobytes) ** 2)
        ((low, high),) = predicted.conf_int(obs=True, alpha=1 - CONFIDENCE)
        return Interval(float(low), float(high))

    @property
    def values(self) -> tuple[float, float]:
        """Both costs, in the order of `PARTS`."""
        return self.per_packet, self.per_kilobyte

    @property
    def zeros(self) -> tuple[str, ...]:
        """The parts that were fitted and came out as 0."""
        return tuple(PARTS[part] for part in self.parts if self.values[part] == 0)

    @property
    def _above(self) -> list[int]:
        return [part for part, value in enumerate(self.values) if value > 0]

    @cached_property
    def _regression(self) -> Any:
        """The same fit of the costs above 0 by statsmodels, which knows intervals; None where no observation
        is left for them."""
        from statsmodels.regression.linear_model import WLS  # here: it takes a second to import

        if not self._above or len(self.work) <= len(self._above):
            return None
        busy = np.array([each.busy_us for each in self.work])
        design = np.array([[each.packets, each.kilobytes] for each in self.work])[:, self._above]
        return WLS(busy, design, weights=1 / busy**2).fit()


def told_apart(work: Sequence[Work]) -> tuple[int, ...]:
    """The parts that observations tell apart: both, or the packet's alone."""
    relative = _relative(work)
    norms = np.linalg.norm(relative, axis=0)
    cosine = float(relative[:, 0] @ relative[:, 1] / norms.prod())
    # The variance inflation factor of each, there being two and no constant; told by rounding at least.
    inflation = 1 / max(1 - cosine**2, 1e-12)
    return (0, 1) if inflation <= LARGEST_INFLATION else (0,)


def _relative(work: Sequence[Work]) -> Floats:
    """Packets and kilobytes over the CPU time they are to explain, so that errors are relative."""
    return np.array([[each.packets / each.busy_us, each.kilobytes / each.busy_us] for each in work])
