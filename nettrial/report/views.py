"""Two more views of a response: the distribution of its trials, and its trials in run order."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import Any

import numpy as np

from nettrial.analysis import Cell
from nettrial.report import numbers
from nettrial.report.charts import thinned
from nettrial.report.content import Report, Section
from nettrial.report.tables import column_title, combinations, label
from nettrial.report.vega import INK, MOST_MARKS, WIDTH, Chart, across, beside, groups, layer, layered, y

ROW_HEIGHT = 17
"""The height of a treatment's row in the view of distributions, in pixels."""
BOX_FROM = 8
"""The least number of values for which quartiles are drawn: for fewer, they add little to the values."""
MOST_ROWS = 60
"""The largest number of treatments in a view of distributions."""

Row = dict[str, Any]
"""A row of a chart's data."""


def distribution(report: Report, section: Section) -> Chart | None:
    """Returns a chart with the trials of each treatment on a line, with the median and, if there are many,
    the middle half."""
    cells = [cell for cell in section.response.cells if cell.n]
    if not any(cell.n > 1 for cell in cells):
        return None
    study = report.run.study
    shown, decimals = cells[:MOST_ROWS], numbers.value_decimals(cells)
    ticks, boxes, medians = [], [], []
    for cell in shown:
        place = _place(report, cell)
        values = np.array(list(cell.values.values()))
        low, middle, high = (float(at) for at in np.quantile(values, (0.25, 0.5, 0.75)))
        said = f"{place['treatment']}: median {numbers.fixed(middle, decimals)} {section.unit}"
        said += f", from {numbers.fixed(values.min(), decimals)} to {numbers.fixed(values.max(), decimals)}"
        said += f", {numbers.counted(cell.n, 'trial')}"
        medians.append({**place, "value": middle, "said": said})
        if cell.n >= BOX_FROM:
            boxes.append({**place, "low": low, "high": high})
        ticks += [{**place, "value": value} for _, value in thinned(cell, MOST_MARKS // len(shown))]
    labels = [label(study, group) for group in combinations(study)]
    axis = {"title": None, "grid": True, "labelLimit": 480, "domain": False, "ticks": False}
    down = {"field": "treatment", "type": "nominal", "sort": None, "axis": axis}
    colour = groups(labels, column_title(study))["color"]
    width = WIDTH - 60
    x = across([row["value"] for row in ticks], width, grid=False)
    at = {"x": {**x, "field": "value"}, "y": down}
    layers = [
        layer("tick", ticks, {**at, "color": colour}, thickness=1.2, opacity=0.6),
        layer("point", medians, at, size=34, filled=True, color=INK),
    ]
    if boxes:
        ends = {"x": {**x, "field": "low"}, "x2": {"field": "high"}, "y": down, "color": colour}
        layers.insert(0, layer("bar", boxes, ends, height={"band": 0.75}, opacity=0.25))
    title = f"Every trial, {section.unit}"
    said = f"{section.title}: a tick for every trial and a dot for the median of each treatment"
    said += ", a bar for the middle half of the trials." if boxes else "."
    notes = []
    if len(shown) < len(cells):
        notes.append(f"The first {len(shown)} of {len(cells)} treatments.")
    total = sum(cell.n for cell in shown)
    if len(ticks) < total:
        notes.append(
            f"{len(ticks)} of {total} trials are drawn, spread evenly over the ranks, with the smallest and "
            "the largest."
        )
    names = [row["treatment"] for row in medians]
    spec = layered(layers, title, width, {"step": ROW_HEIGHT}) | beside(names)
    return Chart(f"{section.name}-distribution", title, said, spec, section.title, note=" ".join(notes))


def order(report: Report, section: Section) -> Chart | None:
    """Returns a chart of each trial's deviation from the mean of its treatment in run order, which reveals
    drift."""
    study = report.run.study
    points = []
    for cell in section.response.cells:
        if cell.n < 2 or not cell.mean:
            continue
        for block, value in cell.values.items():
            points.append((cell.trials[block], 100 * (value / cell.mean - 1), _place(report, cell)))
    if len(points) < 2:
        return None
    points.sort(key=lambda point: point[0])
    title = "Deviation from the treatment’s mean in run order, %"
    said = (
        f"{section.title}: the deviation of each trial from the mean of its treatment, by its place in the "
        "run."
    )
    trials = [number for number, _, _ in points]
    x = {
        "field": "trial",
        **across(trials, WIDTH, whole=True, exact=True, padding=8, title="Trial", grid=False),
    }
    zero = layer("rule", [{"value": 0}], {"y": y("value", {"padding": 6})}, color=INK, opacity=0.5)
    places = {"x": x, "y": y("value", {"padding": 6})}
    if len(points) > MOST_MARKS:
        rows = _together(points)
        ends = {"x": x, "y": y("low", {"padding": 6}), "y2": {"field": "high"}}
        bare = [{name: row[name] for name in ("trial", "low", "high")} for row in rows]
        layers = [
            zero,
            layer("rule", bare, ends, color=INK, opacity=0.35),
            layer("point", rows, places, size=22, filled=True, opacity=1, color=INK),
        ]
        each = -(-len(points) // len(rows))
        note = (
            f"A mark is the mean of about {each} successive trials; its line extends from the lowest to the "
        )
        note += "highest."
    else:
        labels = [label(study, group) for group in combinations(study)]
        rows = [
            {
                "trial": number,
                "value": percent,
                "group": place["group"],
                "said": f"trial {number}, {place['treatment']}: {numbers.signed(percent, 2)}%",
            }
            for number, percent, place in points
        ]
        channels = groups(labels, column_title(study))
        layers = [zero, layer("point", rows, {**places, **channels}, size=30, filled=True, opacity=0.85)]
        note = ""
    return Chart(f"{section.name}-order", title, said, layered(layers, title), section.title, note=note)


def _together(points: Sequence[tuple[int, float, Row]]) -> list[Row]:
    """Merges neighbouring points until the marks can be distinguished."""
    rows = []
    for part in np.array_split(np.arange(len(points)), MOST_MARKS // 4):
        trials = [points[at][0] for at in part]
        percents = [points[at][1] for at in part]
        mean, low, high = fmean(percents), min(percents), max(percents)
        said = f"trials {trials[0]} to {trials[-1]}: mean {numbers.signed(mean, 2)}%, "
        said += f"{numbers.signed(low, 2)} to {numbers.signed(high, 2)}%"
        rows.append({"trial": fmean(trials), "value": mean, "low": low, "high": high, "said": said})
    return rows


def _place(report: Report, cell: Cell) -> Row:
    """Returns the place of a treatment: its name and its group of columns."""
    study = report.run.study
    rows, columns = study.layout.rows, study.layout.columns
    group = label(study, {name: cell.treatment[name] for name in columns})
    return {"treatment": label(study, {rows: cell.treatment[rows]} | cell.treatment), "group": group}
