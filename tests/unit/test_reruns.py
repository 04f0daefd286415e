"""Trials that something else disturbed: they run again, by covariates alone, and both records are kept."""

import json
import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nettrial.design import PlannedTrial, disturbances
from nettrial.design.disturbances import covariates, disturbance
from nettrial.report import disturbed as sentences
from nettrial.running.reruns import Reruns
from nettrial.scenario import DisturbanceRecord, Record
from nettrial.store import Run
from nettrial.store.recorder import as_json
from tests.unit.synthetic import make_run, record

SHORT = ("run", "jumbo-ipv6", "--set", "mtu=1500,9000", "--replicates", "1", "--seed", "1", "--out", "mine")
TRIALS = 8


def recorded(**figures: float) -> list[DisturbanceRecord]:
    return [DisturbanceRecord(machine="this machine", **figures)]


@pytest.mark.parametrize(
    ("figures", "said"),
    [
        ({"other_work_percent": 60.0}, "this machine: other processes used 60% of a CPU"),
        ({"other_work_percent": 5.0}, ""),
        ({"stolen_percent": 7.25}, "this machine: the hypervisor took 7.25% of a CPU"),
        ({"stolen_percent": 2.0}, ""),
        ({"timer_lateness_us": 71_000.0}, "this machine: a timer was 71 ms late"),
        ({"timer_lateness_us": 9_000.0}, ""),  # a trial that keeps its CPUs busy causes this itself
        ({"clock_step_ns": -2_000_000}, "this machine: the wall clock moved by -2 ms"),
        ({"clock_step_ns": 900_000}, ""),
        ({}, ""),
        (
            {"other_work_percent": 60.0, "clock_step_ns": 5_000_000},
            "this machine: other processes used 60% of a CPU; this machine: the wall clock moved by 5 ms",
        ),
    ],
)
def test_each_covariate_has_a_limit(figures, said):
    assert disturbance(recorded(**figures), 3.0) == said


def test_a_few_ticks_do_not_disturb_short_traffic():
    """Ticks of 10 ms are 4% of a quarter of a second each."""
    assert disturbance(recorded(other_work_percent=16.0), 0.25) == ""
    assert disturbance(recorded(other_work_percent=24.0), 0.25) != ""


numbers = st.floats(min_value=0, max_value=1e12) | st.integers(min_value=0, max_value=10**12)


@st.composite
def responses(draw):
    """Returns a record in which everything is arbitrary that a trial measures."""
    made = json.loads(as_json(record(PlannedTrial(1, 1, {"mtu": "1500 B"}))))

    def changed(node):
        if isinstance(node, dict):
            return {name: changed(value) for name, value in node.items()}
        if isinstance(node, list):
            return [changed(value) for value in node]
        if isinstance(node, bool) or not isinstance(node, int | float):
            return node
        return type(node)(draw(numbers))

    for part in ("flows", "hosts", "phases", "started_unix_ns"):
        made[part] = changed(made[part])
    made["warnings"] = draw(
        st.lists(
            st.fixed_dictionaries(
                {"code": st.just("other_work"), "object": st.text(), "message": st.text()}
            ).map(lambda warning: {**warning, "consequence": ""}),
            max_size=2,
        )
    )
    return made


percent = st.none() | st.floats(min_value=0, max_value=200)


@given(responses(), responses(), percent, percent, st.booleans())
def test_what_a_trial_measured_cannot_influence_the_choice(one, other, work, stolen, fails):
    """Two records with the same covariates have the same fate, whatever they measured."""
    same = {"machine": "this machine", "other_work_percent": work, "stolen_percent": stolen}
    same = {name: value for name, value in same.items() if value is not None}
    chosen = set()
    for measured in (one, other):
        measured["disturbances"] = [same]
        chosen.add(disturbance(covariates(json.dumps(measured)), 2.0))
    assert len(chosen) == 1
    assert bool(chosen.pop()) == ((work or 0) > 5.0 or (stolen or 0) > 2.5)


def test_the_choice_reads_no_other_field():
    assert set(disturbances._Covariates.model_fields) == {"disturbances"}
    assert set(DisturbanceRecord.model_fields) == {
        "machine",
        "other_work_percent",
        "stolen_percent",
        "timer_lateness_us",
        "clock_step_ns",
    }


def test_a_trial_is_run_again_a_few_times_and_a_run_runs_half_of_its_trials_again(tmp_path):
    run = make_run(tmp_path / "run", 1, {"mtu": "1500,9000"}, trials=0)  # 8 trials
    reruns, busy = Reruns(run), recorded(other_work_percent=50.0)
    first, second, third = run.plan[:3]
    assert [bool(reruns.wants(first, busy, 2.0)) for _ in range(3)] == [True, True, False]
    assert not reruns.wants(second, recorded(other_work_percent=1.0), 2.0)
    assert [bool(reruns.wants(second, busy, 2.0)) for _ in range(3)] == [True, True, False]
    assert reruns.exhausted
    assert not reruns.wants(third, busy, 2.0)


def test_a_disturbed_trial_is_run_again_at_the_end_of_its_block_and_both_records_stay(nettrial):
    done = nettrial(*SHORT, FAKE_DISTURBED="3x1,5x1")
    assert done.returncode == 0, done.stderr
    run = Run.open(nettrial.directory / "mine")
    assert [trial.planned for trial in run.trials()] == run.plan
    again = run.disturbed()
    assert [each.planned.number for each in again] == [3, 5]
    assert {each.reason for each in again} == {"this machine: other processes used 60% of a CPU"}
    assert [each.record.disturbances[0].other_work_percent for each in again] == [60.0, 60.0]
    assert again[0].scenario == run.trial(3).scenario
    assert run.trial(3).record.disturbances[0].other_work_percent == 0.5
    last = max((1, 2, 4, 6, 7, 8), key=lambda number: run.trial(number).record.started_unix_ns)
    times = [run.trial(number).record.started_unix_ns for number in (last, 3, 5)]
    assert times == sorted(times), "both run again after the other trials of their block"
    assert (nettrial.directory / "attempts-3").read_text() == "xx"
    said = "Something else on the machine disturbed 2 attempts at 2 trials, which were run again: no figure"
    assert said in " ".join(done.stdout.split())
    assert "disturbed and run again: 2" in done.stderr
    document = json.loads(nettrial("report", "mine", "--json").stdout)
    assert document["trials"]["reruns"] == 2
    assert nettrial("export", "mine", "--to", "csv", "--out", "tables").returncode == 0
    rows = (nettrial.directory / "tables" / "reruns.csv").read_text().splitlines()
    assert len(rows) == 3
    assert "disturbances.csv" in {file.name for file in (nettrial.directory / "tables").iterdir()}


def test_a_trial_that_is_always_disturbed_counts_at_last_and_the_report_says_so(nettrial):
    done = nettrial(*SHORT, "--reruns", "1", FAKE_DISTURBED="3x9")
    assert done.returncode == 0
    run = Run.open(nettrial.directory / "mine")
    assert run.disturbed_attempts() == {3: 1}
    assert "--reruns 1" in run.command
    said = "1 trial of 8 counts although something else disturbed it"
    assert said in " ".join(done.stdout.split())


def test_nothing_is_run_again_if_the_user_says_so(nettrial):
    assert nettrial(*SHORT, "--reruns", "0", FAKE_DISTURBED="3x9").returncode == 0
    assert Run.open(nettrial.directory / "mine").disturbed_attempts() == {}
    done = nettrial(*SHORT, "--reruns", "11")
    assert done.returncode == 2
    assert "--reruns: 11\n  expected: 0 to 10" in done.stderr


def test_a_run_that_was_killed_keeps_the_count_of_its_attempts(nettrial_process):
    """Trial 3 may run again once. That attempt runs after the kill, is disturbed, too, and counts."""
    nettrial = nettrial_process
    waits = nettrial.directory / "waits-5"
    with nettrial.start(*SHORT, "--reruns", "1", FAKE_DISTURBED="3x9", FAKE_WAIT="5") as process:
        while not waits.exists():
            assert process.poll() is None
        process.kill()
        process.communicate()
    run = Run.open(nettrial.directory / "mine")
    assert run.disturbed_attempts() == {3: 1}
    assert [trial.planned.number for trial in run.trials()] == [1, 2, 4]
    (nettrial.directory / "go-on").touch()
    assert nettrial("run", "--resume", "mine", FAKE_DISTURBED="3x9").returncode == 0
    again = Run.open(nettrial.directory / "mine")
    assert again.disturbed_attempts() == {3: 1}
    assert [trial.planned for trial in again.trials()] == again.plan


def test_nothing_disturbs_simulated_time(nettrial):
    done = nettrial(*SHORT, "--backend", "sim", FAKE_DISTURBED="3x9")
    assert done.returncode == 0
    document = json.loads(nettrial("report", "mine", "--json").stdout)
    assert document["trials"]["reruns"] is None
    run = Run.open(nettrial.directory / "mine")
    assert sentences.sentences(run, None) == []  # it needs no records


def test_a_run_of_an_earlier_format_goes_on_without(nettrial):
    assert nettrial(*SHORT, FAKE_FAIL="3").returncode == 4
    with sqlite3.connect(nettrial.directory / "mine" / "run.sqlite") as file:
        file.execute("DROP TABLE disturbed")
        file.execute("PRAGMA user_version = 3")
    assert nettrial("run", "--resume", "mine", FAKE_DISTURBED="3x9").returncode == 0
    run = Run.open(nettrial.directory / "mine")
    assert (run.disturbed(), run.disturbed_attempts()) == ([], {})
    assert run.trial(3).record.disturbances[0].other_work_percent == 60.0


def test_a_record_says_what_it_has_not():
    """Covariates that a system does not report are absent, and never zero."""
    made = Record.model_validate(
        {
            **json.loads(as_json(record(PlannedTrial(1, 1, {"mtu": "1500 B"})))),
            "disturbances": [{"machine": "a"}],
        }
    )
    assert made.disturbances[0].other_work_percent is None
    assert "other_work_percent" not in as_json(made)
