"""The page of every unusual run is well formed, shows no figures that do not exist, and has no empty
chart."""

import re
from pathlib import Path

import pytest

from nettrial.report import html, vega
from nettrial.report.content import gather
from tests.unit import drawing
from tests.unit.edge_runs import EDGE_RUNS, many
from tests.unit.test_report_html import Page

DRAWN = ("part_of_a_block", "not_a_number", "sixty_levels")
"""The runs whose charts are drawn. For the others, only the charts' specifications are checked."""
QUICK = (*DRAWN, "empty", "all_failed", "one_trial", "missing_metric", "zeros")
"""The runs whose pages are always made. The others are part of the longer sweep; what their pages show is
analysed in test_analysis_edges.py."""


def checked(chart: vega.Chart) -> str:
    """Returns a picture without a drawing, after checking that the chart has values."""
    assert any(part["data"]["values"] for part in chart.spec["layer"])
    return drawing.specified(chart)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in QUICK else pytest.mark.slow) for name in EDGE_RUNS]
)
def test_the_page_is_sensible(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = drawing.one_of_each_kind() if name in DRAWN else checked
    monkeypatch.setattr(vega, "on_page", draw)
    run = EDGE_RUNS[name](tmp_path / "run")
    text = html.write(run).read_text(encoding="utf-8")
    identifiers = [found["id"] for _, found in Page(text).tags if "id" in found]
    assert len(identifiers) == len(set(identifiers))
    body = text.split("<body>")[1]
    assert not re.search(r"\b(nan|NaN|None|inf|Infinity|undefined)\b", body)
    answer = re.search(r'<div class="answer"><p>(.+?)</p></div>', text)
    assert answer is not None
    assert answer[1].endswith(".")


def test_a_thousand_trials_make_no_large_page_and_say_what_was_thinned(tmp_path: Path) -> None:
    run = many(tmp_path / "run", 1000)
    report = gather(run)
    text = html.write(run, report).read_text(encoding="utf-8")
    assert len(text.encode()) < 3_000_000
    assert "trials are not drawn; the others are spread evenly over the ranks" in text
    for chart in html.chosen(report).every():
        for part in chart.spec["layer"]:
            assert len(part["data"]["values"]) <= vega.MOST_MARKS + 24, chart.name
