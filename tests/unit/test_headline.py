"""The comparison at the beginning of a report, which the study names."""

import re
from dataclasses import replace
from io import StringIO
from itertools import pairwise
from pathlib import Path

import pytest
from pydantic import ValidationError
from rich.console import Console

from nettrial.analysis import Change, Contrast, Interval, Merit, answers, findings, merit, summarise
from nettrial.analysis.compare import compare
from nettrial.analysis.headline_contrasts import headline
from nettrial.cli.ci import as_markdown
from nettrial.cli.run_document import report_document
from nettrial.design import PlannedTrial
from nettrial.fields import Wrong
from nettrial.report import change_words, conclusions, forest, screen
from nettrial.report.content import Report, gather
from nettrial.report.formats import in_markdown
from nettrial.report.vega import Chart
from nettrial.scenario import Record
from nettrial.store import Run
from nettrial.study import Study, load
from tests.unit.synthetic import make_run, record


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


def opposed(trial: PlannedTrial) -> Record:
    """Makes records in which jumbo frames make transfers to one kind of receiver slower."""
    made = record(trial)
    if (trial.treatment["receiver"], trial.treatment["mtu"]) == ("classic", "9000 B"):
        made.flows[0].goodput_bps = (made.flows[0].goodput_bps or 0) * 0.78
    return made


def test_an_average_of_opposite_changes_says_so_everywhere(tmp_path: Path) -> None:
    """Throughput rises by 6% with one receiver and falls by 17% with the other: nothing is averaged."""
    two = {"mtu": "1500,9000", "sender": "linux-cubic"}
    run = make_run(tmp_path / "run", 5, two, opposed)
    report = gather(run)
    (found,) = [each for each in report.answers.headline if each.response.name == "throughput"]
    assert (found.rises, found.falls, found.places) == (1, 1, 2)
    assert found.at == {"receiver": "linux-cubic"}
    assert found.change.percent == pytest.approx(6, abs=0.5)
    answer = conclusions.answer(report)
    assert "throughput rises from " in answer
    assert " at Receiver linux-cubic (+6." in answer
    assert "; depending on receiver, from -17% with classic to +6." in answer
    chart = forest.draw(report)
    assert chart is not None
    assert "mixed" in chart.legend
    effects = {(found.response.name, found.factor): (found, each) for found, each in screen.effects(report)}
    assert screen.effect_words(*effects["throughput", "mtu"]).verdict == "mixed"
    assert screen.effect_words(*effects["rtt", "mtu"]).verdict != "mixed"
    assert "| mixed |" in as_markdown(report)
    console = Console(width=120, record=True, file=StringIO())
    screen.render(report, console)
    assert screen.MIXED_NOTE in console.export_text()
    document = report_document(report, Path("report.html"))
    (effect,) = [e for e in document.effects if (e.response, e.factor) == ("throughput", "mtu")]
    assert (effect.shown, effect.verdict, effect.rises, effect.falls) == ("lower", "mixed", 1, 1)


def test_a_comparison_of_responses_says_where_it_is_mixed(tmp_path: Path) -> None:
    def maker(trial: PlannedTrial) -> Record:
        made = record(trial)
        if trial.treatment["receiver"] == "classic":
            made.hosts[0].cpu_percent = 3.0 * (made.hosts[1].cpu_percent or 0) * (1 + trial.block / 1000)
        return made

    run = make_run(tmp_path / "run", 5, {"mtu": "1500", "sender": "linux-cubic"}, maker)
    study = with_headline(run.study, pairs={"cpu_sender": "cpu_receiver"})
    (found,) = headline(study, summarise(run), {})
    assert (found.rises, found.falls, found.places) == (1, 1, 2)
    assert "an average of opposite changes" in change_words.compared(found)
    assert change_words.changes([found]).endswith("an average of opposite changes at every level")


def test_a_study_picks_the_level_and_the_place_of_its_answer(run: Run) -> None:
    summary = summarise(run)
    study = with_headline(run.study, responses=["throughput"], level="9000 B", place={"receiver": "classic"})
    changes = {each.response.name: findings(run.study, each) for each in summary.responses}
    (found,) = headline(study, summary, changes)
    assert found.subject == "MTU 9000 B"
    assert found.at == {"sender": "linux-cubic", "receiver": "classic"}
    throughput = next(each for each in summary.responses if each.response.name == "throughput")
    base, here = (throughput.cell({**found.at, "mtu": level}) for level in ("1500 B", "9000 B"))
    assert base is not None
    assert here is not None
    assert found.values == (base.mean, here.mean)
    assert found.change == here.change


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
        ({"place": {"mtu": "9000 B"}}, "mtu"),
        ({"level": "9000"}, "9000"),
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
    assert chart.legend == ("better", "no change shown")
    rows = chart.spec["layer"][2]["data"]["values"]
    assert len(rows) == len(report.answers.headline)
    assert {row["group"] for row in rows if row["title"] == "Throughput"} == {"better"}
    assert "MTU 9000 B instead of 1500 B" in conclusions.answer(report)


def test_a_chart_with_many_rows_has_low_ones_and_levels_that_are_evenly_spread(
    run: Run,
) -> None:
    report = gather(run)
    first = [each for each in report.answers.headline if each.subject == "MTU 4000 B"]

    def of(levels: int, responses: int) -> Report:
        told = [replace(each, subject=f"MTU {n} B") for n in range(levels) for each in first[:responses]]
        return replace(report, answers=replace(report.answers, headline=tuple(told)))

    def drawn(report: Report) -> tuple[int, list[str], Chart]:
        chart = forest.draw(report)
        assert chart is not None
        places = chart.spec["layer"][2]["encoding"]["y"]["scale"]["domain"]
        return chart.spec["height"]["step"], places, chart

    step, places, _ = drawn(of(8, 2))
    assert (step, len(places)) == (forest.ROW_HEIGHT, 24)
    step, places, chart = drawn(of(54, 1))
    assert (step, places[0], len(places)) == (forest.LOW_ROW_HEIGHT, "MTU 0 B\u2007MTU 0 B", 54)
    assert chart.note == ""
    step, places, chart = drawn(of(54, 2))
    assert len(places) == conclusions.MOST_ROWS
    headings = [int(place.split()[1]) for place in places if place.endswith(forest.HEADING)]
    assert (headings[0], headings[-1]) == (0, 53)
    gaps = {after - before for before, after in pairwise(headings)}
    assert max(gaps) - min(gaps) <= 1
    assert chart.note == "20 of 54 levels, evenly spread over their order; the tables have all."


def levels(*told: tuple[float, float] | float | None) -> list[Contrast]:
    """Returns the changes of levels A, B and so on: each by its interval in percent, by its value if there is
    no interval, or None if it is absent."""
    response = load("jumbo-ipv6").responses[0]
    found = []
    for name, change in zip("ABCDEFG", told, strict=False):
        if change is None:
            found.append(Contrast(response, f"Level {name}", "0", Change(None, None, 0, "no trial finished")))
            continue
        low, high = change if isinstance(change, tuple) else (change, change)
        interval = Interval(low, high) if isinstance(change, tuple) else None
        middle = (low + high) / 2
        found.append(
            Contrast(
                response,
                f"Level {name}",
                "0",
                Change(
                    middle,
                    interval,
                    1,
                    None,
                    difference=middle,
                    simultaneous=interval,
                    simultaneous_difference=interval,
                ),
            )
        )
    return found


@pytest.mark.parametrize(
    ("told", "said"),
    [
        (
            [(4.0, 6.0), (-21.0, -19.0), (34.0, 36.0), (-1.0, 2.0)],
            "rises at 2 levels: least at Level A (+5.0%, 4.0 to 6.0%), most at Level C (+35%, 34 to 36%); "
            "falls at Level B (-20%, -21 to -19%); no change shown at Level D (-1.0 to +2.0%)",
        ),
        (
            [(-36.0, -34.0), (-6.0, -4.0), (-21.0, -19.0), (-9.0, -8.0)],
            "falls at all 4 levels: least at Level B (-5.0%, -6.0 to -4.0%), most at Level A (-35%, -36 to "
            "-34%)",
        ),
        (
            [(-1.0, 2.0), (-4.0, 1.0), (-1.0, 3.0), (0.0, 1.0)],
            "no change shown at any level (intervals within -4.0 to +3.0%)",
        ),
        (
            [(-0.5, 0.5), (-0.6, -0.2), (-1.0, 3.0), (0.0, 0.0)],
            "no change of 1% or more at 3 levels (intervals within -0.6 to +0.5%); no change shown at "
            "Level C (-1.0 to +3.0%)",
        ),
        (
            [-5.6, 3.0, None, 1.0],
            "-5.6% at Level A to +3.0% at Level B (one block: no intervals); no value at Level C",
        ),
        ([None] * 4, "no value at any level"),
    ],
)
def test_the_changes_at_many_levels_are_told_as_a_range(
    told: list[tuple[float, float] | float | None], said: str
) -> None:
    assert change_words.changes(levels(*told)) == said


def test_the_answer_about_many_levels_has_a_sentence_for_each_response(tmp_path: Path) -> None:
    levels = {"mtu": "1500 B, 3000 B, 4000 B, 6000 B, 9000 B"}
    report = gather(make_run(tmp_path / "run", 3, levels))
    first, *others = conclusions.sentences(report)[:5]
    assert first == (
        "4 levels of MTU compared with the baseline (1500 B), averaged over sender and receiver "
        "(95% intervals):"
    )
    titles = [each.response.title for each in report.answers.headline[: conclusions.MOST_RESPONSES]]
    said = dict(zip(titles, others, strict=False))
    assert all(each.startswith(title) for title, each in said.items())
    # The sentence has the values, as that of a study with few levels.
    assert said["Throughput"].startswith("Throughput rises at all 4 levels from 9")
    assert re.search(r": least to 9\d\d Mbit/s at MTU 3000 B \(\+\d\.\d%, ", said["Throughput"])
    assert others[-1] == "The tables have 4 more responses."
    assert "\n\n".join(map(in_markdown, [first, *others])) in as_markdown(report)


@pytest.mark.parametrize(
    ("study", "levels", "expected"),
    [
        ("jumbo-ipv6", {}, "9000 B"),
        ("jumbo-ipv6", {"mtu": "1500 B, 3000 B, 4000 B, 6000 B, 9000 B"}, "9000 B"),
        ("jumbo-ipv6", {"mtu": "1500 B"}, None),
        ("wlan-settings", {"setting": "as in wlan-stacks, MCS 4, RTS"}, "RTS"),
        ("wlan-settings", {}, None),
    ],
)
def test_only_the_last_of_few_levels_or_of_numbers_is_shown_at_a_glance(
    study: str, levels: dict[str, str], expected: str | None
) -> None:
    assert conclusions.extreme_level(load(study).with_overrides(levels)) == expected


def slight(trial: PlannedTrial) -> Record:
    """Makes records in which jumbo frames change the throughput by 0.3%, and hardly differ between blocks."""
    made = record(trial)
    jumbo = trial.treatment["mtu"] == "9000 B"
    made.flows[0].goodput_bps = 9e8 * (1.003 if jumbo else 1) * (1 + 1e-5 * (trial.number % 5))
    return made


def test_a_change_below_the_smallest_of_interest_is_called_so_everywhere(tmp_path: Path) -> None:
    one = {"mtu": "1500,9000", "sender": "linux-cubic", "receiver": "linux-cubic"}
    runs = [make_run(tmp_path / name, 5, one, slight) for name in ("a", "b")]
    report = gather(runs[0])
    assert "throughput: no change of 1% or more" in conclusions.answer(report)
    effects = {found.response.name: (found, each) for found, each in screen.effects(report)}
    assert screen.effect_words(*effects["throughput"]).verdict == "below 1%"
    assert "| below 1% |" in as_markdown(report)
    chart = forest.draw(report)
    assert chart is not None
    rows = chart.spec["layer"][2]["data"]["values"]
    assert {row["group"] for row in rows if row["title"] == "Throughput"} == {"below 1%"}
    told = {each.response: each.verdict for each in report_document(report, None).effects}
    assert told["throughput"] == "small"
    for difference in compare(runs[0], runs[1], ["throughput"]).differences:
        assert merit(difference.response, difference.change, difference.shown) is Merit.SMALL
