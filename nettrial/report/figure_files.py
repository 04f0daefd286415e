"""The charts of a report as files suitable for a paper, together with its tables."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import vl_convert

from nettrial.errors import BadInput
from nettrial.report import network_page, networks, vega
from nettrial.report.content import Report, gather
from nettrial.report.data_tables import write_tables
from nettrial.report.html import chosen
from nettrial.store import Run
from nettrial.store.directory import appearing

WRITING = "writing the figures"
"""The current action, for error messages."""
ANOTHER = "choose another directory"
"""The hint for a directory that exists."""
DOTS_PER_INCH = 300
"""The resolution of a PNG file."""
FORMS: dict[str, Callable[[str], Any]] = {
    "svg": str,
    "pdf": vl_convert.svg_to_pdf,
    "png": lambda svg: vl_convert.svg_to_png(svg, ppi=DOTS_PER_INCH),
}
"""The functions that convert a drawn chart, by file extension."""


def write(run: Run, directory: Path) -> int:
    """Writes every chart as NAME.svg, NAME.pdf and NAME.png and every table as NAME.csv, NAME.md and NAME.tex
    into a directory that must not exist, and returns the number of files. The directory appears completely or
    not at all. Raises BadInput."""
    report = gather(run)
    with appearing(directory, WRITING, "--figures", ANOTHER) as temporary:
        for chart in chosen(report).every():
            svg = drawn(chart)
            for end, form in FORMS.items():
                _write(temporary / f"{chart.name}.{end}", form(svg))
        if report.trials:
            _network(report, temporary)
        write_tables(report, temporary)
        return len(list(temporary.iterdir()))


def drawn(chart: vega.Chart) -> str:
    """Returns a chart as SVG for a paper."""
    svg: str = vl_convert.vegalite_to_svg(vega.on_paper(chart))
    return svg


def save(chart: vega.Chart, file: Path) -> None:
    """Writes a chart in the format given by the file's extension; raises BadInput."""
    form = FORMS.get(file.suffix.removeprefix("."))
    if form is None:
        raise BadInput(
            WRITING, str(file), f"unknown extension {file.suffix!r}", ", ".join(f".{end}" for end in FORMS)
        )
    _write(file, form(drawn(chart)))


def _network(report: Report, directory: Path) -> None:
    """Writes the pictures of the networks: network.svg, or network-1.svg and so on for several."""
    drawings = networks.draw(report).drawings
    for number, (_, drawing) in enumerate(drawings, start=1):
        name = f"network-{number}" if len(drawings) > 1 else "network"
        text = network_page.as_drawn(drawing)
        _write(directory / f"{name}.svg", text)
        _write(directory / f"{name}.pdf", vl_convert.svg_to_pdf(text))
        _write(directory / f"{name}.png", network_page.in_pixels(text))


def _write(target: Path, content: str | bytes) -> None:
    try:
        target.write_bytes(content.encode() if isinstance(content, str) else content)
    except OSError as error:
        raise BadInput(WRITING, str(target), error.strerror or str(error), "a place to write to") from None
