"""The picture of a network, and a page with the picture and the network's properties."""

from __future__ import annotations

from typing import Any

import networkx as nx
import vl_convert

from nettrial.report.pages import environment, policy
from nettrial.report.picture import Drawing, picture
from nettrial.report.vega import COLOURS, INK, Chart, layer, layered, on_page, y
from nettrial.topology.facts import Facts, Paths

DOTS_PER_INCH = 300
"""The resolution of a PNG file, in which the picture is 10 inches wide."""


def as_svg(graph: nx.MultiGraph) -> str:
    """Returns the picture of a graph as SVG, black on a transparent background."""
    return as_drawn(picture(graph))


def as_drawn(drawing: Drawing) -> str:
    """Returns a drawing as SVG, black on a transparent background."""
    return environment().get_template("picture.svg.j2").render(drawing=drawing)


def as_png(graph: nx.MultiGraph) -> bytes:
    """Returns the picture of a graph as PNG, on white."""
    return in_pixels(as_svg(graph))


def in_pixels(svg: str) -> bytes:
    """Returns an SVG picture as PNG, on white."""
    text = svg.replace("<title>", '<rect width="100%" height="100%" fill="#fff"/><title>', 1)
    made: bytes = vl_convert.svg_to_png(text, ppi=DOTS_PER_INCH)
    return made


def as_page(name: str, title: str, drawing: Drawing, facts: Facts, rows: list[tuple[str, str]]) -> str:
    """Returns an HTML page with the drawing, the properties in `rows`, and charts of path lengths."""
    charts = [
        _lengths(paths, what)
        for paths, what in ((facts.between_hosts, "hosts"), (facts.between_switches, "switches"))
        if paths
    ]
    return (
        environment()
        .get_template("network.html.j2")
        .render(
            name=name,
            title=title,
            policy=policy(script=False),
            drawing=drawing,
            facts=facts,
            rows=rows,
            charts=charts,
        )
    )


def _lengths(paths: Paths, what: str) -> str:
    """Returns a chart of the path lengths between hosts or between switches."""
    total = sum(paths.pairs.values())
    rows: list[dict[str, Any]] = [
        {"links": str(length), "share": 100 * count / total} for length, count in paths.pairs.items()
    ]
    at = {
        "field": "links",
        "type": "ordinal",
        "sort": None,
        "axis": {"title": "links", "labelAngle": 0, "grid": False},
    }
    places = {"x": at, "y": y("share", {}, tickCount=5)}
    label = {"field": "share", "type": "quantitative", "format": ".3~g"}
    layers = [
        layer("bar", rows, places, color=COLOURS[0], size=28),
        layer("text", rows, {**places, "text": label}, dy=-7, color=INK),
    ]
    title = f"Path length between {what}, % of pairs"
    said = f"{title}: mean {paths.mean:.2f}, at most {paths.diameter}."
    return on_page(Chart(f"paths-{what}", title, said, layered(layers, title)))
