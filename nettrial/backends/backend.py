"""The backends: each runs a scenario and gives a record."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from nettrial.backends.engine import EngineLost
from nettrial.backends.keeper import Keeper
from nettrial.errors import CannotRun, Lack
from nettrial.registry import Registry
from nettrial.scenario import (
    CheckedEvent,
    CheckRequest,
    Event,
    FailedEvent,
    Preflight,
    PreflightEvent,
    PreflightRequest,
    Problem,
    Record,
    RecordEvent,
    RefusedEvent,
    Request,
    RunRequest,
    Scenario,
)

ANSWER_SECONDS = 30.0
"""How long an engine may take for what is no trial."""
CHECK_SECONDS = 300.0
"""How long an engine may look at a scenario: the paths of a large fabric take a while."""


class TrialFailed(Exception):
    """A trial gave no record; the text says why."""


class Backend(Keeper):
    """Runs trials in engine processes: one after the other, a new process after one was lost."""

    def __init__(self, name: str) -> None:
        """`name` is the engine's subcommand."""
        super().__init__(name)
        self.name = name

    def another(self) -> Backend:
        """Another one of the same kind, with a process of its own."""
        return Backend(self.name)

    def preflight(self, thorough: bool = False) -> Preflight:
        """What this machine can run, `thorough` with every congestion control that the engine brings; raises
        CannotRun if not even that can be found out.
        """
        event = self._ask(
            Request(PreflightRequest(thorough=thorough)), "asking what this machine can run", ANSWER_SECONDS
        ).root
        assert isinstance(event, PreflightEvent)
        return event.preflight

    def check(self, scenario: Scenario) -> list[Problem]:
        """Everything that keeps the scenario from running here; empty if nothing does."""
        return self.checked(scenario).problems

    def checked(self, scenario: Scenario) -> CheckedEvent:
        """The same, and what running it would take, where the engine knows that beforehand."""
        request = Request(CheckRequest(scenario=scenario))
        event = self._ask(request, "checking a scenario", CHECK_SECONDS).root
        assert isinstance(event, CheckedEvent)
        return event

    def run(self, trial: str, scenario: Scenario, timeout: float | None) -> Record:
        """Runs a trial of that name; raises TrialFailed, also when it takes more than `timeout` seconds, if
        there is such a bound."""
        try:
            event = self.event(Request(RunRequest(trial=trial, scenario=scenario)), timeout).root
        except EngineLost as lost:
            raise TrialFailed(str(lost)) from None
        if isinstance(event, RecordEvent) and event.trial == trial:
            return event.record
        if isinstance(event, FailedEvent) and event.trial == trial:
            raise TrialFailed(event.message)
        self.close()  # it answers something else: no later answer of it can be trusted
        why = event.message if isinstance(event, RefusedEvent) else "it answered something else"
        raise TrialFailed(f"the engine did not run the trial: {why}")

    def _ask(self, request: Request, doing: str, timeout: float) -> Event:
        """The answer to a request that is no trial; one that does not fit raises CannotRun."""
        expected = {"preflight": "preflight", "check": "checked"}[request.root.request]
        try:
            event = self.event(request, timeout)
        except EngineLost as lost:
            why = str(lost)
        else:
            if event.root.event == expected:
                return event
            why = (
                event.root.message
                if isinstance(event.root, RefusedEvent)
                else f"it answered {event.root.event!r}"
            )
        remedy = "build the engine anew with `make build`: it must be of this package's version"
        raise CannotRun(doing, [Lack(str(self._binary), why, remedy)])


@dataclass(frozen=True)
class BackendKind:
    """A backend there is, and how it is started."""

    title: str
    start: Callable[[], Backend]


BACKENDS: Registry[BackendKind] = Registry("backend")
"""Every backend by name."""

BACKENDS.add(
    "lab",
    BackendKind("Linux's own TCP/IP between network namespaces on this machine", lambda: Backend("lab")),
)
BACKENDS.add(
    "sim",
    BackendKind("simulated hosts, packet by packet, deterministic; needs no rights", lambda: Backend("sim")),
)
