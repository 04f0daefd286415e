"""The responses of finished trials."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from nettrial import metrics
from nettrial.design import PlannedTrial
from nettrial.store import Run, Trial

if TYPE_CHECKING:
    import polars as pl


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
                found = metric.of_network(trial.scenario)
            else:
                found = metric.combined(trial.record, *self._flows(trial.planned.treatment, response.of))
            if not isinstance(found, str) and not math.isfinite(found):
                found = f"the record's value is {found}"
            measured = not isinstance(found, str)
            self._values.append(float(found) if measured else None)
            self._absent.append(None if measured else str(found))

    def _flows(self, treatment: dict[str, str], of: str) -> tuple[list[str], list[str]]:
        """Returns the flows of a group, and the hosts that send them."""
        key = (tuple(treatment.values()), of)
        if key not in self._groups:
            self._groups[key] = (self._study.group(treatment, of), self._study.senders(treatment, of))
        return self._groups[key]

    def frame(self) -> pl.DataFrame:
        """Returns the table of responses that `frame` describes."""
        import polars as pl  # it is slow to load, and `nettrial measure` has no table

        responses, trials = self._study.responses, self._trials
        places = np.repeat(np.arange(len(trials)), len(responses))

        def of_trials(name: str, values: list[Any], kind: Any) -> pl.Series:
            return pl.Series(name, values, kind).gather(places)

        def of_responses(name: str, values: list[str]) -> pl.Series:
            return pl.Series(name, values * len(trials), pl.String)

        return pl.DataFrame(
            [
                of_trials("number", [trial.number for trial in trials], pl.Int64),
                of_trials("block", [trial.block for trial in trials], pl.Int64),
                *(
                    of_trials(name, [trial.treatment[name] for trial in trials], pl.String)
                    for name in self._study.factors
                ),
                of_responses("response", [response.name for response in responses]),
                of_responses("unit", [response.unit for response in responses]),
                pl.Series("value", self._values, pl.Float64),
                pl.Series("absent", self._absent, pl.String),
            ]
        )
