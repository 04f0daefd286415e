"""A comparison of settings with nettrial's own traffic: a measurement of each value in every block, in random
order."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from types import TracebackType
from typing import Self

from nettrial.backends import TrialFailed
from nettrial.backends.remote import NO_PRIVILEGES, MeasuredTraffic, NoSession
from nettrial.design import PlannedTrial, plan
from nettrial.design.trial_order import in_words
from nettrial.errors import READING_OPTIONS, BadInput, CannotRun
from nettrial.measuring.levels import OPTION, varied
from nettrial.measuring.measured_run import comparison, keep_comparison
from nettrial.measuring.measurement import Measurement, RepeatedMetric, RepeatFailed
from nettrial.measuring.options import MeasureOptions
from nettrial.measuring.traffic import TrafficMeasurement
from nettrial.report import numbers
from nettrial.scenario import MtuMeans, Record

WARM_UP_SECONDS = 1.0
"""The longest duration in seconds of the traffic of a warm-up, of which each treatment has one."""
OF_IPERF3 = ("parallel", "ip", "transport")
"""The settings that are compared with an iperf3 server, too."""
INTERFACE, SEGMENTS = MtuMeans("interface"), MtuMeans("segments")
"""The means by which packets get the size of an MTU: the MTU of this machine's interface, or the size of
TCP's segments."""


OF_SEGMENTS = ("cwnd",)
"""The metrics in segments, which mean something else for segments of another size."""


@dataclass(frozen=True)
class TreatedRecord:
    """A measurement under a treatment."""

    trial: PlannedTrial
    """Its place in the plan."""
    record: Record
    """The record."""


class ComparedMeasurement(Measurement[TreatedRecord]):
    """Measurements under each combination of the values of one or more settings, once in every block."""

    takes = TrafficMeasurement.takes
    warms_up = True

    def __init__(self, options: MeasureOptions) -> None:
        """Checks the options; raises BadInput."""
        self.varied = varied(options.set, options.kind)
        """The settings that are compared."""
        _refuse_combinations(options, [each.name for each in self.varied])
        self._names = [each.name for each in self.varied]
        self._singles: dict[tuple[str, ...], TrafficMeasurement] = {}
        seed = options.seed
        for levels in product(*(each.levels for each in self.varied)):
            single = TrafficMeasurement(_under(replace(options, seed=seed), self._named(levels)))
            self._singles[levels], seed = single, single.seed
        self._first = next(iter(self._singles.values()))
        super().__init__(options, self._first.server, self._first.version, self._first.seconds)
        self.seed = self._first.seed
        """The seed of the order, and of the traffic's random numbers."""
        self.mtu_by = INTERFACE
        """The means by which packets get the size of an MTU that is compared."""
        design = comparison(self.words, self.varied, self._first.flow, [], options.replicates)
        self.plan = plan(design, options.replicates, self.seed)
        """The measurements, in their order."""
        self._measurers = {single.server: single.measurer for single in self._singles.values()}
        self._open = ExitStack()

    def _named(self, levels: Sequence[str]) -> dict[str, str]:
        return dict(zip(self._names, levels, strict=True))

    @property
    def count(self) -> int:
        """Returns the number of measurements."""
        return len(self.plan)

    @property
    def words(self) -> str:
        """Returns the measurement in words."""
        compared = "; ".join(f"{each.title} {', '.join(each.levels)}" for each in self.varied)
        return f"{self._first.words}: {compared}"

    @property
    def duration(self) -> str:
        """Returns the duration of each repeat."""
        return self._first.duration

    @property
    def announcement(self) -> str:
        """Returns a line about what will be measured."""
        blocks = numbers.counted(self.options.replicates, "block")
        return (
            f"{self.words}; {blocks} of {len(self._singles)} repeats of {self.duration} in random "
            f"order, after warm-ups, seed {self.seed}"
        )

    @property
    def note(self) -> str:
        """Returns how packets got the sizes of the MTUs, in a sentence; empty if these are not compared."""
        if "mtu" not in self._names:
            return ""
        if self.mtu_by == INTERFACE:
            return (
                "The MTU of this machine's interface was changed for each repeat and is restored; that of "
                "the other machine stayed as it was."
            )
        return (
            "This user may not change the MTU, so TCP's segments had the sizes that these MTUs allow "
            "(TCP_MAXSEG); the interfaces kept theirs."
        )

    def __enter__(self) -> Self:
        for measurer in self._measurers.values():
            self._open.enter_context(measurer)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._open.__exit__(kind, error, traceback)

    def warm_up(self) -> None:
        """Measures once under each treatment, and discards the results. If this user may not change the MTU,
        TCP's segments get their size instead. Raises BadInput and CannotRun."""
        try:
            self._warm_up()
        except NoSession as why:
            is_tcp = all(single.options.kind != "udp" for single in self._singles.values())
            if why.kind != NO_PRIVILEGES or "mtu" not in self._names or not is_tcp:
                raise
            self.mtu_by = SEGMENTS
            self._warm_up()

    def _warm_up(self) -> None:
        for levels, single in self._singles.items():
            measured = self._measured(levels, self.seed, min(single.traffic_seconds, WARM_UP_SECONDS))
            self._measurers[single.server].warm_up(measured)

    def once(self, number: int) -> TreatedRecord:
        """Measures once; raises RepeatFailed and CannotRun."""
        trial = self.plan[number - 1]
        levels = tuple(trial.treatment[name] for name in self._names)
        single = self._singles[levels]
        # All measurements of a block have the same random numbers.
        measured = self._measured(levels, self.seed + trial.block, single.traffic_seconds)
        try:
            record = self._measurers[single.server].run(str(number), measured)
        except TrialFailed as failed:
            raise RepeatFailed(str(failed), failed.kind) from None
        return TreatedRecord(trial, record)

    def _measured(self, levels: tuple[str, ...], seed: int, seconds: float) -> MeasuredTraffic:
        """Returns the traffic under a treatment."""
        given = self._named(levels)
        mtu = {"size": given["mtu"], "by": self.mtu_by.root} if "mtu" in given else None
        control = given.get("congestion_control")
        return self._singles[levels].measured(seed, seconds, given.get("window"), control, mtu)

    def kill(self) -> None:
        """Ends a running repeat."""
        for measurer in self._measurers.values():
            measurer.kill()

    def cannot(self, why: str, kind: str) -> CannotRun:
        """Returns the error if the server can't be used, with its remedy."""
        return self._first.cannot(why, kind)

    def metrics(self, results: Sequence[TreatedRecord]) -> list[RepeatedMetric]:
        """Returns the metrics of all streams together, over the repeats under each treatment, whose name
        stands as the direction."""
        return [
            replace(metric, direction=in_words(self._named(levels)))
            for levels in self._singles
            for metric in self._under(levels, results)
        ]

    def _under(self, levels: tuple[str, ...], results: Sequence[TreatedRecord]) -> list[RepeatedMetric]:
        """Returns the metrics over the repeats under a treatment."""
        records = [each.record for each in results if each.trial.treatment == self._named(levels)]
        return self._singles[levels].metrics(records)

    def warnings(self, measured: TreatedRecord) -> int:
        """Returns the number of warnings of a repeat."""
        return len(measured.record.warnings)

    def store(self, directory: Path, results: Sequence[TreatedRecord]) -> None:
        """Stores the repeats as a run in a new directory. Its responses are the metrics that all treatments
        have."""
        of_each = [{each.metric for each in self._under(levels, results)} for levels in self._singles]
        metrics = self._under(next(iter(self._singles)), results)
        left_out = OF_SEGMENTS if "mtu" in self._names else ()
        responses = [
            each
            for each in metrics
            if all(each.metric in names for names in of_each) and each.metric not in left_out
        ]
        study = comparison(self.words, self.varied, self._first.flow, responses, self.options.replicates)
        records = {each.trial.number: each.record for each in results}
        keep_comparison(directory, study, self.plan, self.seed, records)


def _under(options: MeasureOptions, given: dict[str, str]) -> MeasureOptions:
    """Returns the options of a single measurement with these settings."""
    changes: dict[str, object] = {"set": ()}
    if "ip" in given:
        changes["ip"] = int(given["ip"])
    if "parallel" in given:
        changes["parallel"] = int(given["parallel"])
    if "transport" in given:
        changes["kind"] = given["transport"]
    return replace(options, **changes)  # type: ignore[arg-type]  # each field has its type


def _refuse_combinations(options: MeasureOptions, names: Sequence[str]) -> None:
    """Raises BadInput for options that can't be combined with the settings that are compared."""
    for name in names:
        if options.iperf3 and name not in OF_IPERF3:
            hint = "start `nettrial serve` on the other machine instead of iperf3"
            expected = f"one of {', '.join(OF_IPERF3)} with --iperf3"
            raise BadInput(READING_OPTIONS, OPTION, name, expected, hint)
    for name, option, is_given in (
        ("ip", "--ip", options.ip is not None),
        ("parallel", "--parallel", options.parallel != 1),
    ):
        if name in names and is_given:
            raise BadInput(READING_OPTIONS, option, str(getattr(options, name)), f"none with {OPTION} {name}")
    if "transport" in names and options.rate is None:
        hint = "TCP sends as fast as it can without one, and UDP at 10 Mbit/s"
        raise BadInput(READING_OPTIONS, "--rate", "missing", f"a rate with {OPTION} transport", hint)
