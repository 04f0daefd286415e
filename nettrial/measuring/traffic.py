"""Measurements with nettrial's own traffic: between the agents of this machine and of `nettrial serve`, or
with an iperf3 server."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

from nettrial.analysis import repeated
from nettrial.backends import Measurer, TrialFailed, measured_flow, streams_of
from nettrial.backends.remote import IPERF3_PORT, NOTHING_MEASURED, PORT, MeasuredTraffic, remedy
from nettrial.errors import READING_OPTIONS, BadInput, CannotRun, Lack
from nettrial.measuring.measurement import Measurement, RepeatedMetric, RepeatFailed
from nettrial.measuring.options import TIME, MeasureOptions, check_token, read, seconds, server_at, with_unit
from nettrial.report import numbers
from nettrial.scenario import Flow, MeasuredMtu, Record
from nettrial.units import DURATION, RATE, SIZE

TOKEN = "NETTRIAL_TOKEN"
"""The environment variable with the token."""
KINDS = {"tcp": "TCP", "udp": "UDP", "rr": "requests and responses over TCP"}
"""The kinds of traffic, in words."""
OPTIONS = {
    "duration": "--time",
    "rate": "--rate",
    **dict.fromkeys(("size.value", "request", "response", "block"), "--size"),
    **{name: f"--set {name}" for name in ("window", "mtu", "congestion_control")},
}
"""The options with which users give settings of the traffic."""
SET_UP_SECONDS = 0.2
"""The time that a repeat takes in addition to its traffic."""


class TrafficMeasurement(Measurement[Record]):
    """Streams over TCP or UDP, or requests and responses, in one session with the server."""

    takes = frozenset({"iperf3", "parallel", "reverse", "rate", "set", "size", "seed", "token_file"})
    warms_up = True

    def __init__(self, options: MeasureOptions) -> None:
        """Checks the options; raises BadInput."""
        _refuse_combinations(options)
        options = replace(
            options,
            time=with_unit(DURATION, options.time or TIME),
            rate=options.rate and with_unit(RATE, options.rate),
            size=options.size and with_unit(SIZE, options.size),
        )
        self.duration = options.time or TIME
        """The duration of each repeat, as it was given."""
        self.traffic_seconds = seconds(self.duration)
        """The same in seconds."""
        port = options.port or (IPERF3_PORT if options.iperf3 else PORT)
        server, version = server_at(options.host, port, options.ip)
        super().__init__(options, server, version, self.traffic_seconds + SET_UP_SECONDS)
        self.seed = int.from_bytes(os.urandom(4)) if options.seed is None else options.seed
        """The seed of the random numbers."""
        self.flow = self._flow(self.seed, self.traffic_seconds)
        """The traffic of the warm-up."""
        _check_token(options)
        self.measurer = Measurer(server, options.iperf3, options.token_file, OPTIONS)
        """The session with the server."""

    @property
    def streams(self) -> list[str]:
        """Returns the names of the streams in the records."""
        return streams_of(self.options.parallel)

    @property
    def words(self) -> str:
        """Returns the measurement in words."""
        options = self.options
        way = f"from {options.host}" if options.reverse else f"to {options.host}"
        streams = f", {numbers.counted(options.parallel, 'stream')}" if options.parallel > 1 else ""
        return f"{KINDS[options.kind]} {way}{streams}" + (" (iperf3)" if options.iperf3 else "")

    @property
    def announcement(self) -> str:
        """Returns a line about what will be measured."""
        repeats = f"{numbers.counted(self.options.replicates, 'repeat')} of {self.duration}"
        return f"{self.words}: {repeats} after a warm-up, IPv{self.version}, seed {self.seed}"

    def __enter__(self) -> Self:
        self.measurer.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.measurer.__exit__(kind, error, traceback)

    def warm_up(self) -> None:
        """Measures once, and discards the result; raises BadInput and CannotRun."""
        self.measurer.warm_up(self.measured(self.seed, self.traffic_seconds))

    def once(self, number: int) -> Record:
        """Measures once; raises RepeatFailed and CannotRun."""
        measured = self.measured(self.seed + number, self.traffic_seconds)
        try:
            return self.measurer.run(str(number), measured)
        except TrialFailed as failed:
            raise RepeatFailed(str(failed), failed.kind) from None

    def kill(self) -> None:
        """Ends a running repeat."""
        self.measurer.kill()

    def cannot(self, why: str, kind: str) -> CannotRun:
        """Returns the error if the server can't be used, with its remedy."""
        lack = Lack("a repeat", why, remedy(kind, self.options.iperf3))
        return CannotRun(f"measuring against {self.server}", [lack], NOTHING_MEASURED)

    def metrics(self, results: Sequence[Record]) -> list[RepeatedMetric]:
        """Returns the metrics of all streams together, over the repeats."""
        return [
            RepeatedMetric("", metric.metric.name, metric.metric.title, metric.metric.unit, metric.cell)
            for metric in repeated(results, self.streams)
        ]

    def warnings(self, measured: Record) -> int:
        """Returns the number of warnings of a repeat."""
        return len(measured.warnings)

    def store(self, directory: Path, results: Sequence[Record]) -> None:
        """Stores repeats as a run in a new directory."""
        from nettrial.measuring.measured_run import MeasuredPart, keep  # studies are slow to load

        keep(directory, self.words, [MeasuredPart(self.flow, self.streams)], self.seed, results)

    def measured(
        self,
        seed: int,
        duration: float,
        window: str | None = None,
        congestion_control: str | None = None,
        mtu: Mapping[str, str] | None = None,
    ) -> MeasuredTraffic:
        """Returns the traffic of a repeat with these random numbers, of that duration in seconds; `window` is
        TCP's, and `mtu` has the fields of a `nettrial.scenario.MeasuredMtu`."""
        flow = self._flow(seed, duration)
        if window is not None:
            document = flow.model_dump(mode="json", by_alias=True, exclude_none=True)
            socket = {**document.get("socket", {}), "window": window}
            flow = Flow.model_validate({**document, "socket": socket})
        size = None if mtu is None else MeasuredMtu.model_validate(mtu)
        return MeasuredTraffic(flow, self.options.parallel, duration, congestion_control, size)

    def _flow(self, seed: int, duration: float) -> Flow:
        """Returns the traffic of a stream in a repeat of that duration in seconds."""
        options = self.options
        for option, quantity, text in (("--size", SIZE, options.size), ("--rate", RATE, options.rate)):
            if text:
                read(quantity, option, text)
        return measured_flow(
            options.kind,
            self.version,
            DURATION.print(round(duration * 1e9)),
            seed,
            reverse=options.reverse,
            rate=options.rate,
            size=options.size,
        )


def _refuse_combinations(options: MeasureOptions) -> None:
    """Raises BadInput for options that can't be combined."""
    if options.iperf3 and options.kind == "rr":
        hint = "iperf3 has no request-response traffic"
        raise BadInput(READING_OPTIONS, "KIND", "rr", "tcp, udp", hint)
    if options.iperf3 and options.token_file:
        raise BadInput(READING_OPTIONS, "--token-file", str(options.token_file), "none with --iperf3")
    if options.kind == "rr" and options.rate is not None:
        hint = "a request follows a response at once"
        raise BadInput(READING_OPTIONS, "--rate", options.rate, "none with rr", hint)


def _check_token(options: MeasureOptions) -> None:
    """Raises BadInput if there is no token, or if its file can't be read."""
    if not options.iperf3 and options.token_file is None and not os.environ.get(TOKEN):
        expected = f"the file with the token that `nettrial serve` printed, or the token in {TOKEN}"
        hint = "against a server that has no token: --iperf3, or the kinds ndt7 and stamp"
        raise BadInput(READING_OPTIONS, "--token-file", "missing", expected, hint)
    if options.token_file is not None:
        check_token(options.token_file)
