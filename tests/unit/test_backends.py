"""The process of an engine: its trials, its failures, and the ways in which it ends."""

import os
import threading
import time
from pathlib import Path

import pytest

from nettrial.backends import BACKENDS, Backend, Configuration, TrialFailed, find
from nettrial.backends.engine import Engine, EngineLost, Loss
from nettrial.capabilities import CAPABILITIES
from nettrial.design import scenario_of
from nettrial.errors import CannotRun
from nettrial.scenario import PreflightRequest, Request
from nettrial.study import load

FAKE_ENGINE = Path(__file__).parents[1] / "fake_engine.py"
SCENARIO = scenario_of(load("jumbo-ipv6"), {})
PATIENCE = 300
"""The time limit in seconds for an operation that takes a moment on a quiet machine."""


@pytest.fixture(autouse=True)
def fake_engine(monkeypatch):
    monkeypatch.setenv("NETTRIAL_ENGINE", str(FAKE_ENGINE))


@pytest.fixture
def backend():
    with BACKENDS["lab"].start(Configuration()) as started:
        yield started


def process(backend):
    return backend._engine._process


def test_answers_to_every_request(backend):
    preflight = backend.preflight()
    assert (preflight.missing, preflight.environment.processors) == ([], 2)
    assert backend.check(SCENARIO) == []
    bad = SCENARIO.model_copy(deep=True)
    bad.links[0].ends[0].mtu.root = "500 B"
    assert [problem.setting for problem in backend.check(bad)] == ["mtu"]
    record = backend.run("1", SCENARIO, PATIENCE)
    assert [flow.name for flow in record.flows] == ["transfer", "probe"]


def test_one_process_serves_them_all_and_leaves_at_the_end(backend):
    backend.preflight()
    first = process(backend)
    backend.run("1", SCENARIO, PATIENCE)
    assert process(backend) is first
    backend.close()
    assert first.returncode == 0


def test_a_failed_trial_tells_why(backend, monkeypatch):
    monkeypatch.setenv("FAKE_FAIL", "2")
    backend.run("1", SCENARIO, PATIENCE)
    first = process(backend)
    with pytest.raises(TrialFailed, match=r"^building the network: no such device$"):
        backend.run("2", SCENARIO, PATIENCE)
    backend.run("3", SCENARIO, PATIENCE)
    assert process(backend) is first


@pytest.mark.parametrize(
    ("variable", "message"),
    [
        ("FAKE_DIE", r"^the engine ended with exit status 101: thread 'main' panicked at somewhere$"),
        ("FAKE_GARBAGE", r"^the engine's answer does not follow its protocol: \{\"event\": \"nonsense\"\}$"),
        ("FAKE_OTHER", r"^the engine did not run the trial: it answered something else$"),
        ("FAKE_HANG", r"^the engine did not answer within 1 s and was killed$"),
    ],
)
def test_an_engine_that_is_lost_costs_one_trial(backend, monkeypatch, variable, message):
    monkeypatch.setenv(variable, "2")
    backend.run("1", SCENARIO, PATIENCE)
    first = process(backend)
    with pytest.raises(TrialFailed, match=message):
        backend.run("2", SCENARIO, 1 if variable == "FAKE_HANG" else PATIENCE)
    assert first.wait(PATIENCE) is not None
    assert backend.run("3", SCENARIO, PATIENCE).flows


@pytest.fixture
def amid_the_trial(monkeypatch, tmp_path):
    """Returns a function that performs an action as soon as trial 1 runs. This trial does not end by
    itself."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FAKE_WAIT", "1")

    def begin(action):
        def wait():
            while not (tmp_path / "waits-1").exists():
                time.sleep(0.01)
            action()

        threading.Thread(target=wait, daemon=True).start()

    return begin


def test_an_engine_killed_from_outside_costs_one_trial(backend, amid_the_trial):
    amid_the_trial(lambda: os.kill(process(backend).pid, 9))
    with pytest.raises(TrialFailed, match=r"^the engine was ended by signal 9$"):
        backend.run("1", SCENARIO, PATIENCE)
    backend.run("2", SCENARIO, PATIENCE)


def test_an_engine_that_died_between_trials_costs_none(backend):
    backend.run("1", SCENARIO, PATIENCE)
    process(backend).kill()
    process(backend).wait()
    assert backend.run("2", SCENARIO, PATIENCE).flows


def test_kill_ends_the_trial_that_runs(backend, amid_the_trial):
    amid_the_trial(backend.kill)
    with pytest.raises(TrialFailed) as failed:
        backend.run("1", SCENARIO, PATIENCE)
    assert "no answer within" not in str(failed.value)


def test_an_engine_that_will_not_leave_is_killed(backend, monkeypatch):
    monkeypatch.setenv("FAKE_STUCK", "1")
    monkeypatch.setattr("nettrial.backends.engine.LEAVE_SECONDS", 0.2)
    backend.preflight()
    engine = process(backend)
    backend.close()
    assert engine.returncode == -9


def test_what_cannot_start_is_told(monkeypatch, tmp_path):
    broken = tmp_path / "engine"
    broken.write_text("no program")
    broken.chmod(0o755)
    monkeypatch.setenv("NETTRIAL_ENGINE", str(broken))
    with (
        BACKENDS["lab"].start(Configuration()) as backend,
        pytest.raises(CannotRun, match="can't start"),
    ):
        backend.preflight()
    broken.write_text("#!/bin/sh\necho unknown subcommand >&2\nexit 2\n")
    with (
        BACKENDS["lab"].start(Configuration()) as backend,
        pytest.raises(CannotRun, match="status 2: unknown subcommand") as caught,
    ):
        backend.preflight()
    assert "make build" not in str(caught.value), "a crash is no sign of another version"
    broken.write_text('#!/bin/sh\nread line\necho \'{"event": "refused", "message": "unknown request"}\'\n')
    with (
        BACKENDS["lab"].start(Configuration()) as backend,
        pytest.raises(CannotRun, match="unknown request") as caught,
    ):
        backend.preflight()
    assert "make build" in str(caught.value)


def test_each_loss_of_an_engine_has_its_kind_and_remedy(monkeypatch, tmp_path):
    def loss(script, timeout=PATIENCE):
        program = tmp_path / "engine"
        program.write_text(script)
        program.chmod(0o755)
        with pytest.raises(EngineLost) as lost:
            Engine(program).ask(Request(PreflightRequest(thorough=False)), timeout)
        return lost.value.kind

    kinds = [
        loss("no program"),
        loss("#!/bin/sh\nread line\nkill -SEGV $$\n"),
        loss("#!/bin/sh\nread line\nexec sleep 60\n", timeout=0.1),
        loss("#!/bin/sh\nread line\necho '{}'\n"),
    ]
    assert kinds == [Loss.NOT_STARTED, Loss.ENDED, Loss.TIMED_OUT, Loss.PROTOCOL]
    assert ["make build" in kind.remedy() for kind in Loss] == [True, False, False, True, False]
    monkeypatch.setattr("nettrial.__file__", str(tmp_path / "site-packages" / "nettrial" / "__init__.py"))
    assert "pip install" in Loss.PROTOCOL.remedy()
    assert "make" not in Loss.PROTOCOL.remedy()


def test_an_engine_that_states_something_else_is_of_another_version(backend, monkeypatch):
    other = CAPABILITIES["lab"].model_copy(update={"parallel": True})
    monkeypatch.setitem(CAPABILITIES._entries, "lab", other)
    with pytest.raises(CannotRun, match="its capabilities of the backend lab differ") as caught:
        backend.preflight()
    assert "make build" in str(caught.value)


def test_another_backend_has_the_same_configuration():
    class Inventory(Configuration):
        file: str

        def arguments(self):
            return ["--inventory", self.file]

    with Backend("lab", Inventory(file="hosts.yaml")) as first, first.another() as second:
        assert first._arguments == second._arguments == ("lab", "--inventory", "hosts.yaml")


def test_the_engine_is_where_the_variable_says(monkeypatch, tmp_path):
    assert find.engine() == FAKE_ENGINE
    monkeypatch.setenv("NETTRIAL_ENGINE", str(tmp_path / "none"))
    with pytest.raises(CannotRun) as caught:
        find.engine()
    assert caught.value.exit_code == 3
    assert str(tmp_path / "none") in str(caught.value)


def test_else_beside_python_else_in_the_checkout(monkeypatch, tmp_path):
    monkeypatch.delenv("NETTRIAL_ENGINE")
    monkeypatch.setattr("sys.executable", str(tmp_path / "bin" / "python"))
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(tmp_path / name))
    monkeypatch.setattr("nettrial.__file__", str(tmp_path / "checkout" / "nettrial" / "__init__.py"))
    with pytest.raises(CannotRun, match="install nettrial again"):
        find.engine()
    for place in (tmp_path / "checkout" / "target" / "release", tmp_path / "bin"):
        place.mkdir(parents=True)
        (place / "nettrial-engine").symlink_to(FAKE_ENGINE)
        assert find.engine() == place / "nettrial-engine"


def test_else_where_pip_installed_it_for_this_user(monkeypatch, tmp_path):
    packages = tmp_path / "lib" / "python3" / "site-packages"
    (packages / "nettrial-0.1.0.dist-info").mkdir(parents=True)
    (packages / "nettrial-0.1.0.dist-info" / "METADATA").write_text("Name: nettrial\nVersion: 0.1.0\n")
    record = packages / "nettrial-0.1.0.dist-info" / "RECORD"
    record.write_text("../../../bin/nettrial,,\n../../../bin/nettrial-engine,,\n")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "nettrial-engine").symlink_to(FAKE_ENGINE)
    monkeypatch.delenv("NETTRIAL_ENGINE")
    monkeypatch.setattr("sys.executable", "/nowhere/python")
    monkeypatch.setattr("sysconfig.get_path", lambda name: "/nowhere")
    monkeypatch.setattr("nettrial.__file__", str(packages / "nettrial" / "__init__.py"))
    assert find.engine() == tmp_path / "bin" / "nettrial-engine"
