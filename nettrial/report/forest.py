"""The chart at the beginning of a report: the changes of its headline with their intervals, around zero."""

from __future__ import annotations

from typing import Any

from nettrial.analysis import Contrast, Merit, merit
from nettrial.report import conclusions, numbers
from nettrial.report.change_words import merit_in_words
from nettrial.report.content import Report
from nettrial.report.vega import COLOURS, INK, MOST_MARKS, Chart, across, beside, layer, layered, silent

ROW_HEIGHT, LOW_ROW_HEIGHT = 24, 17
"""The height of a change's row in pixels, in a chart with few rows and in one with many."""
FEW_ROWS = 30
"""The largest number of rows that have the full height."""
ACROSS = 190
"""The width of the chart without labels in pixels: the whole fits on a phone."""
HEADING = "\u2007"
"""The separator between the level and the response in the name of a place."""
JUDGED = {
    Merit.BETTER: COLOURS[0],
    Merit.WORSE: COLOURS[1],
    Merit.MIXED: COLOURS[3],
    Merit.SMALL: "#8a949c",
    Merit.NONE: "#5f6b76",
}
"""The colours of changes, by merit."""


def draw(report: Report) -> Chart | None:
    """Returns the chart of the headline's changes in percent; None if none has an interval."""
    contrasts = report.answers.headline
    headline = report.run.study.headline
    pairs = headline is not None and headline.pairs
    told = [each for each in contrasts if each.change.relative]
    levels = {each.subject for each in told} if pairs else set(conclusions.drawn_levels(told))
    drawn = [each for each in told if each.subject in levels][:MOST_MARKS]
    rows = [_row(each) for each in drawn]
    if not rows:
        return None
    titles = {row["title"] for row in rows}
    # The levels of a single response need no headings.
    alone = not pairs and len(titles) == 1 and len(rows) > 1
    if alone:
        rows = [{**row, "place": f"{row['subject']}{HEADING}{row['subject']}"} for row in rows]
    several = not alone and len({row["subject"] for row in rows}) > 1
    places: list[str] = []
    for row in rows:
        if several and (heading := f"{row['subject']}{HEADING}") not in places:
            places.append(heading)
        places.append(row["place"])
    # The name of a place consists of its level and its response, that of a heading only of the level.
    shown = f"split(datum.value, '{HEADING}')"
    is_heading = f"{shown}[1] == ''"
    axis = {
        "title": None,
        "domain": False,
        "ticks": False,
        "labelLimit": 320,
        "labelExpr": f"{is_heading} ? {shown}[0] : {shown}[1]",
        "labelFontWeight": {"condition": {"test": is_heading, "value": "bold"}, "value": "normal"},
    }
    down = {"field": "place", "type": "nominal", "sort": None, "axis": axis, "scale": {"domain": places}}
    groups = {_words(each): JUDGED[kind] for kind in JUDGED for each in drawn if _merit(each) is kind}
    colour = {
        "field": "group",
        "type": "nominal",
        "legend": {"title": None, "orient": "bottom"},
        "scale": {"domain": list(groups), "range": list(groups.values())},
    }
    values = [row[name] for row in rows for name in ("low", "value", "high")]
    x = across(values, ACROSS, zero=True, domain=False)
    at = {**x, "field": "value"}
    ends = {"x": {**x, "field": "low"}, "x2": {"field": "high"}, "y": down, "color": colour}
    points = {"x": at, "y": down, "color": colour}
    layers = [
        layer("rule", [{"value": 0.0}], {"x": at}, color=INK, opacity=0.5),
        layer("rule", silent(rows), ends, strokeWidth=2),
        layer("point", rows, points, size=70, filled=True, opacity=1),
    ]
    title = f"{rows[0]['title']}: change, %" if alone else "Change, % (95% intervals)"
    said = "The changes that answer the study's question, in percent, with 95% intervals that hold together: "
    said += "; ".join(str(row["said"]) for row in rows[:12]) + "."
    known = [each for each in contrasts if (each.change.percent, each.change.difference) != (None, None)]
    unusable = len(known) - len(told)
    notes = [f"{numbers.counted(unusable, 'change')} without a usable interval in percent not drawn."]
    every = len({each.subject for each in told})
    notes = notes if unusable else []
    if every > len(levels):
        notes.append(f"{len(levels)} of {every} levels, evenly spread over their order; the tables have all.")
    height = ROW_HEIGHT if len(places) <= FEW_ROWS else LOW_ROW_HEIGHT
    spec = layered(layers, title, ACROSS, {"step": height}) | beside(
        [name for row in rows for name in (row["title"], row["subject"])]
    )
    return Chart(
        "answer",
        title,
        said,
        spec,
        legend=tuple(groups),
        colours=tuple(groups.values()),
        note=" ".join(notes),
    )


def _merit(contrast: Contrast) -> Merit:
    return merit(contrast.response, contrast.change, contrast.change.shown, contrast.is_mixed)


def _words(contrast: Contrast) -> str:
    return merit_in_words(_merit(contrast), contrast.response.smallest_effect)


def _row(contrast: Contrast) -> dict[str, Any]:
    bounds, middle = contrast.change.relative, contrast.change.percent
    assert bounds is not None
    assert middle is not None
    digits = numbers.decimals_of(bounds)
    title, subject = contrast.response.title, contrast.subject
    label = title if subject == title else f"{title}, {subject}"
    said = f"{label}: {numbers.signed(middle, digits)}% {numbers.bounds(bounds, digits)}"
    return {
        "title": title,
        "subject": subject if subject != title else contrast.against,
        "place": f"{subject}{HEADING}{title}",
        "group": _words(contrast),
        "value": middle,
        "low": bounds.low,
        "high": bounds.high,
        "said": said,
    }
