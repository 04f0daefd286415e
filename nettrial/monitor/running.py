"""A monitor: it follows the schedule, starts measurements, and stores their outcomes in the archive."""

from __future__ import annotations

import logging
import math
import queue
import sqlite3
import threading
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from nettrial.monitor.alerts import Alert, AlertsSettings, Cause, States, send
from nettrial.monitor.archive import Archive, KnownSession
from nettrial.monitor.changes import Detector
from nettrial.monitor.kinds import KINDS
from nettrial.monitor.mesh import Mesh
from nettrial.monitor.outcome import NOT_DRAWN, MeasuredValue, MeasuredValues, Missed
from nettrial.monitor.schedule import DAY, HOUR, Budget, Gap, Limits, Moment, Plan, Schedule, Spent
from nettrial.monitor.task import Task
from nettrial.monitor.view import state_of
from nettrial.systems import boot, steady_clock
from nettrial.units import PERIOD

LIFE_SECONDS = 60.0
"""The interval at which the archive stores that the monitor is alive, in seconds."""
AGAIN_SECONDS = 10.0
"""The interval after which writing to an archive is tried again, in seconds."""
MOST_WAITING = 1000
"""The largest number of alerts that wait to be sent."""
STATE = "state"
"""The name under which the archive keeps the state of a pair, from which its next alert follows."""
_LOG = logging.getLogger(__name__)


class Clock(Protocol):
    """A source of the current time."""

    def now(self) -> Moment:
        """Returns the current moment."""

    def boot(self) -> str:
        """Returns a text that differs if the steady clock counts from another moment than before."""


@dataclass(frozen=True)
class Ended:
    """A measurement that has ended."""

    key: str
    """The task's name."""
    outcome: MeasuredValues | Missed
    """The figures, or the reason for a gap."""


class MeasurementPool(Protocol):
    """The runner of measurements."""

    def start(self, task: Task) -> None:
        """Starts a measurement."""

    def wait(self, seconds: float) -> list[Ended]:
        """Waits until a measurement ends, at most this number of seconds. Returns the measurements that have
        ended."""


class SystemClock:
    """The clocks of this machine."""

    def now(self) -> Moment:
        """Returns the current moment."""
        return Moment(time.time(), steady_clock())

    def boot(self) -> str:
        """Returns the boot of this machine, from which the steady clock counts."""
        return boot()


class Threads:
    """Measures in threads, each with its own engine process. The engines end with this process."""

    def __init__(self) -> None:
        """Starts without a measurement."""
        self._ended: queue.SimpleQueue[Ended] = queue.SimpleQueue()

    def start(self, task: Task) -> None:
        """Starts a measurement."""
        threading.Thread(target=self._measure, args=(task,), daemon=True).start()

    def _measure(self, task: Task) -> None:
        outcome: MeasuredValues | Missed
        try:
            outcome = KINDS[task.settings.kind].run(task)
        except Missed as missed:
            outcome = missed
        # A fault in one kind of measurement must not end the others.
        except Exception as error:
            _LOG.exception("%s", task.key)
            outcome = Missed("failed", f"{type(error).__name__}: {error}")
        self._ended.put(Ended(task.key, outcome))

    def wait(self, seconds: float) -> list[Ended]:
        """Waits until a measurement ends, at most this number of seconds. Returns the measurements that have
        ended."""
        ended = []
        try:
            ended.append(self._ended.get(timeout=seconds))
            while True:
                ended.append(self._ended.get_nowait())
        except queue.Empty:
            return ended


@dataclass(frozen=True)
class StoredEvent:
    """An event that is to be stored."""

    at_s: float
    """The time of the event, in seconds since 1970-01-01 UTC."""
    kind: str
    """The kind of event."""
    text: str
    """The event in words."""
    metric: str | None = None
    """The metric that changed, or None."""


@dataclass(frozen=True)
class Finished:
    """A measurement that is to be stored."""

    key: str
    """The task's name."""
    interval: int
    """The number of the interval."""
    spent: Spent
    """The use of the hosts."""
    outcome: MeasuredValues | Missed
    """The figures, or the reason for a gap."""
    events: list[StoredEvent] = field(default_factory=list)
    """The changes that the measurement showed."""


@dataclass(frozen=True)
class Kept:
    """A state that is to be stored."""

    key: str
    """The task's name."""
    name: str
    """The name of the state."""
    value: str
    """The state."""


class Post:
    """Sends alerts one after the other in a thread, so that a slow recipient delays no measurement."""

    def __init__(self, settings: AlertsSettings, folder: Path) -> None:
        """Starts without an alert; commands run in `folder`."""
        self.failures: queue.SimpleQueue[str] = queue.SimpleQueue()
        """The reasons why alerts could not be sent."""
        self._settings, self._folder = settings, folder
        self._waiting: queue.SimpleQueue[Alert] = queue.SimpleQueue()
        threading.Thread(target=self._run, daemon=True).start()

    def __call__(self, alert: Alert) -> None:
        """Sends an alert later."""
        if self._waiting.qsize() < MOST_WAITING:
            self._waiting.put(alert)
        else:
            self.failures.put(f"{MOST_WAITING} alerts wait to be sent: one was left out")

    def _run(self) -> None:
        while True:
            for why in send(self._settings, self._waiting.get(), self._folder):
                self.failures.put(why)


class Monitor:
    """A monitor of a mesh."""

    def __init__(
        self,
        mesh: Mesh,
        archive: Archive,
        pool: MeasurementPool,
        clock: Clock,
        note: Callable[[str], None],
        post: Callable[[Alert], None] | None = None,
    ) -> None:
        """Prepares a monitor, which reports each outcome by `note` and sends alerts by `post`."""
        self._post = post
        self._alerting = States(mesh.alerts) if mesh.alerts else None
        self._mesh, self._archive, self._pool, self._clock, self._note = mesh, archive, pool, clock, note
        self._tasks = {task.key: task for task in mesh.tasks()}
        plans = [
            Plan(
                task.key,
                (task.source, task.target),
                task.settings.every_s,
                KINDS[task.settings.kind].seconds(task),
                task.settings.chance,
            )
            for task in self._tasks.values()
        ]
        limits = {
            host: Limits(mesh.limits_of(host).most_time * HOUR, mesh.limits_of(host).most_bytes)
            for host in mesh.hosts
        }
        self._budget = Budget(limits)
        self._schedule = Schedule(plans, self._budget)
        self._began: dict[str, Moment] = {}
        self._detectors: dict[tuple[str, str], Detector] = {}
        self._pending: list[Gap | Finished | StoredEvent | Kept] = []
        self._writable = True
        self._session = 0
        self._alive_s = self._forgot_s = -math.inf

    def begin(self) -> None:
        """Continues from the entries of the archive; raises sqlite3.Error if the archive can't be written."""
        now = self._clock.now()
        with self._archive.transaction():
            self._session = self._archive.begin_session(
                KnownSession(
                    self._mesh.title or self._mesh.mesh,
                    self._mesh.changes.one_false_alarm_in,
                    now.wall_s,
                    now.wall_s,
                    "killed, or running",
                )
            )
            for task in self._tasks.values():
                self._archive.add_task(
                    self._session,
                    task.key,
                    (task.source, task.target),
                    task.settings.every_s,
                    task.measurement,
                    KINDS[task.settings.kind].title,
                    watched(task),
                    {metric: bounds.texts() for metric, bounds in task.settings.thresholds.items()},
                )
        self._states = self._archive.states()
        for host, spent in self._archive.spent(now.wall_s - DAY):
            if host in self._mesh.hosts:
                self._budget.spend(host, spent)
        gaps = self._schedule.begin(now, self._archive.entered(), self._archive.sizes())
        self._add(gaps, now)

    def step(self) -> None:
        """Starts the measurements that are due, and waits until one ends or becomes due."""
        now = self._clock.now()
        if isinstance(self._post, Post):
            while not self._post.failures.empty():
                why = f"an alert could not be sent: {self._post.failures.get()}"
                self._note(why)
                self._pending.append(StoredEvent(now.wall_s, "alert", why))
        self._enter(now)
        started, gaps = self._schedule.look(now, self._writable)
        if self._schedule.step_s:
            self._pending.append(
                StoredEvent(now.wall_s, "clock", f"the clock was set by {self._schedule.step_s:+.1f} s")
            )
        self._add(gaps, now)
        for plan in started:
            self._began[plan.key] = now
            self._pool.start(self._tasks[plan.key])
        self._enter(now)
        wait = self._schedule.wait(now)
        most = LIFE_SECONDS if self._writable else AGAIN_SECONDS
        for ended in self._pool.wait(min(wait, most)):
            self._finish(ended)

    def end(self, note: str) -> None:
        """Stores pending entries, and the outcome of the session."""
        now = self._clock.now()
        self._enter(now)
        if self._writable:
            with self._archive.transaction():
                self._archive.seen(self._session, now.wall_s, note)

    def _finish(self, ended: Ended) -> None:
        now, began = self._clock.now(), self._began.pop(ended.key)
        outcome = ended.outcome
        spent = Spent(
            began.wall_s,
            now.steady_s - began.steady_s,
            outcome.bytes if isinstance(outcome, MeasuredValues) else 0,
        )
        interval = self._schedule.interval(ended.key)
        self._schedule.finish(ended.key, began.wall_s, spent.seconds, spent.bytes)
        events = self._events(ended.key, outcome, began.wall_s) if isinstance(outcome, MeasuredValues) else []
        self._pending.append(Finished(ended.key, interval, spent, outcome, events))
        words = _in_words(self._tasks[ended.key], outcome)
        self._note(f"{ended.key}: {words}")
        for event in events:
            self._send(ended.key, "change" if event.kind == "change" else "path", event.at_s, event.text)
        state = "gap"
        if isinstance(outcome, MeasuredValues):
            bounds = self._tasks[ended.key].settings.thresholds
            states = [
                state_of(bounds[figure.name].texts(), figure.value)
                for figure in outcome.figures
                if figure.name in bounds
            ]
            state = next((each for each in ("alarm", "warning") if each in states), "good")
        self._turn(ended.key, state, began.wall_s, words)

    def _turn(self, key: str, state: str, at_s: float, text: str) -> None:
        """Stores the state of a pair's latest interval, and sends an alert if the state changed."""
        if self._alerting is None:
            return
        before = self._states.get((key, STATE))
        kept, cause = self._alerting.cause(key, before, state)
        if kept != before:
            self._states[key, STATE] = kept
            self._pending.append(Kept(key, STATE, kept))
        if cause:
            self._send(key, cause, at_s, text)

    def _send(self, key: str, cause: Cause, at_s: float, text: str) -> None:
        alerts, task = self._mesh.alerts, self._tasks[key]
        if self._post and alerts and cause in alerts.on:
            mesh = self._mesh.title or self._mesh.mesh
            self._post(Alert(cause, mesh, at_s, task.measurement, task.source, task.target, text))

    def _events(self, key: str, measured: MeasuredValues, at_s: float) -> list[StoredEvent]:
        """Returns the events that a measurement shows: changes of states, and changes of metrics."""
        events = []
        for name, value in measured.states.items():
            before = self._states.get((key, name))
            if before is not None and differs(before, value):
                events.append(StoredEvent(at_s, name, f"{name}: {before} → {value}"))
            self._states[key, name] = value
        task = self._tasks[key]
        for figure in measured.figures:
            if figure.name in watched(task):
                change = self._detector(key, figure.name).add(figure.value)
                if change:
                    text = f"{figure.title}: median {change.before:.4g} → {change.after:.4g} {figure.unit}"
                    events.append(StoredEvent(at_s, "change", text, figure.name))
        return events

    def _detector(self, key: str, metric: str) -> Detector:
        """Returns the detector for a metric of a task. It starts with the values since the last change."""
        if (key, metric) not in self._detectors:
            series = sum(len(watched(task)) for task in self._tasks.values())
            period = PERIOD.parse(self._mesh.changes.one_false_alarm_in)
            settings = self._tasks[key].settings
            values = period * settings.chance / settings.every_s
            detector = Detector(max(2.0, values * series), zlib.crc32(f"{key} {metric}".encode()))
            for value in self._archive.values_since_change(key, metric):
                detector.add(value)
            self._detectors[key, metric] = detector
        return self._detectors[key, metric]

    def _add(self, gaps: list[Gap], now: Moment) -> None:
        """Adds gaps to the pending entries. A gap that continues the latest one of its task extends it."""
        for gap in gaps:
            place = next(
                (
                    place
                    for place in range(len(self._pending) - 1, -1, -1)
                    if isinstance(each := self._pending[place], Gap | Finished) and each.key == gap.key
                ),
                None,
            )
            before = None if place is None else self._pending[place]
            if (
                place is not None
                and isinstance(before, Gap)
                and (before.last + 1, before.reason, before.detail) == (gap.first, gap.reason, gap.detail)
            ):
                self._pending[place] = replace(before, last=gap.last)
            else:
                self._pending.append(gap)
            if gap.reason == NOT_DRAWN:
                continue
            words = f"no measurement: {gap.reason}: {gap.detail}"
            self._note(f"{gap.key}: {words}")
            self._turn(gap.key, "gap", now.wall_s, words)

    def _enter(self, now: Moment) -> None:
        """Stores pending entries in the archive. If the archive can't be written, they stay pending."""
        alive = now.steady_s - self._alive_s > LIFE_SECONDS
        if not (self._pending or alive):
            return
        try:
            with self._archive.transaction():
                for each in self._pending:
                    self._enter_one(each, now)
                self._archive.pass_time(self._clock.boot(), now.steady_s)
                if now.steady_s - self._forgot_s > HOUR:
                    keep = self._mesh.keep
                    self._archive.forget(
                        PERIOD.parse(keep.records), PERIOD.parse(keep.values), PERIOD.parse(keep.hours)
                    )
                self._archive.seen(self._session, now.wall_s)
        except sqlite3.Error as error:
            if self._writable:
                self._note(f"the archive can't be written, and nothing is measured: {error}")
            self._writable = False
            return
        if not self._writable:
            self._note("the archive can be written again")
        self._writable, self._alive_s = True, now.steady_s
        if now.steady_s - self._forgot_s > HOUR:
            self._forgot_s = now.steady_s
        self._pending.clear()

    def _enter_one(self, each: Gap | Finished | StoredEvent | Kept, now: Moment) -> None:
        if isinstance(each, Gap):
            self._archive.gap(each, now.wall_s)
        elif isinstance(each, Kept):
            self._archive.change_state(each.key, each.name, each.value)
        elif isinstance(each, StoredEvent):
            self._archive.event(each.at_s, None, each.kind, each.text, each.metric)
        elif isinstance(each.outcome, Missed):
            reason, detail = each.outcome.reason, each.outcome.detail
            self._archive.gap(
                Gap(each.key, each.interval, each.interval, reason, detail), now.wall_s, each.spent
            )
        else:
            self._archive.measured(each.key, each.interval, each.spent, each.outcome)
            for name, value in each.outcome.states.items():
                self._archive.change_state(each.key, name, value)
            for event in each.events:
                self._archive.event(event.at_s, each.key, event.kind, event.text, event.metric)


def differs(before: str, after: str) -> bool:
    """Returns whether two states differ. A hop that was silent, "3:?", is equal to any hop."""
    pairs = list(zip(before.split(), after.split(), strict=False))
    if len(before.split()) != len(after.split()):
        return True
    return any(one != two and not (one.endswith(":?") or two.endswith(":?")) for one, two in pairs)


def watched(task: Task) -> list[str]:
    """Returns the metrics of a task in which the monitor looks for changes: the one shown first, and those
    with thresholds."""
    return list(dict.fromkeys([KINDS[task.settings.kind].headline, *task.settings.thresholds]))


def _in_words(task: Task, outcome: MeasuredValues | Missed) -> str:
    if isinstance(outcome, Missed):
        return f"no measurement: {outcome.reason}: {outcome.detail}"
    headline = KINDS[task.settings.kind].headline
    shown: MeasuredValue = next(
        (each for each in outcome.figures if each.name == headline), outcome.figures[0]
    )
    return f"{shown.title} {shown.value:.5g} {shown.unit}"
