"""The backends: each runs a scenario and gives a record."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from nettrial.backends.engine import EngineLost
from nettrial.backends.keeper import Keeper
from nettrial.capabilities import CAPABILITIES
from nettrial.errors import CannotRun, Lack
from nettrial.fields import Strict
from nettrial.registry import Registry
from nettrial.scenario import (
    Capture,
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
"""The time that an engine may take for what is no trial."""
CHECK_SECONDS = 300.0
"""The time that an engine may examine a scenario: the paths of a large fabric take a while."""


ANOTHER_VERSION = "build the engine anew with `make build`: it must be of this package's version"


class TrialFailed(Exception):
    """A trial gave no record; the text says why."""


class TrialLost(TrialFailed):
    """A trial gave no record, for its engine was lost: another attempt may give one."""


class Configuration(Strict):
    """The settings that a backend is started with: none. A kind that needs some, such as an inventory of
    hosts, has a model of its own that extends this one."""

    def arguments(self) -> list[str]:
        """The engine's arguments that say it, after the subcommand."""
        return []


class Backend(Keeper):
    """Runs trials in engine processes: one after the other, a new process after one was lost."""

    def __init__(self, name: str, configuration: Configuration | None = None) -> None:
        """`name` is the engine's subcommand."""
        self.name = name
        self._configuration = configuration or Configuration()
        super().__init__(name, *self._configuration.arguments())

    def another(self) -> Backend:
        """Another one of the same kind and configuration, with a process of its own."""
        return Backend(self.name, self._configuration)

    def preflight(self, thorough: bool = False) -> Preflight:
        """Returns what this machine can run, `thorough` with every congestion control that the engine brings;
        raises CannotRun if not even that can be found out, or the engine's backend is not the one that this
        package knows.
        """
        event = self._ask(
            Request(PreflightRequest(thorough=thorough)),
            "asking what this machine can run",
            CHECK_SECONDS if thorough else ANSWER_SECONDS,
        ).root
        assert isinstance(event, PreflightEvent)
        stated = event.preflight.capabilities
        if stated is not None and stated != CAPABILITIES[self.name]:
            why = f"it states other capabilities of the backend {self.name} than this package knows"
            raise CannotRun(
                "asking what this machine can run", [Lack(str(self._binary), why, ANOTHER_VERSION)]
            )
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

    def run(
        self, trial: str, scenario: Scenario, timeout: float | None, capture: Capture | None = None
    ) -> Record:
        """Runs a trial of that name; raises TrialFailed, also when it takes more than `timeout` seconds, if
        there is such a bound. Its packets are captured as `capture` says, if it is given."""
        try:
            event = self.event(
                Request(RunRequest(trial=trial, scenario=scenario, capture=capture)), timeout
            ).root
        except EngineLost as lost:
            raise TrialLost(str(lost)) from None
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
        raise CannotRun(doing, [Lack(str(self._binary), why, ANOTHER_VERSION)])


@dataclass(frozen=True)
class BackendKind:
    """A backend there is, and how it is started: from a configuration."""

    title: str
    start: Callable[[Configuration], Backend]
    where: str
    """The place where its trials run, in the words of messages: "in the lab"."""
    configuration: type[Configuration] = Configuration
    """The model of its configuration."""


BACKENDS: Registry[BackendKind] = Registry("backend")
"""Every backend by name."""

BACKENDS.add(
    "lab",
    BackendKind(
        "Linux's own TCP/IP between network namespaces on this machine", partial(Backend, "lab"), "in the lab"
    ),
)
BACKENDS.add(
    "sim",
    BackendKind(
        "simulated hosts, packet by packet, deterministic; runs unprivileged",
        partial(Backend, "sim"),
        "in the simulator",
    ),
)
