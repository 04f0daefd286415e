"""A run's table, summary, warnings and published figures, against known figures."""

import csv
import math
from pathlib import Path
from statistics import fmean

import polars as pl
import pytest

from nettrial.analysis import (
    agreement,
    baseline,
    change,
    failures,
    mean_interval,
    published,
    summarise,
    warnings,
)
from nettrial.analysis.changes import ALIKE
from nettrial.design import PlannedTrial
from nettrial.errors import BadInput
from nettrial.export import responses_frame
from nettrial.scenario import Absence, Record
from nettrial.store import Run
from nettrial.study import load
from tests.unit.synthetic import BUSY, figures, make_run, record

TREATMENT = {"mtu": "9000 B", "sender": "classic", "receiver": "linux-cubic"}
BASE = {**TREATMENT, "mtu": "1500 B"}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return make_run(tmp_path_factory.mktemp("runs") / "run")


def goodputs(run: Run, treatment: dict[str, str]) -> dict[int, float]:
    """Returns throughput by block in Mbit/s, computed directly from the source of the records."""
    return {p.block: figures(p)["goodput"] / 1e6 for p in run.plan if p.treatment == treatment}


def test_frame_has_a_row_for_each_trial_and_response(run: Run) -> None:
    table = responses_frame(run)
    assert table.columns == [
        *("number", "block", "mtu", "sender", "receiver", "response", "unit", "value", "absent"),
    ]
    assert table.height == 60 * 7
    assert table["absent"].null_count() == table.height
    first = run.plan[0]
    row = table.row(by_predicate=(pl.col("number") == 1) & (pl.col("response") == "rtt"), named=True)
    assert row["value"] == pytest.approx(figures(first)["rtt"] / 1000)
    assert {name: row[name] for name in first.treatment} == first.treatment


def test_summary_is_that_of_the_known_values(run: Run) -> None:
    throughput = summarise(run).responses[2]
    assert throughput.response.name == "throughput"
    assert len(throughput.cells) == 12
    cell = throughput.cell(TREATMENT)
    assert cell is not None
    here, base = goodputs(run, TREATMENT), goodputs(run, BASE)
    assert cell.n == 5
    assert cell.mean == pytest.approx(fmean(here.values()))
    assert cell.median == pytest.approx(sorted(here.values())[2])
    expected = mean_interval([here[block] for block in sorted(here)])
    assert cell.interval is not None
    assert expected is not None
    assert cell.interval.low == pytest.approx(expected.low)
    assert cell.change is not None
    paired = change([(base[block], here[block]) for block in sorted(here)])
    assert cell.change.percent == pytest.approx(paired.percent)
    assert cell.change.pairs == 5


def test_baseline_has_no_change_against_itself(run: Run) -> None:
    assert baseline(run.study) == "1500 B"
    for response in summarise(run).responses:
        for cell in response.cells:
            assert (cell.change is None) == (cell.treatment["mtu"] == "1500 B")


def test_all_changes_with_an_interval_are_counted(run: Run) -> None:
    assert summarise(run).comparisons == 7 * 8


def test_cells_are_in_the_order_of_the_levels_whatever_the_plan(run: Run) -> None:
    cells = summarise(run).responses[0].cells
    assert [cell.treatment["mtu"] for cell in cells] == ["1500 B"] * 4 + ["4000 B"] * 4 + ["9000 B"] * 4


def test_a_run_without_trials_has_empty_cells(tmp_path: Path) -> None:
    empty = make_run(tmp_path / "run", trials=0)
    assert responses_frame(empty).height == 0
    for response in summarise(empty).responses:
        for cell in response.cells:
            assert (cell.n, cell.mean, cell.interval) == (0, None, None)
            assert cell.change is None or cell.change.percent is None
    assert warnings(empty) == []


def test_one_trial_has_a_mean_and_no_interval(tmp_path: Path) -> None:
    single = make_run(tmp_path / "run", trials=1)
    cell = summarise(single).responses[2].cell(single.plan[0].treatment)
    assert cell is not None
    assert cell.mean == pytest.approx(figures(single.plan[0])["goodput"] / 1e6)
    assert (cell.n, cell.deviation, cell.interval) == (1, None, None)


def test_one_block_has_changes_without_intervals(tmp_path: Path) -> None:
    cell = summarise(make_run(tmp_path / "run", replicates=1)).responses[2].cell(TREATMENT)
    assert cell is not None
    assert cell.change is not None
    assert cell.change.percent is not None
    assert cell.change.interval is None
    assert cell.change.absent == "one block gives no interval"


def test_incomplete_blocks_pair_only_where_both_values_are(tmp_path: Path) -> None:
    def maker(trial: PlannedTrial) -> Record | str:
        lost = (trial.block, trial.treatment) in [(2, TREATMENT), (4, BASE)]
        return "the agent died" if lost else record(trial)

    broken = make_run(tmp_path / "run", maker=maker)
    assert len(broken.failures()) == 2
    cell = summarise(broken).responses[2].cell(TREATMENT)
    assert cell is not None
    assert cell.n == 4
    assert cell.change is not None
    assert cell.change.pairs == 3
    here, base = goodputs(broken, TREATMENT), goodputs(broken, BASE)
    logs = [math.log(here[block] / base[block]) for block in (1, 3, 5)]
    assert cell.change.percent == pytest.approx(100 * math.expm1(fmean(logs)))


def test_an_absent_metric_keeps_its_reason(tmp_path: Path) -> None:
    def maker(trial: PlannedTrial) -> Record:
        made = record(trial)
        made.hosts[0].cpu_percent = None
        made.absent = [Absence(metric="cpu", object="sender", reason="one CPU only")]
        return made

    absent = make_run(tmp_path / "run", maker=maker)
    responses = {found.response.name: found for found in summarise(absent).responses}
    for cell in responses["cpu_sender"].cells:
        assert cell.mean is None
        assert cell.absent == {"one CPU only": 5}
    assert all(cell.mean is not None for cell in responses["cpu_receiver"].cells)


def test_equal_values_have_an_interval_only_if_they_were_simulated(tmp_path: Path) -> None:
    equal = PlannedTrial(1, 1, TREATMENT)
    run = make_run(tmp_path / "run", maker=lambda trial: record(equal))
    for cell in summarise(run).responses[0].cells:
        assert cell.interval is None
        if cell.change:
            assert (cell.change.percent, cell.change.interval, cell.change.p_value) == (0, None, None)
            assert cell.change.absent == ALIKE
    run.study = run.study.model_copy(update={"backend": "sim"})
    for cell in summarise(run).responses[0].cells:
        assert cell.interval is not None
        assert cell.interval.half_width == 0
        if cell.change:
            assert cell.change.percent == 0
            assert cell.change.interval is not None
            assert cell.change.interval.half_width == 0


def test_a_zero_has_no_relative_change(tmp_path: Path) -> None:
    def maker(trial: PlannedTrial) -> Record:
        made = record(trial)
        if trial.treatment == BASE and trial.block == 3:
            made.flows[1].delay_difference_mean_us = 0.0
        return made

    cell = summarise(make_run(tmp_path / "run", maker=maker)).responses[1].cell(TREATMENT)
    assert cell is not None
    assert cell.change is not None
    assert cell.change.percent is None
    assert cell.change.absent == "a value of 0 or less has no ratio"


def test_warnings_that_differ_in_numbers_are_one_group(run: Run) -> None:
    (group,) = warnings(run)
    assert (group.code, group.object, group.trials) == ("processor_saturated", "router", 4)
    assert group.treatments[0] != group.treatments[1]
    assert {tuple(t.items())[:2] for t in group.treatments} == {(("mtu", "1500 B"), ("sender", "classic"))}
    low, high = group.message.split("busy ")[1].split(" %")[0].split(" to ")
    assert 97 <= float(low) < float(high)
    assert group.consequence == BUSY.consequence


def test_warnings_in_other_words_are_apart_and_the_frequent_first(tmp_path: Path) -> None:
    rare = BUSY.model_copy(update={"object": "link sender - router", "message": "3 frames were dropped"})

    def maker(trial: PlannedTrial) -> Record:
        return record(trial, [rare, BUSY] if trial.number == 1 else [BUSY])

    groups = warnings(make_run(tmp_path / "run", replicates=1, maker=maker))
    assert [(group.object, group.trials) for group in groups] == [("router", 12), (rare.object, 1)]
    assert groups[0].message == BUSY.message


@pytest.mark.parametrize(
    ("flows", "named"),
    [
        (1, "flow incast-1"),
        (3, "flow incast-1, flow incast-2, flow incast-3"),
        (12, "flow incast-1 to 12 (12 of them)"),
    ],
)
def test_flows_of_a_group_that_say_the_same_are_one_group(tmp_path: Path, flows: int, named: str) -> None:
    def maker(trial: PlannedTrial) -> Record:
        numbers = range(1, flows + 1)
        return record(trial, [BUSY.model_copy(update={"object": f"flow incast-{n}"}) for n in numbers])

    (group,) = warnings(make_run(tmp_path / "run", replicates=1, maker=maker))
    assert (group.object, group.trials) == (named, 12)


def test_failures_that_differ_in_numbers_are_one_group(tmp_path: Path) -> None:
    def maker(trial: PlannedTrial) -> Record | str:
        return f"flow transfer: no answer for {trial.number} s" if trial.number in (2, 5) else record(trial)

    (group,) = failures(make_run(tmp_path / "run", replicates=1, maker=maker))
    assert (group.message, group.trials) == ("flow transfer: no answer for 2 to 5 s", (2, 5))


def test_published_figures_name_their_counterpart_or_none(run: Run) -> None:
    found = agreement(run, summarise(run))
    assert len(found) == 36 + 16
    linux = [each for each in found if each.cell]
    assert len(linux) == 9 + 4
    (one,) = [
        each for each in linux if each.row.response == "throughput" and each.row.levels["mtu"] == "9000 B"
    ]
    row = one.row
    assert (row.table, row.value, row.unit, row.change_percent) == ("4", "938.88", "Mbit/s", "25.03")
    assert one.cell
    assert one.cell.treatment == {"mtu": "9000 B", "sender": "linux-cubic", "receiver": "linux-cubic"}


def test_a_level_that_was_not_run_has_no_counterpart(tmp_path: Path) -> None:
    short = make_run(tmp_path / "run", overrides={"mtu": "1500,9000"}, trials=0)
    found = agreement(short, summarise(short))
    assert {each.row.levels["mtu"] for each in found if each.cell} == {"1500 B", "9000 B"}


def test_a_factor_the_source_did_not_have_leaves_a_counterpart_at_each_level(tmp_path: Path) -> None:
    rates = make_run(tmp_path / "run", overrides={"network.rate": "100 Mbit/s,1 Gbit/s"}, trials=0)
    found = [each for each in agreement(rates, summarise(rates)) if each.cell]
    assert len(found) == 2 * (9 + 4)
    assert {each.cell.treatment["network.rate"] for each in found if each.cell} == {"100 Mbit/s", "1 Gbit/s"}


WITH_ALL = "table,response,mtu,value,unit,change_percent,difference,against,sd,n,mark,reading_error\n"


def test_a_published_figure_may_have_a_spread_a_difference_and_a_mark(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", trials=0, overrides={"sender": "linux-cubic", "receiver": "linux-cubic"})
    header = WITH_ALL.replace("mtu", "mtu,sender,receiver")
    lines = [
        "2,rtt,4000 B,ubuntu-14.04,ubuntu-14.04,9.6,ms,,-0.5,,0.2,40,computed,",
        "2,rtt,4000 B,ubuntu-14.04,ubuntu-14.04,,ms,,1,mtu: 9000 B,,,,",
        "figure 3,rtt,9000 B,ubuntu-14.04,ubuntu-14.04,7,ms,,,,,,read off a figure,0.1",
    ]
    run.__dict__["published_text"] = header + "\n".join(lines)
    first, second, third = published(run)
    assert (first.sd, first.n, first.difference, first.mark) == ("0.2", 40, "-0.5", "computed")
    assert first.other == {"mtu": "1500 B", "sender": "ubuntu-14.04", "receiver": "ubuntu-14.04"}
    assert (second.other or {})["mtu"] == "9000 B"
    assert (third.mark, third.reading_error, third.other) == ("read off a figure", "0.1", None)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("table,response,mtu,value\n", "change_percent"),
        ("table,response,mtu,value,unit,change_percent\n2,rtt,1500 B,ten,ms,0\n", "line 2, value"),
        ("table,response,mtu,value,unit,change_percent\n2,rtt,1500 B,nan,ms,0\n", "line 2, value"),
        ("table,response,mtu,value,unit,change_percent,std\n", "did you mean 'sd'?"),
        ("table,response,mtu,value,unit,change_percent,sd,sd\n", "each column once"),
        (f"{WITH_ALL}2,rtt,1500 B,1,ms,,,,-1,40,,\n", "line 2, sd"),
        (f"{WITH_ALL}2,rtt,1500 B,1,ms,,,,1,2.5,,\n", "a whole number of trials"),
        (f"{WITH_ALL}2,rtt,1500 B,1,ms,,,,1,40,guessed,\n", "printed, read off a figure, computed"),
        (f"{WITH_ALL}2,rtt,1500 B,1,ms,,,,,,read off a figure,\n", "the largest error of the value"),
        (f"{WITH_ALL}2,rtt,1500 B,1,ms,,,,,,,0.1\n", "nothing where mark is printed"),
        (f"{WITH_ALL}2,rtt,1500 B,1,ms,,1,system: other,,,,\n", "factor: level, with a factor of mtu"),
        (f"{WITH_ALL}2,rtt,1500 B,1,ms,,,mtu: 9000 B,,,,\n", "nothing in a line without a difference"),
        (f"{WITH_ALL}2,rtt,1500 B,1,ms,,,,,,,,surplus\n", "12 values"),
    ],
)
def test_published_figures_that_cannot_be_read_are_bad_input(tmp_path: Path, text: str, named: str) -> None:
    run = make_run(tmp_path / "run", trials=0)
    run.__dict__["published_text"] = text
    with pytest.raises(BadInput) as caught:
        published(run)
    assert "published.csv" in str(caught.value)
    assert named in str(caught.value)


def test_printed_percentages_follow_from_printed_values_as_far_as_rounding_allows() -> None:
    """The README makes this statement about the paper, for each of the 24 percentages of Tables 2 to 4."""
    rows = list(csv.DictReader((load("jumbo-ipv6").published_text() or "").splitlines()))
    values = {
        (row["table"], row["mtu"], row["sender"], row["receiver"]): float(row["value"])
        for row in rows
        if row["value"]
    }
    checked = 0
    for row in rows:
        value, percent = row["value"], row["change_percent"]
        if not value or row["mtu"] == "1500 B":
            continue
        base = values[row["table"], "1500 B", row["sender"], row["receiver"]]
        corners = [
            100 * ((float(value) + up) / (base + down) - 1)
            for up in (-0.005, 0.005)
            for down in (-0.005, 0.005)
        ]
        assert min(corners) - 0.005 <= float(percent) <= max(corners) + 0.005
        checked += 1
    assert checked == 24
