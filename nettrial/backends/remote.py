"""Other machines: serving them, and measuring against those that serve."""

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
"""The time that a measurement may take beyond its traffic: the engine's own limits are shorter."""
INTERVAL_SECONDS = 0.1
"""The interval at which a flow's transport state is read, if that does not make too many samples."""
MOST_SAMPLES = 100_000
"""The most samples of all streams of a measurement together. A server refuses more (`MOST_SAMPLES` of
engine/remote/src/rules.rs)."""


def serve(arguments: Sequence[str]) -> NoReturn:
    """Becomes an engine that serves other machines; raises CannotRun if there is none.

    The process is the engine's from here on: what ends it ends the serving, and nothing else is left."""
    binary = find.engine()
    become(binary, "serve", *arguments)


class Measurer(Keeper):
    """Measures between this machine and one that serves: one session, opened anew after a failure."""

    def __init__(self, server: str, iperf3: bool, token_file: Path | None) -> None:
        """`server` is an address and a port."""
        options = ["--iperf3"] if iperf3 else []
        options += ["--token-file", str(token_file)] if token_file else []
        super().__init__("measure", server, *options)
        self._server = server
        self._remedy = (
            "start `iperf3 -s` there, or `nettrial serve --iperf3`"
            if iperf3
            else "start `nettrial serve` there, with the same token and version, and let the port through"
        )

    def warm_up(self, flow: Flow, streams: int, seconds: float) -> None:
        """Measures once, and forgets the result; raises BadInput and CannotRun."""
        try:
            self.run("warm-up", flow, streams, seconds)
        except TrialFailed as failed:
            raise self._cannot("a warm-up", str(failed)) from None

    def _cannot(self, what: str, why: str) -> CannotRun:
        return CannotRun(f"measuring against {self._server}", [Lack(what, why, self._remedy)])

    def run(self, trial: str, flow: Flow, streams: int, seconds: float) -> Record:
        """Measures once, with traffic of so many seconds in so many streams at the same time.

        Raises BadInput for a flow or token that can't be, CannotRun if there is no session to be had, and
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
        self.close()  # the next measurement gets a session of its own
        if isinstance(event, FailedEvent) and event.trial == trial:
            raise TrialFailed(event.message)
        raise TrialFailed("the engine answered something else")
