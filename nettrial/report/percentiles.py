"""Charts of percentiles, for each flow and kind of delay of which the study measures several percentiles."""

from __future__ import annotations

from typing import Any

from nettrial.report import numbers
from nettrial.report.content import Report, Section
from nettrial.report.tables import label
from nettrial.report.vega import Chart, groups, layer, layered, silent, y
from nettrial.study import Study

PERCENTILES = {"p50": "50", "p90": "90", "p99": "99", "p99_9": "99.9", "p99_99": "99.99", "p99_999": "99.999"}
"""The percentiles by the suffix of the metric's name."""
FEWEST = 3
"""The least number of percentiles for which a chart is drawn."""


def draw(report: Report) -> list[Chart]:
    """Returns the charts, with a line for each treatment."""
    families: dict[tuple[str, str], list[tuple[str, Section]]] = {}
    for section in report.sections:
        response = section.response.response
        for end, percentile in PERCENTILES.items():
            if response.metric.endswith(f"_{end}"):
                family = (response.metric.removesuffix(f"_{end}"), response.of)
                families.setdefault(family, []).append((percentile, section))
    drawn = [
        _chart(report.run.study, of, sections)
        for (_, of), sections in families.items()
        if len(sections) >= FEWEST
    ]
    return [chart for chart in drawn if chart]


def _chart(study: Study, of: str, sections: list[tuple[str, Section]]) -> Chart | None:
    rows: list[dict[str, Any]] = []
    unit, title = sections[0][1].unit, sections[0][1].title.split(",")[0]
    for percentile, section in sections:
        decimals = numbers.value_decimals(section.response.cells)
        for cell in section.response.cells:
            if cell.mean is not None and cell.mean > 0:
                group = label(study, cell.treatment)
                said = f"{group}, percentile {percentile}: {numbers.fixed(cell.mean, decimals)} {unit}"
                rows.append({"at": percentile, "value": cell.mean, "group": group, "said": said})
    if not rows:
        return None
    labels = tuple(dict.fromkeys(row["group"] for row in rows))
    channels = groups(labels, "")
    at = {
        "field": "at",
        "type": "ordinal",
        "sort": list(PERCENTILES.values()),
        "axis": {"title": "Percentile", "labelAngle": 0, "grid": False},
    }
    places = {"x": at, "y": y("value", {"type": "log"}, tickCount=5), "color": channels["color"]}
    lines = layer("line", silent(rows), places, strokeWidth=1.5)
    points = layer("point", rows, {**places, "shape": channels["shape"]}, size=50, filled=True, opacity=1)
    said = f"{title} of {of} in {unit} by percentile, a line for each treatment, on a logarithmic scale."
    shown = f"{title} of {of}, {unit}"
    spec = layered([lines, points], shown)
    return Chart(f"percentiles-{sections[0][1].name}", shown, said, spec, legend=labels)
