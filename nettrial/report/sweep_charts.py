"""Charts of sweeps: round-trip time against packet size, the ratio of two levels, the time of all bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from nettrial.analysis import Curve, Estimate, baseline, boundaries, estimate, ratios
from nettrial.analysis.curves import Floats
from nettrial.report import tables
from nettrial.report.charts import INK, look, svg
from nettrial.report.sweeps import Sweeps
from nettrial.study import Study

GROUPS = 200
"""Points of a line at most; neighbouring sizes are put together where there are more."""
MOST_RULES = 16
"""More boundaries than this in view would be a grey wall."""
CLOSE_UP = 1.5
"""How far the close-up goes, in multiples of the largest MTU."""


def draw(study: Study, sweeps: Sweeps) -> list[tuple[str, list[str]]]:
    """For each combination of the other factors its title and its charts."""
    drawn = []
    for group in tables.combinations(study):
        found = [curve for curve in sweeps.curves if group.items() <= curve.treatment.items()]
        if found:
            drawn.append((tables.label(group), _charts(study, found, tables.label(group))))
    return drawn


def _charts(study: Study, found: Sequence[Curve], group: str) -> list[str]:
    closest = CLOSE_UP * max(curve.mtu_bytes for curve in found)
    factor = study.factors[study.layout.rows].title
    about = f"against packet size, {group}, by {factor}, with 95% intervals"
    rtts = [(curve, curve.sizes, curve.rtt_us) for curve in found]
    near = [
        (curve, curve.sizes[curve.sizes <= closest], curve.minimum_us[:, curve.sizes <= closest])
        for curve in found
    ]
    totals = [(curve, curve.sizes, curve.total_us / 1000) for curve in found]
    charts = [
        _lines(study, rtts, "Round-trip time, us", f"Round-trip time in microseconds {about}."),
        _lines(study, near, "Smallest round-trip time, us", f"Its minimum {about}, at the smaller sizes."),
        _ratio(study, found, group),
        _lines(study, totals, "Time of all bytes of a size, ms", f"Time of all bytes {about}.", rules=False),
    ]
    return [chart for chart in charts if chart]


def _lines(
    study: Study, parts: Sequence[tuple[Curve, Floats, Floats]], title: str, said: str, rules: bool = True
) -> str:
    """A line with its band for each curve, and its boundaries as dashed lines where they are few."""
    rows, marks = [], []
    for curve, sizes, values in parts:
        level = curve.treatment[study.layout.rows]
        rows += _rows(estimate(sizes, values, GROUPS), level)
        places = [place for place in boundaries(curve) if len(sizes) and sizes[0] <= place < sizes[-1]]
        marks += [{"size": place, "level": level} for place in places if len(places) <= MOST_RULES]
    if not rows:
        return ""
    layers = _layers(study, rows)
    if rules and marks:
        layers.insert(
            0,
            alt.Chart(alt.InlineData(values=marks))
            .mark_rule(strokeDash=[2, 3], opacity=0.6)
            .encode(x="size:Q", color=_colour(study)),
        )
        said += " Dashed: the sizes after which a message takes one packet more."
    return svg(alt.layer(*layers), title, said)


def _ratio(study: Study, found: Sequence[Curve], group: str) -> str:
    """The ratio of each level to the baseline."""
    rows: list[dict[str, Any]] = []
    for ratio in ratios(study, found, GROUPS):
        rows += _rows(ratio.ratio, ratio.treatment[study.layout.rows])
    if not rows:
        return ""
    one = alt.Chart(alt.InlineData(values=[{"value": 1}])).mark_rule(color=INK, opacity=0.5)
    layers = [one.encode(y="value:Q"), *_layers(study, rows)]
    title = f"Round-trip time, ratio to {study.factors[study.layout.rows].title} {baseline(study)}"
    return svg(alt.layer(*layers), title, f"{title}, against packet size, {group}, with 95% intervals.")


def _rows(shown: Estimate, level: str) -> list[dict[str, Any]]:
    columns = (np.round(part, 4).tolist() for part in (shown.sizes, shown.mean, shown.low, shown.high))
    return [
        {"size": size, "value": mean, "low": low, "high": high, "level": level}
        for size, mean, low, high in zip(*columns, strict=True)
    ]


def _layers(study: Study, rows: list[dict[str, Any]]) -> list[alt.Chart]:
    chart = alt.Chart(alt.InlineData(values=rows))
    x = alt.X(
        "size:Q",
        axis=alt.Axis(title="Packet size, B", grid=False, tickCount=6, format="d"),
        scale=alt.Scale(nice=False, zero=False),
    )
    scale = alt.Scale(zero=False, padding=6)
    axis = alt.Axis(title=None, tickCount=6, domain=False, ticks=False)
    colour = _colour(study)
    band = chart.mark_area(opacity=0.25).encode(
        x=x, y=alt.Y("low:Q", scale=scale, axis=axis), y2="high:Q", color=colour
    )
    line = chart.mark_line(strokeWidth=1.5).encode(
        x=x, y=alt.Y("value:Q", scale=scale, axis=axis), color=colour
    )
    return [band, line]


def _colour(study: Study) -> alt.Color:
    """The colour of each level of the rows' factor."""
    levels = list(study.factors[study.layout.rows].levels)
    colours = [look(index)["colour"] for index in range(len(levels))]
    return alt.Color("level:N", legend=None, scale=alt.Scale(domain=levels, range=colours))
