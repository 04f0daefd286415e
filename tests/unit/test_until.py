"""Runs that continue until they are precise: the rules that end them, and resuming under the same rule."""

import random
import re
import time
from pathlib import Path

import pytest
import yaml

from nettrial.analysis import mean_interval, precisions, stopping, summarise
from nettrial.analysis.sequential import half_width
from nettrial.design import PlannedTrial, next_block, plan
from nettrial.errors import BadInput
from nettrial.report import html
from nettrial.report.stopping import end, rule
from nettrial.running.running_means import Spread
from nettrial.store import Run
from nettrial.study import Until, load
from tests.unit.synthetic import altered_study, make_run, plain, record

ONE = (
    "--set",
    "mtu=1500,9000",
    "--set",
    "sender=linux-cubic",
    "--set",
    "receiver=linux-cubic",
    "--seed",
    "7",
)
RUN = ("run", "jumbo-ipv6", *ONE, "--out", "mine")
PRECISE = ("--until", "throughput=1%", "--until", "rtt=4%")
BLOCKS = 7
"""The number of blocks that the rule needs with this seed."""
TWO = {"mtu": "1500,9000", "sender": "linux-cubic", "receiver": "linux-cubic"}
UNTIL = "until: {percent: {throughput: 0.5, rtt: 6}, minimum: 4, maximum: 6}\nwarmup: 2"


def opened(nettrial) -> Run:
    return Run.open(nettrial.directory / "mine")


def test_a_longer_plan_is_the_same_with_blocks_more() -> None:
    study = load("jumbo-ipv6")
    first = plan(study, 4, 7)
    assert [*first, *next_block(study, first, 7)] == plan(study, 5, 7)


def test_a_run_ends_as_soon_as_its_intervals_are_narrow(nettrial, golden) -> None:
    done = nettrial(*RUN, *PRECISE)
    assert done.returncode == 0
    golden("run-until", done.stderr)
    run = opened(nettrial)
    assert run.command.endswith("--until throughput=1% --until rtt=4% --seed 7")
    assert len(run.trials()) == len(run.plan) == 2 * BLOCKS
    assert run.plan == plan(run.study, BLOCKS, 7)
    found = stopping(run)
    assert found is not None
    assert found.wide == []
    report = " ".join(done.stdout.split())
    assert f" {end(run)} The intervals of means and changes form a confidence sequence" in report
    page = (nettrial.directory / "mine" / "report.html").read_text()
    assert "The intervals of means and changes form a confidence sequence" in page


def test_it_ended_as_soon_as_it_could(nettrial) -> None:
    """One block earlier, some interval was still too wide, as the values show."""
    nettrial(*RUN, *PRECISE)
    run = opened(nettrial)
    for blocks, narrow in ((BLOCKS - 1, False), (BLOCKS, True)):
        widths = []
        for mtu in ("1500 B", "9000 B"):
            for flow, percent in ((0, 1), (1, 4)):
                values = [
                    record.flows[0].goodput_bps or 0 if flow == 0 else record.flows[1].rtt_us.mean  # type: ignore[union-attr]
                    for trial in run.trials()
                    if trial.planned.block <= blocks and trial.planned.treatment["mtu"] == mtu
                    for record in [trial.record]
                ]
                half = half_width(values, 0.95)
                assert half is not None
                widths.append(100 * half / (sum(values) / len(values)) <= percent)
        assert all(widths) == narrow


def test_a_run_that_gets_no_narrower_ends_at_the_most_blocks(nettrial, golden) -> None:
    done = nettrial(*RUN, "--until", "1%", "--min-blocks", "4", "--max-blocks", "6")
    assert done.returncode == 0
    golden("run-until-maximum", done.stderr)
    assert len(opened(nettrial).trials()) == 2 * 6


@pytest.mark.parametrize("kills", [1, pytest.param(20, marks=pytest.mark.slow)])
def test_a_killed_run_goes_on_under_the_same_rule(nettrial_process, kills: int) -> None:
    """Wherever a run is killed, it ends with the same trials as a run that was not killed."""
    nettrial, moments = nettrial_process, random.Random(3)
    options = (*RUN, *PRECISE)
    for _ in range(kills):
        directory = nettrial.directory / "mine"
        killed = nettrial.start(*options, FAKE_SECONDS="0.04")
        while not directory.exists() and killed.poll() is None:
            time.sleep(0.01)
        time.sleep(moments.uniform(0.1, 1.2))
        killed.kill()
        killed.communicate()
        before = {trial.planned.number for trial in opened(nettrial).trials()}
        assert nettrial("run", "--resume", "mine").returncode == 0
        run = opened(nettrial)
        assert run.plan == plan(run.study, BLOCKS, 7)
        assert [trial.planned for trial in run.trials()] == run.plan
        assert before <= {trial.planned.number for trial in run.trials()}
        directory.rename(nettrial.directory / f"done-{moments.random()}")


def test_a_run_that_is_stopped_between_blocks_goes_on(nettrial) -> None:
    """Every planned trial is finished, but the rule is not fulfilled yet."""
    study = load("jumbo-ipv6").with_overrides(TWO)
    study = study.until_narrow(Until(percent={"throughput": 0.5}, maximum=6))
    run = make_run(nettrial.directory / "cut", 5, study=study)
    assert run.pending() == []
    assert nettrial("run", "--resume", "cut").returncode == 0
    run = Run.open(nettrial.directory / "cut")
    assert len(run.trials()) == len(run.plan) == 2 * 6


def test_another_rule_is_refused_when_resuming(nettrial, golden) -> None:
    make_run(nettrial.directory / "mine", 5, TWO)
    done = nettrial("run", "--resume", "mine", "--until", "1%")
    assert (done.returncode, done.stdout) == (2, "")
    golden("error-resume-other-rule", done.stderr)


def test_no_block_comes_after_a_trial_that_failed(nettrial_process) -> None:
    nettrial = nettrial_process
    done = nettrial(*RUN, *PRECISE, FAKE_FAIL="3")
    assert done.returncode == 4
    assert "The run is not complete after 5 blocks (5 to 50 were allowed): it continues until" in done.stderr
    assert len(opened(nettrial).plan) == 2 * 5
    assert nettrial("run", "--resume", "mine").returncode == 0
    run = opened(nettrial)
    assert [trial.planned for trial in run.trials()] == run.plan == plan(run.study, BLOCKS, 7)


def test_reports_have_the_wider_intervals(tmp_path) -> None:
    study = altered_study(tmp_path / "s", {"warmup: 2": UNTIL}).with_overrides(TWO)
    run = make_run(tmp_path / "run", 6, study=study, maker=plain)
    cell = summarise(run).responses[2].cells[0]
    values = list(cell.values.values())
    student = mean_interval(values)
    assert cell.interval is not None
    assert student is not None
    assert cell.interval.half_width == pytest.approx(half_width(values, 0.95))
    assert cell.interval.half_width > 1.6 * student.half_width


def test_what_has_no_spread_or_no_value_is_left_out_and_named(tmp_path) -> None:
    study = load("jumbo-ipv6").with_overrides(TWO)
    study = study.until_narrow(Until(percent={"throughput": 20, "cpu_sender": 20, "jitter": 20}))

    def maker(trial):
        made = plain(trial)
        made.hosts[0].cpu_percent = None
        made.flows[1].delay_difference_mean_us = 7.0
        return made

    run = make_run(tmp_path / "run", 5, study=study, maker=maker)
    found = stopping(run)
    assert found is not None
    assert (found.unmeasured, found.equal) == (("cpu_sender",), ("jitter",))
    assert {width.response for width in found.widths} == {"throughput"}
    assert not found.goes_on
    assert end(run) == (
        "The run ended after 5 blocks (5 to 50 were allowed) because each mean is known: of throughput, "
        "cpu_sender and jitter to ±20%. In so few blocks, values that occur in up to 45% of trials may "
        "not have been seen (95% confidence). Ignored where they have no value: cpu_sender. Ignored where "
        "all values are equal and so show no spread: jitter."
    )


def test_a_study_may_have_a_rule(tmp_path) -> None:
    study = altered_study(tmp_path / "s", {"warmup: 2": UNTIL})
    assert study.until == Until(percent={"throughput": 0.5, "rtt": 6}, minimum=4, maximum=6)
    assert rule(study.until) == "each mean is known: of throughput to ±0.5%; of rtt to ±6%"
    for number, (old, new, fault) in enumerate(
        [
            ("throughput: 0.5", "througput: 0.5", "did you mean 'throughput'?"),
            ("minimum: 4", "minimum: 7", "7 or more, the minimum"),
            ("throughput: 0.5", "throughput: 0", "greater than 0"),
            ("minimum: 4", "minimum: 3", "4"),
        ]
    ):
        with pytest.raises(BadInput) as caught:
            altered_study(tmp_path / f"s{number}", {"warmup: 2": UNTIL.replace(old, new)})
        assert fault in str(caught.value)


def test_it_waits_for_the_precision_that_the_study_declares(nettrial) -> None:
    precise = "metric: goodput, of: transfer, unit: Mbit/s, precision: 1%"
    altered_study(nettrial.directory / "s", {"metric: goodput, of: transfer, unit: Mbit/s": precise})
    done = nettrial("run", "./s", *ONE, "--out", "mine", "--until", "declared", "--until", "rtt=4%")
    assert done.returncode == 0
    run = opened(nettrial)
    assert run.study.until == Until(percent={"throughput": 1, "rtt": 4})
    assert run.plan == plan(run.study, BLOCKS, 7)
    assert [found.reached for found in precisions(summarise(run))] == [True]


BAD = {
    "percent": ["--until", "2"],
    "zero": ["--until", "0%"],
    "declared": ["--until", "declared"],
    "response": ["--until", "througput=2%"],
    "replicates": ["--until", "2%", "--replicates", "7"],
    "minimum-alone": ["--min-blocks", "7"],
    "maximum": ["--until", "2%", "--min-blocks", "9", "--max-blocks", "8"],
}


@pytest.mark.parametrize("name", list(BAD))
def test_bad_rules_are_exit_2_and_write_nothing(nettrial, golden, name) -> None:
    done = nettrial("run", "jumbo-ipv6", *BAD[name])
    assert (done.returncode, done.stdout) == (2, "")
    assert list(nettrial.directory.iterdir()) == []
    golden(f"error-until-{name}", done.stderr)


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize(("blocks", "equal"), [(1, False), (2, False), (5, True), (5, False)])
def test_a_run_with_a_rule_has_a_page_however_little_is_in_it(tmp_path, blocks, equal) -> None:
    """The run's intervals may be absent even if those of Student's t exist."""
    study = load("jumbo-ipv6").with_overrides({**TWO, "mtu": "1500" if blocks == 2 else "1500,9000"})
    study = study.until_narrow(Until(percent={"throughput": 1}))
    maker = (lambda trial: record(PlannedTrial(1, 1, trial.treatment))) if equal else plain
    run = make_run(tmp_path / "run", blocks, study=study, maker=maker)
    page = html.write(run).read_text(encoding="utf-8")
    assert "form a confidence sequence" in page
    assert end(run) in page.replace("&#39;", "'")


def test_the_rule_of_the_page_is_one() -> None:
    page = Path(__file__).parents[2] / "docs" / "how-to" / "run-until-it-is-precise.md"
    (text,) = re.findall(r"```yaml\n(.*?)```", page.read_text(), re.S)
    rule = Until.model_validate(yaml.safe_load(text)["until"])
    assert rule == Until(percent={"throughput": 1, "rtt": 5}, minimum=5, maximum=50)


def test_the_view_of_a_run_that_goes_on_has_its_intervals() -> None:
    values = [3.0, 4.0, 8.0, 5.0, 6.0]
    spread = Spread(sequential=True)
    for count, value in enumerate(values, start=1):
        spread.add(value)
        assert spread.half_width == (pytest.approx(half_width(values[:count], 0.95)) if count > 3 else None)
