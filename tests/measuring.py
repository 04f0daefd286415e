"""Distinguishes faults from disturbances by other work on the machine.

The assertions of such a test apply to an attempt. If an attempt fails while a trial's record has a warning
about the machine (`DISTURBANCES`), or while the machine's timers are late, the attempt does not count and is
repeated.

A test that measures has the mark `measures`; `make test` runs such tests alone, one at a time. If too few of
its attempts were undisturbed, the test is inconclusive: the summary names and counts it (`until_it_holds`).

A functional test of the lab asserts nothing about time, but a machine that does not run a thread for a while
may lose a packet or delay a process. One of the attempts must hold, however busy the machine is; the summary
names the tests that took more than one (`in_one_attempt`). The mark `settles` does the same for a test
without the fixture `run`."""

from collections.abc import Callable
from typing import Any

import pytest

from nettrial.backends import Backend
from nettrial.scenario import Record, Scenario, TimerLateness

ATTEMPTS = 5
QUIET_FAILURES = 3
"""A test fails after this number of failed attempts on a quiet machine. A single one may be caused by a short
disturbance, which gives no warning."""
DISTURBANCES = frozenset({"clock_step", "other_work", "radio_channel", "steal_time"})
"""The codes of warnings about disturbances by the machine, and not by the trial itself."""
LOSSES = frozenset({"delay_line", "link_drops", "radio_channel", "socket_buffer"})
"""The codes of warnings that the machine lost packets, as happens if a thread does not run for a while."""
LATE_NS = 1_000_000
"""The machine is disturbed if one of a hundred timers is this late in nanoseconds, for example because a
hypervisor gives the CPU to another machine without counting it as steal time. On an idle virtual machine, 0.1
ms is common."""

Run = Callable[..., Record]
Attempt = Callable[[Run], None]


class Inconclusive(pytest.skip.Exception):
    """Too many attempts were disturbed to determine the result."""


class Watched:
    """Runs scenarios, and collects the warnings about the machine from their records."""

    def __init__(self, run: Run, codes: frozenset[str] = DISTURBANCES) -> None:
        self._run = run
        self._codes = codes
        self.disturbances: list[str] = []

    def __call__(self, scenario: Scenario, **options: Any) -> Record:
        record = self._run(scenario, **options)
        self.disturbances += [
            f"{warning.code}: {warning.message}" for warning in record.warnings if warning.code in self._codes
        ]
        return record


def until_it_holds(run: Run, attempt: Attempt, timers: Callable[[], TimerLateness | None]) -> None:
    """Repeats a measurement until an attempt holds; `timers` measures the current lateness of the machine's
    timers.

    Raises the error of the last attempt if `QUIET_FAILURES` attempts failed on an undisturbed machine, and
    Inconclusive if the result can't be determined. Where a test expects a figure that a disturbed trial does
    not have, the error is no AssertionError."""
    disturbances: list[str] = []
    failures = 0
    for _ in range(ATTEMPTS):
        watched = Watched(run)
        try:
            attempt(watched)
        except Exception:
            found = watched.disturbances or late(timers())
            disturbances += found
            failures += not found
            if failures == QUIET_FAILURES:
                raise
        else:
            return
    raise Inconclusive("; ".join(dict.fromkeys(disturbances)))


def late(timers: TimerLateness | None) -> list[str]:
    """Returns a message if the timers are late, or else an empty list."""
    if timers is None or timers.p99_ns < LATE_NS:
        return []
    return [f"late timers: one of a hundred by {timers.p99_ns / 1e6:.1f} ms or more"]


def timers_now() -> TimerLateness | None:
    """Returns the current lateness of the machine's timers, which an engine measures when it starts."""
    with Backend("lab") as now:
        return now.preflight().environment.timer_lateness


def in_one_attempt(run: Run | None, attempt: Attempt) -> list[str]:
    """Repeats a functional test until an attempt holds, and returns the messages of the failed attempts
    before it.

    Raises the error of the last attempt if all of `ATTEMPTS` failed, or `QUIET_FAILURES` of them whose
    records have no warning about the machine. Without a `run` there are no records, and every failed attempt
    may be repeated."""
    failures: list[str] = []
    quiet = 0
    while True:
        watched = Watched(run or nothing, DISTURBANCES | LOSSES)
        try:
            attempt(watched)
        except Exception as error:
            failures.append(f"{type(error).__name__}: {error}".partition("\n")[0])
            quiet += bool(run and not watched.disturbances)
            if len(failures) == ATTEMPTS or quiet == QUIET_FAILURES:
                raise
        else:
            return failures


def nothing(scenario: Scenario) -> Record:
    """Runs no scenario, for attempts that measure otherwise."""
    raise NotImplementedError(f"there is nothing to run {scenario} with")
