"""Charts of pages in tests. Drawing takes most of a page's time, so that few tests draw them all."""

import json
from collections.abc import Callable
from html import escape

from nettrial.report.vega import Chart, on_page

OF_RESPONSES = ("values", "changes", "distribution", "order")
"""The kinds of charts that each response has."""


def specified(chart: Chart) -> str:
    """Returns a picture without a drawing, after checking that the specification is a JSON document."""
    json.dumps(chart.spec, allow_nan=False)
    return f'<svg role="img" aria-label="{escape(chart.said)}"></svg>'


def kind(chart: Chart) -> str:
    """Returns the kind of a chart, by its name."""
    first, *_, last = chart.name.split("-") if "-" in chart.name else (chart.name, chart.name)
    return last if last in OF_RESPONSES else first


def one_of_each_kind() -> Callable[[Chart], str]:
    """Returns a function that draws the first chart of each kind, and only checks the others."""
    drawn: set[str] = set()

    def draw(chart: Chart) -> str:
        if kind(chart) in drawn:
            return specified(chart)
        drawn.add(kind(chart))
        return on_page(chart)

    return draw
