"""The pages of a monitor: the grid of pairs, and the history of a pair."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from scipy import special

from nettrial.monitor.archive import ArchivedValues, KnownGap
from nettrial.monitor.schedule import DAY, HOUR
from nettrial.monitor.view import History, MetricSeries, Overview
from nettrial.report import pages, vega
from nettrial.report.vega import INK, Chart, Spec
from nettrial.texts import visible
from nettrial.units import PERIOD

STATES = {
    "good": "within its thresholds",
    "measured": "measured, without thresholds",
    "warning": "beyond the threshold of a warning",
    "alarm": "beyond the threshold of an alarm",
    "gap": "no measurement in the latest interval",
}
"""The states of pairs in words."""
SIGNS = {"good": "✓", "measured": "·", "warning": "▲", "alarm": "✕", "gap": "–", "none": ""}
"""The signs of states, so that no state is shown by its colour alone."""
MOST_POINTS = 200
"""The largest number of points of a chart; more are merged."""
CONFIDENCE = 0.95
"""The confidence level of the intervals on pages."""


def overview_page(overview: Overview, live: str) -> str:
    """Returns the text of the page with all pairs; `live` is the revision of the archive."""
    return _render("monitor.html.j2", overview.now_s, live, overview=overview)


def pair_page(history: History, live: str) -> str:
    """Returns the text of the page of a pair."""
    counts = [f"{number} {reason or 'measured'}" for reason, number in sorted(history.counts.items())]
    return _render(
        "pair.html.j2",
        history.now_s,
        live,
        history=history,
        counts=", ".join(counts) or "none",
        charts=[(series.title, drawn) for series in history.series if (drawn := charts(series, history))],
    )


def _render(template: str, now_s: float, live: str, **values: Any) -> str:
    environment = pages.environment()
    environment.globals["draw"] = vega.on_page
    environment.globals["look"] = vega.look
    environment.filters["moment"] = moment
    environment.filters["short"] = lambda value: f"{value:.4g}" if abs(value) < 1e4 else f"{value:.0f}"
    environment.filters["period"] = PERIOD.print
    made = environment.get_template(template).render(
        live=live,
        policy=pages.policy(live=True),
        shown_at=f"as of {moment(now_s)} UTC",
        STATES=STATES,
        SIGNS=SIGNS,
        **values,
    )
    return visible(made)


def moment(at_s: float) -> str:
    """Returns a time as text, in UTC."""
    return f"{datetime.fromtimestamp(at_s, UTC):%Y-%m-%d %H:%M:%S}"


def charts(series: MetricSeries, history: History) -> list[Chart]:
    """Returns the charts of a metric: the values of the last 24 hours, and all of them by hour."""
    drawn = []
    if series.day:
        points = [ArchivedValues(at_s, 1, value, 0.0, value, value) for at_s, value in series.day]
        merged = merge(points, DAY / MOST_POINTS if len(points) > MOST_POINTS else 0.0)
        drawn.append(_chart(series, history, f"{series.name}-day", "the last 24 hours", merged))
    if len(series.hours) > 1:
        span = series.hours[-1].at_s - series.hours[0].at_s + HOUR
        width = max(HOUR, math.ceil(span / MOST_POINTS / HOUR) * HOUR)
        by = "by hour" if width == HOUR else f"by {PERIOD.print(width)}"
        drawn.append(_chart(series, history, f"{series.name}-all", by, merge(series.hours, width)))
    return drawn


def merge(points: Sequence[ArchivedValues], width_s: float) -> list[ArchivedValues]:
    """Returns the points in the order of time. Points within intervals of this width are merged; a width of 0
    merges none."""
    if not width_s:
        return sorted(points, key=lambda point: point.at_s)
    merged: dict[int, ArchivedValues] = {}
    for point in points:
        place = int(point.at_s // width_s)
        merged[place] = merged[place].and_also(point) if place in merged else point
    return [merged[place] for place in sorted(merged)]


def interval(point: ArchivedValues) -> tuple[float, float] | None:
    """Returns the 95% interval of the mean of a point's values (Student's t); None for a single value."""
    if point.n < 2:
        return None
    quantile = float(special.stdtrit(point.n - 1, (1 + CONFIDENCE) / 2))
    half = quantile * math.sqrt(point.m2 / (point.n - 1) / point.n)
    return point.mean - half, point.mean + half


def _chart(
    series: MetricSeries, history: History, name: str, over: str, points: list[ArchivedValues]
) -> Chart:
    rows, bars = [], []
    for point in points:
        said = f"{moment(point.at_s)}: {point.mean:.5g} {series.unit}"
        bounds = interval(point)
        if bounds:
            said += f" [{bounds[0]:.5g}, {bounds[1]:.5g}], {point.n} measurements"
            bars.append({"at": _ms(point.at_s), "low": bounds[0], "high": bounds[1]})
        rows.append({"at": _ms(point.at_s), "value": point.mean, "said": said})
    first, last = points[0].at_s, points[-1].at_s + 1
    y = vega.y("value")
    x = _x("%H:%M" if last - first <= 2 * DAY else "%d %b" if last - first > 7 * DAY else "%d %b %H:%M")
    places = {"x": x, "y": y}
    layers = [
        _band(gap, first, last, x) for gap in history.gaps if first < gap.ended_s and gap.began_s < last
    ]
    layers += [
        vega.layer("rule", [{"value": bound}], {"y": y}, strokeDash=[5, 4], color=INK, opacity=0.7)
        for _, bound in series.limits
    ]
    layers += [
        vega.layer("rule", [{"at": _ms(at_s)}], {"x": x}, color=INK, strokeWidth=1.5)
        for at_s in series.changes
        if first <= at_s <= last
    ]
    if bars:
        ends = {"x": x, "y": vega.y("low"), "y2": {"field": "high"}}
        layers.append(vega.layer("rule", bars, ends, color=vega.COLOURS[0], strokeWidth=1.6))
    layers.append(vega.layer("point", rows, places, size=26, filled=True, opacity=1, color=vega.COLOURS[0]))
    title = f"{series.title}, {series.unit}, {over}"
    spec = vega.layered(layers, title, vega.WIDEST)
    return Chart(name, title, f"{title}: {len(rows)} points.", spec)


def _band(gap: KnownGap, first: float, last: float, x: Spec) -> Spec:
    ends = {"at": _ms(max(gap.began_s, first)), "to": _ms(min(gap.ended_s, last))}
    return vega.layer("rect", [ends], {"x": x, "x2": {"field": "to"}}, color=INK, opacity=0.12)


def _x(form: str) -> Spec:
    axis = {"title": None, "format": form, "grid": False, "tickCount": 8}
    axis |= {"labelOverlap": True, "labelFlush": False, "labelSeparation": 2 * vega.GAP}
    return {"field": "at", "type": "temporal", "scale": {"type": "utc"}, "axis": axis}


def _ms(at_s: float) -> int:
    return round(at_s * 1000)
