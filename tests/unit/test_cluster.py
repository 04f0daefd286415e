"""Runs on a Dask cluster, whose scheduler and workers are processes on this machine. Workers die, hang, or
have a different build."""

import contextlib
import json
import os
import queue
import shutil
import signal
import sqlite3
import sys
from concurrent.futures import CancelledError
from types import SimpleNamespace

import pytest

from nettrial.backends import TrialFailed, station
from nettrial.design import PlannedTrial
from nettrial.errors import CannotRun
from nettrial.running import cluster as clusters
from nettrial.running.task import TaskResult
from nettrial.running.workers import WorkerPool
from nettrial.scenario import PreflightRequest, Request
from nettrial.store import Run
from nettrial.study import load
from tests import forked
from tests.unit.conftest import FAKE_ENGINE, environment
from tests.unit.test_machine_sets import inventory, sets_of
from tests.unit.test_runner import PATIENCE, heard, wait_until

if not os.environ.get("CI"):
    pytest.importorskip("distributed")
psutil = pytest.importorskip("psutil")

STUDY = ("run", "jumbo-ipv6", "--backend", "sim", "--seed", "1")
WAITS, DIES, HANGS = 36, 39, 40
"""The numbers of a trial that waits where a test keeps it waiting, of one that ends its engine, and of one
that never ends. Runs of up to 38 trials have neither of the latter."""


class Dask:
    """A scheduler and its workers."""

    def __init__(self, directory):
        self.directory = directory
        self.workers = []
        self.may_go_on = directory / "go-on"
        """The file without which a trial waits."""
        self.may_go_on.touch()
        self.file = directory / "scheduler.json"
        options = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(self.file)]
        self.scheduler = self._start("dask_scheduler", *options)
        wait_until(self._written, "the scheduler")
        self.address = json.loads(self.file.read_text())["address"]

    def _written(self):
        """Returns whether the scheduler's file is complete: it exists before its text."""
        with contextlib.suppress(FileNotFoundError, json.JSONDecodeError):
            return bool(json.loads(self.file.read_text()))
        return False

    def _start(self, module, *options, **variables):
        fake = {"FAKE_SECONDS": "0.05", "FAKE_DIE": str(DIES), "FAKE_HANG": str(HANGS)}
        fake["FAKE_WAIT"] = str(WAITS)
        given = {**environment(self.directory), **fake, **variables}
        errors = self.directory / f"log-of-{module}-{len(self.workers)}"
        command = forked.Command(
            tuple(options), given, self.directory, errors=errors, module=f"distributed.cli.{module}"
        )
        return forked.Process(command)

    def work(self, *more, **variables):
        """Starts a worker with one thread; `more` are further options."""
        options = ["--nthreads", "1", "--no-nanny", "--no-dashboard", "--host", "127.0.0.1", *more]
        worker = self._start("dask_worker", str(self.address), *options, **variables)
        self.workers.append(worker)
        return worker

    def engines(self):
        """Returns the processes that workers started."""
        found = []
        for worker in self.workers:
            with contextlib.suppress(psutil.NoSuchProcess):
                found += psutil.Process(worker.pid).children(recursive=True)
        return found

    def close(self):
        for process in [*self.workers, self.scheduler]:
            process.kill()
            process.wait()


@pytest.fixture(scope="module")
def dask(tmp_path_factory):
    """Yields a cluster with two workers."""
    forked.preload("distributed.cli.dask_scheduler", "distributed.cli.dask_worker")
    made = Dask(tmp_path_factory.mktemp("dask"))
    made.work()
    made.work()
    yield made
    engines = made.engines()
    made.close()
    wait_until(lambda: not any(engine.is_running() for engine in engines), "the end of the engines")


def kept(directory):
    """Returns the trials as the run file stores them."""
    file = sqlite3.connect(directory / "run.sqlite")
    return file.execute("SELECT number, scenario, record FROM trial ORDER BY number").fetchall()


def finished(directory):
    return len(kept(directory)) if (directory / "run.sqlite").exists() else 0


def test_workers_and_the_runner_may_be_killed_and_the_run_is_the_same_to_the_byte(dask, nettrial_process):
    command, directory = nettrial_process, nettrial_process.directory
    assert command(*STUDY, "--replicates", "3", "--out", "here").returncode == 0
    mine = directory / "mine"
    dask.may_go_on.unlink()  # The run does not end before it is killed.
    with command.start(*STUDY, "--replicates", "3", "--out", "mine", "--on", dask.address) as runner:
        said = heard(runner, "results: mine")
        wait_until(lambda: finished(mine) >= 4, "four trials")
        dask.workers[0].kill()
        dask.work()
        wait_until(lambda: finished(mine) >= 8, "eight trials")
        runner.kill()
    dask.may_go_on.touch()
    assert f"workers on {dask.address}" in said
    assert finished(mine) < 36
    before = kept(mine)
    done = command("run", "--resume", "mine", "--on", str(dask.file))
    assert done.returncode == 0
    assert kept(mine)[: len(before)] != []
    assert kept(mine) == kept(directory / "here")
    assert "trials/s" in done.stderr
    sessions = [row[0] for row in sqlite3.connect(mine / "run.sqlite").execute("SELECT session FROM trial")]
    assert sessions.count(1) == len(before)


def test_a_trial_that_ends_engines_is_a_failure_and_one_that_hangs_is_abandoned(dask, nettrial_process):
    mine = nettrial_process.directory / "mine"
    with nettrial_process.start(*STUDY, "--replicates", "4", "--out", "mine", "--on", dask.address) as runner:
        wait_until(lambda: len(Run.open(mine).failures()) == 1 and finished(mine) == 46, "all but two")
        assert dask.engines()
        runner.send_signal(signal.SIGINT)
        heard(runner, "finishing the trials that are running")
        runner.send_signal(signal.SIGINT)
        _, errors = runner.communicate(timeout=PATIENCE)
    assert runner.returncode == 130
    assert f"to resume: nettrial run --resume mine --on {dask.address}" in errors
    (failure,) = Run.open(mine).failures()
    assert failure.planned.number == DIES
    assert failure.message.startswith(
        "it was lost 5 times, the last time because the engine ended with exit status 101"
    )
    wait_until(lambda: not dask.engines(), "the end of the engines")
    assert nettrial_process("run", "--resume", "mine").returncode == 0
    assert finished(mine) == 48


@pytest.mark.slow
def test_a_hung_worker_costs_no_trial(dask, nettrial, monkeypatch):
    monkeypatch.setattr(clusters, "LOOK_SECONDS", 0.2)
    monkeypatch.setattr(clusters, "SILENT_LOOKS", 15)
    monkeypatch.setattr(clusters, "ASIDE_SECONDS", 1.0)
    hung = dask.work()
    _wait_for_workers(dask, 3)
    hung.send_signal(signal.SIGSTOP)
    try:
        done = nettrial(*STUDY, "--replicates", "1", "--out", "mine", "--on", dask.address)
    finally:
        hung.kill()
    assert done.returncode == 0
    assert finished(nettrial.directory / "mine") == 12


def _wait_for_workers(dask, count):
    import distributed

    with distributed.Client(dask.address, set_as_default=False) as client:
        client.wait_for_workers(count, timeout=PATIENCE)


def test_a_worker_of_another_build_is_refused_by_name(dask, nettrial):
    other = nettrial.directory / "other-engine"
    shutil.copy(FAKE_ENGINE, other)
    with other.open("a") as file:
        file.write("\n")
    worker = dask.work(NETTRIAL_ENGINE=str(other))
    try:
        wait_until(lambda: _refusals(dask), "the worker")
        done = nettrial(*STUDY, "--replicates", "1", "--out", "mine", "--on", dask.address)
    finally:
        worker.kill()
    assert (done.returncode, done.stdout) == (3, "")
    assert "error: reaching the Dask cluster tcp://" in done.stderr
    assert "worker tcp://127.0.0.1:" in done.stderr
    assert "its engine is a different build of 0.1.0 than the runner's" in done.stderr
    assert not (nettrial.directory / "mine").exists()


def _refusals(dask):
    import distributed

    with distributed.Client(dask.address, set_as_default=False) as client:
        return len({build.engine for build in client.run(station.build).values()}) == 2


# --- Sets of machines


SETS = ("run", "jumbo-ipv6", "--backend", "hosts", "--set", "mtu=1500,9000", "--seed", "1", "--out", "mine")


def test_workers_drive_sets_of_machines_and_one_that_dies_costs_no_trial(dask, nettrial_process):
    directory = nettrial_process.directory
    (directory / "machines.yaml").write_text(inventory("left", "right"))
    options = ("--machines=machines.yaml", "--replicates=4", "--on", dask.address)
    alone = nettrial_process(*SETS, *options)
    assert alone.returncode == 3
    assert "no worker has the resource left" in alone.stderr
    assert "dask worker SCHEDULER --resources right=1" in alone.stderr
    assert not (directory / "mine").exists()
    first = dask.work("--resources", "left=1")
    workers = [first, dask.work("--resources", "right=1")]
    try:
        _wait_for_workers(dask, 4)
        with nettrial_process.start(*SETS, *options) as runner:
            wait_until(lambda: finished(directory / "mine") >= 6, "six trials")
            first.kill()
            workers.append(dask.work("--resources", "left=1"))
            _, errors = runner.communicate(timeout=PATIENCE)
        assert runner.returncode == 0, errors
    finally:
        for worker in workers:
            worker.kill()
    found = Run.open(directory / "mine")
    assert found.pending() == []
    assert {len(sets) for sets in sets_of(found).values()} == {1}
    assert {trial.record.set for trial in found.trials()} == {"left", "right"}
    for log in dask.directory.glob("log-right-*"):  # the trial that was lost with a worker began twice
        words = [line.split()[0] for line in log.read_text().splitlines()]
        assert words == ["begins", "ends"] * (len(words) // 2)


# --- Without a cluster


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--backend", "sim", "--on", "somewhere"], "expected: tcp://HOST:PORT"),
        (["--on", "local[2]"], "expected: no --on with this backend"),
        (["--backend", "sim", "--on", "local[2]", "--capture", "all"], "expected: no capture of packets"),
    ],
)
def test_what_can_not_run_on_a_cluster_is_refused(nettrial, options, expected):
    done = nettrial("run", "jumbo-ipv6", *options)
    assert done.returncode == 2
    assert "--on: " in done.stderr
    assert expected in done.stderr


@pytest.mark.parametrize(
    ("sets", "expected"),
    [
        ((None,), "workers can drive them if the inventory has sets (`set`)"),
        (("left", "right"), "without --on, this machine drives all sets of machines"),
    ],
)
def test_machines_without_sets_and_workers_on_this_machine_are_refused(nettrial, sets, expected):
    (nettrial.directory / "machines.yaml").write_text(inventory(*sets))
    done = nettrial(*SETS, "--machines=machines.yaml", "--on", "local[2]")
    assert done.returncode == 2
    assert "--on: local[2]" in done.stderr
    assert expected in " ".join(done.stderr.split())


def test_who_has_no_dask_is_told_what_to_install(nettrial, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    done = nettrial(*STUDY, "--on", "local[2]")
    assert done.returncode == 3
    assert "remedy: pip install 'nettrial[dask]'" in done.stderr


@pytest.mark.parametrize(
    ("why", "remedy"),
    [
        (RuntimeError("Nanny failed to start."), "fewer workers"),
        (ImportError("needs cryptography"), "nettrial[dask]"),
    ],
)
def test_workers_on_this_machine_that_can_not_start_are_no_fault_of_nettrial(
    nettrial, monkeypatch, why, remedy
):
    def fails(**options):
        raise why

    monkeypatch.setattr("distributed.LocalCluster", fails)
    monkeypatch.setenv("PYTHONSAFEPATH", "")
    done = nettrial(*STUDY, "--on", "local[2]")
    assert done.returncode == 3
    assert str(why) in done.stderr
    assert remedy in done.stderr


class Future:
    """A future of the scheduler that has ended."""

    def __init__(self, key, ending):
        self.key, self.ending = key, ending

    def result(self, timeout):
        if isinstance(self.ending, BaseException):
            raise self.ending
        return self.ending

    def add_done_callback(self, call):
        call(self)

    def release(self):
        pass


class Endings:
    """A cluster whose tasks end in the given ways, one after the other."""

    def __init__(self, *endings):
        self.endings, self.submitted, self.client = list(endings), [], self
        self.session, self.build = "s", station.Build("0.1.0", "Linux", "x")
        self.threads, self.hung, self.lost = {"a": 1, "b": 1}, set(), False
        self.told, self.most, self.out = [], 0, 0

    def submit(self, function, asked, key, pure, workers=None):
        self.submitted.append((asked.number, workers))
        return Future(key, self.endings.pop(0))

    def tell(self, function):
        self.told.append(function)

    def aside(self, work):
        work()

    def refused(self):
        return []

    def close(self):
        pass


def run_of(cluster, count=1, stopped=lambda: False, events=None):
    events = [] if events is None else events
    trials = [PlannedTrial(number, 1, {}) for number in range(1, count + 1)]
    with WorkerPool(cluster, load("jumbo-ipv6"), 1, events.append) as workers:
        done = workers.run(trials, stopped, lambda: None)
        return [(trial.number, outcome.exception()) for trial, outcome in done]


FINISHED = TaskResult("finished", trial=SimpleNamespace())


def test_what_is_lost_is_handed_out_again_five_times_at_most():
    lost = TaskResult("lost", "the engine was ended by signal 9")
    for endings in ([lost, FINISHED], [RuntimeError("KilledWorker"), FINISHED], [lost] * 4 + [FINISHED]):
        assert run_of(Endings(*endings)) == [(1, None)]
    ((_, failure),) = run_of(Endings(*[lost] * 5))
    assert isinstance(failure, TrialFailed)
    assert str(failure) == "it was lost 5 times, the last time because the engine was ended by signal 9"


def test_a_failure_is_not_tried_again():
    ((_, failure),) = run_of(Endings(TaskResult("failed", "no such device")))
    assert str(failure) == "no such device"


def test_a_scheduler_that_forgets_costs_no_attempt_and_one_that_is_gone_ends_the_run():
    assert run_of(Endings(*[CancelledError()] * 9, FINISHED)) == [(1, None)]
    cluster = Endings(CancelledError())
    cluster.lost = True
    with pytest.raises(CannotRun, match="running trials on a Dask cluster"):
        run_of(cluster)


def test_a_late_worker_of_another_build_gets_no_more_trials():
    events = []
    cluster = Endings(TaskResult("refused", "it has nettrial 0.0.9", "b"), FINISHED, FINISHED)
    assert run_of(cluster, 2, events=events) == [(2, None), (1, None)]
    assert cluster.submitted == [(1, None), (2, None), (1, ["a"])]
    assert list(map(str, events)) == ["worker b is refused: it has nettrial 0.0.9"]


def test_few_more_trials_are_handed_out_than_there_are_threads():
    cluster = Endings(*[FINISHED] * 1000)
    trials = (PlannedTrial(number, 1, {}) for number in range(1, 1001))
    cluster.threads = {str(number): 4 for number in range(10)}
    with WorkerPool(cluster, load("jumbo-ipv6"), 1, print) as workers:
        for done, _ in enumerate(workers.run(trials, lambda: False, lambda: None), start=1):
            assert len(cluster.submitted) - done <= 80
    assert done == 1000


def test_builds_differ_by_version_and_on_one_platform_by_engine():
    mine = station.Build("0.1.0", "Linux x86_64", "a")
    assert mine.differs(mine) == ""
    assert mine.differs(station.Build("0.1.0", "Linux aarch64", "b")) == ""
    assert "nettrial 0.0.9" in mine.differs(station.Build("0.0.9", "Linux x86_64", "a"))
    assert "different build" in mine.differs(station.Build("0.1.0", "Linux x86_64", "b"))


def test_the_engines_of_a_worker_stay_until_its_session_is_abandoned(monkeypatch, tmp_path):
    for name, value in environment(tmp_path).items():
        monkeypatch.setenv(name, value)
    from nettrial.design import scenario_of, treatments

    study = load("jumbo-ipv6").on("sim")
    scenario = scenario_of(study, next(iter(treatments(study))).levels)
    started = queue.SimpleQueue()
    kind = station.BACKENDS["sim"]
    counted = SimpleNamespace(start=lambda given: started.put("sim") or kind.start(given))
    monkeypatch.setattr(station, "BACKENDS", {"sim": counted})
    try:
        for trial in ("1", "2"):
            assert station.run("s", "sim", trial, scenario).backend == "sim"
        assert started.qsize() == 1
        station.end("other")
        with pytest.raises(station.EngineStopped):
            station.run("other", "sim", "3", scenario)
        (engine,) = station._IDLE["sim",]
    finally:
        station.abandon("s")
    assert engine._engine is None
    assert ("sim",) not in station._IDLE


def test_a_session_that_is_abandoned_leaves_the_engines_of_others_alone(monkeypatch, tmp_path):
    for name, value in environment(tmp_path).items():
        monkeypatch.setenv(name, value)
    arguments = ("hosts", '{"machines": {}}')
    ask = Request(PreflightRequest())
    try:
        for session in ("mine", "others"):
            station.exchange(session, arguments, ask, 30.0)
        # Engines that hold machines are not passed on from one session to the next.
        (own,), (other,) = (station._IDLE[session, *arguments] for session in ("mine", "others"))
        station.abandon("mine")
        assert own._engine is None
        assert other._engine is not None
        assert other._engine.alive
        assert station.exchange("others", arguments, ask, 30.0).root.event == "preflight"
        assert station._IDLE["others", *arguments] == [other]
    finally:
        for session in ("mine", "others"):
            station.abandon(session)
    assert other._engine is None


def test_an_idle_engine_with_machines_ends_after_a_while(monkeypatch, tmp_path):
    for name, value in environment(tmp_path).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(station, "IDLE_SECONDS", 0.2)
    arguments = ("hosts", '{"machines": {}}')
    try:
        event = station.exchange("t", arguments, Request(PreflightRequest()), 30.0)
        assert event.root.event == "preflight"
        wait_until(lambda: ("t", *arguments) not in station._IDLE, "the end of the engine")
    finally:
        station.abandon("t")
