"""The results of a repeated measurement: each metric over all repeats.

The repeat is the unit of replication, as the trial is in a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nettrial.analysis.summary import Cell, cell_of
from nettrial.analysis.warning_groups import merge, pattern
from nettrial.metrics import METRICS, Metric
from nettrial.scenario import Record, Warning


@dataclass(frozen=True)
class Repeated:
    """A metric over the repeats that measured it."""

    metric: Metric
    """The metric that was measured."""
    cell: Cell
    """The values by the number of the repeat, from 1."""


@dataclass(frozen=True)
class Seen:
    """A warning, and the number of repeats that have it."""

    object: str
    """The object of the warning, such as a flow or a host."""
    message: str
    """The observation; a number that differs between repeats is given as its range."""
    consequence: str
    """The effect of the warning's cause on the figures."""
    repeats: int
    """The number of repeats with the warning."""


def repeated(records: Sequence[Record], flows: Sequence[str]) -> list[Repeated]:
    """Returns every metric that the records have of `flows` together, in the registry's order.

    The figures of several flows are combined as each metric says: the goodput, for example, is their
    bytes over the union of their times. Metrics that can't be combined, such as percentiles, are left
    out, and metrics of a group, such as fairness, are included."""
    kinds = ("flow",) if len(flows) == 1 else ("flow", "group")
    figures = []
    for metric in METRICS.values():
        # The streams have one sender: figures per sending host would repeat those of the flows.
        if metric.of not in kinds or metric.of_senders:
            continue
        values = {
            number: value
            for number, record in enumerate(records, start=1)
            if metric.name not in absences([record], flows)
            and not isinstance(value := metric.combined(record, flows), str)
        }
        if values:
            figures.append(Repeated(metric, cell_of({}, values, {number: number for number in values}, {})))
    return figures


def absences(records: Sequence[Record], flows: Sequence[str]) -> dict[str, str]:
    """Returns the reason for each metric that the engine could not measure of one of `flows`."""
    return {
        absence.metric: absence.reason for r in records for absence in r.absent if absence.object in flows
    }


def seen(records: Sequence[Record]) -> list[Seen]:
    """Returns the warnings of all records. Warnings whose objects and messages differ only in numbers are
    merged."""
    groups: dict[tuple[str, str, str, str], list[tuple[int, Warning]]] = {}
    for number, record in enumerate(records):
        for warning in record.warnings:
            alike = (warning.code, pattern(warning.object), pattern(warning.message), warning.consequence)
            groups.setdefault(alike, []).append((number, warning))
    return [
        Seen(
            merge([warning.object for _, warning in warnings]),
            merge([warning.message for _, warning in warnings]),
            consequence,
            len({number for number, _ in warnings}),
        )
        for (_, _, _, consequence), warnings in groups.items()
    ]
