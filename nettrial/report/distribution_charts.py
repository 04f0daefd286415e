"""Charts of single values by treatment: the cumulative distribution of delays, and the goodput of flows by
rank. They have no intervals, because values within a trial are no replicates."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from nettrial.analysis import Delays
from nettrial.analysis.flow_distributions import Kind
from nettrial.report import numbers
from nettrial.report.content import Report
from nettrial.report.tables import combinations, label
from nettrial.report.vega import WIDTH, Chart, Spec, across, groups, layer, layered, silent, y

MOST_CHARTS = 12
"""The largest number of charts of a kind."""
MOST_LINES = 6
"""The largest number of lines in a chart; of more levels, some are drawn, evenly spread over their order."""
FEWEST_FLOWS = 4
"""The least number of flows that are ranked."""
POINTS = 200
"""The largest number of ranks drawn of a line."""
SPEAKING = 40
"""The number of ranks that show their values on demand."""
SHARES = (0.0, *(each / 100 for each in range(1, 100)), 0.995, 0.999, 1.0)
"""The shares of values whose delays are drawn."""
SPOKEN = (0.05, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 1.0)
"""The shares that show their delays on demand."""
TITLE_LETTERS = 50
"""The largest number of letters in a line of a title, which is as wide as the chart."""
LOGARITHMIC_FROM = 20.0
"""The ratio of the largest to the smallest delay from which the axis is logarithmic."""
KINDS = {"rtt": "Round-trip time", "owd": "One-way delay"}
"""The titles of delays."""

Row = dict[str, Any]
"""A row of a chart's data."""


def delays(report: Report) -> tuple[list[Chart], str]:
    """Returns a chart of the delays of each flow under each combination of the columns' levels, with a line
    for each level of the rows' factor, and a note on charts that were left out."""
    by_flow: dict[tuple[str, Kind], dict[tuple[str, ...], Delays]] = {}
    for (flow, kind, levels), values in report.distributions.delays.items():
        by_flow.setdefault((flow, kind), {})[levels] = values
    several = len({flow for flow, _ in by_flow}) > 1
    charts: list[Chart] = []
    for (flow, kind), by_levels in by_flow.items():
        what = f"{KINDS[kind]} of {flow}, ms" if several else f"{KINDS[kind]}, ms"
        charts += _charts(report, by_levels, f"{flow}-{kind}-ecdf", what, _delay_chart)
    return _some(charts)


def ranked(report: Report) -> tuple[list[Chart], str]:
    """Returns a chart of the goodput of all flows by rank for each combination of the columns' levels, with a
    line for each level of the rows' factor, and a note on charts that were left out. There is none for few
    flows."""
    means = {levels: each.means_bps / 1e6 for levels, each in report.distributions.goodputs.items()}
    many = {levels: each for levels, each in means.items() if len(each) >= FEWEST_FLOWS}
    return _some(_charts(report, many, "flows-goodput-rank", "Goodput of each flow, Mbit/s", _rank_chart))


def _some(charts: list[Chart]) -> tuple[list[Chart], str]:
    more = len(charts) - MOST_CHARTS
    return charts[:MOST_CHARTS], f"{numbers.counted(more, 'more chart')} not drawn." if more > 0 else ""


def _charts(
    report: Report,
    by_levels: Mapping[tuple[str, ...], Any],
    name: str,
    title: str,
    draw: Callable[[str, str, str, Mapping[str, Any], str], Chart],
) -> list[Chart]:
    """Returns a chart for each combination of the columns' levels that has values."""
    study = report.run.study
    rows, charts = study.factors[study.layout.rows], []
    every = combinations(study)
    for number, group in enumerate(every, start=1):
        lines = {}
        for level in rows.levels:
            treatment = {**group, study.layout.rows: level}
            values = by_levels.get(tuple(treatment[factor] for factor in study.factors))
            if values is not None:
                lines[level] = values
        if lines:
            kept = [list(lines)[at] for at in _spread(len(lines), MOST_LINES)]
            note = f"{len(kept)} of {len(lines)} levels of {rows.title} are drawn."
            many = len(every) > 1
            charts.append(
                draw(
                    f"{name}-{number}" if many else name,
                    title,
                    label(study, group) if many else "",
                    {f"{rows.title} {level}": lines[level] for level in kept},
                    note if len(kept) < len(lines) else "",
                )
            )
    return charts


def _spread(count: int, most: int) -> Sequence[int]:
    """Returns at most `most` of that many places, evenly spread, with the first and the last."""
    chosen: list[int] = np.linspace(0, count - 1, min(count, most)).round().astype(int).tolist()
    return chosen


def _delay_chart(name: str, title: str, group: str, lines: Mapping[str, Delays], note: str) -> Chart:
    rows: list[Row] = []
    speaking: list[Row] = []
    for level, values in lines.items():
        for share in SHARES:
            at = values.quantile_ns(share) / 1e6
            said = f"{level}: {100 * share:g}% of {values.count} values are at most {at:.4g} ms"
            row = {"at": at, "value": 100 * share, "group": level, "said": said}
            rows.append(row)
            if share in SPOKEN:
                speaking.append(row)
    smallest, largest = (end(row["at"] for row in rows) for end in (min, max))
    is_wide = smallest > 0 and largest / smallest >= LOGARITHMIC_FROM
    x: Spec = {"field": "at", **across([smallest, largest], WIDTH, title=title, grid=False)}
    if is_wide:
        axis = {"title": title, "grid": False, "tickCount": 5, "labelOverlap": "greedy"}
        x = {"field": "at", "type": "quantitative", "scale": {"type": "log"}, "axis": axis}
    places = {"x": x, "y": y("value", {"domain": [0, 100]}, tickCount=5)}
    heading = f"{title.removesuffix(', ms')}: share of values, %"
    what = f"The cumulative distribution of all values of all trials: {title}"
    said = f"{what}{f', {group}' if group else ''}; a line for each level"
    said += ", on a logarithmic scale." if is_wide else "."
    return _chart(name, heading, group, said, rows, speaking, places, note, interpolate="step-after")


def _rank_chart(name: str, title: str, group: str, lines: Mapping[str, Any], note: str) -> Chart:
    rows: list[Row] = []
    speaking: list[Row] = []
    for level, means in lines.items():
        chosen = _spread(len(means), POINTS)
        line = [
            {
                "at": place + 1,
                "value": float(means[place]),
                "group": level,
                "said": f"{level}: rank {place + 1} of {len(means)}: {means[place]:.4g} Mbit/s",
            }
            for place in chosen
        ]
        rows += line
        speaking += [line[at] for at in _spread(len(line), SPEAKING)]
    ranks = [row["at"] for row in rows]
    shown = across(ranks, WIDTH, whole=True, exact=True, title="Rank of the flow", grid=False)
    places = {"x": {"field": "at", **shown}, "y": y("value", {"zero": True})}
    said = f"{title}, from the lowest to the highest, the mean of each rank over the trials"
    said += f", {group}; a line for each level." if group else "; a line for each level."
    return _chart(name, title, group, said, rows, speaking, places, note)


def _chart(
    name: str,
    title: str,
    group: str,
    said: str,
    rows: list[Row],
    speaking: list[Row],
    places: Spec,
    note: str,
    **line: Any,
) -> Chart:
    labels = tuple(dict.fromkeys(row["group"] for row in rows))
    channels = groups(labels, "")
    coloured = {**places, "color": channels["color"]}
    layers = [
        layer("line", silent(rows), coloured, strokeWidth=1.5, **line),
        layer("point", speaking, {**coloured, "shape": channels["shape"]}, size=22, filled=True, opacity=0.9),
    ]
    spec = layered(layers, title) | {"title": [title, *textwrap.wrap(group, TITLE_LETTERS)]}
    about = title if group else ""
    return Chart(name, group or title, said, spec, about, legend=labels, note=note)
