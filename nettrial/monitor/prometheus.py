"""The latest values of a mesh in Prometheus's text format 0.0.4
(https://prometheus.io/docs/instrumenting/exposition_formats/)."""

from __future__ import annotations

from collections.abc import Mapping

from nettrial.monitor.view import Overview

KIND = "text/plain; version=0.0.4"
"""The media type."""


def text(overview: Overview) -> str:
    """Returns the metrics: the values of each pair's latest interval, and gaps. A pair whose latest interval
    has no measurement has no values, so that an old value is never taken for a new one."""
    lines = [
        "# HELP nettrial_value The value of a metric in a pair's latest interval.",
        "# TYPE nettrial_value gauge",
    ]
    rows = [
        (
            pair,
            {
                "mesh": overview.title,
                "measurement": grid.measurement,
                "from": pair.task.source,
                "to": pair.task.target,
            },
        )
        for grid in overview.grids
        for pair in grid.pairs.values()
    ]
    for pair, labels in rows:
        if pair.state != "gap":
            lines += [
                _line("nettrial_value", {**labels, "metric": each.name, "unit": each.unit}, each.value)
                for each in pair.values
            ]
    lines += [
        "# HELP nettrial_gap 1 if a pair's latest interval has no measurement.",
        "# TYPE nettrial_gap gauge",
        *(_line("nettrial_gap", labels, float(pair.state == "gap")) for pair, labels in rows),
        "# HELP nettrial_measured_timestamp_seconds The time of a pair's latest measurement.",
        "# TYPE nettrial_measured_timestamp_seconds gauge",
        *(
            _line("nettrial_measured_timestamp_seconds", labels, pair.at_s)
            for pair, labels in rows
            if pair.at_s is not None
        ),
        "# HELP nettrial_seen_timestamp_seconds The monitor's last sign of life.",
        "# TYPE nettrial_seen_timestamp_seconds gauge",
    ]
    if overview.seen_s is not None:
        lines.append(_line("nettrial_seen_timestamp_seconds", {"mesh": overview.title}, overview.seen_s))
    return "\n".join(lines) + "\n"


def _line(name: str, labels: Mapping[str, str], value: float) -> str:
    """Returns a sample. In the values of labels, backslashes, quotes and line feeds are escaped."""
    shown = ",".join(
        '{}="{}"'.format(label, words.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n"))
        for label, words in labels.items()
    )
    return f"{name}{{{shown}}} {value!r}"
