"""Measurements between machines: the server, and the client."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from nettrial.backends import find
from nettrial.backends.backend import TrialFailed
from nettrial.backends.engine import EngineLost
from nettrial.backends.keeper import Keeper
from nettrial.errors import BadInput, CannotRun, Fault, Lack
from nettrial.scenario import CheckedEvent, FailedEvent, Flow, Measure, Record, RecordEvent
from nettrial.systems import become
from nettrial.units import DURATION

GRACE_SECONDS = 150.0
"""The time in seconds that a measurement may take in addition to its traffic: the engine's own limits are
shorter."""
INTERVAL_SECONDS = 0.1
"""The interval in seconds at which a flow's transport state is read, unless that gives too many samples."""
MOST_SAMPLES = 100_000
"""The largest number of samples of all streams of a measurement together. A server refuses more
(`MOST_SAMPLES` of engine/remote/src/rules.rs)."""


def serve(arguments: Sequence[str]) -> NoReturn:
    """Replaces this process by an engine that serves other machines; raises CannotRun if there is none.

    Ending the process ends the server, and nothing else remains."""
    binary = find.engine()
    become(binary, "serve", *arguments)


class Measurer(Keeper):
    """Measures between this machine and a server, in one session that is reopened after a failure."""

    def __init__(self, server: str, iperf3: bool, token_file: Path | None) -> None:
        """Prepares measurements against a `server`, given as an address and a port."""
        options = ["--iperf3"] if iperf3 else []
        options += ["--token-file", str(token_file)] if token_file else []
        super().__init__("measure", server, *options)
        self._server = server
        self._remedy = (
            "start `iperf3 -s` there, or `nettrial serve --iperf3`"
            if iperf3
            else "start `nettrial serve` there, with the same token and version, and open its port"
        )

    def warm_up(self, flow: Flow, streams: int, seconds: float) -> None:
        """Measures once and discards the result; raises BadInput and CannotRun."""
        try:
            self.run("warm-up", flow, streams, seconds)
        except TrialFailed as failed:
            raise self._cannot("a warm-up", str(failed)) from None

    def _cannot(self, what: str, why: str) -> CannotRun:
        return CannotRun(f"measuring against {self._server}", [Lack(what, why, self._remedy)])

    def run(self, trial: str, flow: Flow, streams: int, seconds: float) -> Record:
        """Measures once, with traffic of that many seconds in that many parallel streams.

        Raises BadInput for an invalid flow or token, CannotRun if no session can be opened, and
        TrialFailed."""
        interval = max(INTERVAL_SECONDS, streams * seconds / MOST_SAMPLES)
        measure = Measure(
            trial=trial, flow=flow, streams=streams, interval=DURATION.print(math.ceil(interval * 1e9))
        )
        try:
            event = self.event(measure, seconds + GRACE_SECONDS).root
        except EngineLost as lost:
            why = lost.said.removeprefix("error: ")
            if lost.status == BadInput.exit_code:
                raise BadInput("reading the token", "the token", why) from None
            if lost.status == CannotRun.exit_code:
                raise self._cannot("a session", why) from None
            raise TrialFailed(str(lost)) from None
        if isinstance(event, RecordEvent) and event.trial == trial:
            return event.record
        if isinstance(event, CheckedEvent):
            faults = [
                Fault(f"{p.setting} of {p.object}", p.value, p.expected, p.hint) for p in event.problems
            ]
            raise BadInput.listing("checking the measurement", faults)
        self.close()  # the next measurement opens a new session
        if isinstance(event, FailedEvent) and event.trial == trial:
            raise TrialFailed(event.message)
        raise TrialFailed("the engine answered something else")
