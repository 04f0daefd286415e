"""A run that is stopped, abandoned or killed, and then resumed."""

import contextlib
import random
import signal
import time

import pytest

from nettrial.store import Run

TRIALS = 8
SHORT = ("run", "jumbo-ipv6", "--set", "mtu=1500,9000", "--replicates", "1", "--seed", "1", "--out", "mine")
RESUME = ("run", "--resume", "mine")


@pytest.fixture
def nettrial(nettrial_process):
    """Returns the command as a separate process, because the runner is under test."""
    return nettrial_process


@pytest.fixture
def run(nettrial):
    """Returns a function that opens the run on the disk."""

    def opened():
        return Run.open(nettrial.directory / "mine")

    return opened


PATIENCE = 300.0
"""The time limit in seconds for an operation that takes a moment on a quiet machine."""


def wait_until(condition, what):
    """Waits until the condition holds."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        with contextlib.suppress(Exception):  # The run does not exist yet.
            if condition():
                return
        time.sleep(0.01)
    raise AssertionError(f"did not come: {what}")


def wait_for(trials, run):
    """Waits until the run has at least this number of trials."""
    wait_until(lambda: len(run().trials()) >= trials, f"{trials} trials")


def wait_in(nettrial, *trials):
    """Waits until each of these trials waits for `go_on`."""
    for trial in trials:
        wait_until((nettrial.directory / f"waits-{trial}").exists, f"trial {trial}")


def go_on(nettrial):
    (nettrial.directory / "go-on").touch()


def heard(process, text):
    """Reads the output of the command until a line contains this text, and returns it."""
    said = ""
    while text not in said:
        line = process.stderr.readline()
        assert line, f"it ended without {text!r}: {said}"
        said += line
    return said


def assert_complete(run):
    assert [trial.planned for trial in run.trials()] == run.plan
    assert len(run.plan) == TRIALS
    assert run.pending() == []


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_the_first_signal_ends_it_after_the_running_trial(nettrial, run, number):
    with nettrial.start(*SHORT, FAKE_WAIT="3") as process:
        wait_in(nettrial, 3)
        process.send_signal(number)
        heard(process, "finishing the trial that is running; Ctrl-C again abandons it")
        go_on(nettrial)
        output, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert len(run().trials()) == 3
    assert "stopped; to resume: nettrial run --resume mine\n" in errors
    assert output == f"3 of {TRIALS} trials, failed: 0\n"
    assert (nettrial.directory / "mine" / "report.html").exists()
    assert run().sessions[0].note == "stopped by a signal"

    assert nettrial(*RESUME).returncode == 0
    assert_complete(run())


def test_the_second_signal_abandons_the_running_trial(nettrial, run):
    with nettrial.start(*SHORT, FAKE_WAIT="3") as process:
        wait_in(nettrial, 3)
        process.send_signal(signal.SIGINT)
        heard(process, "Ctrl-C again abandons it")
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert "failed" not in errors
    assert (len(run().trials()), run().failures()) == (2, [])
    assert nettrial(*RESUME).returncode == 0
    assert_complete(run())


def test_a_signal_before_anything_ran_writes_nothing(nettrial):
    """The run does not exist while the engine determines the machine's capabilities."""
    slow = nettrial.directory / "engine"
    slow.write_text("#!/bin/sh\ntouch asked\nexec sleep 60\n")
    slow.chmod(0o755)
    with nettrial.start(*SHORT, NETTRIAL_ENGINE=str(slow)) as process:
        while not (nettrial.directory / "asked").exists():
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=PATIENCE)
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
        # A runner that is killed between creating and marking its directory leaves the empty directory.
        assert not list(nettrial.directory.glob(".nettrial-*/*"))


def test_two_runners_of_one_run_are_one_too_many(nettrial, run):
    with nettrial.start(*SHORT, FAKE_WAIT="2") as process:
        wait_in(nettrial, 2)
        second = nettrial(*RESUME)
        go_on(nettrial)
        process.communicate(timeout=PATIENCE)
    assert (second.returncode, second.stdout) == (2, "")
    assert "error: running the trials: mine: another nettrial process is running it" in second.stderr
    assert process.returncode == 0
    assert_complete(run())


def test_a_report_can_be_made_while_it_runs(nettrial, run):
    with nettrial.start(*SHORT, FAKE_WAIT="3") as process:
        wait_in(nettrial, 3)
        reported = nettrial("report", "mine")
        go_on(nettrial)
        process.communicate(timeout=PATIENCE)
    assert reported.returncode == 0
    assert process.returncode == 0


def test_an_engine_killed_at_any_moment_costs_one_trial(nettrial, run):
    """A trial that ends its engine counts as failed, and the next trial gets a new engine."""
    done = nettrial(*SHORT, FAKE_DIE="1,3,8")
    assert done.returncode == 4
    assert [failure.planned.number for failure in run().failures()] == [1, 3, 8]
    assert len(run().trials()) == TRIALS - 3
    assert nettrial(*RESUME).returncode == 0
    assert_complete(run())


SIMULATED = (*SHORT, "--backend", "sim")


def test_simulated_trials_run_at_once_and_give_the_same_however_many(nettrial, run):
    records = []
    for processors, at_once in ((1, []), (4, [1, 2, 3, 4])):
        waiting = ",".join(map(str, at_once))
        with nettrial.start(*SIMULATED, FAKE_PROCESSORS=str(processors), FAKE_WAIT=waiting) as process:
            wait_in(nettrial, *at_once)  # No trial has ended when the last one begins.
            go_on(nettrial)
            _, errors = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0
        assert_complete(run())
        records.append([trial.record.model_dump() for trial in run().trials()])
        (nettrial.directory / "mine").rename(nettrial.directory / f"on-{processors}")
        (nettrial.directory / "go-on").unlink()
    assert records[0] == records[1]
    assert ", 4 trials at once, seed 1" in errors
    assert "--backend sim" in Run.open(nettrial.directory / "on-4").command


def test_processors_without_a_trial_help_with_the_others(nettrial, run):
    def threads():
        return {int(path.read_text()) for path in nettrial.directory.glob("threads-*")}

    assert nettrial(*SIMULATED, FAKE_PROCESSORS="3").returncode == 0
    assert threads() == set(), "each trial has one thread"
    enough = 2 * len(run().plan) + 1
    (nettrial.directory / "mine").rename(nettrial.directory / "before")
    assert nettrial(*SIMULATED, FAKE_PROCESSORS=str(enough)).returncode == 0
    assert threads() == {2}


def test_signals_end_every_simulated_trial_that_runs(nettrial, run):
    with nettrial.start(*SIMULATED, FAKE_PROCESSORS="3", FAKE_WAIT="2,4,6") as process:
        wait_for(3, run)  # These are trials 1, 3 and 5.
        wait_in(nettrial, 2, 4, 6)  # All engines are busy.
        process.send_signal(signal.SIGINT)
        heard(process, "finishing the trials that are running; Ctrl-C again abandons them")
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
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
