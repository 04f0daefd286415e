"""One start of the runner: trials in the plan's order, each kept as soon as it is finished."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any

from nettrial.backends import Backend, TrialFailed
from nettrial.cli.design import trial_seconds
from nettrial.cli.progress import Display
from nettrial.design import PlannedTrial, scenario_of, traffic_seconds
from nettrial.design.plan import in_words
from nettrial.scenario import Environment, Record, Scenario
from nettrial.store import Run

GRACE_TIMES, GRACE_SECONDS = 3, 60.0
"""How often the expected time of its traffic, and how much more, a trial may take before its engine is
killed."""


class Stop:
    """Whether the user wants to stop: after the trial that runs (SIGINT or SIGTERM once), or at once
    (again)."""

    def __init__(self, abandon: Callable[[], None]) -> None:
        """`abandon` ends the trial that runs."""
        self._abandon = abandon
        self._signals = 0
        self._before: dict[signal.Signals, Any] = {}

    @property
    def wanted(self) -> bool:
        """Whether no further trial is to be started."""
        return self._signals > 0

    @property
    def at_once(self) -> bool:
        """Whether the trial that ran was abandoned."""
        return self._signals > 1

    def __enter__(self) -> Stop:
        for number in (signal.SIGINT, signal.SIGTERM):
            self._before[number] = signal.signal(number, self._signalled)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _signalled(self, number: int, frame: FrameType | None) -> None:
        self._signals += 1
        if self.at_once:
            self._abandon()
        else:
            # Written as is: a buffered stream may be in the middle of a line of the same thread.
            os.write(2, b"\nfinishing the trial that is running; Ctrl-C again abandons it\n")


def run_trials(run: Run, backend: Backend, environment: Environment) -> bool:
    """Runs the trials of `run` that have no record; gives whether the user stopped it."""
    scenarios: dict[int, Scenario] = {}

    def scenario(trial: PlannedTrial) -> Scenario:
        if trial.number not in scenarios:
            scenarios[trial.number] = scenario_of(run.study, trial.treatment, trial.block)
        return scenarios[trial.number]

    def attempt(name: str, trial: PlannedTrial) -> Record:
        resolved = scenario(trial)
        return backend.run(name, resolved, GRACE_TIMES * traffic_seconds(resolved) + GRACE_SECONDS)

    with run.session(environment) as session, Stop(backend.kill) as stop:
        pending = run.pending()
        expected = sum(trial_seconds(scenario(trial)) for trial in pending)
        with Display(len(run.plan) - len(pending), len(run.plan), expected) as display:
            for trial in pending[: run.study.warmup]:
                if stop.wanted:
                    break
                try:
                    attempt(f"warm-up {trial.number}", trial)
                except TrialFailed as failed:
                    if not stop.at_once:
                        display.note(f"warm-up failed: {failed}")
            display.begin()
            for trial in pending:
                if stop.wanted:
                    break
                try:
                    record = attempt(str(trial.number), trial)
                except TrialFailed as failed:
                    if stop.at_once:
                        break
                    session.failed(trial, str(failed))
                    display.failed(f"trial {trial.number} ({in_words(trial.treatment)}): {failed}")
                else:
                    session.finished(trial, scenario(trial), record)
                    display.finished(len(record.warnings))
        stopped = stop.wanted and bool(run.pending())
        if stopped:
            session.note = "stopped by a signal"
        return stopped
