"""The charts that explain a response: the shares are those of the analysis, and so are the interactions."""

from pathlib import Path

import pytest

from nettrial.design import PlannedTrial
from nettrial.report import explained, vega
from nettrial.report.content import Report, gather
from nettrial.scenario import Record
from tests.unit.synthetic import make_run, record


def crossed(trial: PlannedTrial) -> Record:
    """Returns a record whose throughput is lower by a fifth if both hosts are classic."""
    made = record(trial)
    both = trial.treatment["sender"] == trial.treatment["receiver"] == "classic"
    assert made.flows[0].goodput_bps is not None
    made.flows[0].goodput_bps *= 0.8 if both else 1
    return made


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    return gather(make_run(tmp_path_factory.mktemp("runs") / "run", 8, maker=crossed))


def test_shares_of_each_response_are_those_of_the_analysis_and_fill_the_bar(report: Report) -> None:
    chart = explained.shares(report)
    assert chart is not None
    rows = chart.spec["layer"][0]["data"]["values"]
    for section in report.sections:
        ours = {row["group"]: row["share"] for row in rows if row["response"] == section.title}
        assert sum(ours.values()) == pytest.approx(100, abs=0.01)
        terms = report.answers.variations[section.name].terms
        mtu = next(term for term in terms if term.factors == ("mtu",))
        assert ours["MTU"] == pytest.approx(100 * mtu.share, rel=1e-4)
    assert chart.legend == ("MTU", "Sender", "Receiver", "interactions", "blocks", "residual")
    assert len(set(chart.colours)) == 6
    assert vega.on_page(chart).count("data-said") == len(rows)


def test_an_interaction_that_is_there_is_drawn_with_its_intervals(report: Report) -> None:
    sections = {section.name: section for section in report.sections}
    (chart,) = explained.interactions(report, sections["throughput"])
    assert chart.title == "Sender × Receiver, Mbit/s"
    points = {(row["level"], row["group"]): row for row in chart.spec["layer"][2]["data"]["values"]}
    assert len(points) == 4
    expected = report.answers.variations["throughput"].interactions[0].points
    for point in expected:
        row = points[point.levels]
        assert row["value"] == pytest.approx(point.mean, rel=1e-5)
        assert row["low"] < row["value"] < row["high"]
    both, one = points["classic", "classic"]["value"], points["classic", "linux-cubic"]["value"]
    assert both / one == pytest.approx(0.8, abs=0.01)
    assert explained.interactions(report, sections["cpu_sender"]) == []


def test_nothing_to_explain_is_no_chart(tmp_path: Path) -> None:
    one = {"mtu": "9000", "sender": "classic", "receiver": "classic"}
    assert explained.shares(gather(make_run(tmp_path / "run", 2, overrides=one))) is None
