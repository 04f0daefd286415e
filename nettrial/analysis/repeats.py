"""The results of repeats of one measurement: each metric over all of them.

The repeat is the unit of replication, as the trial is in a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nettrial.analysis.summary import Cell, cell_of
from nettrial.analysis.warning_groups import merge, pattern
from nettrial.metrics import METRICS, Metric
from nettrial.scenario import Record


@dataclass(frozen=True)
class Repeated:
    """A metric over the repeats that gave it."""

    metric: Metric
    cell: Cell
    """Its values by the number of the repeat, from 1."""


@dataclass(frozen=True)
class Seen:
    """A warning, and in how many repeats it was seen."""

    object: str
    message: str
    """The observation; a number that differs between repeats is given as its range."""
    consequence: str
    repeats: int


def repeated(records: Sequence[Record], flow: str) -> list[Repeated]:
    """Every metric of `flow` that a record has, in the registry's order."""
    found = []
    for metric in METRICS.values():
        if metric.of != "flow":
            continue
        values = {
            number: value
            for number, record in enumerate(records, start=1)
            if metric.name not in absences([record], flow)
            and not isinstance(value := metric.read(record, flow), str)
        }
        if values:
            found.append(Repeated(metric, cell_of({}, values, {number: number for number in values}, {})))
    return found


def absences(records: Sequence[Record], flow: str) -> dict[str, str]:
    """The metrics of `flow` that the engine could not measure, and why."""
    return {absence.metric: absence.reason for r in records for absence in r.absent if absence.object == flow}


def seen(records: Sequence[Record]) -> list[Seen]:
    """The warnings of all records, those that differ in numbers only together."""
    groups: dict[tuple[str, str, str, str], list[str]] = {}
    for record in records:
        for warning in record.warnings:
            key = (warning.code, warning.object, pattern(warning.message), warning.consequence)
            groups.setdefault(key, []).append(warning.message)
    return [
        Seen(about, merge(messages), consequence, len(messages))
        for (_, about, _, consequence), messages in groups.items()
    ]
