"""Verdicts on the conclusions of a study's source."""

import math
import re
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from rich.console import Console

from nettrial.analysis import answers, summarise, verdicts
from nettrial.analysis.changes import ALIKE
from nettrial.design import PlannedTrial
from nettrial.fields import Wrong
from nettrial.report import terminal
from nettrial.report import verdicts as told
from nettrial.report.content import gather
from nettrial.report.data_tables import data_tables
from nettrial.report.html import page
from nettrial.scenario import Record
from nettrial.store import Run
from nettrial.study import Study, load
from tests.unit.synthetic import BUSY, Maker, make_run, record

FASTER = {"name": "faster", "says": "Jumbo frames are faster.", "response": "throughput", "factor": "mtu"}
FASTER |= {"level": "9000 B", "expect": "higher"}


def with_conclusions(study: Study, *conclusions: dict[str, Any]) -> Study:
    return Study.model_validate({**study.model_dump(by_alias=True), "conclusions": list(conclusions)})


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return make_run(tmp_path_factory.mktemp("verdicts") / "run", 8)


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


def test_a_change_smaller_than_the_smallest_of_interest_is_none(run: Run) -> None:
    """Throughput rises by 6%: with a smallest effect of 10%, no direction is confirmed or contradicted."""
    responses = [each.model_copy(update={"smallest_effect": 10.0}) for each in run.study.responses]
    study = with_conclusions(run.study, FASTER).model_copy(update={"responses": responses})
    summary = summarise(run)
    coarse = replace(
        summary,
        responses=tuple(
            replace(each, response=response)
            for each, response in zip(summary.responses, responses, strict=True)
        ),
    )
    (found,) = verdicts(study, coarse)
    assert found.judged == "no change"
    assert told.judged(found) == "no change of 10% or more"
    assert "Of 1 conclusion of the source: 1 with no change of interest." in told.counted([found])


def test_a_verdict_states_the_published_size(run: Run) -> None:
    """Throughput rises by 6%, an eighth of the published 50%."""
    study = with_conclusions(run.study, {**FASTER, "size": "50%"})
    (found,) = verdicts(study, summarise(run))
    assert re.fullmatch(
        r"confirmed in direction, 0\.1[23]( to 0\.1[234])? of the published size", told.judged(found)
    )
    (as_published,) = verdicts(with_conclusions(run.study, {**FASTER, "size": "6.3%"}), summarise(run))
    assert told.judged(as_published) == "confirmed"


def test_a_comparison_is_told_with_its_interval(run: Run) -> None:
    said = judged(run, where={"sender": "classic", "receiver": "classic"})[1]
    assert said.startswith("Throughput, MTU 9000 B at Sender classic, Receiver classic against 1500 B +")
    assert said.endswith("]")


def slowed(receiver: str, factor: float, error: float = 0.0) -> Maker:
    """Makes records in which jumbo frames change the throughput to one kind of receiver by a factor."""

    def maker(trial: PlannedTrial) -> Record:
        made = record(trial)
        if trial.treatment["receiver"] == receiver and trial.treatment["mtu"] == "9000 B":
            noise = math.exp(error * (-1) ** trial.block)
            made.flows[0].goodput_bps = (made.flows[0].goodput_bps or 0) * factor * noise
        return made

    return maker


TWO_RECEIVERS = {"mtu": "1500,9000", "sender": "linux-cubic"}


def test_a_factor_that_the_source_does_not_name_is_judged_at_each_level(tmp_path: Path) -> None:
    """Averaged over the receivers, throughput falls by 6%; it rises by 6% at one and falls by 17% at the
    other."""
    run = make_run(tmp_path / "run", 5, TWO_RECEIVERS, slowed("classic", 0.78))
    verdict, said = judged(run)
    assert verdict == "mixed"
    assert said.startswith(
        "Throughput, MTU 9000 B by level of Receiver: contradicted at 1 and confirmed at 1 of 2; "
        "Receiver classic against 1500 B -16."
    )
    assert "; Receiver linux-cubic against 1500 B +6." in said
    assert judged(run, where={"receiver": "linux-cubic"})[0] == "confirmed"
    assert judged(run, where={"receiver": "classic"})[0] == "contradicted"
    assert judged(run, by="10%")[0] == "contradicted"


def test_a_level_that_cannot_be_told_leaves_the_conclusion_open(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", 5, TWO_RECEIVERS, slowed("classic", 1.0, error=0.2))
    verdict, said = judged(run)
    assert verdict == "not shown"
    assert "by level of Receiver: not shown at 1 and confirmed at 1 of 2" in said


def test_equal_measurements_decide_nothing(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", 5, maker=lambda trial: record(PlannedTrial(1, 1, trial.treatment)))
    verdict, said = judged(run)
    assert verdict == "not shown"
    assert f"({ALIKE})" in said


@pytest.mark.parametrize(
    ("code", "doubt", "why"),
    [
        (
            "processor_saturated",
            "confirmed, may be biased",
            "9 of 10 trials have a warning that may bias this",
        ),
        ("steal_time", "confirmed", "]"),
    ],
)
def test_a_verdict_from_trials_with_warnings_that_may_bias_says_so(
    tmp_path: Path, code: str, doubt: str, why: str
) -> None:
    warning = BUSY.model_copy(update={"code": code})
    run = make_run(
        tmp_path / "run",
        5,
        {**TWO_RECEIVERS, "receiver": "linux-cubic"},
        lambda trial: record(trial, [] if trial.number == 3 else [warning]),
    )
    run.study = with_conclusions(run.study, FASTER)
    (found,) = answers(run, summarise(run)).verdicts
    assert told.judged(found) == doubt
    assert told.comparison(run.study, found).endswith(why)
    assert ("1 verdict may be biased" in told.counted([found])) == (code == "processor_saturated")


def test_a_warning_about_another_host_is_no_doubt(tmp_path: Path) -> None:
    busy = BUSY.model_copy(update={"object": "receiver"})
    run = make_run(tmp_path / "run", 5, {"sender": "classic"}, lambda trial: record(trial, [busy]))
    less = {**FASTER, "expect": "lower"}
    both = [{**less, "name": name, "response": name} for name in ("cpu_sender", "cpu_receiver")]
    run.study = with_conclusions(run.study, *both)
    found = answers(run, summarise(run)).verdicts
    assert [told.judged(each) for each in found] == ["confirmed", "confirmed, may be biased"]


def test_responses_of_the_same_trials_are_compared(run: Run) -> None:
    alone = {"factor": None, "level": None}
    where = {"mtu": "1500 B", "sender": "classic", "receiver": "classic"}
    verdict, said = judged(run, **alone, response="rtt", than_response="jitter", where=where)
    assert verdict == "confirmed"
    at = "MTU 1500 B, Sender classic, Receiver classic"
    assert said.startswith(f"Round-trip time under load at {at} against Jitter +")
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
    ("here", "there", "expect", "direction", "verdict"),
    [
        (1.10, 1.05, "higher", None, "confirmed"),
        (1.10, 1.05, "lower", None, "contradicted"),
        (0.90, 0.95, "higher", None, "confirmed"),  # both fall, and the fall is larger here
        (0.97, 0.90, "lower", None, "confirmed"),
        (0.95, 1.05, "higher", None, "contradicted"),  # the opposite direction is less of it
        (1.05, 1.05, "higher", None, "no change"),
        (1.10, 1.05, "higher", "lower", "contradicted"),  # the source has falls, and here is the larger rise
        (0.90, 1.05, "higher", "lower", "confirmed"),
    ],
)
def test_a_change_is_compared_with_the_same_change_elsewhere(
    tmp_path: Path, here: float, there: float, expect: str, direction: str | None, verdict: str
) -> None:
    def maker(trial: PlannedTrial) -> Record:
        made = record(trial)
        noise = 1 + 0.0005 * math.sin(trial.number)
        factor = 1.0
        if trial.treatment["mtu"] == "9000 B":
            factor = here if trial.treatment["sender"] == "linux-cubic" else there
        made.flows[0].goodput_bps = 9e8 * factor * noise
        return made

    run = make_run(tmp_path / "run", 8, maker=maker)
    places = {"where": {"sender": "linux-cubic"}, "than_where": {"sender": "classic"}}
    study = with_conclusions(run.study, {**FASTER, **places, "expect": expect, "direction": direction})
    (found,) = verdicts(study, summarise(run))
    assert found.judged == verdict
    assert "against 1500 B, compared with that change at Sender classic, " in told.comparison(study, found)
    larger = (here / there) ** (-1 if (direction or ("lower" if there < 1 else "higher")) == "lower" else 1)
    for place in found.places:
        (compared,) = place.compared
        assert compared.change.percent == pytest.approx(100 * (larger - 1), abs=0.2)


@pytest.mark.parametrize(
    ("fields", "value"),
    [
        ({"than_where": {"sender": "classic"}}, "sender"),
        ({"where": {"mtu": "4000 B"}, "than_where": {"mtu": "9000 B"}}, "mtu"),
        ({"where": {"sender": "classic"}, "than_where": {"sender": "fast"}}, "fast"),
        ({"direction": "lower"}, "lower"),
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
    faster = {**FASTER, "where": {"sender": "linux-cubic", "receiver": "classic"}}
    run.study = with_conclusions(run.study, faster, untested)
    report = gather(run)
    counts = "Of 2 conclusions of the source: 1 confirmed and 1 not testable."
    console = Console(width=100, record=True, force_terminal=False, file=StringIO())
    terminal.render(run, console, report)
    text = " ".join(console.export_text().split())
    assert counts in text
    verdict = "confirmed, intervals may be too narrow"  # the values of neighbouring trials are correlated
    assert f"- faster: {verdict}. Jumbo frames are faster. Throughput, MTU 9000 B at Sender" in text
    assert f"- windows: not testable. Windows is slower (section 3.3). {reason}" in text
    made = page(report)
    assert counts in made
    assert "Windows is slower (section 3.3)." in made
    (table,) = [table for table in data_tables(report) if table.name == "verdicts"]
    assert [line[:3] for line in table.lines] == [
        ("faster", "Jumbo frames are faster.", verdict),
        ("windows", "Windows is slower (section 3.3).", "not testable"),
    ]
