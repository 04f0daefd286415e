"""The tables of an archive, for export."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from typing import Any

import polars as pl

from nettrial.monitor.archive import Archive, KnownTask

TIME = pl.Datetime("ms", "UTC")
"""The type of a time: milliseconds in UTC."""
PAIR = {"measurement": pl.String, "from": pl.String, "to": pl.String}
"""The columns that name a pair of hosts and its measurement."""
COLUMNS: dict[str, dict[str, Any]] = {
    "values": {**PAIR, "at": TIME, "metric": pl.String, "unit": pl.String, "value": pl.Float64},
    "hours": {
        **PAIR,
        "at": TIME,
        "metric": pl.String,
        "unit": pl.String,
        "n": pl.Int64,
        "mean": pl.Float64,
        "sd": pl.Float64,
        "smallest": pl.Float64,
        "largest": pl.Float64,
    },
    "gaps": {
        **PAIR,
        "began": TIME,
        "ended": TIME,
        "intervals": pl.Int64,
        "reason": pl.String,
        "detail": pl.String,
    },
    "events": {**PAIR, "at": TIME, "kind": pl.String, "metric": pl.String, "text": pl.String},
    "sessions": {"mesh": pl.String, "began": TIME, "seen": TIME, "note": pl.String},
}
"""The columns of each table: `values` has single values, `hours` all values by hour; the others are gaps,
events, and sessions of the monitor."""


def tables(archive: Archive) -> dict[str, Callable[[], pl.DataFrame]]:
    """Returns functions that read the tables of an archive, by name."""
    rows = {
        "values": _values,
        "hours": _hours,
        "gaps": _gaps,
        "events": _events,
        "sessions": _sessions,
    }
    return {name: partial(_frame, name, read, archive) for name, read in rows.items()}


def _frame(name: str, read: Callable[[Archive], Iterator[tuple[Any, ...]]], archive: Archive) -> pl.DataFrame:
    return pl.DataFrame(list(read(archive)), schema=COLUMNS[name], orient="row")


def _pair(task: KnownTask | None) -> tuple[str | None, str | None, str | None]:
    return (task.measurement, task.source, task.target) if task else (None, None, None)


def _time(at_s: float) -> datetime:
    return datetime.fromtimestamp(at_s, UTC)


def _series(archive: Archive) -> Iterator[tuple[KnownTask, str, str]]:
    metrics = archive.metrics()
    for task in archive.tasks():
        for name, (_, unit) in metrics.items():
            yield task, name, unit


def _values(archive: Archive) -> Iterator[tuple[Any, ...]]:
    for task, name, unit in _series(archive):
        for at_s, value in archive.values(task.number, name, 0):
            yield (*_pair(task), _time(at_s), name, unit, value)


def _hours(archive: Archive) -> Iterator[tuple[Any, ...]]:
    for task, name, unit in _series(archive):
        for point in archive.hours(task.number, name, 0):
            sd = math.sqrt(point.m2 / (point.n - 1)) if point.n > 1 else None
            yield (
                *(*_pair(task), _time(point.at_s), name, unit, point.n),
                *(point.mean, sd, point.smallest, point.largest),
            )


def _gaps(archive: Archive) -> Iterator[tuple[Any, ...]]:
    for task in archive.tasks():
        for gap in archive.gaps(task.number, 0):
            times = _time(gap.began_s), _time(gap.ended_s)
            yield (*_pair(task), *times, gap.intervals, gap.reason, gap.detail)


def _events(archive: Archive) -> Iterator[tuple[Any, ...]]:
    tasks = {task.number: task for task in archive.tasks()}
    for event in archive.events(0):
        yield (*_pair(tasks.get(event.task or 0)), _time(event.at_s), event.kind, event.metric, event.text)


def _sessions(archive: Archive) -> Iterator[tuple[Any, ...]]:
    for each in archive.sessions():
        yield each.mesh, _time(each.began_s), _time(each.seen_s), each.note
