"""Charts: Vega-Lite specifications as plain documents, which vl-convert draws as SVG without scripts.

A chart consists of a specification and a description; whether it is drawn for the page or for print is
decided last."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from typing import Any

import vl_convert

Spec = dict[str, Any]
"""A Vega-Lite specification, or part of one."""

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#aa5f91", "#8c6d00", "#5b7fbf")
"""The colours of groups, distinguishable with any colour vision (after Okabe and Ito); shapes differ, too.
report.css replaces these exact values by lighter ones on a dark page."""
SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross")
"""The marks of groups, in order."""
INK = "currentColor"
"""The colour of text, on a light page and a dark one."""
SHARES: Spec = {
    "field": "share",
    "type": "quantitative",
    "stack": "zero",
    "scale": {"domain": [0, 100]},
    "axis": {"title": None, "tickCount": 5, "domain": False, "labelFlush": False},
}
"""The axis of stacked shares in percent."""
MOST_MARKS = 400
"""The largest number of marks of one kind in a chart; more are thinned or merged, and the chart says so."""
WIDTH, HEIGHT = 370, 215
"""The size of a chart's plotting area in CSS pixels."""
WIDEST = 780
"""The largest width of a chart in pixels."""
MARK_ROOM = 11
"""The pixels that a mark on a scale of names needs so that it does not overlap its neighbour."""
LETTER = 6.5
"""The average width of a letter in pixels."""
DIGIT = 7.7
"""The width of a digit in pixels, in the widest fonts that readers have (DejaVu Sans, Verdana)."""
GAP = 9
"""The least space between two labels of an axis in pixels."""
MOST_TICKS = 8
"""The largest number of intervals between the ticks of a horizontal axis."""
SCALE = 1.2
"""The size of a chart on a page in relation to its layout: labels are then as large as the page's text."""
NARROW = 440
"""The largest width of a chart, with its labels, that fits on a phone without making the labels too small."""
HALF = 560
"""The largest width of a chart, with its labels, that fits beside another one."""
TRIALS = "trials"
"""The name of the layer with the values of all trials, which is shown on demand."""


@dataclass(frozen=True)
class Chart:
    """A chart before it is drawn."""

    name: str
    """The chart's name, unique within a report and usable as a file's name."""
    title: str
    """The chart's title."""
    said: str
    """The description of the chart in words, for readers who can't see it."""
    spec: Spec
    """The specification without configuration; marks with a `description` show their values on demand."""
    about: str = ""
    """The subject that the title omits because the heading above it names it."""
    legend: tuple[str, ...] = ()
    """The labels of groups in the order of their looks, if they are not those of the layout's columns."""
    colours: tuple[str, ...] = ()
    """The colours of these groups, if they do not follow from their numbers."""
    note: str = ""
    """The note on data that was left out or merged; empty if there is none."""


def look(index: int) -> dict[str, str]:
    """Returns the `colour` and `shape` of the group with this number, from 0."""
    return {"colour": COLOURS[index % len(COLOURS)], "shape": SHAPES[index % len(SHAPES)]}


def data(rows: Sequence[Mapping[str, Any]]) -> Spec:
    """Returns rows in the form of a specification; numbers keep six digits, which is far below a pixel."""
    return {"values": [{key: _short(value) for key, value in row.items()} for row in rows]}


def silent(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Returns the rows without descriptions, for lines and intervals, whose points have them."""
    return [{name: value for name, value in row.items() if name != "said"} for row in rows]


def _short(value: Any) -> Any:
    return float(f"{value:.6g}") if isinstance(value, float) else value


def layer(kind: str, rows: Sequence[Mapping[str, Any]], encoding: Spec, **mark: Any) -> Spec:
    """Returns a layer of marks of a kind; only marks whose rows have `said` show their values on demand."""
    told = bool(rows) and "said" in rows[0]
    described = {"description": {"field": "said", "type": "nominal"}} if told else {}
    properties = {"type": kind, **({} if told else {"aria": False}), **mark}
    return {"data": data(rows), "mark": properties, "encoding": {**encoding, **described}}


def y(field: str, scale: Spec | None = None, **axis: Any) -> Spec:
    """Returns a vertical axis of values; by default it does not start at zero, because points are not
    bars."""
    scale = {"zero": False, "padding": 6} if scale is None else scale
    shown = {"title": None, "tickCount": 6, "domain": False, "ticks": False, **axis}
    return {"field": field, "type": "quantitative", "scale": scale, "axis": shown}


def across(
    values: Collection[float],
    width: int,
    *,
    zero: bool = False,
    whole: bool = False,
    exact: bool = False,
    padding: int = 0,
    **axis: Any,
) -> Spec:
    """Returns a horizontal axis for these values, without a field, whose labels never touch on an axis of
    that many pixels. With `zero`, the axis includes zero; with `whole`, the ticks are whole numbers; with
    `exact`, the axis ends at the smallest and the largest value, otherwise at a tick; `padding` adds pixels
    at both ends."""
    low, high = min(values), max(values)
    if zero:
        low, high = min(low, 0.0), max(high, 0.0)
    places, decimals = ticks(low, high, width, whole, exact)
    form = "d" if whole else f",.{decimals}f"
    shown = {"title": None, "values": places, "format": form, "labelFlush": False}
    ends: Spec = {} if exact else {"domain": [min(low, *places), max(high, *places)]}
    scale = {"zero": zero, "nice": False, "padding": padding, **ends}
    return {"type": "quantitative", "scale": scale, "axis": {**shown, **axis}}


def ticks(
    low: float, high: float, width: float, whole: bool = False, exact: bool = False
) -> tuple[list[float], int]:
    """Returns ticks from `low` to `high`, and the number of their decimals: multiples of 1, 2 or 5 times a
    power of ten, as close to each other as their labels allow on an axis of that many pixels. Unless the ends
    of the axis are `exact`, the first and the last tick enclose all values."""
    span, largest = high - low, max(abs(low), abs(high))
    if span <= 1e-9 * largest:
        return [low], 0 if whole or low == round(low) else max(0, 4 - math.floor(math.log10(largest)))
    exponent = math.floor(math.log10(span / MOST_TICKS))
    exponent = max(exponent, 0) if whole else exponent
    places: list[float] = []
    while True:
        for factor in (1, 2, 5):
            step, decimals = factor * 10.0**exponent, max(0, -exponent)
            ends = low / step, high / step
            if exact:
                first, last, room = math.ceil(ends[0] - 1e-9), math.floor(ends[1] + 1e-9), span
            else:
                first, last = math.floor(ends[0] + 1e-9), math.ceil(ends[1] - 1e-9)
                room = (last - first) * step
            if last < first:
                return places[:1] or [low], decimals
            places = [round(place * step, decimals) for place in range(first, last + 1)]
            widest = max(len(f"{place:,.{decimals}f}") for place in places) * DIGIT
            fits = last - first <= MOST_TICKS and widest + GAP <= width * step / room
            if fits or last - first < (1 if exact else 2):
                return places, decimals
        exponent += 1


def names_across(field: str, title: str, levels: Sequence[str], marks: int = 1) -> tuple[Spec, int]:
    """Returns an x axis of names with `marks` side by side at each, and the width that they need."""
    width = round(min(WIDEST, max(WIDTH, len(levels) * (marks * MARK_ROOM + 6))))
    widths = [len(level) * LETTER for level in levels]
    room = width / max(1, len(levels)) - GAP
    tight = max((sum(pair) / 2 for pair in pairwise(widths)), default=0.0) > room
    axis: Spec = {"title": title, "labelAngle": -40 if tight else 0, "grid": False, "labelLimit": 150}
    if tight:
        axis["labelOverlap"] = "parity"
    scale = {"domain": list(levels), "paddingInner": 0.25}
    return {"field": field, "type": "nominal", "sort": None, "axis": axis, "scale": scale}, width


def groups(labels: Sequence[str], title: str) -> Spec:
    """Returns the colour and shape encodings of groups, with a legend for charts outside the page."""
    legend = {
        "title": title or None,
        "orient": "bottom",
        "direction": "vertical",
        "labelLimit": 340,
        "symbolOpacity": 1,
    }
    looks = [look(index) for index in range(len(labels))]
    channels = {}
    for channel, kind in (("color", "colour"), ("shape", "shape")):
        scale = {"domain": list(labels), "range": [each[kind] for each in looks]}
        shown = legend if len(labels) > 1 else None
        channels[channel] = {"field": "group", "type": "nominal", "legend": shown, "scale": scale}
    return channels


def layered(layers: Sequence[Spec], title: str, width: int = WIDTH, height: Any = HEIGHT) -> Spec:
    """Returns the specification of a chart with these layers."""
    return {"title": title, "width": width, "height": height, "layer": list(layers)}


def beside(labels: Sequence[str]) -> Spec:
    """Returns padding for labels on the left: the reader's font may be wider than the one used for the
    layout."""
    longest = max(map(len, labels), default=0)
    return {"padding": {"left": 5 + round(1.6 * longest), "top": 5, "right": 5, "bottom": 5}}


def _config(ink: str, font: str, page: bool) -> Spec:
    quiet = {"domainOpacity": 0.4, "tickOpacity": 0.4, "gridOpacity": 0.13}
    colours = dict.fromkeys(("labelColor", "titleColor", "tickColor", "domainColor", "gridColor"), ink)
    text = {"labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal"}
    return {
        "background": "transparent" if page else "white",
        "font": font,
        "view": {"stroke": None},
        "axis": {**colours, **quiet, **text},
        "legend": {"labelColor": ink, "titleColor": ink, **text, "labelFontSize": 11},
        "header": {"labelColor": ink, "titleColor": ink},
        "title": {
            "color": ink,
            "subtitleColor": ink,
            "anchor": "start",
            "frame": "group",
            "fontSize": 13,
            "fontWeight": "normal",
            "offset": 14,
        },
    }


PAGE = _config(INK, "system-ui, sans-serif", page=True)
"""The configuration of charts on a page."""
PAPER = _config("#000000", "Helvetica, Arial, 'DejaVu Sans', sans-serif", page=False)
"""The configuration of charts in files."""


def on_page(chart: Chart) -> str:
    """Returns the chart as an SVG element: one labelled picture, whose marks have their values in
    `data-said`."""
    made: str = vl_convert.vegalite_to_svg({**_without_legends(chart.spec), "config": PAGE})
    head, body = made.split(">", 1)
    box = re.search(r'viewBox="0 0 ([0-9.]+) ([0-9.]+)"', head)
    assert box is not None
    width, height = float(box[1]), float(box[2])
    size = f'width="{SCALE * width:.0f}" height="{SCALE * height:.0f}"'
    kind = ' class="large broad"' if width > HALF else ' class="large"' if width > NARROW else ""
    start = f'<svg xmlns="http://www.w3.org/2000/svg"{kind} {box[0]} {size} role="img"'
    return f'{start} aria-label="{escape(chart.said)}">{_lean(body)}'


def _without_legends(part: Any) -> Any:
    """Returns a specification without legends, which the page has."""
    if isinstance(part, list):
        return [_without_legends(each) for each in part]
    if not isinstance(part, dict):
        return part
    kept = {name: each if name == "data" else _without_legends(each) for name, each in part.items()}
    return {**kept, "legend": None} if "legend" in kept else kept


def on_paper(chart: Chart) -> Spec:
    """Returns the complete specification, black on white with its legend."""
    title = {"text": chart.about, "subtitle": chart.title} if chart.about else chart.title
    return {**chart.spec, "title": title, "config": PAPER, "padding": 8, "description": chart.said}


_TAG = re.compile(r"<[^>]*>")
_SAYING = re.compile(r'^<(?:path|line|text|rect) aria-label="([^"]*)"')
_FRAME = re.compile(r'^<path class="(?:background|foreground)"')
_SPARE = re.compile(
    r' (?:role|aria-[a-z]+|pointer-events|stroke-miterlimit)="[^"]*"'
    r'| (?:opacity|fill-opacity|stroke-width)="1"'
)
_DIGITS = re.compile(r"(\d\.\d\d)\d+")


def _lean(body: str) -> str:
    """Returns an SVG body without parts that a page does not need: roles (the whole is one picture),
    invisible frames, and digits of pixels beyond the second. The descriptions of marks move to
    `data-said`."""
    return _TAG.sub(_lean_tag, body)


def _lean_tag(match: re.Match[str]) -> str:
    tag = match[0]
    if _FRAME.match(tag):
        return ""
    saying = _SAYING.match(tag)
    tag = _DIGITS.sub(r"\1", _SPARE.sub("", tag))
    if saying is None:
        return tag
    name, rest = tag[:5], tag[5:]
    return f'{name} data-said="{saying[1]}"{rest}'
