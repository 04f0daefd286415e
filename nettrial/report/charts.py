"""Charts of a response: its means and its changes, always with their intervals, and every trial on demand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nettrial.analysis import Cell, Change, Interval, ResponseSummary, baseline
from nettrial.report import numbers
from nettrial.report.content import Report, Section
from nettrial.report.tables import column_title, combinations, label
from nettrial.report.vega import (
    INK,
    MOST_MARKS,
    TRIALS,
    Chart,
    Spec,
    groups,
    layer,
    layered,
    names_across,
    silent,
    y,
)

Row = dict[str, Any]
"""A row of a chart's data."""


def values(report: Report, section: Section) -> Chart | None:
    """Returns a chart of a response's means with their intervals, and every trial behind them; None if there
    is no value."""
    study = report.run.study
    shown = [cell for _, cell in _cells(report, section.response) if cell.mean is not None]
    if not shown:
        return None
    decimals = numbers.value_decimals(shown)
    means, trials, left_out = [], [], 0
    for place, cell in _cells(report, section.response):
        if cell.mean is None:
            continue
        kept = thinned(cell, MOST_MARKS // len(shown))
        left_out += cell.n - len(kept)
        for block, value in kept:
            said = (
                f"trial {cell.trials[block]}, block {block}: {numbers.fixed(value, decimals)} {section.unit}"
            )
            trials.append({**place, "value": value, "said": said})
        said = f"{_said(place)}: {numbers.fixed(cell.mean, decimals)} {section.unit}"
        said += _bounds(cell.interval, decimals) + f", {numbers.counted(cell.n, 'trial')}"
        means.append({**place, "value": cell.mean, **_ends(cell.interval, cell.mean), "said": said})
    factor = study.factors[study.layout.rows]
    places, width = _places(report, list(factor.levels))
    behind = layer("point", trials, {**places, "y": y("value")}, size=20, filled=True, opacity=0.45)
    title = f"{section.title}, {section.unit}"
    said = f"{title}, by {factor.title}: the mean of each group with its 95% interval, and every trial."
    note = (
        f"{left_out} trials are not drawn; the others are spread evenly over the ranks, and include the "
        "smallest "
    )
    note += "and the largest."
    spec = layered([{**behind, "name": TRIALS}, *_estimates(means, None, places)], title, width)
    return Chart(f"{section.name}-values", title, said, spec, note=note if left_out else "")


def changes(report: Report, section: Section) -> Chart | None:
    """Returns a chart of a response's changes from the baseline with their intervals, and the published
    changes of counterparts."""
    study = report.run.study
    base = baseline(study)
    of_cells = [(place, cell.change) for place, cell in _cells(report, section.response) if cell.change]
    clear = [(place, change) for place, change in of_cells if not change.is_unclear]
    rows = _changes(clear)
    if not rows:
        return None
    factor = study.factors[study.layout.rows]
    places, width = _places(report, [level for level in factor.levels if level != base])
    printed = [
        {
            "level": each.row,
            "group": each.measured_column,
            "value": float(each.published),
            "said": f"published for {each.published_column}, {each.row}: {each.published}%",
        }
        for each in section.comparisons
    ]
    wider, cut = _together(clear, [*rows, *printed])
    layers = [_line_at(0), *_estimates(rows, {"padding": 6}, places)]
    if wider:
        layers.insert(1, _intervals(wider, {"padding": 6}, places, strokeWidth=1, opacity=0.55))
    title = f"Change from {factor.title} {base}, %"
    said = f"Change of {section.title} from {factor.title} {base} in percent, with 95% intervals; "
    said += "the thin ends show the intervals that hold for all changes together."
    if printed:
        said += " A bar marks the published change of the counterpart."
        where = {"x": places["x"], "xOffset": places["xOffset"], "y": y("value", {"padding": 6})}
        layers.append(layer("tick", printed, where, thickness=2.5, size=18, color=INK, opacity=1))
    notes = ["Longer thin ends are cut off at the chart's edge."] if cut else []
    if len(clear) < len(of_cells):
        notes.append(f"{numbers.counted(len(of_cells) - len(clear), 'unclear change')} not drawn.")
    spec = layered(layers, title, width)
    return Chart(f"{section.name}-changes", title, said, spec, section.title, note=" ".join(notes))


def _changes(rows_and_changes: Sequence[tuple[Row, Change]]) -> list[Row]:
    """Returns a row for each change that has a value."""
    decimals = numbers.percent_decimals([change for _, change in rows_and_changes])
    rows = []
    for place, change in rows_and_changes:
        if change.percent is not None:
            said = f"{_said(place)}: {numbers.signed(change.percent, decimals)}%"
            said += f" {numbers.bounds(change.interval, decimals)}" if change.interval else ", no interval"
            said += f", {numbers.counted(change.pairs, 'pair')}"
            said += f", effect size {change.effect:.2g}" if change.effect is not None else ""
            ends = _ends(change.interval, change.percent)
            rows.append({**place, "value": change.percent, **ends, "said": said})
    return rows


def _together(rows_and_changes: Sequence[tuple[Row, Change]], shown: Sequence[Row]) -> tuple[list[Row], bool]:
    """Returns the intervals that hold for all changes together, and whether some had to be cut: with many
    changes and few blocks they may be so wide that they would hide everything else."""
    ends = [0.0, *(row[name] for row in shown for name in ("value", "low", "high") if name in row)]
    room = max(ends) - min(ends)
    low, high = min(ends) - room, max(ends) + room
    wider = [(place, change.simultaneous) for place, change in rows_and_changes if change.simultaneous]
    rows = [{**place, "low": max(low, at.low), "high": min(high, at.high)} for place, at in wider]
    return rows, any(at.low < low or at.high > high for _, at in wider)


def thinned(cell: Cell, most: int) -> list[tuple[int, float]]:
    """Returns the values of a cell with their blocks. Of more than `most` values (at least two), it returns a
    selection spread evenly over the ranks that includes the smallest and the largest."""
    by_block = list(cell.values.items())
    if len(by_block) <= max(most, 2):
        return by_block
    by_block.sort(key=lambda item: item[1])
    return [by_block[rank] for rank in np.linspace(0, len(by_block) - 1, max(most, 2)).round().astype(int)]


def _cells(report: Report, response: ResponseSummary) -> list[tuple[Row, Cell]]:
    """Returns the cells, each with its place in a chart."""
    study = report.run.study
    rows, columns = study.layout.rows, study.layout.columns
    return [
        (
            {
                "level": cell.treatment[rows],
                "group": label(study, {name: cell.treatment[name] for name in columns}),
            },
            cell,
        )
        for cell in response.cells
    ]


def _said(place: Row) -> str:
    return f"{place['level']}, {place['group']}"


def _bounds(interval: Interval | None, decimals: int) -> str:
    if interval is None:
        return ", no interval"
    return f" [{numbers.fixed(interval.low, decimals)}, {numbers.fixed(interval.high, decimals)}]"


def _ends(interval: Interval | None, at: float) -> dict[str, float]:
    """Returns the ends of an interval's line, which has no length without an interval."""
    return {"low": interval.low, "high": interval.high} if interval else {"low": at, "high": at}


def _line_at(value: float) -> Spec:
    return layer("rule", [{"value": value}], {"y": y("value", {"padding": 6})}, color=INK, opacity=0.5)


def _places(report: Report, levels: list[str]) -> tuple[Spec, int]:
    """Returns the position of marks (the rows' factor along the x axis, groups side by side) with the look of
    groups, and the width."""
    study = report.run.study
    labels = [label(study, group) for group in combinations(study)]
    across, width = names_across("level", study.factors[study.layout.rows].title, levels, len(labels))
    offset = {"field": "group", "type": "nominal", "sort": None, "scale": {"domain": labels}}
    return {"x": across, "xOffset": offset, **groups(labels, column_title(study))}, width


def _estimates(rows: list[Row], scale: Spec | None, places: Spec) -> list[Spec]:
    """Returns the layers of points with their intervals."""
    points = {**places, "y": y("value", scale)}
    return [
        _intervals(silent(rows), scale, places, strokeWidth=1.8),
        layer("point", rows, points, size=60, filled=True, opacity=1),
    ]


def _intervals(rows: list[Row], scale: Spec | None, places: Spec, **mark: float) -> Spec:
    unshaped = {name: channel for name, channel in places.items() if name != "shape"}
    return layer("rule", rows, {**unshaped, "y": y("low", scale), "y2": {"field": "high"}}, **mark)
