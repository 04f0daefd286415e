"""The figures of repeated measurements with other programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from nettrial.cli.console import print_lists, print_table
from nettrial.cli.documents import base as documents
from nettrial.cli.documents import measure as measure_documents
from nettrial.measuring.measurement import RepeatedMetric, metrics_of
from nettrial.protocols.figures import MetricValue, ProtocolOutcome
from nettrial.report import numbers


def metrics(outcomes: Sequence[ProtocolOutcome]) -> list[measure_documents.DirectedMeasured]:
    """Returns the metrics over the repeats, as they are in documents."""
    return [
        measure_documents.DirectedMeasured(
            direction=each.direction,
            metric=each.metric,
            unit=each.unit,
            repeats=each.cell.n,
            mean=each.cell.mean,
            median=each.cell.median,
            deviation=each.cell.deviation,
            interval=documents.bounds(each.cell.interval),
        )
        for each in metrics_of(outcomes)
    ]


def absent(outcomes: Sequence[ProtocolOutcome]) -> list[measure_documents.AbsentMetric]:
    """Returns the metrics that some repeats did not give, with the reasons."""
    reasons = Counter(
        (each.direction, each.metric, each.value)
        for outcome in outcomes
        for each in outcome.figures
        if isinstance(each.value, str)
    )
    return [
        measure_documents.AbsentMetric(direction=direction, metric=metric, reason=reason, repeats=repeats)
        for (direction, metric, reason), repeats in reasons.items()
    ]


def warnings(outcomes: Sequence[ProtocolOutcome]) -> list[measure_documents.Observed]:
    """Returns the warnings, with the number of repeats that have each."""
    counted = Counter(text for outcome in outcomes for text in dict.fromkeys(outcome.warnings))
    return [measure_documents.Observed(message=text, repeats=repeats) for text, repeats in counted.items()]


def show(heading: str, outcomes: Sequence[ProtocolOutcome]) -> None:
    """Prints a table of the metrics, the warnings, and the metrics that are absent."""
    print(f"{heading}\n")
    columns = ["metric", "mean ± half-width of its 95% interval", "median", "unit", "repeats"]
    print_table(columns, [_row(each) for each in metrics_of(outcomes)])
    warned = [f"{one.message} ({numbers.counted(one.repeats, 'repeat')})" for one in warnings(outcomes)]
    titles = {(each.direction, each.metric): _title(each) for one in outcomes for each in one.figures}
    lacking = [
        f"{titles[one.direction, one.metric]}: {one.reason} ({numbers.counted(one.repeats, 'repeat')})"
        for one in absent(outcomes)
    ]
    print_lists({"Warnings": warned, "Not measured": lacking})


def _title(figure: MetricValue | RepeatedMetric) -> str:
    return f"{figure.direction}: {figure.title}"


def _row(repeated_metric: RepeatedMetric) -> list[str]:
    """Returns a row of the table of metrics."""
    cell = repeated_metric.cell
    assert cell.median is not None
    median = numbers.fixed(cell.median, numbers.value_decimals([cell]))
    return [_title(repeated_metric), numbers.with_half_width(cell), median, repeated_metric.unit, str(cell.n)]
