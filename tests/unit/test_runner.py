"""A run that is stopped, abandoned or killed, and gone on with."""

import random
import signal
import time

import pytest

from nettrial.store import Run

TRIALS = 8
SHORT = ("run", "jumbo-ipv6", "--set", "mtu=1500,9000", "--replicates", "1", "--seed", "1", "--out", "mine")
RESUME = ("run", "--resume", "--out", "mine")


@pytest.fixture
def nettrial(nettrial_process):
    """What is tested is the runner."""
    return nettrial_process


@pytest.fixture
def run(nettrial):
    """The run as it is on disk."""

    def opened():
        return Run.open(nettrial.directory / "mine")

    return opened


def wait_for(trials, run, deadline=20.0):
    """Waits until the run has so many trials."""
    end = time.monotonic() + deadline
    while time.monotonic() < end:
        try:
            if len(run().trials()) >= trials:
                return
        except Exception:  # it is not there yet
            pass
        time.sleep(0.01)
    raise AssertionError(f"the run has not {trials} trials after {deadline} s")


def assert_complete(run):
    assert [trial.planned for trial in run.trials()] == run.plan
    assert len(run.plan) == TRIALS
    assert run.pending() == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_ends_it_after_the_running_trial(nettrial, run, number):
    with nettrial.start(*SHORT, FAKE_SECONDS="0.3") as process:
        wait_for(2, run)
        finished = len(run().trials())
        process.send_signal(number)
        output, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert len(run().trials()) == finished + 1
    assert "finishing the trial that is running; Ctrl-C again abandons it" in errors
    assert "stopped; to go on: nettrial run --resume --out mine\n" in errors
    assert output == f"{finished + 1} of {TRIALS} trials, failed: 0\n"
    assert (nettrial.directory / "mine" / "report.html").exists()
    assert run().sessions[0].note == "stopped by a signal"

    assert nettrial(*RESUME).returncode == 0
    assert_complete(run())


def test_the_second_signal_abandons_the_running_trial(nettrial, run):
    with nettrial.start(*SHORT, FAKE_HANG="3") as process:
        wait_for(2, run)
        process.send_signal(signal.SIGINT)
        time.sleep(0.3)
        assert process.poll() is None
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    assert time.monotonic() - began < 10
    assert process.returncode == 130
    assert "failed" not in errors
    assert (len(run().trials()), run().failures()) == (2, [])
    assert nettrial(*RESUME).returncode == 0
    assert_complete(run())


def test_a_signal_before_anything_ran_writes_nothing(nettrial):
    """While the engine is asked what the machine can run there is no run yet."""
    slow = nettrial.directory / "engine"
    slow.write_text("#!/bin/sh\ntouch asked\nexec sleep 60\n")
    slow.chmod(0o755)
    with nettrial.start(*SHORT, NETTRIAL_ENGINE=str(slow)) as process:
        while not (nettrial.directory / "asked").exists():
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "Traceback" not in errors
    assert not (nettrial.directory / "mine").exists()


@pytest.mark.parametrize("kills", [3, pytest.param(100, marks=pytest.mark.slow)])
def test_a_run_killed_at_any_moment_is_completed_with_each_trial_once(nettrial, run, kills):
    moments = random.Random(kills)
    nettrial.start(*SHORT, FAKE_SECONDS="0.05").wait()
    for _ in range(kills):
        directory = nettrial.directory / "mine"
        if directory.exists():
            directory.rename(nettrial.directory / f"done-{moments.random()}")
        killed = nettrial.start(*SHORT, FAKE_SECONDS="0.05")
        time.sleep(moments.uniform(0.3, 1.3))
        killed.kill()
        killed.communicate()
        before = {}
        if directory.exists():
            before = {trial.planned.number: trial.record for trial in run().trials()}
        done = nettrial(*(RESUME if directory.exists() else SHORT))
        assert done.returncode == 0
        assert_complete(run())
        after = {trial.planned.number: trial.record for trial in run().trials()}
        assert {number: after[number] for number in before} == before
        # One that is killed between making its directory and marking it leaves it, empty.
        assert not list(nettrial.directory.glob(".nettrial-*/*"))


def test_two_runners_of_one_run_are_one_too_many(nettrial, run):
    with nettrial.start(*SHORT, FAKE_SECONDS="0.3") as process:
        wait_for(1, run)
        second = nettrial(*RESUME)
        assert (second.returncode, second.stdout) == (2, "")
        assert "error: running the trials: mine: another nettrial runs it" in second.stderr
        process.communicate(timeout=30)
    assert process.returncode == 0
    assert_complete(run())


def test_a_report_can_be_made_while_it_runs(nettrial, run):
    with nettrial.start(*SHORT, FAKE_SECONDS="0.3") as process:
        wait_for(2, run)
        assert nettrial("report", "mine").returncode == 0
        process.communicate(timeout=30)
    assert process.returncode == 0


def test_an_engine_killed_at_any_moment_costs_one_trial(nettrial, run):
    """A trial that ends its engine is a failure; the next one has a new engine."""
    done = nettrial(*SHORT, FAKE_DIE="1,3,8")
    assert done.returncode == 4
    assert [failure.planned.number for failure in run().failures()] == [1, 3, 8]
    assert len(run().trials()) == TRIALS - 3
    assert nettrial(*RESUME).returncode == 0
    assert_complete(run())


SIMULATED = (*SHORT, "--backend", "sim")


def test_simulated_trials_run_at_once_and_give_the_same_however_many(nettrial, run):
    records, seconds = [], []
    for processors in ("1", "4"):
        began = time.monotonic()
        done = nettrial(*SIMULATED, FAKE_PROCESSORS=processors, FAKE_SECONDS="0.8")
        seconds.append(time.monotonic() - began)
        assert done.returncode == 0
        assert_complete(run())
        records.append([trial.record.model_dump() for trial in run().trials()])
        (nettrial.directory / "mine").rename(nettrial.directory / f"on-{processors}")
    assert seconds[1] < seconds[0]  # 1.6 s of trials instead of 6.4 s
    assert records[0] == records[1]
    assert ", 4 trials at once, seed 1" in done.stderr
    assert "--backend sim" in Run.open(nettrial.directory / "on-4").command


def test_signals_end_every_simulated_trial_that_runs(nettrial, run):
    with nettrial.start(*SIMULATED, FAKE_PROCESSORS="3", FAKE_HANG="2,4,6") as process:
        wait_for(3, run)  # 1, 3, 5; then all engines hang
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        time.sleep(0.3)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "finishing the trials that are running; Ctrl-C again abandons them" in errors
    assert [trial.planned.number for trial in run().trials()] == [1, 3, 5]
    assert run().failures() == []
    assert nettrial(*RESUME).returncode == 0
    assert_complete(run())
    assert {trial.record.backend for trial in run().trials()} == {"sim"}


def test_a_simulated_run_killed_at_any_moment_is_completed(nettrial, run):
    moments = random.Random(2)
    directory = nettrial.directory / "mine"
    for number in range(3):
        with nettrial.start(*SIMULATED, FAKE_PROCESSORS="3", FAKE_SECONDS="0.1") as killed:
            time.sleep(moments.uniform(0.5, 1.5))
            killed.kill()
            killed.communicate()
        assert nettrial(*(RESUME if directory.exists() else SIMULATED)).returncode == 0
        assert_complete(run())
        directory.rename(nettrial.directory / f"done-{number}")


def test_a_simulated_engine_that_dies_costs_its_trial_alone(nettrial, run):
    done = nettrial(*SIMULATED, FAKE_PROCESSORS="3", FAKE_DIE="1,4")
    assert done.returncode == 4
    assert [failure.planned.number for failure in run().failures()] == [1, 4]
    assert len(run().trials()) == TRIALS - 2


def test_a_run_goes_on_where_it_began(nettrial):
    assert nettrial(*SIMULATED, FAKE_FAIL="1").returncode == 4
    refused = nettrial(*RESUME, "--backend", "lab")
    assert refused.returncode == 2
    assert "--backend lab" in refused.stderr
    again = (*RESUME, "--backend", "sim", "--set", "mtu=1500,9000", "--replicates", "1")
    assert nettrial(*again).returncode == 0
