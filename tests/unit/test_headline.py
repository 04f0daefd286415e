"""The comparison at the beginning of a report, which the study names."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from nettrial.analysis import answers, summarise
from nettrial.analysis.headline_contrasts import headline
from nettrial.fields import Wrong
from nettrial.report import conclusions, forest
from nettrial.report.content import gather
from nettrial.store import Run
from nettrial.study import Study, load
from tests.unit.synthetic import make_run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return make_run(tmp_path_factory.mktemp("headline") / "run", 3)


def with_headline(study: Study, **fields: object) -> Study:
    return Study.model_validate({**study.model_dump(by_alias=True), "headline": fields})


def test_without_a_headline_the_factor_of_the_rows_is_told(run: Run) -> None:
    found = answers(run, summarise(run)).headline
    assert [each.subject for each in found[:5]] == ["MTU 4000 B"] * 5
    assert {each.against for each in found} == {"1500 B"}
    assert found[0].change.family == 2


def test_a_headline_names_its_factor_and_responses(run: Run) -> None:
    summary = summarise(run)
    study = with_headline(run.study, factor="receiver", responses=["rtt"])
    findings = answers(run, summary).findings
    (found,) = headline(study, summary, findings)
    assert (found.response.name, found.subject) == ("rtt", "Receiver classic")
    (expected,) = [each.effects[0].overall for each in findings["rtt"] if each.factor == "receiver"]
    assert found.change == expected


def test_responses_are_compared_within_trials(run: Run) -> None:
    summary = summarise(run)
    study = with_headline(run.study, pairs={"rtt": "jitter"})
    (found,) = headline(study, summary, {})
    cells = {each.response.name: each.cells for each in summary.responses}
    ratios = [
        mine.values[block] / other.values[block]
        for mine, other in zip(cells["rtt"], cells["jitter"], strict=True)
        for block in mine.values
    ]
    assert found.change.percent is not None
    assert min(ratios) - 1 < found.change.percent / 100 < max(ratios) - 1
    assert found.change.pairs == 3


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"factor": "mtus"}, "mtus"),
        ({"responses": ["speed"]}, "speed"),
        ({"pairs": {"rtt": "throughput"}}, "throughput"),
        ({"factor": "mtu", "pairs": {"rtt": "jitter"}}, "together with factor or responses"),
    ],
)
def test_a_headline_of_nothing_is_refused(fields: dict[str, object], said: str) -> None:
    with pytest.raises(ValidationError) as caught:
        with_headline(load("jumbo-ipv6"), **fields)
    assert [wrong.value for wrong in Wrong.of(caught.value)] == [said]


def test_the_chart_of_the_answer_says_what_is_better(run: Run, tmp_path: Path) -> None:
    report = gather(run)
    chart = forest.draw(report)
    assert chart is not None
    assert set(chart.legend) <= set(forest.JUDGED)
    rows = chart.spec["layer"][2]["data"]["values"]
    assert len(rows) == len(report.answers.headline)
    assert {row["group"] for row in rows if row["title"] == "Throughput"} == {"better"}
    assert "MTU 9000 B instead of 1500 B" in conclusions.answer(report)
