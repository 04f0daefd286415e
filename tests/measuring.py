"""Tells faults apart from machines that did something else meanwhile.

What such a test asserts is asserted of an attempt. An attempt that fails while a trial's record warns of the
machine (`DISTURBANCES`), or while its timers are late, says nothing and is made again.

A test that measures is marked `measures`; `make test` runs those alone, one at a time. Where too few of its
attempts were undisturbed it is inconclusive: the summary names and counts it (`until_it_holds`).

A functional test of the lab asserts nothing about time, but a machine that serves nobody for a while may lose
a packet or delay a process. One of its attempts must hold, however busy the machine is; the summary names
those that took more than one (`in_one_attempt`). The mark `settles` does the same for a test without the
fixture `run`."""

from collections.abc import Callable

import pytest

from nettrial.scenario import Record, Scenario, TimerLateness

ATTEMPTS = 5
QUIET_FAILURES = 3
"""So many attempts that failed on a quiet machine are a failure; a moment of other work gives no warning."""
DISTURBANCES = frozenset({"clock_step", "other_work", "radio_channel", "steal_time"})
"""The codes of warnings that the machine is the cause of, and not what runs in the trial."""
LOSSES = frozenset({"delay_line", "link_drops", "radio_channel", "socket_buffer"})
"""The codes of warnings that the machine lost packets, as it does where it serves nobody for a while."""
LATE_NS = 1_000_000
"""One of a hundred timers is this late where something else has the CPUs, if only on the other side of
a hypervisor that does not count what it takes; 0.1 ms is common on an idle virtual machine."""

Run = Callable[[Scenario], Record]
Attempt = Callable[[Run], None]


class Inconclusive(pytest.skip.Exception):
    """The machine was disturbed in too many attempts to tell."""


class Watched:
    """Runs scenarios, and remembers what their records say of the machine."""

    def __init__(self, run: Run, codes: frozenset[str] = DISTURBANCES) -> None:
        self._run = run
        self._codes = codes
        self.disturbances: list[str] = []

    def __call__(self, scenario: Scenario) -> Record:
        record = self._run(scenario)
        self.disturbances += [
            f"{warning.code}: {warning.message}" for warning in record.warnings if warning.code in self._codes
        ]
        return record


def until_it_holds(run: Run, attempt: Attempt, timers: Callable[[], TimerLateness | None]) -> None:
    """Makes attempts until one holds; `timers` measures how late the machine's timers are now.

    Raises AssertionError where `QUIET_FAILURES` of them failed with nothing else on the machine, and
    Inconclusive where it can't be determined."""
    disturbances: list[str] = []
    failures = 0
    for _ in range(ATTEMPTS):
        watched = Watched(run)
        try:
            attempt(watched)
        except AssertionError:
            found = watched.disturbances or late(timers())
            disturbances += found
            failures += not found
            if failures == QUIET_FAILURES:
                raise
        else:
            return
    raise Inconclusive("; ".join(dict.fromkeys(disturbances)))


def late(timers: TimerLateness | None) -> list[str]:
    """Says that timers are late, if they are."""
    if timers is None or timers.p99_ns < LATE_NS:
        return []
    return [f"late timers: one of a hundred by {timers.p99_ns / 1e6:.1f} ms or more"]


def in_one_attempt(run: Run | None, attempt: Attempt) -> list[str]:
    """Makes attempts of a functional test until one holds; gives what the attempts before it said.

    Raises AssertionError where all of `ATTEMPTS` failed, or one whose records say nothing of the machine.
    Without a `run` there are no records, and any may be made again."""
    failures: list[str] = []
    while True:
        watched = Watched(run or _nothing, DISTURBANCES | LOSSES)
        try:
            attempt(watched)
        except AssertionError as error:
            failures.append(str(error).partition("\n")[0])
            if len(failures) == ATTEMPTS or (run and not watched.disturbances):
                raise
        else:
            return failures


def _nothing(scenario: Scenario) -> Record:
    raise NotImplementedError(f"there is nothing to run {scenario} with")
