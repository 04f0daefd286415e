"""The responses of every finished trial, as a table."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from nettrial import metrics
from nettrial.store import Run

if TYPE_CHECKING:
    import polars as pl

AT_ONCE = 10_000
"""The number of rows held in memory as Python objects at a time."""


def frame(run: Run) -> pl.DataFrame:
    """Returns a table with a row for each finished trial and response, in run order.

    The columns are `number` (run order), `block`, one text column for each factor, `response`, `unit`,
    `value` (null if the metric is absent) and `absent` (the reason, null if there is a value)."""
    import polars as pl  # it is slow to load, and `nettrial measure` has no table

    factors = list(run.study.factors)
    schema: dict[str, Any] = {
        "number": pl.Int64,
        "block": pl.Int64,
        **dict.fromkeys(factors, pl.String),
        "response": pl.String,
        "unit": pl.String,
        "value": pl.Float64,
        "absent": pl.String,
    }
    parts = [pl.DataFrame(schema=schema)]
    rows: list[tuple[Any, ...]] = []
    groups: dict[tuple[str, ...], dict[str, tuple[list[str], list[str]]]] = {}
    for trial in run.each_trial():
        treatment = trial.planned.treatment
        names = groups.setdefault(tuple(treatment.values()), {})
        for response in run.study.responses:
            if response.of not in names:
                study = run.study
                names[response.of] = (
                    study.group(treatment, response.of),
                    study.senders(treatment, response.of),
                )
            metric = metrics.METRICS[response.metric]
            if metric.network:
                found = metric.of_network(trial.scenario)
            else:
                found = metric.combined(trial.record, *names[response.of])
            if not isinstance(found, str) and not math.isfinite(found):
                found = f"the record's value is {found}"
            measured = not isinstance(found, str)
            rows.append(
                (
                    trial.planned.number,
                    trial.planned.block,
                    *(treatment[name] for name in factors),
                    response.name,
                    response.unit,
                    *((found, None) if measured else (None, found)),
                )
            )
        if len(rows) >= AT_ONCE:
            parts.append(pl.DataFrame(rows, schema=schema, orient="row"))
            rows = []
    parts.append(pl.DataFrame(rows, schema=schema, orient="row"))
    return pl.concat(parts)
