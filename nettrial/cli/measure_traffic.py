"""The output of `nettrial measure` for nettrial's own traffic and iperf3's."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence

from nettrial.analysis import absences, repeated, seen
from nettrial.cli.console import print_lists, print_table
from nettrial.cli.documents import base as documents
from nettrial.cli.documents import measure as measure_documents
from nettrial.measuring.traffic import TrafficMeasurement
from nettrial.metrics import METRICS
from nettrial.report import numbers
from nettrial.scenario import Record

STREAM_METRICS = ("goodput", "transaction_rate", "rtt", "retransmissions", "loss", "jitter_rfc3550", "owd")
"""The metrics shown in the table of streams, if the streams have them."""


def show(measured: TrafficMeasurement, records: list[Record], as_json: bool) -> None:
    """Prints the records and the metrics over them as a document, or else as tables."""
    if as_json:
        _print_document(measured, records)
    else:
        _print(measured, records)


def _print(measured: TrafficMeasurement, records: list[Record]) -> None:
    """Prints the table of metrics, a table of the streams if there are several, and warnings."""
    rows = []
    for figure in repeated(records, measured.streams):
        cell, metric = figure.cell, figure.metric
        assert cell.median is not None
        median = numbers.fixed(cell.median, numbers.value_decimals([cell]))
        rows.append([metric.title, numbers.with_half_width(cell), median, metric.unit, str(cell.n)])
    print(f"{measured.words}, {numbers.counted(len(records), 'repeat')} of {measured.duration}")
    print()
    print_table(["metric", "mean ± half-width of its 95% interval", "median", "unit", "repeats"], rows)
    if len(measured.streams) > 1:
        _print_streams(measured, records)
    warned = [
        f"{one.object}: {one.message} ({numbers.counted(one.repeats, 'repeat')}); {one.consequence}"
        for one in seen(records)
    ]
    titles = {metric.name: metric.title for metric in METRICS.values()}
    absent = [f"{titles.get(name, name)}: {why}" for name, why in absences(records, measured.streams).items()]
    print_lists({"Warnings": warned, "Not measured": absent})


def _print_streams(measured: TrafficMeasurement, records: list[Record]) -> None:
    """Prints a table with a row for each stream."""
    streams = {
        name: {figure.metric.name: figure for figure in repeated(records, [name])}
        for name in measured.streams
    }
    shown = [name for name in STREAM_METRICS if any(name in stream for stream in streams.values())]
    titles = [f"{METRICS[name].title.lower()}, {METRICS[name].unit}" for name in shown]
    print()
    print_table(
        ["stream", *titles],
        [
            [
                name,
                *(
                    numbers.with_half_width(stream[metric].cell) if metric in stream else "-"
                    for metric in shown
                ),
            ]
            for name, stream in streams.items()
        ],
    )


def _measured(records: list[Record], flows: Sequence[str]) -> list[measure_documents.Measured]:
    """Returns every metric of the flows together, over the repeats."""
    return [
        measure_documents.Measured(
            metric=figure.metric.name,
            unit=figure.metric.unit,
            repeats=figure.cell.n,
            mean=figure.cell.mean,
            median=figure.cell.median,
            deviation=figure.cell.deviation,
            interval=documents.bounds(figure.cell.interval),
        )
        for figure in repeated(records, flows)
    ]


def _print_document(measured: TrafficMeasurement, records: list[Record]) -> None:
    """Prints the records and the metrics over them as one document."""
    streams = measured.streams
    documents.show(
        measure_documents.MeasureDocument(
            command=shlex.join(["nettrial", *sys.argv[1:]]),
            seed=measured.seed,
            metrics=_measured(records, streams),
            streams=[
                measure_documents.Stream(flow=name, metrics=_measured(records, [name])) for name in streams
            ],
            records=[r.model_dump(mode="json", by_alias=True, exclude_none=True) for r in records],
        )
    )
