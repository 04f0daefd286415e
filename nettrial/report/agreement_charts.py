"""Charts of agreement with a publication: each published figure beside the measured interval."""

from __future__ import annotations

from typing import Any

from nettrial.analysis import Agreement, Interval
from nettrial.report import numbers
from nettrial.report.change_words import quantity
from nettrial.report.content import Report, Section
from nettrial.report.tables import agreement_label
from nettrial.report.vega import COLOURS, Chart, Spec, across, beside, layer, layered, silent

ROW_HEIGHT = 24
"""The height of a figure's row in pixels."""
ACROSS = 260
"""The width of the chart without labels in pixels."""
MOST_FIGURES = 40
"""The largest number of figures in a chart; the table lists all."""
SOURCES = {"measured, 95% interval": COLOURS[0], "published": COLOURS[1]}
"""The two sources of a figure, and their colours."""
SHAPES = {"measured, 95% interval": "circle", "published": "diamond"}
"""The mark of each kind of figure."""

Row = dict[str, Any]
"""A row of a chart's data."""


def draw(report: Report) -> list[Chart]:
    """Returns the charts: for each response with published figures, one of values and one of changes."""
    charts = []
    for section in report.sections:
        here = [
            each
            for each in report.answers.agreement
            if each.row.response == section.name and each.cell and each.cell.mean is not None
        ]
        charts += [_values(report, section, here), _changes(report, section, here)]
    return [chart for chart in charts if chart]


def _values(report: Report, section: Section, agreements: list[Agreement]) -> Chart | None:
    """Returns a chart of published and measured values, in the response's unit."""
    rows: list[Row] = []
    for each in agreements:
        if each.row.value and each.ratio and each.cell and each.cell.mean is not None:
            # The ratio is the measured value over the published one, whatever unit the source uses.
            theirs, decimals = each.cell.mean / each.ratio, numbers.value_decimals([each.cell])
            rows += _pair(report, each, (each.cell.mean, each.cell.interval), theirs, decimals, section.unit)
    return _chart(f"{section.name}-agreement", f"{section.title}, {section.unit}", rows)


def _changes(report: Report, section: Section, agreements: list[Agreement]) -> Chart | None:
    """Returns a chart of published and measured changes from the baseline, in percent."""
    rows: list[Row] = []
    for each in agreements:
        change = each.cell.change if each.cell else None
        if change is None or change.percent is None or change.is_unclear:
            continue
        if each.published_change is not None:
            decimals = numbers.percent_decimals([change])
            measured = (change.percent, change.interval)
            rows += _pair(report, each, measured, each.published_change, decimals, "%")
    return _chart(f"{section.name}-agreement-changes", f"Change of {quantity(section.title)}, %", rows)


def _pair(
    report: Report,
    figure: Agreement,
    measured: tuple[float, Interval | None],
    published: float,
    decimals: int,
    unit: str,
) -> list[Row]:
    """Returns the rows of a figure, one for each source."""
    label = agreement_label(report.run.study, report.answers.agreement, figure)
    mean, interval = measured
    ends = (interval.low, interval.high) if interval else (mean, mean)
    rows = []
    for source, value, (low, high) in zip(SOURCES, (mean, published), (ends, (published,) * 2), strict=True):
        shown = [numbers.fixed(each, decimals) for each in (value, low, high)]
        bounds = f" [{shown[1]}, {shown[2]}]" if low < high else ""
        said = f"{label}, {source.partition(',')[0]}: {shown[0]} {unit}{bounds}"
        rows.append({"label": label, "group": source, "value": value, "low": low, "high": high, "said": said})
    return rows


def _chart(name: str, title: str, rows: list[Row]) -> Chart | None:
    labels = list(dict.fromkeys(row["label"] for row in rows))
    shown = labels[:MOST_FIGURES]
    rows = [row for row in rows if row["label"] in shown]
    if not rows:
        return None
    axis = {"title": None, "domain": False, "ticks": False, "labelLimit": 300}
    down = {"field": "label", "type": "nominal", "sort": None, "axis": axis, "scale": {"domain": shown}}
    looks = {
        "color": {"field": "group", "type": "nominal", "scale": _scale(SOURCES), "legend": _LEGEND},
        "shape": {"field": "group", "type": "nominal", "scale": _scale(SHAPES), "legend": _LEGEND},
    }
    x = across([row[name] for row in rows for name in ("low", "value", "high")], ACROSS, domain=False)
    ends = {"x": {**x, "field": "low"}, "x2": {"field": "high"}, "y": down, "color": looks["color"]}
    points = {"x": {**x, "field": "value"}, "y": down, **looks}
    measured = silent([row for row in rows if row["low"] < row["high"]])
    layers = [
        *([layer("rule", measured, ends, strokeWidth=2)] if measured else []),
        layer("point", rows, points, size=60, filled=True, opacity=1),
    ]
    said = f"{title}: each published figure that has a counterpart here, next to the measured 95% interval."
    left = len(labels) - len(shown)
    note = f"{numbers.counted(left, 'further figure')} not drawn: the table lists all." if left else ""
    spec = layered(layers, title, ACROSS, {"step": ROW_HEIGHT}) | beside(shown)
    return Chart(name, title, said, spec, note=note)


_LEGEND: Spec = {"title": None, "orient": "bottom"}


def _scale(looks: dict[str, str]) -> Spec:
    return {"domain": list(looks), "range": list(looks.values())}
