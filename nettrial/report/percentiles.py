"""Charts of percentiles: for each flow and kind of delay of which the study asks several."""

from __future__ import annotations

from typing import Any

import altair as alt

from nettrial.report.charts import look, svg
from nettrial.report.content import Report, Section
from nettrial.report.tables import label

PERCENTILES = {"p50": "50", "p90": "90", "p99": "99", "p99_9": "99.9", "p99_99": "99.99", "p99_999": "99.999"}
"""The percentiles by the end of the metric's name."""
FEWEST = 3
"""Percentiles that make a chart."""


def draw(report: Report) -> list[str]:
    """The charts; a line for each treatment."""
    families: dict[tuple[str, str], list[tuple[str, Section]]] = {}
    for section in report.sections:
        response = section.response.response
        for end, percentile in PERCENTILES.items():
            if response.metric.endswith(f"_{end}"):
                family = (response.metric.removesuffix(f"_{end}"), response.of)
                families.setdefault(family, []).append((percentile, section))
    drawn = [_chart(of, sections) for (_, of), sections in families.items() if len(sections) >= FEWEST]
    return [chart for chart in drawn if chart]


def _chart(of: str, sections: list[tuple[str, Section]]) -> str:
    rows: list[dict[str, Any]] = []
    for percentile, section in sections:
        for cell in section.response.cells:
            if cell.mean is not None and cell.mean > 0:
                rows.append({"at": percentile, "value": cell.mean, "treatment": label(cell.treatment)})
    if not rows:
        return ""
    at = list(PERCENTILES.values())
    treatments = list(dict.fromkeys(row["treatment"] for row in rows))
    colours = [look(index)["colour"] for index in range(len(treatments))]
    shapes = [look(index)["shape"] for index in range(len(treatments))]
    unit, title = sections[0][1].unit, sections[0][1].title.split(",")[0]
    chart = alt.Chart(alt.InlineData(values=rows)).encode(
        x=alt.X("at:O", sort=at, axis=alt.Axis(title="Percentile", labelAngle=0, grid=False)),
        y=alt.Y("value:Q", scale=alt.Scale(type="log"), axis=alt.Axis(title=None, tickCount=5, domain=False)),
        color=alt.Color(
            "treatment:N",
            legend=alt.Legend(title=None, labelColor="currentColor", orient="bottom", columns=2),
            scale=alt.Scale(domain=treatments, range=colours),
        ),
        shape=alt.Shape("treatment:N", scale=alt.Scale(domain=treatments, range=shapes)),
    )
    layers = alt.layer(chart.mark_line(strokeWidth=1.5), chart.mark_point(size=50, filled=True, opacity=1))
    said = f"{title} of {of} in {unit} by percentile, a line for each treatment, on a logarithmic scale."
    return svg(layers, f"{title} of {of}, {unit}", said)
