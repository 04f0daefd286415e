"""The answers of a run: findings by factor, exceptions, variation, agreement with published figures,
precision; and the sentences that state them."""

from __future__ import annotations

import csv
import io
import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import fmean

import numpy as np
import pytest
from scipy import stats

from nettrial.analysis import (
    Agreement,
    Finding,
    ResponseSummary,
    agreement,
    answers,
    change,
    findings,
    precision,
    precisions,
    summarise,
    variation,
)
from nettrial.analysis.analysis_of_variance import _normality
from nettrial.design import PlannedTrial
from nettrial.errors import BadInput
from nettrial.report import sentences, tables
from nettrial.report.content import gather
from nettrial.scenario import Record
from nettrial.store import Run
from tests.unit.edge_runs import EDGE_RUNS, SIXTY
from tests.unit.synthetic import altered_study, figures, make_run, record

LINUX = {"sender": "linux-cubic", "receiver": "linux-cubic"}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return make_run(tmp_path_factory.mktemp("runs") / "run", replicates=10)


def throughput(run: Run) -> ResponseSummary:
    return summarise(run).responses[2]


def of(run: Run, factor: str) -> Finding:
    """Returns the finding about a factor's effect on throughput."""
    return next(found for found in findings(run.study, throughput(run)) if found.factor == factor)


def scaled(directory: Path, factors: dict[tuple[str, str, str], float], replicates: int = 10) -> Run:
    """Makes a run in which the throughput of some treatments is multiplied by a factor. The keys are the
    treatments' levels."""

    def maker(trial: PlannedTrial) -> Record:
        made = record(trial)
        times = factors.get(
            (trial.treatment["mtu"], trial.treatment["sender"], trial.treatment["receiver"]), 1
        )
        made.flows[0].goodput_bps = figures(trial)["goodput"] * times
        return made

    return make_run(directory, replicates=replicates, maker=maker)


def test_a_finding_averages_over_places_within_blocks(run: Run) -> None:
    effect = of(run, "mtu").effects[1]
    assert effect.level == "9000 B"
    logs = []
    for block in range(1, 11):
        here = {tuple(t.treatment.values()): figures(t)["goodput"] for t in run.plan if t.block == block}
        stacks = {key[1:] for key in here}
        assert len(stacks) == 4
        logs.append(fmean(math.log(here["9000 B", *s] / here["1500 B", *s]) for s in stacks))
    assert effect.overall.percent == pytest.approx(100 * math.expm1(fmean(logs)))
    assert effect.overall.pairs == 10
    assert effect.overall.family == 2
    assert [place.change.family for place in effect.places] == [8] * 4


def test_every_factor_is_compared_with_its_own_baseline(run: Run) -> None:
    found = findings(run.study, throughput(run))
    assert [(each.factor, each.baseline) for each in found] == [
        ("mtu", "1500 B"),
        ("sender", "linux-cubic"),
        ("receiver", "linux-cubic"),
    ]
    (sender,) = found[1].effects
    assert sender.overall.percent == pytest.approx(-1.5, abs=0.2)
    assert len(sender.places) == 6


def test_places_are_the_changes_of_the_tables(run: Run) -> None:
    summary = throughput(run)
    for effect in of(run, "mtu").effects:
        for place in effect.places:
            cell = summary.cell({**place.others, "mtu": effect.level})
            assert cell is not None
            assert cell.change == place.change


def test_a_sentence_says_by_how_much_and_that_none_is_an_exception(run: Run) -> None:
    said = sentences.finding(run.study, of(run, "mtu"))
    effect = of(run, "mtu").effects[1].overall.simultaneous
    assert effect is not None
    assert f"MTU 9000 B raises it by {effect.low:.1f}% to {effect.high:.1f}% over 1500 B" in said
    assert said.startswith("MTU 4000 B raises throughput by ")
    assert said.endswith(", in every pair of Sender and Receiver.")
    cpu = findings(run.study, summarise(run).responses[3])[0]
    assert sentences.finding(run.study, cpu).startswith("MTU 4000 B lowers CPU, sender by ")


@pytest.mark.parametrize(
    ("times", "kind", "words"),
    [
        (0.9, "opposite", "the opposite direction: -"),
        (1.05, "larger", "a larger change: +"),
        (0.97, "smaller", "a smaller change: +"),
    ],
)
def test_an_exception_is_named(tmp_path: Path, times: float, kind: str, words: str) -> None:
    changed = scaled(tmp_path / "run", {("9000 B", "classic", "classic"): times})
    finding = of(changed, "mtu")
    (place,) = finding.effects[1].exceptions
    assert place.others == {"sender": "classic", "receiver": "classic"}
    assert place.exceptional == kind
    assert finding.effects[0].exceptions == ()
    said = sentences.finding(changed.study, finding)
    assert f"; the effect differs at Sender classic – Receiver classic (9000 B, {words}" in said


def test_a_change_in_one_place_only_is_an_exception_to_none(tmp_path: Path) -> None:
    changed = scaled(
        tmp_path / "run",
        {("4000 B", "classic", "classic"): 1.02, ("4000 B", "linux-cubic", "classic"): 0.98},
    )
    finding = of(changed, "receiver")
    said = sentences.finding(changed.study, finding)
    assert "Receiver classic against linux-cubic: no change of throughput of 1% or more (" in said
    kinds = {tuple(p.others.values()): p.exceptional for p in finding.effects[0].places}
    assert kinds["4000 B", "classic"] == kinds["4000 B", "linux-cubic"] == "apart"
    assert "MTU 4000 B – Sender classic (a change: +" in said


def test_a_place_that_shows_nothing_by_itself_is_no_exception(tmp_path: Path) -> None:
    noisy = make_run(tmp_path / "run", replicates=5)
    jitter = findings(noisy.study, summarise(noisy).responses[1])[0]
    kinds = {place.exceptional for effect in jitter.effects for place in effect.places}
    assert "not shown" in kinds
    assert "no difference between pairs of Sender and Receiver shown, but" in sentences.finding(
        noisy.study, jitter
    )


def test_what_has_no_ratio_is_told_by_its_difference(tmp_path: Path) -> None:
    zeros = EDGE_RUNS["zeros"](tmp_path / "run")
    cpu = findings(zeros.study, summarise(zeros).responses[3])[0]
    assert cpu.effects[0].overall.simultaneous is None
    assert "4000 B raises CPU, sender by 3" in (said := sentences.finding(zeros.study, cpu))
    assert " percentage points over 1500 B" in said


def test_many_levels_are_counted(tmp_path: Path) -> None:
    wide = make_run(tmp_path / "run", replicates=5, overrides={**LINUX, "mtu": SIXTY})
    said = sentences.finding(wide.study, of(wide, "mtu"))
    assert said.startswith("Of 59 levels of MTU, ")
    assert "; the largest change: " in said
    assert len(said) < 250


def test_factors_of_which_nothing_can_be_said_share_a_sentence(tmp_path: Path) -> None:
    single = EDGE_RUNS["one_block"](tmp_path / "run")
    assert sentences.findings(single.study, findings(single.study, throughput(single))) == [
        "The effect of MTU, Sender and Receiver on throughput is not known: one block gives no interval."
    ]


# --- Variation


def test_an_interaction_is_found_and_has_means_to_draw(tmp_path: Path) -> None:
    changed = scaled(
        tmp_path / "run", {("9000 B", "classic", name): 0.8 for name in ("classic", "linux-cubic")}
    )
    summary = throughput(changed)
    found = variation(changed.study, summary)
    assert (found.scale, found.blocks, found.left_out) == ("logarithm", 10, 0)
    interaction = found.interactions[0]
    assert interaction.factors == ("mtu", "sender")
    assert [point.levels for point in interaction.points][:3] == [
        ("1500 B", "linux-cubic"),
        ("1500 B", "classic"),
        ("4000 B", "linux-cubic"),
    ]
    cells = [
        cell
        for cell in summary.cells
        if (cell.treatment["mtu"], cell.treatment["sender"]) == ("9000 B", "classic")
    ]
    point = interaction.points[-1]
    assert point.mean == pytest.approx(fmean(cell.mean for cell in cells if cell.mean is not None))
    assert point.interval is not None
    assert point.interval.contains(point.mean)
    assert "interactions: MTU × Sender" in sentences.variation(changed.study, found)


def test_without_interaction_none_is_found(run: Run) -> None:
    found = variation(run.study, summarise(run).responses[3])
    assert found.interactions == ()
    shares = {"".join(term.factors) or term.kind: term.share for term in found.terms}
    assert set(shares) == {
        *("mtu", "sender", "receiver", "mtusender", "mtureceiver", "senderreceiver"),
        *("higher", "block", "residual"),
    }
    assert shares["mtu"] > 0.99
    assert sentences.variation(run.study, found).endswith("No significant interaction (F tests).")


def test_equal_residuals_are_not_tested() -> None:
    with warnings.catch_warnings(action="error"):
        assert _normality(np.full(6, 1e-17)) is None


def test_residuals_that_are_not_normal_are_said_to_hide_effects(tmp_path: Path) -> None:
    found = variation((odd := EDGE_RUNS["outlier"](tmp_path / "run")).study, throughput(odd))
    assert found.normality is not None
    assert found.normality < 0.05
    assert "residuals are not normal" in sentences.variation(odd.study, found)


@pytest.mark.parametrize(
    ("edge", "reason"),
    [
        ("empty", "there is no value"),
        ("one_level", "no factor has several levels"),
        (
            "missing_treatment",
            "no value of MTU 9000 B, Sender classic, Receiver classic: effects could not be separated",
        ),
        ("scattered_failures", "no block has values of all treatments"),
        ("all_equal", "all values are equal"),
        ("one_block", "with a single block there are no replicates to test against"),
        ("equal_within_treatments", "treatments explain the whole variation: none is left to test against"),
    ],
)
def test_what_can_not_be_analysed_says_why(tmp_path: Path, edge: str, reason: str) -> None:
    made = EDGE_RUNS[edge](tmp_path / "run")
    assert variation(made.study, throughput(made)).absent == reason


def test_incomplete_blocks_are_left_out_and_counted(tmp_path: Path) -> None:
    found = variation((part := EDGE_RUNS["missing_metric"](tmp_path / "run")).study, throughput(part))
    assert (found.blocks, found.left_out) == (4, 0)
    one = EDGE_RUNS["part_of_a_block"](tmp_path / "other")
    started = variation(one.study, throughput(one))
    assert (started.blocks, started.left_out) == (1, 1)
    assert "1 incomplete block left out" in sentences.variation(one.study, started)


# --- Agreement with published figures


def test_each_published_figure_stands_beside_its_own(run: Run) -> None:
    summary = summarise(run)
    found = agreement(run, summary)
    assert len(found) == 52
    (row,) = [
        each
        for each in found
        if each.cell and each.row.response == "throughput" and each.row.levels["mtu"] == "9000 B"
    ]
    assert row.cell is not None
    assert row.cell.mean is not None
    assert row.ratio == pytest.approx(row.cell.mean / 938.88)
    assert (row.published_change, row.computed, row.direction) == (25.03, False, "same")
    assert row.change_inside is False
    assert row.inside is False
    alone = [each for each in found if each.cell is None]
    assert {each.absent for each in alone} == {"no treatment here corresponds to it"}
    base = [each for each in found if each.cell and each.row.levels["mtu"] == "1500 B"]
    assert all(each.direction is None and each.ratio for each in base)


def test_directions_are_the_same_the_opposite_or_not_shown(tmp_path: Path) -> None:
    key = ("9000 B", "linux-cubic", "linux-cubic")
    for times, direction in ((0.9, "opposite"), (1 / 1.0643, "not shown")):
        changed = scaled(tmp_path / direction, {key: times})
        found = [
            each
            for each in agreement(changed, summarise(changed))
            if each.cell and each.row.response == "throughput" and each.row.levels["mtu"] == "9000 B"
        ]
        assert [each.direction for each in found] == [direction]


def test_a_change_that_is_not_printed_follows_from_printed_values(run: Run) -> None:
    printed = run.published_text or ""
    rows = list(csv.DictReader(printed.splitlines()))
    left = [{**row, "change_percent": "" if row["table"] == "4" else row["change_percent"]} for row in rows]
    text = io.StringIO()
    writer = csv.DictWriter(text, rows[0])
    writer.writeheader()
    writer.writerows(left)
    run.__dict__["published_text"] = text.getvalue()
    try:
        found = [each for each in agreement(run, summarise(run)) if each.row.response == "throughput"]
    finally:
        run.__dict__["published_text"] = printed
    (row,) = [each for each in found if each.cell and each.row.levels["mtu"] == "9000 B"]
    assert row.computed
    assert row.published_change == pytest.approx(100 * (938.88 / 750.94 - 1))


def test_agreement_is_said_and_tabled(run: Run) -> None:
    found = answers(run, summarise(run)).agreement
    said = sentences.agreement(found)
    assert said.startswith("13 of 52 published figures have a counterpart here. Direction of 10 changes: ")
    lines = tables.agreement(run.study, found)
    assert len(lines) == 13
    assert {len(line) for line in lines} == {len(tables.AGREEMENT)}
    assert lines[0][:2] == ("Round-trip time under load, MTU 1500 B", "10.18 ms")


@contextmanager
def with_published(run: Run, lines: str) -> Iterator[list[Agreement]]:
    """Yields the findings with these published figures in place of the paper's."""
    header = "table,response,mtu,sender,receiver,value,unit,change_percent,difference,against,sd,n,mark"
    original = run.published_text
    run.__dict__["published_text"] = f"{header},reading_error\n{lines}"
    try:
        yield list(agreement(run, summarise(run)))
    finally:
        run.__dict__["published_text"] = original


HOSTS = "ubuntu-14.04,ubuntu-14.04"


def test_a_value_with_its_own_spread_is_inside_where_the_difference_of_means_is(run: Run) -> None:
    cell = throughput(run).cell({"mtu": "9000 B", **LINUX})
    assert cell
    assert cell.mean
    assert cell.interval
    value = cell.mean + 1.5 * cell.interval.half_width
    line = f"4,throughput,9000 B,{HOSTS},{value},Mbit/s"
    # If the published value has the same standard deviation, the interval is wider by a factor of the square
    # root of 2, which is still less than 1.5.
    for more, inside in ((",,,,,", False), (f",,,{cell.deviation},{cell.n},", False), (",,,20,10,", True)):
        with with_published(run, f"{line},{more},\n") as (found,):
            assert found.inside is inside
    with with_published(run, f"{line},,,,,,read off a figure,{cell.interval.half_width}\n") as (found,):
        assert found.inside


def test_spreads_are_compared_by_the_f_test(run: Run) -> None:
    cell = throughput(run).cell({"mtu": "1500 B", **LINUX})
    assert cell
    assert cell.deviation
    line = f"4,throughput,1500 B,{HOSTS},,Mbit/s,,,"
    for times, trials, verdict in (
        (1.2, 40, "no difference shown"),
        (20, 40, "smaller"),
        (0.05, 40, "larger"),
        (1, "", "its source does not state the number of trials"),
        (0, 40, "its source prints a spread of 0"),
    ):
        with with_published(run, f"{line},{times * cell.deviation},{trials},,\n") as found:
            (spread,) = [each.spread for each in found]
            assert spread
            assert spread.verdict == verdict
            assert tables.spreads(run.study, found)[0][-1] == verdict
            assert sentences.spreads(found).startswith(
                "1 published standard deviation with a counterpart: 1 "
            )
        if spread.interval:
            assert spread.ratio
            f_ratio, ours, theirs = spread.ratio**2, cell.n - 1, 39
            known = stats.f(ours, theirs)
            assert spread.p_value == pytest.approx(2 * min(known.cdf(f_ratio), known.sf(f_ratio)))
            assert spread.interval.low == pytest.approx(math.sqrt(f_ratio / known.ppf(0.975)))
            assert spread.interval.high == pytest.approx(math.sqrt(f_ratio / known.ppf(0.025)))


def test_a_published_difference_stands_beside_the_paired_one(run: Run) -> None:
    line = f"text,throughput,9000 B,{HOSTS},,Mbit/s"
    with with_published(run, f"{line},,70,,,,,\n{line},,1,sender: ubuntu-14.04,,,,\n") as (found, same):
        change = found.cell.change if found.cell else None
        assert change
        assert found.difference == change.difference
        assert found.difference_interval == change.difference_interval
        assert found.difference_inside is False
        (told, *_) = tables.agreement(run.study, [found])
        assert told[1] == "+70 Mbit/s from MTU 1500 B"
        assert same.difference == 0


def test_a_computed_figure_is_marked(run: Run) -> None:
    lines = f"4,throughput,9000 B,{HOSTS},,Mbit/s,25.03,,,,,computed,\n"
    with with_published(run, lines) as (found,):
        assert found.computed
        assert tables.agreement(run.study, [found])[0][5] == "+25.03% (computed)"
        table = tables.published(run.study, "throughput", [found.row])
        assert table
        assert table.entries[0][0].change == "+25.03 (computed)"


def test_figures_in_another_unit_are_not_compared(run: Run) -> None:
    text = (run.published_text or "").replace(",ms,", ",s,")
    original = run.published_text
    run.__dict__["published_text"] = text
    try:
        found = [each for each in agreement(run, summarise(run)) if each.row.response == "rtt" and each.cell]
    finally:
        run.__dict__["published_text"] = original
    assert {each.ratio for each in found} == {None}
    assert found[0].absent == "published in s, measured in ms"


# --- Precision


def test_treatments_that_are_not_as_precise_as_wanted_are_named(tmp_path: Path) -> None:
    unit = "of: transfer, unit: Mbit/s"
    study = altered_study(tmp_path / "study", {f"{unit}}}": f'{unit}, precision: "0.5%"}}'})
    made = make_run(tmp_path / "run", replicates=5, study=study)
    (found,) = precisions(summarise(made))
    assert found.wanted == 0.5
    cells = throughput(made).cells
    wide = [
        cell for cell in cells if cell.interval and cell.mean and cell.interval.half_width / cell.mean > 0.005
    ]
    assert 0 < len(wide) < 12 or len(wide) == len(found.shortfalls)
    assert [short.treatment for short in found.shortfalls] == [cell.treatment for cell in wide]
    assert f"did not reach ±0.5% in {len(wide)} of 12 treatments: " in sentences.precision(made.study, found)
    assert sentences.precision(made.study, found) in gather(made).sections[2].sentences


def test_precision_that_is_reached_is_said(run: Run) -> None:
    found = precision(throughput(run), 50)
    assert found is not None
    assert found.reached
    assert sentences.precision(run.study, found) == "Every treatment's interval of throughput reached ±50%."
    assert precision(throughput(run)) is None


def test_a_treatment_without_an_interval_did_not_reach_it(tmp_path: Path) -> None:
    made = EDGE_RUNS["one_block"](tmp_path / "run")
    found = precision(throughput(made), 2)
    assert found is not None
    assert len(found.shortfalls) == 12
    assert "(no interval)" in sentences.precision(made.study, found)


@pytest.mark.parametrize(("text", "percent"), [('"2%"', 2.0), ("0.5 %", 0.5), ("3", 3.0)])
def test_a_precision_is_a_percentage(tmp_path: Path, text: str, percent: float) -> None:
    study = altered_study(
        tmp_path / "study", {'of: sender, unit: "%"}': f'of: sender, unit: "%", precision: {text}}}'}
    )
    assert study.responses[3].precision == percent
    assert study.responses[2].precision is None


@pytest.mark.parametrize("text", ["0", "-1%", "200%", "tight", "true", "nan"])
def test_what_is_no_percentage_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(BadInput) as caught:
        altered_study(
            tmp_path / "study", {'of: sender, unit: "%"}': f'of: sender, unit: "%", precision: {text}}}'}
        )
    assert "precision" in str(caught.value)
    assert 'a percentage above 0 and up to 100, such as "2%"' in str(caught.value)


# --- Noise and outliers of runs


def test_an_outlier_is_named_and_kept(tmp_path: Path) -> None:
    made = EDGE_RUNS["outlier"](tmp_path / "run")
    named = [
        outlier for cell in throughput(made).cells for outlier in cell.outliers if abs(outlier.score) > 20
    ]
    (found,) = named
    assert found.trial == 30
    (cell,) = [cell for cell in throughput(made).cells if found in cell.outliers]
    assert cell.n == 12
    assert found.value in cell.values.values()
    (said,) = [s for s in gather(made).sections[2].sentences if s.startswith("Far from the others")]
    assert said.startswith("Far from the others of their treatment, and kept: trial 30 (")
    assert f" – Receiver {cell.treatment['receiver']}: {found.value:.1f}; the median is 9" in said
    assert sentences.outliers(made.study, throughput(EDGE_RUNS["empty"](tmp_path / "empty"))) == ""


def test_a_warning_of_values_stands_at_its_response_and_marks_no_other(tmp_path: Path) -> None:
    report = gather(EDGE_RUNS["drifting"](tmp_path / "run"))
    (group,) = report.answers.noise
    assert (group.code, group.responses) == ("drift", ("throughput",))
    assert report.warnings[-1] is group
    assert report.general_warnings == []
    assert report.warned_trials == 0
    named = [
        section.name
        for section in report.sections
        if "These values as a whole are subject to warning 1." in section.sentences
    ]
    assert named == ["throughput"]


def test_a_difference_alone_has_no_percent() -> None:
    found = change([(0, 1), (0, 2), (0, 4)])
    assert (found.percent, found.interval) == (None, None)
    assert found.difference == pytest.approx(7 / 3)
    assert found.p_value is not None
