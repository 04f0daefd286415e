"""The responses of a run in progress: a mean with its interval for each treatment, updated with each trial
without reading the others again."""

from __future__ import annotations

import math
from dataclasses import dataclass

from nettrial.analysis.intervals import CONFIDENCE, quantile
from nettrial.analysis.sequential import widening
from nettrial.analysis.summary import plan_treatments
from nettrial.design import PlannedTrial
from nettrial.metrics import METRICS
from nettrial.report.numbers import fixed
from nettrial.scenario import Record
from nettrial.store import Run
from nettrial.study import Response

MOST_DECIMALS = 6
"""The largest number of decimals of a mean."""


@dataclass
class Spread:
    """The running mean and standard deviation of values (Welford, Technometrics 4, 1962)."""

    count: int = 0
    """The number of values."""
    mean: float = 0.0
    """The mean of the values."""
    _squares: float = 0.0
    sequential: bool = False
    """True if the run ends when it is precise, so that its intervals must hold at every number of values."""

    def add(self, value: float) -> None:
        """Adds a value."""
        self.count += 1
        before = value - self.mean
        self.mean += before / self.count
        self._squares += before * (value - self.mean)

    @property
    def half_width(self) -> float | None:
        """Returns the half-width of the 95% interval of the mean, by Student's t or by a confidence sequence;
        None for too few values."""
        factor = math.inf
        if self.count > 1:
            factor = widening(self.count, CONFIDENCE) if self.sequential else quantile(self.count - 1)
        if math.isinf(factor):
            return None
        error = math.sqrt(max(self._squares, 0.0) / (self.count - 1) / self.count)
        return factor * error

    def __str__(self) -> str:
        if not self.count:
            return "–"
        half = self.half_width
        if not half:
            return f"{self.mean:.5g}"
        decimals = min(max(0, 1 - math.floor(math.log10(half))), MOST_DECIMALS)
        return f"{fixed(self.mean, decimals)} ± {fixed(half, decimals)}"


class Estimates:
    """The means of every response under every treatment, over the trials so far."""

    def __init__(self, run: Run) -> None:
        """Begins with the finished trials of a run."""
        self.study = run.study
        """The study."""
        treatments = plan_treatments(run)
        self._rows = {self._key(treatment): treatment for treatment in treatments}
        sequential = self.study.until is not None
        self._spreads = {
            key: [Spread(sequential=sequential) for _ in self.study.responses] for key in self._rows
        }
        self._groups: dict[tuple[tuple[str, ...], str], tuple[list[str], list[str]]] = {}
        for trial in run.each_trial():
            self.add(trial.planned, trial.record)

    def add(self, trial: PlannedTrial, record: Record) -> None:
        """Adds a trial."""
        key = self._key(trial.treatment)
        for response, spread in zip(self.study.responses, self._spreads[key], strict=True):
            value = METRICS[response.metric].combined(record, *self._flows(key, response))
            if not isinstance(value, str):
                spread.add(value)

    def _key(self, treatment: dict[str, str]) -> tuple[str, ...]:
        return tuple(treatment[name] for name in self.study.factors)

    def _flows(self, key: tuple[str, ...], response: Response) -> tuple[list[str], list[str]]:
        """Returns the flows of a response, and the hosts that send them."""
        place = (key, response.of)
        if place not in self._groups:
            study, treatment = self.study, self._rows[key]
            self._groups[place] = study.group(treatment, response.of), study.senders(treatment, response.of)
        return self._groups[place]

    def treatments(self) -> list[tuple[str, ...]]:
        """Returns the levels of each treatment."""
        return list(self._rows)

    def spreads(self, levels: tuple[str, ...]) -> list[Spread]:
        """Returns the mean and standard deviation of each response under a treatment."""
        return self._spreads[levels]
