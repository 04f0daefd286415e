"""The comparison of two runs: its figures against known ones, and the command's output and exit status."""

import math
import random
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from statsmodels.stats.weightstats import DescrStatsW

from nettrial.analysis import corrected, unpaired_change
from nettrial.analysis.changes import EQUAL
from nettrial.analysis.compare import Condition, Difference, compare, condition
from nettrial.analysis.outcomes import Outcome
from nettrial.design import PlannedTrial
from nettrial.scenario import Record
from nettrial.store import Run
from nettrial.study import Until, load
from tests.unit.synthetic import BUSY, ENVIRONMENT, Maker, altered_study, make_run, plain, record

TWO = {"mtu": "1500,9000", "sender": "linux-cubic", "receiver": "linux-cubic"}
BASE = {"mtu": "1500 B", "sender": "linux-cubic", "receiver": "linux-cubic"}


def changed(factor: float) -> Maker:
    """Makes records with a different throughput and independent noise."""

    def maker(trial: PlannedTrial) -> Record:
        made = record(trial)
        made.flows[0].goodput_bps = (made.flows[0].goodput_bps or 0) * factor * noise(trial)
        return made

    return maker


def noise(trial: PlannedTrial) -> float:
    return math.exp(random.Random(500 + trial.number).gauss(0, 0.002))


def goodputs(run: Run, treatment: dict[str, str]) -> list[float]:
    trials = [trial for trial in run.trials() if trial.planned.treatment == treatment]
    return [(trial.record.flows[0].goodput_bps or 0) / 1e6 for trial in trials]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, Run]:
    directory = tmp_path_factory.mktemp("runs")
    newer = ENVIRONMENT.model_copy(update={"kernel": "Linux 6.18.0 #1 SMP"})
    first = make_run(directory / "a", overrides=TWO, maker=record)
    return first, make_run(directory / "b", 4, TWO, changed(0.95), environment=newer)


def test_the_interval_is_that_of_a_second_library(runs: tuple[Run, Run]) -> None:
    found = compare(*runs)
    difference = next(d for d in found.differences if d.response.name == "throughput" and d.treatment == BASE)
    logs = [np.log(goodputs(run, BASE)) for run in runs]
    means = [DescrStatsW(side).tconfint_mean(alpha=0.05 / (2 * 7)) for side in logs]
    half = math.hypot(*((above - below) / 2 for below, above in means))
    middle = np.mean(logs[1]) - np.mean(logs[0])
    assert found.intervals == 2 * 7
    assert difference.counts == (5, 4)
    assert difference.interval is not None
    assert difference.interval.low == pytest.approx(100 * math.expm1(middle - half))
    assert difference.interval.high == pytest.approx(100 * math.expm1(middle + half))
    assert difference.percent == pytest.approx(100 * math.expm1(np.mean(logs[1]) - np.mean(logs[0])))
    assert difference.shown


def test_fewer_comparisons_have_narrower_intervals(runs: tuple[Run, Run]) -> None:
    every, one = compare(*runs), compare(*runs, ["throughput"])
    assert one.intervals == 2
    (wide,) = (d for d in every.differences if d.response.name == "throughput" and d.treatment == BASE)
    narrow = next(d for d in one.differences if d.treatment == BASE)
    assert wide.interval is not None
    assert narrow.interval is not None
    assert narrow.interval.half_width < wide.interval.half_width


def test_intervals_hold_the_truth_together() -> None:
    """In 400 comparisons of 8 ratios, all intervals contain the true value at the same time in at least
    95%."""
    generator = np.random.default_rng(7)
    rounds, number, together = 400, 8, 0
    for _ in range(rounds):
        changes = []
        for _ in range(number):
            before, after = generator.normal(0, 0.05, 5), generator.normal(math.log(1.1), 0.15, 7)
            changes.append(unpaired_change(np.exp(before).tolist(), np.exp(after).tolist()))
        intervals = [change.simultaneous for change in corrected(changes)]
        together += all(interval is not None and interval.contains(10) for interval in intervals)
    assert together / rounds > 0.95 - 3 * math.sqrt(0.95 * 0.05 / rounds)


def test_what_else_differs_is_named(runs: tuple[Run, Run]) -> None:
    assert compare(*runs).circumstances == (
        ("kernel", "Linux 6.12.0 #1 SMP", "Linux 6.18.0 #1 SMP"),
        ("trials", "10 of 10", "8 of 8"),
    )


def test_settings_and_levels_that_differ_are_named(tmp_path: Path) -> None:
    first = make_run(tmp_path / "a", 2, TWO)
    other = {**TWO, "mtu": "1500,4000", "network.rate": "100 Mbit/s", "workload.probe.transport": "mptcp"}
    found = compare(first, make_run(tmp_path / "b", 2, other))
    assert found.circumstances == (
        ("levels of mtu", "1500 B, 9000 B", "1500 B, 4000 B"),
        ("network.rate", "1 Gbit/s", "100 Mbit/s"),
        ("workload.probe.transport", "tcp", "mptcp"),
    )
    assert found.treatments_of_one == (({**BASE, "mtu": "9000 B"},), ({**BASE, "mtu": "4000 B"},))
    assert {difference.treatment["mtu"] for difference in found.differences} == {"1500 B"}


def test_a_response_that_measures_something_else_is_no_common_one(tmp_path: Path) -> None:
    study = altered_study(tmp_path / "s", {"metric: delay_difference_mean": "metric: jitter_rfc3550"})
    found = compare(make_run(tmp_path / "a", 2, TWO), make_run(tmp_path / "b", 2, TWO, study=study))
    assert found.responses_of_one == (("jitter",), ("jitter",))
    assert "jitter" not in {difference.response.name for difference in found.differences}


def without_cpu(trial: PlannedTrial) -> Record:
    made = record(trial)
    made.hosts[0].cpu_percent = None
    if trial.block == 1:
        made.flows[0].goodput_bps = 0.0
    return made


def test_what_cannot_be_compared_says_why(tmp_path: Path) -> None:
    first = make_run(tmp_path / "a", 2, TWO)
    found = compare(first, make_run(tmp_path / "b", 2, TWO, without_cpu))
    absent = {d.response.name: d.absent for d in found.differences if d.treatment == BASE}
    assert absent["cpu_sender"] == "no value in the second run: the record has no cpu of sender"
    assert absent["throughput"] == "a value of 0 or less has no ratio"
    assert found.intervals == 2 * 6  # Without a ratio, the difference is compared instead.
    single = compare(first, make_run(tmp_path / "c", 1, TWO))
    assert {d.absent for d in single.differences} == {"one trial in the second run gives no interval"}
    assert all(d.percent is not None and d.interval is None for d in single.differences)
    empty = compare(first, make_run(tmp_path / "d", 1, TWO, trials=0))
    assert {d.absent for d in empty.differences} == {"no value in the second run: no finished trial"}


def test_equal_values_decide_nothing_unless_they_were_simulated(tmp_path: Path) -> None:
    def same(trial: PlannedTrial) -> Record:
        return record(PlannedTrial(1, 1, trial.treatment))

    def faster(trial: PlannedTrial) -> Record:
        made = same(trial)
        made.flows[0].goodput_bps = (made.flows[0].goodput_bps or 0) * 1.5
        return made

    runs = make_run(tmp_path / "a", 2, TWO, same), make_run(tmp_path / "b", 3, TWO, faster)
    gate = condition("throughput > 10%")
    assert gate is not None
    for difference in compare(*runs, ["throughput"]).differences:
        assert difference.percent == pytest.approx(50)
        assert (difference.interval, difference.shown, difference.absent) == (None, 0, EQUAL)
        assert gate.outcome(difference) is Outcome.UNKNOWN
    for run in runs:
        run.study = run.study.model_copy(update={"backend": "sim"})
    for difference in compare(*runs, ["throughput"]).differences:
        assert difference.shown == 1
        assert gate.outcome(difference) is Outcome.HOLDS


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("throughput < -3%", Condition("throughput", "<", -3.0)),
        ("throughput<-0.5 %", Condition("throughput", "<", -0.5)),
        ("rtt > 10%", Condition("rtt", ">", 10.0)),
        ("rtt>+10%", Condition("rtt", ">", 10.0)),
        ("rtt > 0%", Condition("rtt", ">", 0.0)),
        ("throughput < 3%", None),
        ("throughput > -3%", None),
        ("throughput < -3", None),
        ("throughput <= -3%", None),
        ("< -3%", None),
        ("throughput", None),
        ("", None),
    ],
)
def test_conditions(text: str, read: Condition | None) -> None:
    assert condition(text) == read


@pytest.mark.parametrize(
    ("factor", "text", "status"),
    [
        (0.95, "throughput < -2%", 1),
        (0.95, "throughput < -4%", 0),  # The estimate is -5%, and its interval reaches from -7.3% to -2.7%.
        (0.95, "throughput < -8%", 0),
        (0.95, "throughput > 0%", 0),
        (1.05, "throughput > 2%", 1),
        (1.05, "throughput > 4%", 0),
        (1.05, "throughput < -3%", 0),
        (0.999, "throughput < 0%", 0),  # The change is below 0, but its interval contains 0.
    ],
)
def test_a_condition_holds_if_the_whole_interval_is_beyond_it(nettrial, factor, text, status) -> None:
    make_run(nettrial.directory / "a", 5, TWO, record)
    make_run(nettrial.directory / "b", 5, TWO, changed(factor))
    assert nettrial("compare", "a", "b", "--fail-if", text).returncode == status


@pytest.mark.slow
def test_a_change_short_of_the_limit_hardly_ever_fails_the_gate() -> None:
    """With a true change of -2%, a gate of -3% fails in at most 0.5% of 2000 comparisons (by the estimate
    alone it would be 13%); with a true change of exactly -3%, in at most 2.5% and three standard errors; and
    with a true change of -8% in at least 95%."""
    generator = np.random.default_rng(11)
    rounds, gate = 2000, condition("throughput < -3%")
    response = load("jumbo-ipv6").responses[0]
    assert gate is not None

    def share(true: float) -> float:
        failed = 0
        for _ in range(rounds):
            before = np.exp(generator.normal(0, 0.02, 10)).tolist()
            after = np.exp(generator.normal(math.log(1 + true), 0.02, 10)).tolist()
            (change,) = corrected([unpaired_change(before, after)])
            found = Difference(response, BASE, (1.0, 1.0), (10, 10), (0, 0), change, None)
            failed += gate.outcome(found) is Outcome.HOLDS
        return failed / rounds

    assert share(-0.02) <= 0.005
    assert share(-0.03) <= 0.025 + 3 * math.sqrt(0.025 * 0.975 / rounds)
    assert share(-0.08) >= 0.95


def test_a_change_from_trials_with_warnings_that_may_bias_says_so(nettrial) -> None:
    def warned(trial: PlannedTrial) -> Record:
        made = changed(0.9)(trial)
        if trial.treatment["mtu"] == "9000 B" and trial.block < 3:
            made.warnings = [BUSY, BUSY.model_copy(update={"code": "steal_time"})]
        elif trial.block == 1:
            made.warnings = [BUSY.model_copy(update={"code": "steal_time"})]
        return made

    first = make_run(nettrial.directory / "a", 5, TWO, record)
    second = make_run(nettrial.directory / "b", 5, TWO, warned)
    found = [each for each in compare(first, second).differences if each.response.name == "throughput"]
    assert [each.biased for each in found] == [(0, 0), (0, 2)]
    done = nettrial("compare", "a", "b", "--response", "throughput", "--fail-if", "throughput < -3%")
    lines = [line for line in done.stdout.splitlines() if line.startswith("throughput")]
    assert [line.rpartition("  ")[2] for line in lines] == [
        "lower (worse)",
        "lower (worse), may be biased",
        "holds",
        "holds, may be biased",
    ]
    assert "may be biased: trials have warnings" in done.stdout


def test_a_condition_that_an_interval_cannot_decide_is_named_and_may_fail(nettrial, golden) -> None:
    make_run(nettrial.directory / "a", 5, TWO, record)
    make_run(nettrial.directory / "b", 5, TWO, changed(0.95))
    gate = ("compare", "a", "b", "--fail-if", "throughput < -4%")
    done = nettrial(*gate)
    assert (done.returncode, done.stderr) == (0, "")
    assert "can't tell: the interval has changes on both sides of -4%" in done.stdout
    strict = nettrial(*gate, "--inconclusive", "fail")
    assert (strict.returncode, strict.stdout) == (6, done.stdout)
    golden("compare-inconclusive", strict.stderr)
    assert nettrial(*gate, "--fail-if", "throughput < -2%", "--inconclusive", "fail").returncode == 1
    bad = nettrial(*gate, "--inconclusive", "maybe")
    assert (bad.returncode, bad.stdout) == (2, "")
    assert "--inconclusive: maybe\n  expected: pass or fail" in bad.stderr


def test_the_conditions_are_the_test_cases_of_a_junit_file(nettrial) -> None:
    make_run(nettrial.directory / "a", 5, TWO, record)
    make_run(nettrial.directory / "b", 5, TWO, changed(0.95))
    gate = ("compare", "a", "b", "--fail-if", "throughput < -2%", "--fail-if", "throughput < -4%")
    gate += ("--fail-if", "throughput > 5%", "--junit", "conditions.xml")
    for options, expected in (((), [2, 0, 2]), (("--inconclusive", "fail"), [4, 0, 0])):
        assert nettrial(*gate, *options).returncode == 1
        suite = ElementTree.parse(nettrial.directory / "conditions.xml").getroot().find("testsuite")
        assert [int(suite.attrib[name]) for name in ("failures", "errors", "skipped")] == expected
        cases = [(each.get("classname"), each.get("name"), each[0].tag) for each in suite]
        assert len({case[:2] for case in cases}) == len(cases) == int(suite.attrib["tests"]) == 6
        assert [tag for name, _, tag in cases if name == "throughput < -2%"] == ["failure", "failure"]
        assert [tag for name, _, tag in cases if name == "throughput > +5%"] == ["system-out", "system-out"]
    assert suite[0][0].get("message").startswith("holds: throughput < -2% (")


def test_a_condition_without_an_interval_is_an_error_of_its_test_case(nettrial) -> None:
    make_run(nettrial.directory / "a", 2, TWO)
    make_run(nettrial.directory / "b", 2, TWO, without_cpu)
    nettrial("compare", "a", "b", "--fail-if", "cpu_sender > 10%", "--junit", "conditions.xml")
    suite = ElementTree.parse(nettrial.directory / "conditions.xml").getroot().find("testsuite")
    assert {each[0].tag for each in suite} == {"error"}


def test_the_markdown_file_has_the_conditions_and_the_changes(nettrial, golden) -> None:
    make_run(nettrial.directory / "a", 5, TWO)
    make_run(nettrial.directory / "b", 5, TWO, changed(0.95))
    gate = ("compare", "a", "b", "--response", "throughput", "--fail-if", "throughput < -2%")
    done = nettrial(*gate, "--markdown", "summary.md")
    assert done.returncode == 1
    golden("compare-markdown", (nettrial.directory / "summary.md").read_text())


def test_the_command(nettrial, golden) -> None:
    newer = ENVIRONMENT.model_copy(update={"kernel": "Linux 6.18.0 #1 SMP"})
    make_run(nettrial.directory / "a", 5, {**TWO, "mtu": "1500,4000,9000"}, plain)
    make_run(nettrial.directory / "b", 5, TWO, changed(0.95), environment=newer)
    done = nettrial("compare", "a", "b", "--fail-if", "throughput < -2%", "--fail-if", "rtt > 10%")
    assert done.returncode == 1
    golden("compare", done.stdout)
    golden("compare-fails", done.stderr)


def test_what_cannot_be_judged_is_no_success(nettrial, golden) -> None:
    make_run(nettrial.directory / "a", 2, TWO)
    make_run(nettrial.directory / "b", 2, TWO, without_cpu)
    done = nettrial("compare", "a", "b", "--fail-if", "cpu_sender > 10%")
    assert done.returncode == 4
    golden("compare-not-judged", done.stderr)


def test_a_run_of_few_replicates_says_how_far_its_intervals_reach(nettrial) -> None:
    make_run(nettrial.directory / "a", 5, TWO)
    make_run(nettrial.directory / "b", 2, TWO)
    said = "One treatment has only 2 trials in a run, so its intervals extend 178 standard errors"
    assert said in nettrial("compare", "a", "b").stdout
    assert "standard errors" not in nettrial("compare", "a", "a").stdout


def test_runs_that_stopped_when_precise_are_marked(nettrial) -> None:
    study = load("jumbo-ipv6").with_overrides(TWO).until_narrow(Until(percent={"rtt": 50}))
    make_run(nettrial.directory / "a", 5, study=study)
    make_run(nettrial.directory / "b", 5, TWO)
    said = "\nA had blocks added until it was precise (--until). These intervals assume"
    assert said in nettrial("compare", "a", "b").stdout
    assert "--until" not in nettrial("compare", "b", "b").stdout


BAD = {
    "condition": ["--fail-if", "throughput < 3%"],
    "condition-response": ["--fail-if", "througput < -3%"],
    "condition-without-percent": ["--fail-if", "rtt > 3"],
    "condition-in-units": ["--fail-if", "rtt > 3 ms"],
    "condition-left-out": ["--fail-if", "rtt > 3%", "--response", "throughput"],
    "response": ["--response", "goodput"],
}


@pytest.mark.parametrize("name", list(BAD))
def test_bad_conditions_are_exit_2_and_nothing_is_printed(nettrial, golden, name) -> None:
    for run in "ab":
        make_run(nettrial.directory / run, 2, TWO)
    done = nettrial("compare", "a", "b", *BAD[name])
    assert (done.returncode, done.stdout) == (2, "")
    golden(f"error-compare-{name}", done.stderr)


@pytest.mark.parametrize(
    "command",
    [
        ("compare", "no-run", "no-other", "--junit"),
        ("compare", "no-run", "no-other", "--markdown"),
        ("compare", "no-run", "no-other", "--html"),
        ("report", "no-run", "--junit"),
        ("report", "no-run", "--markdown"),
        ("pool", "no-run", "no-other", "--html"),
    ],
)
def test_a_file_without_a_directory_is_refused_before_the_runs_are_read(nettrial, command) -> None:
    done = nettrial(*command, "missing/file")
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{command[-1]}: missing/file\n  expected: a file in a directory that exists" in done.stderr


def test_runs_with_nothing_in_common_are_exit_2(nettrial, golden) -> None:
    make_run(nettrial.directory / "a", 1, TWO)
    make_run(nettrial.directory / "b", 1, {**TWO, "mtu": "4000"})
    done = nettrial("compare", "a", "b")
    assert (done.returncode, done.stdout) == (2, "")
    golden("error-compare-nothing", done.stderr)


def test_runs_that_may_be_a_history_are_named_and_not_used_unasked(nettrial):
    """The user alone knows which runs are of the same system under test."""
    short = ("run", "jumbo-ipv6", "--set", "mtu=1500,9000", "--set", "sender=classic", "--replicates", "3")
    for name, settings in (("a", ()), ("b", ()), ("again", ()), ("other", ("--set", "network.delay=1 ms"))):
        assert nettrial(*short, *settings, "--out", f"runs/{name}").returncode == 0
    assert nettrial(*short, "--out", "runs/kernel", FAKE_KERNEL="Linux 7.0.0").returncode == 0
    said = nettrial("compare", "runs/a", "runs/b").stdout
    assert "1 run of A's study on A's apparatus beside it; if the system was the same: --history" in said
    assert "--history runs/again\n" in said
    asked = nettrial("compare", "runs/a", "runs/b", "--history", "runs/again").stdout
    assert "beside it" not in asked


def test_a_report_compares_with_an_earlier_run(
    runs: tuple[Run, Run], nettrial: Callable[..., Any], tmp_path: Path
) -> None:
    earlier, later = (tmp_path / name for name in ("earlier", "later"))
    for run, directory in zip(runs, (earlier, later), strict=True):
        shutil.copytree(run.directory, directory)
    done = nettrial("report", str(later), "--against", str(earlier))
    found = compare(*runs)
    shown = sum(1 for each in found.differences if each.shown)
    assert f"compared with {earlier}: {shown} of {found.intervals} comparisons show a change" in done.stderr
    page = (later / "report.html").read_text(encoding="utf-8")
    section = page.split('<section id="earlier">')[1].split("</section>")[0]
    assert f'<a class="mark" href="#earlier">{shown} of {found.intervals} comparisons' in page
    rows = re.findall(r'<tr><th scope="row">throughput</th>(.*)</tr>', section)
    throughput = [each for each in found.differences if each.response.name == "throughput"]
    for row, each in zip(rows, throughput, strict=True):
        *_, change, interval, _ = re.findall(r"<td>(.*?)</td>", row.replace("−", "-"))
        assert each.percent is not None
        assert each.interval is not None
        low, high = (float(end) for end in interval.strip("[]").split(", "))
        expected = (each.percent, each.interval.low, each.interval.high)
        assert (float(change), low, high) == pytest.approx(expected, abs=0.06)
    assert "<td>Linux 6.12.0 #1 SMP</td><td>Linux 6.18.0 #1 SMP</td>" in section


def test_a_report_against_a_run_of_another_study_is_refused(
    runs: tuple[Run, Run], nettrial: Callable[..., Any], tmp_path: Path
) -> None:
    other = make_run(tmp_path / "other", 1, {**TWO, "sender": "classic"}, record, trials=1)
    done = nettrial("report", str(runs[1].directory), "--against", str(other.directory))
    assert done.returncode == 2
    assert "nothing to compare" in done.stderr
