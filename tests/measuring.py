"""Tests that measure: how they tell a fault from a machine that did something else meanwhile.

Such a test is marked `measures`; `make test` runs those alone, one at a time. What it asserts is asserted of
an attempt. An attempt that fails while a trial's record warns of the machine (`DISTURBANCES`) says nothing,
and is made again. A test of which too few attempts were undisturbed is inconclusive: the summary names and
counts it."""

from collections.abc import Callable

import pytest

from nettrial.scenario import Record, Scenario

ATTEMPTS = 5
QUIET_FAILURES = 3
"""So many attempts that failed on a quiet machine are a failure; a moment of other work gives no warning."""
DISTURBANCES = frozenset({"clock_step", "other_work", "steal_time"})
"""The codes of warnings that the machine is the cause of, and not what runs in the trial."""

Run = Callable[[Scenario], Record]
Attempt = Callable[[Run], None]


class Inconclusive(pytest.skip.Exception):
    """The machine was disturbed in too many attempts to tell."""


class Watched:
    """Runs scenarios, and remembers what their records say of the machine."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self.disturbances: list[str] = []

    def __call__(self, scenario: Scenario) -> Record:
        record = self._run(scenario)
        self.disturbances += [
            f"{warning.code}: {warning.message}"
            for warning in record.warnings
            if warning.code in DISTURBANCES
        ]
        return record


def until_it_holds(run: Run, attempt: Attempt) -> None:
    """Makes attempts until one holds.

    Raises AssertionError where `QUIET_FAILURES` of them failed with nothing else on the machine, and
    Inconclusive where it can't be told."""
    disturbances: list[str] = []
    failures = 0
    for _ in range(ATTEMPTS):
        watched = Watched(run)
        try:
            attempt(watched)
        except AssertionError:
            disturbances += watched.disturbances
            failures += not watched.disturbances
            if failures == QUIET_FAILURES:
                raise
        else:
            return
    raise Inconclusive("; ".join(dict.fromkeys(disturbances)))
