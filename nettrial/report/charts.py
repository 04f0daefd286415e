"""Charts of the responses, as inline SVG without script: Vega-Lite through Altair and vl-convert."""

import re
from html import escape
from typing import Any

import altair as alt
import vl_convert

from nettrial.analysis import Cell, ResponseSummary, baseline
from nettrial.report.content import Report, Section
from nettrial.report.tables import combinations, label

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#aa5f91", "#8c6d00", "#5b7fbf")
"""Told apart with any colour vision (after Okabe and Ito); shapes differ too. report.css makes them
lighter on a dark page by these very values."""
SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross")
INK = "currentColor"
"""The colour of text, on a light page and a dark one."""
CONFIG: dict[str, Any] = {
    "background": "transparent",
    "font": "system-ui, sans-serif",
    "view": {"stroke": None},
    "axis": {
        "labelColor": INK,
        "titleColor": INK,
        "tickColor": INK,
        "domainColor": INK,
        "gridColor": INK,
        "gridOpacity": 0.13,
        "domainOpacity": 0.4,
        "tickOpacity": 0.4,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
    },
    "title": {
        "color": INK,
        "subtitleColor": INK,
        "anchor": "start",
        "frame": "group",
        "fontSize": 13,
        "fontWeight": "normal",
        "offset": 14,
    },
}


def look(index: int) -> dict[str, str]:
    """The `colour` and `shape` of the group of columns with this number, from 0."""
    return {"colour": COLOURS[index % len(COLOURS)], "shape": SHAPES[index % len(SHAPES)]}


def values(report: Report, section: Section) -> str:
    """A response's means with their intervals, and every trial behind; empty where there is no value."""
    study = report.run.study
    means, trials = [], []
    for place, cell in _cells(report, section.response):
        trials += [{**place, "value": value} for value in cell.values.values()]
        if cell.mean is not None:
            bounds = cell.interval
            low, high = (bounds.low, bounds.high) if bounds else (cell.mean, cell.mean)
            means.append({**place, "value": cell.mean, "low": low, "high": high})
    if not means:
        return ""
    factor = study.factors[study.layout.rows]
    scale = alt.Scale(zero=False, padding=6)
    places = _places(report, list(factor.levels))
    behind = (
        alt.Chart(alt.InlineData(values=trials))
        .mark_point(size=20, filled=True, opacity=0.45)
        .encode(y=_y("value:Q", scale), **places)
    )
    title = f"{section.title}, {section.unit}"
    said = f"{title}, by {factor.title}: the mean of each group with its 95% interval, and every trial."
    return svg(alt.layer(behind, *_estimates(means, scale, places)), title, said)


def changes(report: Report, section: Section) -> str:
    """A response's changes from the baseline with their intervals, and published ones of counterparts."""
    study = report.run.study
    base = baseline(study)
    rows = []
    for place, cell in _cells(report, section.response):
        if cell.change and cell.change.percent is not None:
            bounds, percent = cell.change.interval, cell.change.percent
            low, high = (bounds.low, bounds.high) if bounds else (percent, percent)
            rows.append({**place, "value": percent, "low": low, "high": high})
    if not rows:
        return ""
    factor = study.factors[study.layout.rows]
    places = _places(report, [level for level in factor.levels if level != base])
    title = f"Change from {factor.title} {base}, %"
    zero = (
        alt.Chart(alt.InlineData(values=[{"value": 0}])).mark_rule(color=INK, opacity=0.5).encode(y="value:Q")
    )
    layers = [zero, *_estimates(rows, alt.Scale(padding=6), places)]
    printed = [
        {"level": found.row, "group": found.measured_column, "value": float(found.published)}
        for found in section.comparisons
    ]
    said = f"Change of {section.title} from {factor.title} {base} in percent, with 95% intervals."
    if printed:
        said += " A bar marks what was published for the counterpart."
        bar = alt.Chart(alt.InlineData(values=printed)).mark_tick(
            thickness=2.5, size=18, color=INK, opacity=1
        )
        layers.append(bar.encode(x=places["x"], xOffset=places["xOffset"], y="value:Q"))
    return svg(alt.layer(*layers), title, said)


def _cells(report: Report, response: ResponseSummary) -> list[tuple[dict[str, str], Cell]]:
    """The cells, each with its place in a chart."""
    rows = report.run.study.layout.rows
    return [
        (
            {
                "level": cell.treatment[rows],
                "group": label({k: cell.treatment[k] for k in combinations(report.run.study)[0]}),
            },
            cell,
        )
        for cell in response.cells
    ]


def _places(report: Report, levels: list[str]) -> dict[str, Any]:
    """Where marks stand and how groups look: the rows' factor across, groups side by side."""
    study = report.run.study
    groups = [label(group) for group in combinations(study)]
    colours = [look(i)["colour"] for i in range(len(groups))]
    shapes = [look(i)["shape"] for i in range(len(groups))]
    axis = alt.Axis(title=study.factors[study.layout.rows].title, labelAngle=0, grid=False)
    return {
        "x": alt.X("level:N", sort=levels, axis=axis, scale=alt.Scale(domain=levels, paddingInner=0.25)),
        "xOffset": alt.XOffset("group:N", sort=groups, scale=alt.Scale(domain=groups)),
        "color": alt.Color("group:N", legend=None, scale=alt.Scale(domain=groups, range=colours)),
        "shape": alt.Shape("group:N", legend=None, scale=alt.Scale(domain=groups, range=shapes)),
    }


def _estimates(rows: list[dict[str, Any]], scale: alt.Scale, places: dict[str, Any]) -> list[alt.Chart]:
    """Points with their intervals."""
    chart = alt.Chart(alt.InlineData(values=rows))
    unshaped = {name: channel for name, channel in places.items() if name != "shape"}
    bars = chart.mark_rule(strokeWidth=1.5).encode(y=_y("low:Q", scale), y2="high:Q", **unshaped)
    points = chart.mark_point(size=60, filled=True, opacity=1).encode(y=_y("value:Q", scale), **places)
    return [bars, points]


def _y(field: str, scale: alt.Scale) -> alt.Y:
    return alt.Y(field, scale=scale, axis=alt.Axis(title=None, tickCount=6, domain=False, ticks=False))


def svg(chart: alt.LayerChart | alt.FacetChart, title: str, said: str) -> str:
    """The chart as an SVG element with a text for readers who do not see it."""
    spec = chart.properties(width=370, height=215, title=title).configure(**CONFIG).to_dict()
    svg: str = vl_convert.vegalite_to_svg(spec)
    head, body = svg.split(">", 1)
    box = re.search(r'viewBox="[^"]+"', head)
    assert box is not None
    body = re.sub(r' (?:role|aria-[a-z]+)="[^"]*"', "", body)  # the whole is one picture, named below
    return f'<svg xmlns="http://www.w3.org/2000/svg" {box[0]} role="img" aria-label="{escape(said)}">{body}'
