"""The tables of a run, read from the JSON of its records as columns: only the fields in a table are
parsed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache, partial
from typing import Any, TypeAlias

import polars as pl

from nettrial.analysis import trial_responses
from nettrial.export.layout import TABLES, TRIAL, RecordTable, Type
from nettrial.export.spool import batches, decoded, empty, rows
from nettrial.metrics.base_units import base_unit, factor_columns
from nettrial.scenario import TimerLateness
from nettrial.store import Run
from nettrial.store.fingerprint import COMMIT

Reader: TypeAlias = Callable[[RecordTable], pl.LazyFrame]
"""A function that returns a table's rows with the numbers of their trials."""
KEYS: dict[str, Type] = {"number": pl.Int64, "block": pl.Int64}
"""The number of a trial in run order, and its block, which precede the factors in every table."""


def frames(run: Run) -> dict[str, Callable[[], pl.DataFrame]]:
    """Returns functions that read the tables of a run, by the table's name."""

    def collected(scan: Callable[[], pl.LazyFrame]) -> pl.DataFrame:
        return scan().collect()

    return {name: partial(collected, scan) for name, scan in scans(run, partial(read, run)).items()}


def scans(run: Run, reader: Reader) -> dict[str, Callable[[], pl.LazyFrame]]:
    """Returns functions that return the tables of a run, by the table's name. `reader` reads those of its
    records."""
    measured = cache(partial(responses_frame, run))
    of_plan: dict[str, Callable[[], pl.LazyFrame]] = {
        "trials": lambda: trials(run, measured(), reader),
        "responses": lambda: responses(run, measured()),
        "failures": partial(failures, run),
        "reruns": partial(reruns, run),
        "sessions": lambda: sessions(run).lazy(),
    }
    return {**of_plan, **{name: partial(records, run, table, reader) for name, table in TABLES.items()}}


def responses_frame(run: Run) -> pl.DataFrame:
    """Returns a table with a row for each finished trial and response, in run order.

    The columns are `number` (run order), `block`, one text column for each factor, `response`, `unit`,
    `value` (null if the metric is absent) and `absent` (the reason, null if there is a value)."""
    measured = list(trial_responses(run))
    columns: list[tuple[str, Type, list[Any]]] = [
        ("number", pl.Int64, [each.trial.number for each in measured]),
        ("block", pl.Int64, [each.trial.block for each in measured]),
        *((name, pl.String, [each.trial.treatment[name] for each in measured]) for name in run.study.factors),
        ("response", pl.String, [each.response for each in measured]),
        ("unit", pl.String, [each.unit for each in measured]),
        ("value", pl.Float64, [each.value for each in measured]),
        ("absent", pl.String, [each.absent for each in measured]),
    ]
    return pl.DataFrame([pl.Series(name, values, kind) for name, kind, values in columns])


def records(run: Run, table: RecordTable, reader: Reader) -> pl.LazyFrame:
    """Returns a table of a run's records: number, block and factors of the trial, followed by the table's
    columns."""
    return _with_trials(run, reader(table), list(table.schema()))


def trials(run: Run, measured: pl.DataFrame, reader: Reader) -> pl.LazyFrame:
    """Returns a row for each trial of the plan: its `state` (`finished`, `failed` or `pending`), the figures
    of its record for the whole trial, its number of `warnings`, and each response in base units, under its
    name in the study. `measured` is the frame of responses."""
    frame = reader(TRIAL).collect()
    names: dict[str, str] = {}
    for response in run.study.responses:
        base = base_unit(response.unit)
        names[response.name] = column = _response_column(run, base.column(response.name), names.values())
        of = measured.filter(pl.col("response") == response.name)
        values = of.select("number", (pl.col("value") * base.up / base.down).alias(column))
        frame = frame.join(values, on="number", how="left")
    warned = reader(TABLES["warnings"]).group_by("number").agg(pl.len().cast(pl.Int64).alias("warnings"))
    frame = frame.join(warned.collect(), on="number", how="left")
    frame = frame.with_columns(pl.col("warnings").fill_null(0))
    whole = _states(run, set(frame["number"])).join(frame, on="number", how="left")
    return _with_trials(run, whole.lazy(), [name for name in whole.columns if name != "number"])


def _response_column(run: Run, name: str, others: Iterable[str]) -> str:
    """Returns the name of a response's column in the table of trials, which is changed if it is taken."""
    taken = {*KEYS, "state", "warnings", *run.study.factors, *(column.name for column in TRIAL.own), *others}
    return f"response_{name}" if name in taken else name


def _states(run: Run, finished: set[int]) -> pl.DataFrame:
    """Returns the state of each trial of the plan."""
    failed = {failure.planned.number for failure in run.failures()}
    states = [
        "finished" if trial.number in finished else "failed" if trial.number in failed else "pending"
        for trial in run.plan
    ]
    numbers = pl.Series("number", [trial.number for trial in run.plan], pl.Int64)
    return pl.DataFrame({"number": numbers, "state": pl.Series("state", states, pl.String)})


def responses(run: Run, measured: pl.DataFrame) -> pl.LazyFrame:
    """Returns a row for each finished trial and response, with its value in the response's unit, or the
    reason for its absence. `measured` is the frame of responses."""
    frame = measured.drop("block", *run.study.factors)
    return _with_trials(run, frame.lazy(), ["response", "unit", "value", "absent"])


def failures(run: Run) -> pl.LazyFrame:
    """Returns a row with the message for each trial whose last attempt gave no record."""
    messages = [(failure.planned.number, failure.message) for failure in run.failures()]
    schema = {"number": pl.Int64, "message": pl.String}
    return _with_trials(run, pl.LazyFrame(messages, schema=schema, orient="row"), ["message"])


def reruns(run: Run) -> pl.LazyFrame:
    """Returns a row for each attempt at a trial that was repeated because something else disturbed it, with
    the disturbance."""
    attempts = [(each.planned.number, each.reason) for each in run.disturbed()]
    schema = {"number": pl.Int64, "reason": pl.String}
    return _with_trials(run, pl.LazyFrame(attempts, schema=schema, orient="row"), ["reason"])


def sessions(run: Run) -> pl.DataFrame:
    """Returns a row for each session of the runner, with its time and its machine."""
    made = [
        {
            "session": number,
            "started": session.started,
            "ended": session.ended,
            "note": session.note,
            "engine_version": session.environment.engine_version,
            "commit": (session.fingerprint or {}).get(COMMIT),
            # Empty properties are those that imported files lack.
            "kernel": session.environment.kernel or None,
            "processor": session.environment.processor or None,
            "processors": session.environment.processors or None,
            "privileges": session.environment.privileges or None,
            **_timer_lateness(session.environment.timer_lateness),
        }
        for number, session in enumerate(run.sessions, start=1)
    ]
    times = pl.Datetime("ms", "UTC")
    texts = ("note", "engine_version", "commit", "kernel", "processor")
    schema: dict[str, Type] = {
        "session": pl.Int64,
        "started": times,
        "ended": times,
        **dict.fromkeys(texts, pl.String),
        "processors": pl.Int64,
        "privileges": pl.String,
        **dict.fromkeys(_timer_lateness(None), pl.Int64),
    }
    return pl.DataFrame(made, schema=schema)


def _timer_lateness(lateness: TimerLateness | None) -> dict[str, int | None]:
    """Returns the columns about the lateness of timers by name, with None for values that were not
    measured."""
    quantiles = ("median_ns", "p99_ns", "p99_9_ns")
    return {f"timer_lateness_{name}": getattr(lateness, name, None) for name in quantiles}


def _factors(run: Run, others: Iterable[str]) -> dict[str, str]:
    """Returns the column name of each factor in a table with these other columns."""
    return factor_columns(run.study.factors, {*KEYS, *others})


def _with_trials(run: Run, frame: pl.LazyFrame, columns: list[str]) -> pl.LazyFrame:
    """Returns rows with their trial's number, block and levels before `columns`, in run order."""
    names = _factors(run, columns)
    levels = {
        column: pl.Series(
            column, [trial.treatment[name] for trial in run.plan], pl.Enum(run.study.factors[name].levels)
        )
        for name, column in names.items()
    }
    numbers = {
        "number": pl.Series("number", [trial.number for trial in run.plan], pl.Int64),
        "block": pl.Series("block", [trial.block for trial in run.plan], pl.Int64),
    }
    planned = pl.LazyFrame({**numbers, **levels})
    joined = frame.join(planned, on="number", how="left", maintain_order="left")
    return joined.select(*numbers, *levels, *columns)


def read(run: Run, table: RecordTable) -> pl.LazyFrame:
    """Returns a table's rows with the numbers of their trials."""
    parts = [rows(decoded(run, batch, table.needed), table) for batch in batches(run)]
    return pl.concat([empty(table), *parts]).lazy()
