"""The schedule: it decides when each measurement begins. It has no clock, starts nothing and stores nothing.

Time is divided into intervals, whose length depends on the task, counted from 1970-01-01 UTC. Each interval
of each task ends with exactly one entry: a measurement, or a gap with its reason. The schedule of an interval
depends only on the task and the interval's number, so a restarted monitor continues where it stopped."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from nettrial.monitor.outcome import NOT_DRAWN, Reason

STEP_SECONDS = 1.0
"""If the difference between wall clock and steady clock changes by this much, the wall clock was set. A clock
that is only disciplined changes far less."""
DELAY_SECONDS = 5.0
"""If the schedule is examined this much too late, the monitor or its machine was stopped."""
HOUR, DAY = 3600, 86400
STOPPED: tuple[Reason, str] = ("not running", "the monitor was stopped, or its machine slept")
"""The reason for a gap whose interval ended before the schedule was examined."""


@dataclass(frozen=True)
class Moment:
    """A moment, read from two clocks."""

    wall_s: float
    """Seconds since 1970-01-01 UTC."""
    steady_s: float
    """Seconds since an arbitrary moment, by a clock that is never set and that continues while the machine
    sleeps."""


@dataclass(frozen=True)
class Gap:
    """Intervals without a measurement."""

    key: str
    """The task's name."""
    first: int
    """The number of the first interval."""
    last: int
    """The number of the last interval."""
    reason: Reason
    """The reason why the intervals have no measurement."""
    detail: str
    """The details of the reason."""


@dataclass(frozen=True)
class Plan:
    """The properties of a task that the schedule needs."""

    key: str
    """The task's name."""
    ends: tuple[str, str]
    """The two hosts."""
    every_s: int
    """The length of the task's intervals in seconds."""
    expected_s: float
    """The expected duration of a measurement in seconds."""
    chance: float = 1.0
    """The probability of a measurement in an interval."""

    def interval(self, wall_s: float) -> int:
        """Returns the number of the interval at a moment."""
        return int(wall_s // self.every_s)

    def latest(self, interval: int) -> float:
        """Returns the last moment at which the measurement of an interval may begin, seconds since 1970."""
        return (interval + 1) * self.every_s - min(self.expected_s, self.every_s / 2)

    def due(self, interval: int) -> float:
        """Returns the moment from which the measurement of an interval may begin: at random in its first
        half, as RFC 3432 (section 4) advises against synchronisation with what is measured."""
        room = self.latest(interval) - interval * self.every_s
        return interval * self.every_s + self._random(f"{interval}") * min(room, self.every_s / 2)

    def is_drawn(self, interval: int) -> bool:
        """Returns whether an interval has a measurement, at random with the task's probability."""
        return self._random(f"{interval} drawn") < self.chance

    def _random(self, text: str) -> float:
        """Returns a number from 0 to 1 that follows from the task and a text."""
        digest = hashlib.blake2b(f"{self.key} {text}".encode(), digest_size=8).digest()
        return int.from_bytes(digest) / 2**64


@dataclass(frozen=True)
class Limits:
    """The limits of a host."""

    seconds_an_hour: float
    """The largest total duration of measurements in an hour, in seconds."""
    bytes_a_day: int | None
    """The largest number of bytes that measurements send in a day, or None if there is no limit."""


@dataclass(frozen=True)
class Spent:
    """A measurement's use of a host."""

    at_s: float
    """The beginning of the measurement, in seconds since 1970-01-01 UTC."""
    seconds: float
    """The duration of the measurement in seconds."""
    bytes: int
    """The bytes that the measurement sent."""


class Budget:
    """The use of each host within the current hour and day (UTC)."""

    def __init__(self, limits: dict[str, Limits]) -> None:
        """Starts with nothing spent; `limits` has all hosts."""
        self._limits = limits
        self._spent: dict[str, list[Spent]] = {host: [] for host in limits}

    def spend(self, host: str, spent: Spent) -> None:
        """Adds a measurement's use of a host."""
        kept = [each for each in self._spent[host] if abs(each.at_s - spent.at_s) < DAY]
        self._spent[host] = [*kept, spent]

    def refusal(self, host: str, now_s: float, seconds: float, size: int) -> str:
        """Returns the reason why a host has no room for a measurement of this duration and size; an empty
        text if it has."""
        limits = self._limits[host]
        hour, day = now_s // HOUR, now_s // DAY
        used = sum(each.seconds for each in self._spent[host] if each.at_s // HOUR == hour)
        if used + seconds > limits.seconds_an_hour:
            return f"{host} was measured for {used:.0f} of {limits.seconds_an_hour:.0f} s of this hour"
        if limits.bytes_a_day is not None:
            moved = sum(each.bytes for each in self._spent[host] if each.at_s // DAY == day)
            if moved + size > limits.bytes_a_day:
                return f"{host} carried {moved} of {limits.bytes_a_day} bytes of this day"
        return ""


@dataclass
class _State:
    """The state of a task."""

    plan: Plan
    following: int
    """The next interval without an entry."""
    running: bool = False
    bytes: int = 0
    """The bytes of the latest measurement, which are expected for the next one."""
    why: tuple[Reason, str] | None = None
    """The reason why the interval's measurement has not begun although it was due."""


@dataclass
class Schedule:
    """The tasks and their states."""

    plans: Sequence[Plan]
    """The tasks."""
    budget: Budget
    """The use of each host, and its limits."""
    _states: dict[str, _State] = field(default_factory=dict)
    _busy: dict[str, str] = field(default_factory=dict)
    _last: Moment | None = None
    _awaited_s: float = 0.0
    """The steady time at which the schedule should be examined again."""
    step_s: float = 0.0
    """The time by which the clock was set before the latest examination; 0 if it was not set."""

    def begin(self, now: Moment, entered: dict[str, int], sizes: dict[str, int]) -> list[Gap]:
        """Starts at a moment. `entered` has the last interval of each task that has an entry in the archive,
        and `sizes` the bytes of its last measurement. Returns the gaps since then."""
        gaps = []
        for plan in self.plans:
            current = plan.interval(now.wall_s)
            state = _State(plan, entered.get(plan.key, current - 1) + 1, bytes=sizes.get(plan.key, 0))
            self._states[plan.key] = state
            state.why = ("not running", "no monitor measured this pair, or none could write the archive")
            gaps += _align(state, current)
        self._last, self._awaited_s = now, now.steady_s
        return gaps

    def look(self, now: Moment, writable: bool = True) -> tuple[list[Plan], list[Gap]]:
        """Returns the tasks to start now, and the intervals that have passed without a measurement. Starts
        nothing if the archive is not `writable`."""
        assert self._last is not None
        stepped = now.wall_s - self._last.wall_s - (now.steady_s - self._last.steady_s)
        self.step_s = stepped if abs(stepped) > STEP_SECONDS else 0.0
        late = now.steady_s - self._awaited_s
        self._last = now
        gaps: list[Gap] = []
        waiting = []
        for state in self._states.values():
            current = state.plan.interval(now.wall_s)
            if late > DELAY_SECONDS:
                state.why = ("not running", f"the monitor was stopped for {late:.0f} s, or its machine slept")
            if self.step_s:
                state.why = ("clock step", f"the clock was set by {self.step_s:+.1f} s")
            if state.running:
                continue
            gaps += _align(state, current)
            if state.following == current and not state.plan.is_drawn(current):
                state.why = (NOT_DRAWN, f"the probability is {100 * state.plan.chance:.3g}%")
                gaps += _give_up(state, current)
            elif state.following > current or now.wall_s < state.plan.due(current):
                state.why = None
            elif now.wall_s <= state.plan.latest(current):
                waiting.append(state)
            else:
                gaps += _give_up(state, current)
        started = []
        for state in sorted(waiting, key=lambda each: each.plan.latest(each.following)):
            refusal = self._refusal(state, now)
            if refusal:
                state.why = ("budget spent", refusal)
                gaps += _give_up(state, state.following)
            elif not writable:
                state.why = ("disk full", "the archive could not be written")
            elif busy := next((end for end in state.plan.ends if end in self._busy), None):
                state.why = ("collided", f"{busy} was busy with {self._busy[busy]}")
            else:
                state.running, state.why = True, None
                self._busy |= dict.fromkeys(state.plan.ends, state.plan.key)
                started.append(state.plan)
        return started, gaps

    def _refusal(self, state: _State, now: Moment) -> str:
        plan = state.plan
        refusals = (self.budget.refusal(end, now.wall_s, plan.expected_s, state.bytes) for end in plan.ends)
        return next(filter(None, refusals), "")

    def interval(self, key: str) -> int:
        """Returns the interval of a task's running measurement."""
        return self._states[key].following

    def finish(self, key: str, began_s: float, seconds: float, size: int) -> None:
        """Records the end of a task's measurement: the moment when it began by the wall clock, its duration,
        and the bytes that it sent."""
        state = self._states[key]
        state.running = False
        state.following += 1
        state.bytes = size or state.bytes
        state.why = state.why or ("collided", "its previous measurement took too long")
        for end in state.plan.ends:
            del self._busy[end]
            self.budget.spend(end, Spent(began_s, seconds, size))

    def wait(self, now: Moment) -> float:
        """Returns the time in seconds after which the schedule must be examined again, unless a measurement
        ends earlier."""
        moments = [now.wall_s + 60.0]
        for state in self._states.values():
            if not state.running:
                interval = max(state.following, state.plan.interval(now.wall_s))
                due, latest = state.plan.due(interval), state.plan.latest(interval)
                moments.append(due if now.wall_s < due else latest + 0.001)
        seconds = max(min(moments) - now.wall_s, 0.001)
        self._awaited_s = now.steady_s + seconds
        return seconds

    def running(self) -> Iterable[str]:
        """Returns the keys of the tasks that are measured now."""
        return [key for key, state in self._states.items() if state.running]


def _align(state: _State, current: int) -> list[Gap]:
    """Moves a task to the current interval. Returns the gap of the intervals that have passed or, if the
    clock was set back to an interval that has an entry, of the current one."""
    if current > state.following:
        gap = Gap(state.plan.key, state.following, current - 1, *(state.why or STOPPED))
        state.following = current
        return [gap]
    if current < state.following - 1:
        state.why = ("clock step", "the clock was set back to a time that has entries")
        return _give_up(state, current)
    return []


def _give_up(state: _State, current: int) -> list[Gap]:
    """Returns the gap of the current interval, and moves on to the next."""
    gap = Gap(state.plan.key, current, current, *(state.why or STOPPED))
    state.following, state.why = current + 1, None
    return [gap]
