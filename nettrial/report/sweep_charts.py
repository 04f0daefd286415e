"""Charts of sweeps: round-trip time against packet size, the ratio of two levels, and the time of all
bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nettrial.analysis import Curve, CurveMeans, baseline, boundaries, estimate, ratios
from nettrial.analysis.sweep_curves import Floats
from nettrial.report import tables
from nettrial.report.sweeps import Sweeps
from nettrial.report.vega import INK, WIDTH, Chart, Spec, across, groups, layer, layered, silent, y
from nettrial.study import Study

GROUPS = 200
"""The largest number of points of a line; if there are more, neighbouring sizes are merged."""
SPEAKING = 40
"""The number of points that show their values on demand."""
MOST_RULES = 16
"""The largest number of packet boundaries drawn in a chart: more would be a grey area."""
CLOSE_UP = 1.5
"""The range of the close-up, in multiples of the largest MTU."""

Row = dict[str, Any]
"""A row of a chart's data."""


def draw(study: Study, sweeps: Sweeps) -> list[tuple[str, list[Chart]]]:
    """Returns the title and the charts of each combination of the other factors."""
    drawn = []
    for number, group in enumerate(tables.combinations(study), start=1):
        curves = [curve for curve in sweeps.curves if group.items() <= curve.treatment.items()]
        if curves:
            name = tables.label(study, group)
            drawn.append((name, _charts(study, curves, name, f"sweep-{number}")))
    return drawn


def _charts(study: Study, curves: Sequence[Curve], group: str, name: str) -> list[Chart]:
    closest = CLOSE_UP * max(curve.mtu_bytes for curve in curves)
    factor = study.factors[study.layout.rows].title
    about = f"against packet size, {group}, by {factor}, with 95% intervals"
    rtts = [(curve, curve.sizes, curve.rtt_us) for curve in curves]
    near = [
        (curve, curve.sizes[curve.sizes <= closest], curve.minimum_us[:, curve.sizes <= closest])
        for curve in curves
    ]
    totals = [(curve, curve.sizes, curve.total_us / 1000) for curve in curves]
    rtt, smallest, total = (
        "Round-trip time, us",
        "Smallest round-trip time, us",
        "Time of all bytes of a size, ms",
    )
    charts = [
        _lines(study, rtts, f"{name}-rtt", rtt, f"Round-trip time in microseconds {about}."),
        _lines(study, near, f"{name}-smallest", smallest, f"Its minimum {about}, at the smaller sizes."),
        _ratio(study, curves, f"{name}-ratio", group),
        _lines(study, totals, f"{name}-total", total, f"Time of all bytes {about}.", rules=False),
    ]
    return [chart for chart in charts if chart]


def _lines(
    study: Study,
    parts: Sequence[tuple[Curve, Floats, Floats]],
    name: str,
    title: str,
    said: str,
    rules: bool = True,
) -> Chart | None:
    """Returns a chart with a line and a band for each curve, and with dashed lines at packet boundaries if
    they are few."""
    rows: list[list[Row]] = []
    marks: list[Row] = []
    for curve, sizes, values in parts:
        level = curve.treatment[study.layout.rows]
        rows.append(_rows(estimate(sizes, values, GROUPS), level, title.rsplit(" ", 1)[1]))
        places = [place for place in boundaries(curve) if len(sizes) and sizes[0] <= place < sizes[-1]]
        marks += [{"size": place, "group": level} for place in places if len(places) <= MOST_RULES]
    if not any(rows):
        return None
    x = _across(rows)
    layers = _layers(study, rows, x)
    if rules and marks:
        where = {"x": x, "color": _colour(study)}
        layers.insert(0, layer("rule", marks, where, strokeDash=[2, 3], opacity=0.6))
        said += " Dashed: the sizes above which a message takes one more packet."
    return _chart(study, name, title, said, layers)


def _ratio(study: Study, curves: Sequence[Curve], name: str, group: str) -> Chart | None:
    """Returns a chart of the ratio of each level to the baseline."""
    rows = [
        _rows(ratio.ratio, ratio.treatment[study.layout.rows], "") for ratio in ratios(study, curves, GROUPS)
    ]
    if not any(rows):
        return None
    one = layer("rule", [{"value": 1}], {"y": y("value")}, color=INK, opacity=0.5)
    title = f"Round-trip time, ratio to {study.factors[study.layout.rows].title} {baseline(study)}"
    said = f"{title}, against packet size, {group}, with 95% intervals."
    return _chart(study, name, title, said, [one, *_layers(study, rows, _across(rows))])


def _chart(study: Study, name: str, title: str, said: str, layers: list[Spec]) -> Chart:
    levels = tuple(study.factors[study.layout.rows].levels)
    return Chart(name, title, said, layered(layers, title), legend=levels)


def _rows(shown: CurveMeans, level: str, unit: str) -> list[Row]:
    columns = (np.round(part, 4).tolist() for part in (shown.sizes, shown.mean, shown.low, shown.high))
    return [
        {
            "size": size,
            "value": mean,
            "low": low,
            "high": high,
            "group": level,
            "said": f"{level}, {size:.0f} B: {mean:.5g} {unit}".rstrip() + f" [{low:.5g}, {high:.5g}]",
        }
        for size, mean, low, high in zip(*columns, strict=True)
    ]


def _layers(study: Study, curves: Sequence[list[Row]], x: Spec) -> list[Spec]:
    """Returns the layers of bands and lines, and of invisible points that show their values on demand."""
    rows = [row for curve in curves for row in curve]
    speaking = [row for curve in curves for row in curve[:: max(1, len(curve) // SPEAKING)]]
    colour = _colour(study)
    ends = {"x": x, "y": y("low"), "y2": {"field": "high"}, "color": colour}
    means = {"x": x, "y": y("value"), "color": colour}
    return [
        layer("area", silent(rows), ends, opacity=0.25),
        layer("line", silent(rows), means, strokeWidth=1.5),
        layer("point", speaking, means, size=9, filled=True, opacity=0),
    ]


def _across(curves: Sequence[list[Row]]) -> Spec:
    """Returns the axis of packet sizes."""
    sizes = [row["size"] for curve in curves for row in curve]
    axis = across(sizes, WIDTH, whole=True, exact=True, title="Packet size, B", grid=False)
    return {"field": "size", **axis}


def _colour(study: Study) -> Spec:
    """Returns the encoding of the rows' factor by colours."""
    factor = study.factors[study.layout.rows]
    colour: Spec = groups(list(factor.levels), factor.title)["color"]
    return colour
