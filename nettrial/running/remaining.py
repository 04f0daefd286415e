"""The time that the rest of a session will take."""

from __future__ import annotations

import time
from collections.abc import Iterable

from nettrial.design import PlannedTrial, scenario_of, traffic_seconds
from nettrial.running.checking import Work
from nettrial.running.study_design import trial_seconds
from nettrial.study import Study


class TrialDurations:
    """The expected durations of a study's trials, which are the same in every block: blocks differ only in
    their random numbers."""

    def __init__(self, study: Study, work: Work) -> None:
        """Takes the study and the estimated work of its trials, if its backend estimates it."""
        self._study = study
        self._simulated = study.capabilities.simulated_time
        self._work = {
            key: estimate.seconds for key, estimate in work.items() if estimate and estimate.seconds
        }
        self._estimated = bool(work) and len(self._work) == len(work)
        self._expected: dict[tuple[str, ...], float] = {}

    def seconds_each(self, at_once: int) -> float | None:
        """Returns the time for a second of what is expected, if that many trials run at the same time; None
        if the backend simulates time and does not estimate its work."""
        return None if self._simulated and not self._estimated else 1 / max(at_once, 1)

    def expected(self, trial: PlannedTrial) -> float:
        """Returns the expected duration of a trial in seconds: of the work in simulated time or, if that is
        not estimated, of the traffic, to which the work is assumed to be proportional."""
        key = tuple(trial.treatment.values())
        if self._simulated and self._estimated:
            return self._work[key]
        if key not in self._expected:
            scenario = scenario_of(self._study, trial.treatment, trial.block)
            self._expected[key] = traffic_seconds(scenario) if self._simulated else trial_seconds(scenario)
        return self._expected[key]


class Remaining:
    """Predicts the time until the last trial of a session has ended: from the expected durations before the
    first has ended, and then from how long the ended ones took compared with what was expected of them."""

    def __init__(self, expected: Iterable[float], seconds_each: float | None) -> None:
        """Begins with the expected durations of the trials. `seconds_each` is the time for a second of these;
        None if it is not known before a trial has ended."""
        self._left = sum(expected)
        self._seconds_each = seconds_each
        self._ended = 0.0
        self._began = self._last = time.monotonic()

    def begin(self) -> None:
        """Starts counting time, after the warm-up."""
        self._began = self._last = time.monotonic()

    def add(self, expected: Iterable[float]) -> None:
        """Adds trials with these expected durations."""
        self._left += sum(expected)

    def ended(self, expected: float, again: bool = False) -> None:
        """Counts a trial with this expected duration as ended; `again` if it will be run once more."""
        if not again:
            self._left = max(self._left - expected, 0.0)
        self._ended += expected
        self._last = time.monotonic()
        if self._ended > 0:
            self._seconds_each = (self._last - self._began) / self._ended

    def seconds(self) -> float | None:
        """Returns the predicted time in seconds; None if it is not known yet."""
        if self._seconds_each is None:
            return None
        return max(self._left * self._seconds_each - (time.monotonic() - self._last), 0.0)
