"""Runs of one study as sessions: how often the intervals over sessions, and of one more session, hold."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable
from pathlib import Path
from statistics import fmean
from xml.etree import ElementTree

import numpy as np
import numpy.typing as npt
import pytest

from nettrial.analysis import corrected, mean_interval, session_change
from nettrial.analysis.run_model import changes
from nettrial.analysis.sessions import (
    Shares,
    gain,
    one_more,
    pool,
    repeated_change,
    variance_shares,
)
from nettrial.cli import pool as command
from nettrial.cli.limits import Gate
from nettrial.design import PlannedTrial
from nettrial.errors import BadInput
from nettrial.report import numbers
from nettrial.scenario import Record
from tests.unit.conftest import CommandLine
from tests.unit.synthetic import make_run, record

Floats = npt.NDArray[np.float64]


def least(nominal: float, experiments: int) -> float:
    """Returns a nominal share less four standard errors."""
    return nominal - 4 * math.sqrt(nominal * (1 - nominal) / experiments)


def drawn(draw: np.random.Generator, sessions: int, treatments: int, blocks: int) -> Floats:
    """Returns values around 100 by session, treatment and block. The deviations of sessions, of treatments by
    session and of trials are 1, 0.5 and 1."""
    return (
        100
        + draw.normal(size=(sessions, 1, 1))
        + 0.5 * draw.normal(size=(sessions, treatments, 1))
        + draw.normal(size=(sessions, treatments, blocks))
    )


@pytest.mark.parametrize("sessions", [3, 6])
def test_one_more_session_lies_in_its_interval(sessions: int) -> None:
    """A run's own interval contains the mean of the next run in 50% of experiments."""
    draw, experiments = np.random.default_rng(1), 2000
    held = alone = 0
    for _ in range(experiments):
        values = drawn(draw, sessions + 1, 1, 5)[:, 0]
        means = values.mean(-1)
        interval = mean_interval(means[:-1].tolist())
        assert interval is not None
        held += one_more(interval, sessions).contains(means[-1])
        own = mean_interval(values[0].tolist())
        assert own is not None
        alone += own.contains(means[-1])
    assert held / experiments >= least(0.95, experiments)
    assert alone / experiments < 0.75


@pytest.mark.parametrize("sessions", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_changes_over_sessions_hold_for_repetitions(sessions: int) -> None:
    """All treatments of a session share its effect, and each has its own, which limits changes."""
    draw, experiments = np.random.default_rng(2), 400
    held = again = count = 0
    for _ in range(experiments):
        means = drawn(draw, sessions + 1, 6, 5).mean(-1)
        rows = [dict(enumerate(row, start=1)) for row in means[:-1].T.tolist()]
        found = changes(rows, [(0, 3), (1, 4), (2, 5)], exact=False, sequential=False)
        held += all(each.simultaneous is not None and each.simultaneous.contains(0) for each in found)
        for number, each in enumerate(found):
            bounds = repeated_change(each)
            assert bounds is not None
            next_one = 100 * (means[-1, number + 3] / means[-1, number] - 1)
            again += bounds.contains(next_one)
            count += 1
    assert held / experiments >= least(0.95, experiments)
    assert again / count >= 0.94


def test_the_origin_of_the_variance_is_that_of_the_values() -> None:
    draw = np.random.default_rng(3)
    values = 1000 * np.exp(drawn(draw, 300, 4, 6) / 100)
    sessions = [[dict(enumerate(row)) for row in rows] for rows in values.tolist()]
    shares = variance_shares(sessions)
    assert shares is not None
    total = 1 + 0.25 + 1
    assert shares.session == pytest.approx(1 / total, abs=0.06)
    assert shares.treatment_by_session == pytest.approx(0.25 / total, abs=0.03)
    assert shares.block == pytest.approx(0, abs=0.01)
    assert shares.residual == pytest.approx(1 / total, abs=0.05)
    assert shares.deviation == pytest.approx(math.sqrt(total), rel=0.05)


def test_the_origin_of_the_variance_of_one_treatment_and_of_values_of_0() -> None:
    draw = np.random.default_rng(4)
    values = draw.normal(size=(200, 1, 1)) + draw.normal(size=(200, 1, 5))
    sessions = [[dict(enumerate(row)) for row in rows] for rows in values.tolist()]
    shares = variance_shares(sessions)
    assert shares is not None
    assert shares.session == pytest.approx(0.5, abs=0.08)
    assert variance_shares([[{1: 2.0, 2: 2.0}]] * 3) is None
    assert variance_shares([[{1: 2.0}], [{1: 3.0}]]) is None


def test_more_sessions_gain_where_sessions_differ_and_more_blocks_where_they_do_not() -> None:
    apart = gain(Shares(1, 0, 0, 0, 2.0), sessions=4, blocks=5)
    assert apart.blocks == apart.now
    assert apart.sessions < 0.6 * apart.now
    alike = gain(Shares(0, 0, 0, 1, 2.0), sessions=4, blocks=5)
    assert alike.blocks == pytest.approx(alike.now / math.sqrt(2))


@pytest.mark.parametrize("replicates", [5, pytest.param(10, marks=pytest.mark.slow)])
def test_a_comparison_with_history_gives_few_false_alarms(replicates: int) -> None:
    """The deviation between sessions equals that within. Without history, the comparison of two sessions of
    an unchanged system shows a change in far more than 5% of experiments."""
    draw, experiments = np.random.default_rng(5), 600
    with_history = without = 0
    for _ in range(experiments):
        made = np.exp(
            0.02 * draw.normal(size=(5, 1, 1)) + 0.02 * draw.normal(size=(5, 4, replicates))
        ).tolist()
        for history, count in ((made[:4], 1), (made[:1], 0)):
            family = corrected(
                [session_change([one[number] for one in history], made[4][number]) for number in range(4)]
            )
            alarm = any(each.shown for each in family)
            with_history += alarm * count
            without += alarm * (1 - count)
    assert with_history / experiments <= 0.05 + 4 * math.sqrt(0.05 * 0.95 / experiments)
    assert without / experiments > 0.1


def test_a_run_of_fewer_trials_has_a_wider_interval() -> None:
    history = [[1.0, 1.1, 0.9, 1.0], [1.05, 1.0, 1.1, 0.95], [0.9, 1.0, 0.95, 1.0]]
    few = session_change(history, [1.0, 1.1]).interval
    many = session_change(history, [1.0, 1.1, 1.0, 1.1]).interval
    assert few is not None
    assert many is not None
    assert few.half_width > many.half_width


def test_runs_are_pooled_by_session(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def shifted(session: int) -> Callable[[PlannedTrial], Record]:
        def maker(trial: PlannedTrial) -> Record:
            made = record(trial)
            noise = random.Random(100 * session + trial.number).gauss(0, 0.002)
            goodput = made.flows[0].goodput_bps
            assert goodput is not None
            made.flows[0].goodput_bps = goodput * (1 + 0.02 * session + noise)
            return made

        return maker

    runs = [make_run(tmp_path / f"{number}", maker=shifted(number)) for number in range(3)]
    found = pool(runs)
    throughput = next(each for each in found.responses if each.response.name == "throughput")
    assert found.sessions == 3
    first = throughput.means[0]
    assert first.mean == pytest.approx(fmean(mean for mean in first.means if mean is not None))
    assert throughput.shares is not None
    assert throughput.shares.session > 0.9
    mtu = throughput.findings[0].effects[-1].overall
    assert mtu.pairs == 3
    assert mtu.interval is not None
    assert mtu.interval.half_width < 1
    for run in runs:
        run.close()
    command.show([tmp_path], as_json=False, page=tmp_path / "pool.html")
    said = capsys.readouterr().out
    page = (tmp_path / "pool.html").read_text()
    assert "3 sessions of 5 blocks</h1>" in page
    assert page.count("<table") == said.count("response ") == 3
    assert "Content-Security-Policy" in page
    assert "<td>MTU 9000 B instead of 1500 B</td>" in page
    assert "3 sessions of 5 blocks" in said
    assert "MTU 9000 B instead of 1500 B" in said
    command.show([tmp_path / "0", tmp_path / "1"], as_json=True)
    document = json.loads(capsys.readouterr().out)
    assert document["document"] == "pool"
    assert len(document["variance"]) == 7


@pytest.mark.parametrize(("scale", "said"), [(1.0, True), (0.001, False)])
def test_a_bound_below_0_is_explained_where_no_value_is(
    scale: float, said: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def shifted(session: int) -> Callable[[PlannedTrial], Record]:
        def maker(trial: PlannedTrial) -> Record:
            made = record(trial)
            goodput = made.flows[0].goodput_bps
            assert goodput is not None
            made.flows[0].goodput_bps = goodput * (1 + scale * session)
            return made

        return maker

    for number in range(2):
        make_run(tmp_path / f"{number}", maker=shifted(number)).close()
    gate = Gate(conditions=("throughput > 1 Mbit/s",))
    command.show([tmp_path], as_json=False, page=tmp_path / "pool.html", gate=gate)
    printed = capsys.readouterr()
    assert (f"({numbers.ONLY_BOUNDS_BELOW_0})" in printed.out.splitlines()) == said
    assert (numbers.ONLY_BOUNDS_BELOW_0 in printed.err) == said
    assert (numbers.ONLY_BOUNDS_BELOW_0 in (tmp_path / "pool.html").read_text()) == said


def test_one_run_and_runs_of_other_treatments_are_no_pool(tmp_path: Path) -> None:
    one = make_run(tmp_path / "one")
    with pytest.raises(BadInput, match="at least two runs"):
        pool([one])
    other = make_run(tmp_path / "other", 5, {"mtu": "1500,9000"})
    with pytest.raises(BadInput, match="with the same 12 treatments"):
        pool([one, other])


STUDY = str(Path(__file__).parents[2] / "nettrial/examples/loss/study.yaml")


def test_a_study_runs_in_several_sessions(nettrial: CommandLine) -> None:
    """Each session is a run with its own seed; they are reported together."""
    options = ("--backend", "sim", "--seed", "1", "--replicates", "2", "--set", "loss=0.001,0.01")
    gate = ("--fail-if", "goodput > 1 kbit/s", "--fail-if", "goodput < 1 kbit/s", "--junit", "gate.xml")
    done = nettrial("run", STUDY, *options, "--sessions", "2", "--out", "pooled", "--json", *gate)
    assert done.returncode == 1, done.stderr
    document = json.loads(done.stdout)
    conditions = document.pop("conditions")
    assert {each["condition"]: each["holds"] for each in conditions}["goodput > 0.001 Mbit/s"] is True
    means = [each for each in document["means"] if each["response"] == "goodput"]
    assert [each["mean"] for each in conditions] == 2 * [each["mean"] for each in means]
    suite = ElementTree.parse(nettrial.directory / "gate.xml").getroot().find("testsuite")
    assert suite is not None
    assert suite.get("tests") == str(len(conditions))
    assert document["document"] == "pool"
    assert document["runs"] == ["pooled/1", "pooled/2"]
    again = nettrial("pool", "pooled", "--json")
    assert json.loads(again.stdout)["means"] == document["means"]
    history = nettrial("compare", "pooled/1", "pooled/2", "--history", "pooled", "--json")
    assert json.loads(history.stdout)["sessions_of_a"] == 3


@pytest.mark.parametrize("option", ["--resume=mine", "--dry-run", "--until=2%"])
def test_an_option_that_several_sessions_cannot_have_is_refused(option: str, nettrial: CommandLine) -> None:
    done = nettrial("run", STUDY, option, "--sessions", "2")
    assert done.returncode == 2
    assert "not with --sessions" in done.stderr


def test_a_wrong_time_between_sessions_is_refused(nettrial: CommandLine) -> None:
    done = nettrial("run", STUDY, "--sessions", "2", "--apart", "soon")
    assert done.returncode == 2
    assert "--apart: soon" in done.stderr
    assert nettrial("run", STUDY, "--apart", "1 s").returncode == 2
