"""Verdicts on the conclusions of a study's source."""

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from rich.console import Console

from nettrial.analysis import summarise, verdicts
from nettrial.fields import Wrong
from nettrial.report import terminal
from nettrial.report import verdicts as told
from nettrial.report.content import gather
from nettrial.report.data_tables import data_tables
from nettrial.report.html import page
from nettrial.store import Run
from nettrial.study import Study, load
from tests.unit.synthetic import make_run

FASTER = {"name": "faster", "says": "Jumbo frames are faster.", "response": "throughput", "factor": "mtu"}
FASTER |= {"level": "9000 B", "expect": "higher"}


def with_conclusions(study: Study, *conclusions: dict[str, Any]) -> Study:
    return Study.model_validate({**study.model_dump(by_alias=True), "conclusions": list(conclusions)})


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return make_run(tmp_path_factory.mktemp("verdicts") / "run", 3)


def judged(run: Run, **changed: Any) -> tuple[str, str]:
    """Returns the verdict on a conclusion, and its comparison in words."""
    study = with_conclusions(run.study, {**FASTER, **changed})
    (found,) = verdicts(study, summarise(run))
    return found.judged, told.comparison(study, found)


# In the synthetic figures, 9000 B has 3.9% more throughput than 1500 B, with a standard deviation of 0.2%.
@pytest.mark.parametrize(
    ("changed", "verdict"),
    [
        ({}, "confirmed"),
        ({"by": "2%"}, "confirmed"),
        ({"by": "10%"}, "contradicted"),
        ({"expect": "lower"}, "contradicted"),
        ({"expect": "same", "by": "10%"}, "confirmed"),
        ({"expect": "same", "by": "1%"}, "contradicted"),
        ({"than": ["1500 B", "4000 B"]}, "confirmed"),
        ({"level": "4000 B", "than": ["1500 B", "9000 B"]}, "contradicted"),
        ({"where": {"sender": "classic"}}, "confirmed"),
        ({"response": "cpu_sender", "factor": "sender", "level": "classic"}, "not shown"),
    ],
)
def test_the_whole_interval_decides(run: Run, changed: dict[str, Any], verdict: str) -> None:
    assert judged(run, **changed)[0] == verdict


def test_a_comparison_is_told_with_its_interval(run: Run) -> None:
    said = judged(run, where={"sender": "classic"})[1]
    assert said.startswith("Throughput, MTU 9000 B at Sender classic against 1500 B +")
    assert said.endswith("]")


def test_responses_of_the_same_trials_are_compared(run: Run) -> None:
    alone = {"factor": None, "level": None}
    verdict, said = judged(run, **alone, response="rtt", than_response="jitter")
    assert verdict == "confirmed"
    assert said.startswith("Round-trip time under load against Jitter +")
    assert judged(run, **alone, response="rtt", than_response="throughput") == (
        "not testable",
        "the units differ: Round-trip time under load in ms, Throughput in Mbit/s",
    )


def test_a_run_without_the_level_judges_nothing(run: Run) -> None:
    assert judged(run, level="8000 B") == ("not testable", "this run has no MTU 8000 B")


def test_a_run_without_the_studys_baseline_judges_nothing(tmp_path: Path) -> None:
    for levels in ("9000", "4000,9000"):
        made = make_run(tmp_path / levels, 2, {"mtu": levels})
        (found,) = [
            each for each in verdicts(made.study, summarise(made)) if each.conclusion.name == "throughput"
        ]
        assert (found.judged, found.absent) == ("not testable", "this run has no MTU 1500 B")


def test_one_block_shows_nothing(tmp_path: Path) -> None:
    verdict, said = judged(make_run(tmp_path / "run", 1))
    assert verdict == "not shown"
    assert said.endswith("(one block gives no interval)")


@pytest.mark.parametrize(
    ("fields", "value"),
    [
        ({"response": "speed"}, "speed"),
        ({"factor": "mtus"}, "mtus"),
        ({"factor": None}, "neither"),
        ({"than_response": "rtt"}, "factor and than_response"),
        ({"level": None}, "none"),
        ({"expect": "same"}, "0"),
        ({"expect": None}, "no expect"),
        ({"by": "-1%"}, "'-1%'"),
        ({"where": {"send": "classic"}}, "send"),
        ({"not_testable": "There is no Windows here."}, "together with a comparison"),
    ],
)
def test_a_conclusion_that_nothing_can_judge_is_refused(fields: dict[str, Any], value: str) -> None:
    with pytest.raises(ValidationError) as caught:
        with_conclusions(load("jumbo-ipv6"), {**FASTER, **fields})
    assert [wrong.value for wrong in Wrong.of(caught.value)] == [value]


def test_two_conclusions_have_two_names() -> None:
    with pytest.raises(ValidationError) as caught:
        with_conclusions(load("jumbo-ipv6"), FASTER, FASTER)
    assert [wrong.expected for wrong in Wrong.of(caught.value)] == ["a name that no other conclusion has"]


def test_reports_judge_each_conclusion_by_name(run: Run) -> None:
    reason = "There is no Windows here."
    untested = {
        "name": "windows",
        "says": "Windows is slower.",
        "place": "section 3.3",
        "not_testable": reason,
    }
    run.study = with_conclusions(run.study, FASTER, untested)
    report = gather(run)
    counts = "Of 2 conclusions of the source: 1 confirmed and 1 not testable."
    console = Console(width=100, record=True, force_terminal=False, file=StringIO())
    terminal.render(run, console, report)
    text = " ".join(console.export_text().split())
    assert counts in text
    assert "- faster: confirmed. Jumbo frames are faster. Throughput, MTU 9000 B against 1500 B +" in text
    assert f"- windows: not testable. Windows is slower (section 3.3). {reason}" in text
    made = page(report)
    assert counts in made
    assert "Windows is slower (section 3.3)." in made
    (table,) = [table for table in data_tables(report) if table.name == "verdicts"]
    assert [line[:3] for line in table.lines] == [
        ("faster", "Jumbo frames are faster.", "confirmed"),
        ("windows", "Windows is slower (section 3.3).", "not testable"),
    ]
