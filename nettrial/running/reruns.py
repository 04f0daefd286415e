"""Counts the trials of a run that are run again because something else disturbed them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from nettrial.design import PlannedTrial
from nettrial.design.disturbances import disturbance
from nettrial.scenario import DisturbanceRecord
from nettrial.store import Run

SHARE = 0.5
"""The largest number of attempts that a run repeats, as a share of its plan: on a machine that is always
busy, running again gains nothing."""


class Reruns:
    """The trials of a run that are run again, with those of earlier sessions."""

    def __init__(self, run: Run) -> None:
        """Counts the attempts that earlier sessions stored as disturbed."""
        self._each = run.study.reruns if run.stores_disturbed else 0
        self._most = max(1, int(SHARE * len(run.plan)))
        self._reruns = Counter(run.disturbed_attempts())

    @property
    def exhausted(self) -> bool:
        """Returns whether the run has run as many trials again as it may."""
        return self._reruns.total() >= self._most

    def wants(self, trial: PlannedTrial, disturbances: Sequence[DisturbanceRecord], seconds: float) -> str:
        """Returns why an attempt at a trial does not count and is repeated, and counts it; empty if it
        counts."""
        if self._reruns[trial.number] >= self._each or self.exhausted:
            return ""
        why = disturbance(disturbances, seconds)
        if why:
            self._reruns[trial.number] += 1
        return why
