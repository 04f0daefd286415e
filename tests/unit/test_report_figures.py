"""Figures for papers: they are complete, exist as vector and pixel graphics, and are written as a whole or
not at all."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from nettrial.errors import BadInput
from nettrial.report import figure_files, html
from nettrial.report.content import Report, gather
from nettrial.report.data_tables import data_tables
from nettrial.store import Run
from tests.unit.synthetic import make_run

ONE = {"sender": "linux-cubic", "receiver": "linux-cubic,classic"}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return make_run(tmp_path_factory.mktemp("runs") / "run", 2, overrides=ONE)


def some(report: Report) -> html.Charts:
    """Returns the charts of a single response, because drawing all takes seconds."""
    found = html.chosen(report)
    one = {name: {"throughput": getattr(found, name)["throughput"]} for name in ("responses", "views")}
    return replace(found, agreement=found.agreement[:1], **one)


@pytest.fixture(scope="module")
def directory(run: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("figures") / "paper"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(figure_files, "chosen", some)
        assert figure_files.write(run, made) == len(list(made.iterdir()))
    return made


def test_every_chart_is_there_in_three_forms_and_every_table(run: Run, directory: Path) -> None:
    report = gather(run)
    every = [chart.name for chart in html.chosen(report).every()]
    assert len(every) == len(set(every)) == 2 + 4 * 7 + 8
    charts = [chart.name for chart in some(report).every()]
    assert len(charts) == 7
    drawn = {f"{name}.{end}" for name in [*charts, "network"] for end in ("svg", "pdf", "png")}
    written = {f"{table.name}.{end}" for table in data_tables(report) for end in ("csv", "md", "tex")}
    assert {path.name for path in directory.iterdir()} == drawn | written
    for name in drawn:
        start = (directory / name).read_bytes()[:8]
        assert start.startswith({"svg": b"<svg", "pdf": b"%PDF", "png": b"\x89PNG"}[name[-3:]]), name


def test_a_figure_stands_alone(directory: Path) -> None:
    """A figure has a legend and units, and is black on white, because it may be used on any page."""
    text = (directory / "throughput-values.svg").read_text()
    assert "currentColor" not in text
    shown = re.findall(r">([^<>]+)</text>", text)
    assert "Throughput, Mbit/s" in shown
    assert "Receiver classic" in shown  # all trials have the same sender
    assert "MTU" in shown
    assert {"Throughput", "Change from MTU 1500 B, %"} <= set(
        re.findall(r">([^<>]+)</text>", (directory / "throughput-changes.svg").read_text())
    )


def test_a_directory_that_is_there_is_refused(run: Run, tmp_path: Path) -> None:
    (tmp_path / "paper").mkdir()
    with pytest.raises(BadInput, match="writing the figures") as error:
        figure_files.write(run, tmp_path / "paper")
    assert "--figures" in str(error.value)
    assert list((tmp_path / "paper").iterdir()) == []


def test_figures_are_there_whole_or_not_at_all(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*given: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(BadInput, match="writing the figures"):
        figure_files.write(run, tmp_path / "paper")
    assert list(tmp_path.iterdir()) == []
