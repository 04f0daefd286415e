"""A network as a picture and as a page of facts."""

from __future__ import annotations

from typing import Any

import networkx as nx
import vl_convert

from nettrial.report.pages import environment, policy
from nettrial.report.picture import Drawing, picture
from nettrial.report.vega import COLOURS, INK, Chart, layer, layered, on_page, y
from nettrial.topology.facts import Facts, Paths

DOTS_PER_INCH = 300
"""The resolution of a PNG, whose picture is 10 inches wide."""


def as_svg(graph: nx.MultiGraph) -> str:
    """The picture alone, black on nothing."""
    return as_drawn(picture(graph))


def as_drawn(drawing: Drawing) -> str:
    """A drawing alone, black on nothing."""
    return environment().get_template("picture.svg.j2").render(drawing=drawing)


def as_png(graph: nx.MultiGraph) -> bytes:
    """The same picture in pixels, on white."""
    return in_pixels(as_svg(graph))


def in_pixels(svg: str) -> bytes:
    """A picture in pixels, on white."""
    text = svg.replace("<title>", '<rect width="100%" height="100%" fill="#fff"/><title>', 1)
    made: bytes = vl_convert.svg_to_png(text, ppi=DOTS_PER_INCH)
    return made


def as_page(name: str, title: str, drawing: Drawing, facts: Facts, rows: list[tuple[str, str]]) -> str:
    """A page with the drawing, the facts in `rows`, and charts of the paths' lengths."""
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
    """Returns how many pairs of hosts or switches are how far apart."""
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
