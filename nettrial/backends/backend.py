"""The backends, each of which runs a scenario and returns a record."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from nettrial.backends.engine import EngineLost, Loss
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

ANSWER_SECONDS = 120.0
"""The time in seconds allowed for a request other than a trial, which takes a moment on a quiet machine."""
CHECK_SECONDS = 300.0
"""The time in seconds allowed for checking a scenario: the paths of a large fabric take a while."""


class TrialFailed(Exception):
    """The error for a trial that gave no record; the text is the reason."""

    def __init__(self, message: str, kind: str = "other") -> None:
        """Creates the error; `kind` is one of the schema's `FailureKind`, by which programs decide."""
        super().__init__(message)
        self.kind = kind


class TrialInterrupted(TrialFailed):
    """The error for a trial that gave no record because its engine was lost, so that another attempt may
    succeed."""


class Configuration(Strict):
    """The settings with which a backend is started: none. A backend that needs settings, such as an inventory
    of hosts, extends this model."""

    def arguments(self) -> list[str]:
        """Returns the arguments for the engine that follow the subcommand."""
        return []


class Backend(Keeper):
    """Runs trials one after the other in an engine process, which is replaced if it is lost."""

    def __init__(self, name: str, configuration: Configuration | None = None) -> None:
        """Prepares a backend; `name` is the engine's subcommand."""
        self.name = name
        self._configuration = configuration or Configuration()
        super().__init__(name, *self._configuration.arguments())

    def another(self) -> Backend:
        """Returns another backend of the same kind and configuration, with its own process."""
        return Backend(self.name, self._configuration)

    def preflight(self, thorough: bool = False) -> Preflight:
        """Returns what this machine can run, including all congestion controls that the engine brings if
        `thorough`; raises CannotRun if that can't be determined, or if the engine's capabilities differ from
        those that this package knows."""
        # A kernel in virtual time boots before it answers, and so do machines that the lab starts.
        is_slow = CAPABILITIES[self.name].simulated_time or bool(self._configuration.arguments())
        event = self._ask(
            Request(PreflightRequest(thorough=thorough)),
            "asking what this machine can run",
            CHECK_SECONDS if thorough or is_slow else ANSWER_SECONDS,
        ).root
        assert isinstance(event, PreflightEvent)
        stated = event.preflight.capabilities
        if stated is not None and stated != CAPABILITIES[self.name]:
            why = f"its capabilities of the backend {self.name} differ from those that this package knows"
            raise CannotRun(
                "asking what this machine can run", [Lack(str(self.binary), why, Loss.PROTOCOL.remedy())]
            )
        return event.preflight

    def check(self, scenario: Scenario) -> list[Problem]:
        """Returns all problems that keep the scenario from running here; empty if there are none."""
        return self.checked(scenario).problems

    def checked(self, scenario: Scenario) -> CheckedEvent:
        """Returns the problems of the scenario, and its estimated work if the engine can predict it."""
        request = Request(CheckRequest(scenario=scenario))
        event = self._ask(request, "checking a scenario", CHECK_SECONDS).root
        assert isinstance(event, CheckedEvent)
        return event

    def run(
        self,
        trial: str,
        scenario: Scenario,
        timeout: float | None,
        capture: Capture | None = None,
        threads: int = 1,
    ) -> Record:
        """Runs a trial of that name; raises TrialFailed, also if it takes more than `timeout` seconds, unless
        that is None. `capture` selects the packets to capture, if any; the simulator may use `threads`
        threads."""
        request = RunRequest(trial=trial, scenario=scenario, capture=capture, threads=threads)
        try:
            event = self.event(Request(request), timeout).root
        except EngineLost as lost:
            raise TrialInterrupted(str(lost)) from None
        if isinstance(event, RecordEvent) and event.trial == trial:
            return event.record
        if isinstance(event, FailedEvent) and event.trial == trial:
            raise TrialFailed(event.message, event.kind.root)
        self.close()  # after a wrong answer, no later answer can be trusted
        why = event.message if isinstance(event, RefusedEvent) else "it answered something else"
        raise TrialFailed(f"the engine did not run the trial: {why}")

    def _ask(self, request: Request, doing: str, timeout: float) -> Event:
        """Returns the answer to a request other than a trial; raises CannotRun for an answer of the wrong
        kind."""
        expected = {"preflight": "preflight", "check": "checked"}[request.root.request]
        try:
            event = self.event(request, timeout)
        except EngineLost as lost:
            why, kind = str(lost), lost.kind
        else:
            kind = Loss.PROTOCOL
            if event.root.event == expected:
                return event
            why = (
                event.root.message
                if isinstance(event.root, RefusedEvent)
                else f"it answered {event.root.event!r}"
            )
        raise CannotRun(doing, [Lack(str(self.binary), why, kind.remedy())])


@dataclass(frozen=True)
class BackendKind:
    """A kind of backend, and the model of its configuration."""

    title: str
    """A description in a few words, for lists."""
    start: Callable[[Configuration], Backend]
    """A function that starts a backend with a configuration."""
    where: str
    """The place where its trials run, as used in messages: "in the lab"."""
    configuration: type[Configuration] = Configuration
    """The model of its configuration."""
    joins_machines: bool = False
    """True if machines that a command of the user's starts can be nodes of its networks."""
    is_extra: bool = False
    """True if it needs a part that is installed separately, which a machine need not have."""


BACKENDS: Registry[BackendKind] = Registry("backend")
"""The backends by name."""

BACKENDS.add(
    "lab",
    BackendKind(
        "Linux's own TCP/IP between network namespaces on this machine",
        partial(Backend, "lab"),
        "in the lab",
        joins_machines=True,
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
BACKENDS.add(
    "fluid",
    BackendKind(
        "rates of transfers computed from the network alone, without packets; runs unprivileged",
        partial(Backend, "fluid"),
        "in the fluid model",
    ),
)
