"""The data of the pages and of the metrics for Prometheus, from an archive."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from nettrial.monitor.archive import Archive, ArchivedValues, KnownEvent, KnownGap, KnownTask, Latest
from nettrial.monitor.outcome import NOT_DRAWN
from nettrial.monitor.schedule import DAY
from nettrial.monitor.settings import limit_of

State: TypeAlias = Literal["good", "measured", "warning", "alarm", "gap", "none"]
"""The state of a pair: within its thresholds, without thresholds, beyond a warning's or an alarm's threshold,
without a measurement in its latest interval, or without any entry."""
ALIVE_SECONDS = 180.0
"""The time in seconds after its last sign of life from which a monitor counts as not running. It is three
times the interval of the signs."""
MOST_EVENTS = 100
"""The largest number of events and of gaps on a page."""


@dataclass(frozen=True)
class LatestValue:
    """The latest value of a metric."""

    name: str
    """The name of the metric."""
    title: str
    """The metric in words."""
    unit: str
    """The unit of the value."""
    value: float
    """The value."""
    state: State
    """The state of the value with respect to its thresholds."""


@dataclass(frozen=True)
class PairState:
    """A task with its latest entry."""

    task: KnownTask
    """The task."""
    state: State
    """The worst state of its values, or the state of a pair without a measurement."""
    at_s: float | None
    """The time of the latest measurement that is kept."""
    values: list[LatestValue]
    """The values of the latest measurement; the first one is the metric that is shown first."""
    why: str
    """The reason of the latest gap; empty if the latest interval has a measurement."""


@dataclass(frozen=True)
class Grid:
    """The pairs of a measurement."""

    measurement: str
    """The name of the measurement."""
    kind: str
    """The kind of measurement in words."""
    every_s: int
    """The length of an interval in seconds."""
    sources: list[str]
    """The hosts that send."""
    targets: list[str]
    """The hosts that receive."""
    pairs: Mapping[tuple[str, str], PairState]
    """The pairs, by source and target."""


@dataclass(frozen=True)
class Overview:
    """All pairs of a mesh."""

    title: str
    """The title of the mesh."""
    now_s: float
    """The time of this overview, in seconds since 1970-01-01 UTC."""
    seen_s: float | None
    """The last sign of life of a monitor."""
    grids: list[Grid]
    """The measurements with their pairs."""
    events: list[tuple[KnownEvent, KnownTask | None]]
    """The latest events, the newest first."""
    one_false_alarm_in: str
    """The average time between false alarms, as the mesh file states it."""

    @property
    def alive(self) -> bool:
        """Returns whether a monitor is running."""
        return self.seen_s is not None and abs(self.now_s - self.seen_s) < ALIVE_SECONDS


@dataclass(frozen=True)
class MetricSeries:
    """The values of a metric over time."""

    name: str
    """The name of the metric."""
    title: str
    """The metric in words."""
    unit: str
    """The unit of the values."""
    day: list[tuple[float, float]]
    """The times and values of the last 24 hours."""
    hours: list[ArchivedValues]
    """All values that are still in the archive, by hour."""
    limits: list[tuple[str, float]]
    """The name and the value of each threshold."""
    changes: list[float]
    """The times of reported changes."""


@dataclass(frozen=True)
class History:
    """The history of a pair."""

    pair: PairState
    """The pair."""
    now_s: float
    """The time of this history, in seconds since 1970-01-01 UTC."""
    series: list[MetricSeries]
    """The series of the metrics in which changes are searched."""
    gaps: list[KnownGap]
    """The latest gaps, the newest first."""
    events: list[KnownEvent]
    """The latest events, the newest first."""
    counts: Mapping[str, int]
    """The numbers of intervals of the last 24 hours by reason of the gap; intervals with a measurement have
    an empty reason."""


def overview(archive: Archive) -> Overview:
    """Returns all pairs of the mesh's latest session."""
    tasks = {task.number: task for task in archive.tasks()}
    pairs = _pairs(archive, [task for task in tasks.values() if task.current])
    grids = []
    for measurement in dict.fromkeys(pair.task.measurement for pair in pairs):
        of_measurement = [pair for pair in pairs if pair.task.measurement == measurement]
        grids.append(
            Grid(
                measurement,
                of_measurement[0].task.title,
                of_measurement[0].task.every_s,
                list(dict.fromkeys(pair.task.source for pair in of_measurement)),
                list(dict.fromkeys(pair.task.target for pair in of_measurement)),
                {(pair.task.source, pair.task.target): pair for pair in of_measurement},
            )
        )
    sessions = archive.sessions()
    events = archive.events(0)[-MOST_EVENTS:]
    return Overview(
        sessions[-1].mesh if sessions else "",
        time.time(),
        sessions[-1].seen_s if sessions else None,
        grids,
        [(event, tasks.get(event.task or 0)) for event in reversed(events)],
        sessions[-1].one_false_alarm_in if sessions else "",
    )


def history(archive: Archive, number: int) -> History | None:
    """Returns the history of a task; None if there is no such task."""
    task = next((task for task in archive.tasks() if task.number == number), None)
    if task is None:
        return None
    now_s = time.time()
    (pair,) = _pairs(archive, [task])
    metrics = archive.metrics()
    events = archive.events(0, number)
    series = []
    for name in task.watched:
        if name not in metrics:
            continue
        title, unit = metrics[name]
        series.append(
            MetricSeries(
                name,
                title,
                unit,
                archive.values(number, name, now_s - DAY),
                archive.hours(number, name, 0),
                [(level, limit_of(text).value) for level, text in task.thresholds.get(name, {}).items()],
                [event.at_s for event in events if event.kind == "change" and event.metric == name],
            )
        )
    return History(
        pair,
        now_s,
        series,
        _together([gap for gap in archive.gaps(number, 0) if gap.reason != NOT_DRAWN])[
            : -MOST_EVENTS - 1 : -1
        ],
        events[: -MOST_EVENTS - 1 : -1],
        archive.counts(number, now_s - DAY),
    )


def _together(gaps: Sequence[KnownGap]) -> list[KnownGap]:
    """Returns the gaps; those that follow each other for the same reason are merged."""
    merged: list[KnownGap] = []
    for gap in gaps:
        before = merged[-1] if merged else None
        same = before and (before.ended_s, before.reason, before.detail) == (
            gap.began_s,
            gap.reason,
            gap.detail,
        )
        if before and same:
            merged[-1] = replace(before, ended_s=gap.ended_s, intervals=before.intervals + gap.intervals)
        else:
            merged.append(gap)
    return merged


def _pairs(archive: Archive, tasks: Sequence[KnownTask]) -> list[PairState]:
    latest, metrics = archive.latest(), archive.metrics()
    return [_pair(task, latest.get(task.number), metrics) for task in tasks]


def _pair(task: KnownTask, latest: Latest | None, metrics: Mapping[str, tuple[str, str]]) -> PairState:
    if latest is None:
        return PairState(task, "none", None, [], "")
    values = [
        LatestValue(name, *metrics[name], value, state_of(task.thresholds.get(name, {}), value))
        for name, value in latest.figures.items()
    ]
    values.sort(key=lambda value: task.watched.index(value.name) if value.name in task.watched else 99)
    if latest.reason is not None:
        return PairState(task, "gap", latest.measured_s, values, f"{latest.reason}: {latest.detail}")
    states = [value.state for value in values]
    worst: State = next((each for each in ("alarm", "warning", "good") if each in states), "measured")
    return PairState(task, worst, latest.measured_s, values, "")


def state_of(thresholds: Mapping[str, str], value: float) -> State:
    """Returns the state of a value. `thresholds` has texts such as "< 900" by level."""
    for level in ("alarm", "warning"):
        if level in thresholds and limit_of(thresholds[level]).holds(value):
            return "alarm" if level == "alarm" else "warning"
    return "good" if thresholds else "measured"
