"""nettrial in Python: the functions that do what the commands do."""

import logging
import re
import subprocess
import sys
from pathlib import Path

import pytest

import nettrial
from nettrial.errors import BadInput, CannotRun, TrialsFailed
from nettrial.running import log, pool, session
from nettrial.running.events import (
    BlocksAdded,
    Notice,
    SessionEnded,
    SessionStarted,
    TrialFinished,
    TrialLost,
    TrialsRunning,
    WarmUpFinished,
)
from nettrial.store import Run
from nettrial.study import Document, Study, given, load, yaml_values
from tests.unit.conftest import environment
from tests.unit.synthetic import make_run

ROOT = Path(__file__).parents[2]
SETTINGS = {"mtu": [1500, 9000], "sender": "linux-cubic", "receiver": "linux-cubic"}
CONTENT = yaml_values.read(load("examples/loss").document.text)


@pytest.fixture(autouse=True)
def fake(tmp_path, monkeypatch):
    """Lets a fake engine run the trials, in a directory of the test's own."""
    monkeypatch.chdir(tmp_path)
    for name, value in environment(tmp_path).items():
        monkeypatch.setenv(name, value)


def test_all_names_are_there_and_nothing_else_is_public():
    assert sorted(nettrial.__all__) == nettrial.__all__
    for name in nettrial.__all__:
        assert getattr(nettrial, name).__doc__


def test_a_run_gives_its_results_and_prints_nothing(capfd):
    results = nettrial.run("jumbo-ipv6", settings=SETTINGS, replicates=2, seed=3, out="mine")
    assert results.trials["state"].to_list() == ["finished"] * 4
    assert results.run.seed == 3
    assert results.run.command == (
        "nettrial run jumbo-ipv6 --set mtu=1500,9000 --set sender=linux-cubic "
        "--set receiver=linux-cubic --replicates 2 --backend lab --seed 3"
    )
    assert capfd.readouterr() == ("", "")
    assert nettrial.resume("mine").trials.equals(results.trials)
    assert nettrial.load("mine").trials.equals(results.trials)


def test_a_run_has_the_log_that_the_command_writes_and_the_callers_logging_stays(nettrial_command, caplog):
    root = logging.getLogger("nettrial")
    before = root.level, root.propagate
    with caplog.at_level(logging.WARNING):
        nettrial.run("jumbo-ipv6", settings=SETTINGS, replicates=1, seed=3, out="mine")
    assert (root.level, root.propagate) == before
    assert [entry for entry in caplog.records if entry.levelno < logging.WARNING] == []
    done = nettrial_command(*Run.open(Path("mine")).command.split()[1:], "--out=its")
    assert done.returncode == 0, done.stderr
    mine, its = (
        [re.sub(r"[0-9.]+", "0", line) for line in Path(name, "nettrial.log").read_text().splitlines()]
        for name in ("mine", nettrial_command.directory / "its")
    )
    assert mine == its
    assert [line for line in mine if "begins" in line]


def test_entries_reach_the_callers_program_while_a_run_logs(tmp_path, caplog):
    caplog.set_level(logging.WARNING)
    logger = logging.getLogger("nettrial.test")
    with log.kept(tmp_path), log.kept(tmp_path):
        logger.info("kept")
        logger.warning("both")
    logger.warning("passed on")
    assert [entry.message for entry in caplog.records] == ["both", "passed on"]
    lines = (tmp_path / "nettrial.log").read_text().splitlines()
    assert [line.rpartition(": ")[2] for line in lines] == ["kept", "kept", "both", "both"]


def test_the_commands_run_has_the_same_plan_and_records(nettrial_command):
    nettrial.run("jumbo-ipv6", settings=SETTINGS, replicates=2, seed=3, out="mine")
    done = nettrial_command(*Run.open(nettrial_command.directory / "mine").command.split()[1:], "--out=its")
    assert done.returncode == 0, done.stderr
    mine, its = (Run.open(nettrial_command.directory / name) for name in ("mine", "its"))
    assert mine.plan == its.plan
    assert mine.study_text == its.study_text
    assert [trial.scenario for trial in mine.trials()] == [trial.scenario for trial in its.trials()]


@pytest.fixture(name="nettrial_command")
def command(request):
    return request.getfixturevalue("nettrial")


def test_events_tell_the_progress():
    events = []
    nettrial.run("jumbo-ipv6", settings=SETTINGS, replicates=1, seed=3, out="mine", progress=events.append)
    kinds = [SessionStarted, WarmUpFinished, TrialFinished, TrialFinished, SessionEnded]
    assert [type(event) for event in events] == kinds
    started, warm, first, second, _ = events
    assert (started.done, started.total) == (0, 2)
    assert started.left > 0
    assert (first.left >= second.left, second.left) == (True, 0)
    assert warm.following == first.trial
    assert (first.following, second.following) == (second.trial, None)
    assert str(second).startswith("trial 2 (mtu ")
    assert first.result.read_record().flows


def test_events_tell_of_failures_and_added_blocks(monkeypatch):
    monkeypatch.setenv("FAKE_FAIL", "1")
    events = []
    with pytest.raises(TrialsFailed, match=r"1 of 2 trials failed; .*: nettrial.resume\('mine'\)"):
        nettrial.run(
            "jumbo-ipv6", settings=SETTINGS, replicates=1, seed=3, out="mine", progress=events.append
        )
    (lost,) = (event for event in events if isinstance(event, TrialLost))
    assert lost.trial.number == 1
    assert nettrial.load("mine").failures.height == 1
    monkeypatch.delenv("FAKE_FAIL")
    assert nettrial.resume("mine").failures.is_empty()


@pytest.mark.parametrize(("backend", "heard"), [("sim", True), ("lab", False)])
def test_simulated_trials_tell_that_they_run_and_real_ones_are_left_alone(monkeypatch, backend, heard):
    monkeypatch.setenv("FAKE_SECONDS", "0.2")
    monkeypatch.setattr(pool, "HEARTBEAT_SECONDS", 0.01)
    monkeypatch.setattr(session, "HEARTBEAT_SECONDS", 0.01)
    events = []
    short = {"replicates": 1, "seed": 3, "out": "mine"}
    nettrial.run("jumbo-ipv6", settings=SETTINGS, backend=backend, progress=events.append, **short)
    beats = [event for event in events if isinstance(event, TrialsRunning)]
    assert bool(beats) == heard
    if heard:  # the fake engine estimates the work of a simulated trial as one second
        assert all(beat.left is not None for beat in beats)
        assert beats[-1].left < 2


def test_until_adds_blocks():
    events = []
    arguments = {"seed": 3, "until": {"throughput": 0.001}, "min_blocks": 4, "max_blocks": 5}
    nettrial.run("jumbo-ipv6", settings=SETTINGS, out="mine", progress=events.append, **arguments)
    assert [event.trials for event in events if isinstance(event, BlocksAdded)] == [2]
    assert [str(event)[:14] for event in events if isinstance(event, Notice)] == ["after 4 blocks"]


def test_an_exception_of_the_listener_ends_the_run_which_can_be_resumed():
    def stop(event):
        if isinstance(event, TrialFinished):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        nettrial.run("jumbo-ipv6", settings=SETTINGS, replicates=2, seed=3, out="mine", progress=stop)
    assert Run.open(nettrial.load("mine").run.directory).finished() == 1
    assert nettrial.resume("mine").trials["state"].unique().to_list() == ["finished"]


@pytest.mark.parametrize(
    "study", [CONTENT, Study.model_validate(CONTENT), load("examples/loss"), "examples/loss"]
)
def test_a_study_needs_no_file(study):
    study_read = given(study)
    assert study_read.model_dump_json() == load("examples/loss").model_dump_json()
    again = Study.of(Document.in_python(yaml_values.read(study_read.document.text)))
    assert again.model_dump_json() == study_read.model_dump_json()


def test_a_run_of_a_study_without_a_file_keeps_its_text():
    small = {"replicates": 1, "settings": {"loss": "0.01"}, "seed": 1}
    made = nettrial.run(CONTENT, out="mine", **small).run
    assert Study.of(Document.in_python(yaml_values.read(made.study_text))).study == "loss"
    assert made.command.startswith("nettrial run study.yaml --set loss=0.01")


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"network": {**CONTENT["network"], "rate": "20 Mbut/s"}}, "the study: network.rate: '20 Mbut/s'"),
        ({"netwrk": {}}, "the study: netwrk"),
        ({"title": object()}, "the study: <object object at"),
        ({"title": "\x1b[31m"}, "the study: title: '\\x1b[31m'"),
    ],
)
def test_a_fault_of_a_study_without_a_file_is_placed_by_its_path(change, expected):
    with pytest.raises(BadInput) as refused:
        nettrial.run({**CONTENT, **change})
    assert str(refused.value).startswith(f"error: reading the study: {expected}")


def test_a_study_that_contains_itself_is_refused():
    content = {**CONTENT}
    content["network"] = content
    with pytest.raises(BadInput, match="reading the study: the study: the alias"):
        nettrial.run(content)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"settings": {"mtux": 9000}}, "settings mtux=9000: no such factor or setting"),
        ({"replicates": 10**9}, "reading the arguments: replicates: 1000000000"),
        ({"backend": "simm"}, "reading the arguments: backend: unknown backend 'simm'"),
        ({"until": {"speed": 2}}, "reading the arguments: until: speed=2%"),
        ({"until": 2, "replicates": 3}, "reading the arguments: replicates: 3"),
        ({"machines": "machines.yaml", "backend": "sim"}, "reading the arguments: machines: machines.yaml"),
        ({"replicates": 0}, "reading the arguments: replicates: 0"),
        ({"seed": -1}, "reading the arguments: seed: -1"),
        ({"until": 2, "min_blocks": 3}, "reading the arguments: min_blocks: 3"),
        ({"settings": {"mtu": [object()]}}, "reading the arguments: settings['mtu']: [<object"),
        ({"on": "local[2]"}, "reading the arguments: on: local"),
    ],
)
def test_errors_name_arguments(arguments, expected):
    with pytest.raises(BadInput) as refused:
        nettrial.run("jumbo-ipv6", **arguments)
    assert expected in str(refused.value)
    assert "--" not in str(refused.value)


def test_a_command_in_an_error_keeps_its_options(tmp_path):
    with pytest.raises(BadInput) as refused:
        nettrial.run("jumbo-ipv6", out=tmp_path)
    assert str(refused.value).startswith(f"error: creating the run: out: {tmp_path} exists")
    assert f"`nettrial run --resume {tmp_path}`" in str(refused.value)


def test_a_study_with_commands_needs_permission():
    content = {**CONTENT, "backend": "lab"}
    content["workload"] = [{**CONTENT["workload"][0]}]
    content["workload"][0]["traffic"] = {
        "kind": "tool",
        "tool": "exec",
        "arguments": ["true"],
        "duration": "1 s",
    }
    with pytest.raises(BadInput, match="allow_exec"):
        nettrial.run(content, out="mine")


def test_a_machine_that_lacks_something_is_an_exception(monkeypatch):
    monkeypatch.setenv("NETTRIAL_ENGINE", "/nowhere")
    with pytest.raises(CannotRun):
        nettrial.run("jumbo-ipv6", out="mine")


def test_runs_are_compared(tmp_path):
    make_run(tmp_path / "a", replicates=3)
    make_run(tmp_path / "b", replicates=3)
    comparison = nettrial.compare("a", "b", responses=["throughput"])
    changes = comparison.changes()
    assert changes["response"].unique().to_list() == ["throughput"]
    assert changes["percent"].to_list() == [0.0] * changes.height
    assert {each.outcome for each in comparison.judge("throughput < -99%")} == {"does not hold"}
    with pytest.raises(BadInput, match="reading the arguments: responses: speed"):
        nettrial.compare("a", "b", responses=["speed"])


def test_logs_are_left_to_the_caller(capfd):
    logging.getLogger("nettrial").handlers.clear()
    nettrial.run("jumbo-ipv6", settings=SETTINGS, replicates=1, seed=3, out="mine")
    logging.getLogger("nettrial.running").error("a message")
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"kind": "sctp"}, "reading the arguments: KIND: sctp"),
        ({"kind": "ndt7", "rate": "1M"}, "reading the arguments: rate: 1M\n  expected: no rate with ndt7"),
        ({"kind": "stamp", "plain": True}, "reading the arguments: plain\n  expected: no plain with stamp"),
        ({"interval": "1 s"}, "reading the arguments: interval: 1 s\n  expected: no interval with tcp"),
        ({"parallel": 0}, "reading the arguments: parallel: 0\n  expected: 1 to 128"),
        ({"replicates": 0}, "reading the arguments: replicates: 0\n  expected: 1 to 1000"),
        ({}, "reading the arguments: token_file: missing"),
        ({"out": "."}, "keeping the measurement: out: ."),
        ({"settings": {"mtu": 1500}}, "reading the arguments: settings: mtu=1500\n  expected: 2 to 20"),
        ({"settings": {"MTU": [1500, 9000]}}, "hint: did you mean 'mtu'?"),
    ],
)
def test_errors_of_a_measurement_name_arguments(arguments, expected):
    if "out" in arguments:
        arguments["iperf3"] = True
    with pytest.raises(BadInput) as refused:
        nettrial.measure("127.0.0.1", **arguments)
    assert expected in str(refused.value)


EXTRAS = ("nettrial.monitor", "nettrial.protocols", "nettrial.measuring", "nettrial.controllers")
"""The parts that most users of nettrial never need."""


def test_the_core_loads_no_extras():
    # One process does it all: what one part loaded would be there to the end.
    done = subprocess.run([sys.executable, "-c", LOADS], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout.splitlines()[-1] == "loaded: {}", done.stderr


LOADS = f"""
import json, sys
import nettrial

roots = {(*EXTRAS, "websockets", "os_ken", "cryptography", "distributed")!r}
loaded = {{}}

def look(after):
    for name in set(roots) & set(sys.modules):
        loaded.setdefault(name, after)

look("import nettrial")
nettrial.load
look("nettrial.load")
from nettrial.cli import main

for arguments in (["run", "--help"], ["path", "--help"], ["path", "127.0.0.1"], ["list", "studies"]):
    sys.argv[1:] = arguments
    try:
        main()
    except SystemExit:
        pass
    look(" ".join(arguments))
print("loaded:", json.dumps(loaded))
"""
