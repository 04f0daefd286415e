"""`nettrial import`: measurements of other programs as a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from nettrial.cli.console import say
from nettrial.errors import BadInput, TrialsFailed
from nettrial.imports import Imported
from nettrial.imports.reading import DOING, Reader
from nettrial.measuring.measured_run import MeasuredPart, keep
from nettrial.report import numbers
from nettrial.scenario import Environment
from nettrial.store.directory import refuse_existing


def import_files(files: Sequence[Path], out: Path, ip: int | None) -> None:
    """Stores the measurements of files as the trials of a run, in the order of their times; those that can't
    be used are named and left out. Raises BadInput if there are none or if they are of several kinds, and
    TrialsFailed if some were left out."""
    refuse_existing(out, DOING, hint="choose another directory for each import")
    measurements: list[Imported] = []
    refused: list[BadInput] = []
    with Reader() as reader:
        for file in files:
            readings = reader.read(file, ip)
            measurements += readings.imported
            refused += readings.refused
    if not measurements:
        raise BadInput.listing(DOING, [fault for why in refused for fault in why.faults])
    _refuse_several_kinds(measurements)
    for why in refused:
        say(str(why))
    measurements.sort(key=lambda each: each.record.started_unix_ns)
    flows, title = (
        measurements[0].flows,
        f"{measurements[0].title}, {numbers.counted(len(measurements), 'measurement')}",
    )
    parts = [MeasuredPart(flow, [flow.name]) for flow in flows]
    keep(out, title, parts, 0, [each.record for each in measurements], _environment(measurements))
    say(f"imported {numbers.counted(len(measurements), 'measurement')}: {out}")
    if refused:
        count = f"{len(refused)} {'file or document' if len(refused) == 1 else 'files or documents'}"
        raise TrialsFailed(f"{count} could not be imported; {out} has the other measurements")


def _refuse_several_kinds(imported: Sequence[Imported]) -> None:
    """Raises BadInput if the measurements are not all of one kind."""
    kinds = Counter(f"{each.title}, over IPv{each.flows[0].ip.root}" for each in imported)
    if len(kinds) > 1:
        value = "; ".join(f"{count} of {kind}" for kind, count in kinds.items())
        hint = "import measurements of different kinds or IP versions as separate runs"
        raise BadInput(DOING, "the files have several kinds of measurements", value, "one kind", hint)


def _environment(imported: Sequence[Imported]) -> Environment:
    """Returns the machine that measured, as far as the files describe it; other properties are empty."""
    systems = dict.fromkeys(each.system for each in imported if each.system)
    return Environment(
        congestion_controls=[],
        engine_version=", ".join(dict.fromkeys(each.record.engine_version for each in imported)),
        kernel=", ".join(systems),
        privileges="",
        processor="",
        processors=0,
        sysctls={},
    )
