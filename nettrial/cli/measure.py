"""`nettrial measure`: measures the network between this machine and a server."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nettrial.cli.console import say
from nettrial.cli.progress import Display
from nettrial.cli.run import INTERRUPTED
from nettrial.cli.signals import Signals
from nettrial.measuring.kinds import measurement
from nettrial.measuring.measurement import Measurement, RepeatFinished, refuse_directory, repeat
from nettrial.measuring.options import MeasureOptions
from nettrial.running.remaining import Remaining
from nettrial.running.stop import Stop
from nettrial.temporary import temporary_directory


@dataclass(frozen=True)
class MeasureOutput:
    """The form of the output, and the place where the repeats are kept."""

    as_json: bool = False
    """True if a JSON document is printed."""
    quiet: bool = False
    """True if no progress is shown."""
    out: Path | None = None
    """The directory of the run as which the measurement is stored; None if it is not stored."""


def measure(options: MeasureOptions, form: MeasureOutput) -> int:
    """Measures, prints the results, and returns the exit status; raises BadInput, CannotRun and
    TrialsFailed."""
    measured = measurement(options)
    refuse_directory(form.out)
    if not form.quiet:
        say(measured.announcement)
    with measured, Signals(Stop(measured.kill), unit="repeat") as stop:
        measured.warm_up()
        remaining = Remaining([measured.seconds] * measured.count, 1.0)
        with Display(0, measured.count, remaining.seconds(), quiet=form.quiet, unit="repeats") as display:
            display.begin()
            remaining.begin()

            def hear(event: RepeatFinished) -> None:
                remaining.ended(measured.seconds)
                if event.failure is None:
                    display.finished(event.warnings, remaining.seconds())
                else:
                    display.failed(str(event), remaining.seconds())

            repeats = repeat(measured, hear, stop)
    if repeats.results:
        if options.set:
            _show_comparison(measured, repeats.results, form)
        else:
            if form.out:
                measured.store(form.out, repeats.results)
            _show(measured, repeats.results, form.as_json)
    repeats.refuse_failures()
    return INTERRUPTED if stop.wanted else 0


def _show_comparison(measured: Measurement[Any], results: list[Any], form: MeasureOutput) -> None:
    """Stores the repeats under several treatments as a run, in a temporary directory unless one was given,
    and prints what it shows."""
    from nettrial.cli import measure_compared
    from nettrial.measuring.compared import ComparedMeasurement

    assert isinstance(measured, ComparedMeasurement)
    with ExitStack() as stack:
        directory = form.out or stack.enter_context(temporary_directory()) / "run"
        measured.store(directory, results)
        measure_compared.show(measured, directory, form.as_json, is_kept=form.out is not None)


def _show(measured: Measurement[Any], results: list[Any], as_json: bool) -> None:
    """Prints the repeats as a document, or else as tables."""
    match measured.options.kind:
        case "ndt7":
            from nettrial.cli import measure_ndt7
            from nettrial.measuring.ndt7 import Ndt7Measurement

            assert isinstance(measured, Ndt7Measurement)
            measure_ndt7.show(measured, results, as_json)
        case "stamp":
            from nettrial.cli import measure_stamp
            from nettrial.measuring.stamp import StampMeasurement

            assert isinstance(measured, StampMeasurement)
            measure_stamp.show(measured, results, as_json)
        case _:
            from nettrial.cli import measure_traffic
            from nettrial.measuring.traffic import TrafficMeasurement

            assert isinstance(measured, TrafficMeasurement)
            measure_traffic.show(measured, results, as_json)
