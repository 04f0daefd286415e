"""Charts that explain a response's variation: the share of each factor, and the interactions between
factors."""

from __future__ import annotations

from typing import Any

from nettrial.analysis.analysis_of_variance import Interaction, Term
from nettrial.report import numbers
from nettrial.report.content import Report, Section
from nettrial.report.vega import (
    COLOURS,
    SHARES,
    WIDTH,
    Chart,
    Spec,
    beside,
    groups,
    layer,
    layered,
    names_across,
    silent,
    y,
)

ROW_HEIGHT = 26
"""The height of a response's row in pixels."""
MOST_INTERACTIONS = 3
"""The largest number of interactions shown for a response, the strongest first."""
REST = {"interactions": "#4b3fa0", "blocks": "#3d4650", "residual": "#8a949e"}
"""The parts of the variation other than factors, and their colours."""

Row = dict[str, Any]
"""A row of a chart's data."""


def parts(report: Report) -> dict[str, dict[str, float]]:
    """Returns the shares of each response's variation, from 0 to 1, by the titles of response and part."""
    of_responses: dict[str, dict[str, float]] = {}
    for section in report.sections:
        for term in report.answers.variations[section.name].terms:
            together, name = of_responses.setdefault(section.title, {}), _name(report, term)
            together[name] = together.get(name, 0) + term.share
    return of_responses


def shares(report: Report) -> Chart | None:
    """Returns a chart of the shares of each response's variation: those of factors, interactions and blocks,
    and the residual."""
    study = report.run.study
    rows: list[Row] = []
    for title, together in parts(report).items():
        for name, share in together.items():
            said = f"{title}: {name} {numbers.fixed(100 * share, 1)}%"
            rows.append({"response": title, "group": name, "share": 100 * share, "said": said})
    if not rows:
        return None
    factors = [study.factors[name].title for name in (study.layout.rows, *study.layout.columns)]
    told = [name for name in (*factors, *REST) if any(row["group"] == name for row in rows)]
    colours = [REST.get(name) or COLOURS[factors.index(name) % len(COLOURS)] for name in told]
    for row in rows:
        row["place"] = told.index(row["group"])
    legend = {"title": None, "orient": "bottom", "symbolType": "square"}
    colour = {
        "field": "group",
        "type": "nominal",
        "legend": legend,
        "scale": {"domain": told, "range": colours},
    }
    axis = {"title": None, "domain": False, "ticks": False, "labelLimit": 220}
    down = {"field": "response", "type": "nominal", "sort": None, "axis": axis}
    order = {"field": "place", "type": "quantitative"}
    bars = layer("bar", rows, {"x": SHARES, "y": down, "color": colour, "order": order}, height={"band": 0.7})
    title = "Share of each response’s variation, %"
    said = "The share of each response’s variation that each factor explains (eta squared)."
    titles = [row["response"] for row in rows]
    spec = layered([bars], title, WIDTH, {"step": ROW_HEIGHT}) | beside(titles)
    return Chart("variation", title, said, spec, legend=tuple(told), colours=tuple(colours))


def _name(report: Report, term: Term) -> str:
    if term.kind == "factor":
        return report.run.study.factors[term.factors[0]].title
    return {"block": "blocks", "residual": "residual"}.get(term.kind, "interactions")


def interactions(report: Report, section: Section) -> list[Chart]:
    """Returns charts of the interactions that the data show, the strongest first."""
    strongest = report.answers.variations[section.name].interactions
    return [
        _interaction(report, section, each, number)
        for number, each in enumerate(strongest[:MOST_INTERACTIONS], start=1)
    ]


def _interaction(report: Report, section: Section, interaction: Interaction, number: int) -> Chart:
    """Returns a chart with a line for each level of the second factor, over the levels of the first."""
    study = report.run.study
    first, second = (study.factors[name] for name in interaction.factors)
    decimals = numbers.value_decimals(section.response.cells)
    rows = []
    for point in interaction.points:
        said = f"{first.title} {point.levels[0]}, {second.title} {point.levels[1]}: "
        said += f"{numbers.fixed(point.mean, decimals)} {section.unit}"
        low = high = point.mean
        if point.interval:
            low, high = point.interval.low, point.interval.high
            said += f" [{numbers.fixed(low, decimals)}, {numbers.fixed(high, decimals)}]"
        level, group = point.levels
        rows.append(
            {"level": level, "group": group, "value": point.mean, "low": low, "high": high, "said": said}
        )
    across, width = names_across("level", first.title, list(first.levels))
    labels = list(second.levels)
    channels = groups(labels, second.title)
    places: Spec = {"x": across, "y": y("value"), "color": channels["color"]}
    layers = [
        layer("line", silent(rows), places, strokeWidth=1.3, opacity=0.7),
        layer("rule", silent(rows), {**places, "y": y("low"), "y2": {"field": "high"}}, strokeWidth=1.3),
        layer("point", rows, {**places, "shape": channels["shape"]}, size=45, filled=True, opacity=1),
    ]
    title = f"{first.title} × {second.title}, {section.unit}"
    said = f"{section.title}: the effect of {first.title} depends on {second.title}: "
    said += f"means over the other factors with 95% intervals, with a line for each level of {second.title}."
    name = f"{section.name}-interaction-{number}"
    return Chart(name, title, said, layered(layers, title, width), section.title, tuple(labels))
