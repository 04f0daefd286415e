"""The responses of finished trials."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from nettrial import metrics
from nettrial.design import PlannedTrial
from nettrial.store import Run, Trial


class TrialResponse(NamedTuple):
    """A response of a finished trial."""

    trial: PlannedTrial
    """The trial."""
    response: str
    """The name of the response."""
    unit: str
    """The response's unit."""
    value: float | None
    """The value in this unit; None if the metric is absent."""
    absent: str | None
    """The reason for its absence."""


class Responses:
    """The responses of trials, to which trials are added one at a time."""

    def __init__(self, run: Run) -> None:
        """Begins without a trial."""
        self._study = run.study
        self._trials: list[PlannedTrial] = []
        self._values: list[float | None] = []
        self._absent: list[str | None] = []
        self._groups: dict[tuple[tuple[str, ...], str], tuple[list[str], list[str]]] = {}

    def add(self, trial: Trial) -> None:
        """Adds the responses of a trial."""
        self._trials.append(trial.planned)
        for response in self._study.responses:
            metric = metrics.METRICS[response.metric]
            if metric.network:
                figure = metric.of_network(trial.scenario)
            else:
                figure = metric.combined(trial.record, *self._flows(trial.planned.treatment, response.of))
            if not isinstance(figure, str) and not math.isfinite(figure):
                figure = f"the record's value is {figure}"
            measured = not isinstance(figure, str)
            self._values.append(float(figure) if measured else None)
            self._absent.append(None if measured else str(figure))

    def _flows(self, treatment: dict[str, str], of: str) -> tuple[list[str], list[str]]:
        """Returns the flows of a group, and the hosts that send them."""
        key = (tuple(treatment.values()), of)
        if key not in self._groups:
            self._groups[key] = (self._study.group(treatment, of), self._study.senders(treatment, of))
        return self._groups[key]

    def __iter__(self) -> Iterator[TrialResponse]:
        """Yields an entry for each trial and response, in run order."""
        values = zip(self._values, self._absent, strict=True)
        for trial in self._trials:
            for response in self._study.responses:
                yield TrialResponse(trial, response.name, response.unit, *next(values))
