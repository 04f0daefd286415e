"""The run file and its directory: what is stored is read back, whatever is killed meanwhile."""

import multiprocessing
import os
import random
import shutil
import sqlite3
import tempfile
import threading
import time
import zlib
from datetime import datetime, tzinfo
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nettrial import temporary
from nettrial.design import plan, scenario_of
from nettrial.errors import BadInput
from nettrial.export import export
from nettrial.files import RUN_FILE
from nettrial.running import start
from nettrial.scenario import Environment, Record
from nettrial.store import Run
from nettrial.store import directory as folders
from nettrial.store.lean import lean
from nettrial.study import load
from tests.killed import each_moment
from tests.records import full_record, record
from tests.unit.interrupted import Interrupted
from tests.unit.synthetic import make_run

STUDY = load("jumbo-ipv6")
ENVIRONMENT = Environment(
    engine_version="0.1.0",
    kernel="Linux",
    processor="A CPU",
    processors=2,
    privileges="root",
    congestion_controls=["cubic"],
    sysctls={"net.ipv4.tcp_ecn": "2"},
)


def create(directory, seed=7, replicates=1):
    text = STUDY.document.text
    return Run.create(directory, text, "a,b\n", STUDY, plan(STUDY, replicates, seed), seed, "nettrial run")


def test_a_new_run_reads_back_as_it_was_made(tmp_path):
    run = create(tmp_path / "deep" / "run", seed=2**63 - 1)
    for again in (run, Run.open(tmp_path / "deep" / "run")):
        assert again.directory == tmp_path / "deep" / "run"
        assert again.study.model_dump() == STUDY.model_dump()
        assert again.study_text == STUDY.document.text
        assert again.published_text == "a,b\n"
        assert again.plan == again.pending() == plan(STUDY, 1, 2**63 - 1)
        assert (again.seed, again.command) == (2**63 - 1, "nettrial run")
        assert (again.trials(), again.failures(), again.sessions) == ([], [], [])
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["run"]
    assert [path.name for path in (tmp_path / "deep" / "run").iterdir()] == [RUN_FILE]


@settings(max_examples=25, deadline=None)
@given(outcomes=st.dictionaries(st.integers(1, 12), st.sampled_from(["record", "failure", "both"])))
def test_what_is_written_reads_back(outcomes):
    with tempfile.TemporaryDirectory() as directory:
        run = create(Path(directory) / "run")
        by_number = {trial.number: trial for trial in run.plan}
        with run.session(ENVIRONMENT) as session:
            for number, outcome in outcomes.items():
                trial = by_number[number]
                if outcome != "record":
                    session.failed(trial, "first")
                    session.failed(trial, f"message {number}")
                if outcome != "failure":
                    session.finished(trial, scenario_of(STUDY, trial.treatment), record(f".{number}"))
        again = Run.open(run.directory)
        finished = sorted(number for number, outcome in outcomes.items() if outcome != "failure")
        assert [trial.planned for trial in again.trials()] == [by_number[number] for number in finished]
        assert [trial.record for trial in again.trials()] == [record(f".{number}") for number in finished]
        for trial in again.trials():
            assert trial.scenario == scenario_of(STUDY, trial.planned.treatment)
        failed = sorted(number for number, outcome in outcomes.items() if outcome == "failure")
        assert [(failure.planned.number, failure.message) for failure in again.failures()] == [
            (number, f"message {number}") for number in failed
        ]
        assert [trial.number for trial in again.pending()] == sorted(set(by_number) - set(finished))


def test_sessions_tell_when_and_how_they_ended(tmp_path):
    run = create(tmp_path / "run")
    with run.session(ENVIRONMENT) as session:
        (open_session,) = run.sessions
        assert (open_session.ended, open_session.note) == (None, "")
        session.note = "stopped by a signal"
    with run.session(ENVIRONMENT.model_copy(update={"processors": 8})):
        pass
    with pytest.raises(ZeroDivisionError), run.session(ENVIRONMENT):
        print(1 / 0)
    first, second, third = run.sessions
    assert third.note == "stopped by an error"
    assert isinstance(first.started, datetime)
    assert first.started <= first.ended <= second.started
    assert (first.note, second.note) == ("stopped by a signal", "finished")
    assert (first.environment, second.environment.processors) == (ENVIRONMENT, 8)


def test_a_trial_has_one_record(tmp_path):
    run = create(tmp_path / "run")
    trial = run.plan[0]
    scenario = scenario_of(STUDY, trial.treatment)
    with run.session(ENVIRONMENT) as session:
        session.finished(trial, scenario, record())
        with pytest.raises(sqlite3.IntegrityError):
            session.finished(trial, scenario, record())


@pytest.mark.parametrize("statement", ["DELETE FROM {}", "UPDATE {} SET rowid = rowid + 100"])
def test_a_run_file_is_only_added_to(tmp_path, statement):
    run = create(tmp_path / "run")
    with run.session(ENVIRONMENT) as session:
        session.finished(run.plan[0], scenario_of(STUDY, run.plan[0].treatment), record())
        session.failed(run.plan[1], "no")
        session.disturbed(run.plan[1], scenario_of(STUDY, run.plan[1].treatment), record(), "other work")
    with sqlite3.connect(run.directory / RUN_FILE) as connection:
        tables = [
            name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        ]
        assert len(tables) == 7
        for table in tables:
            with pytest.raises(sqlite3.IntegrityError, match="append-only"):
                connection.execute(statement.format(table))


def test_refuses_a_directory_that_exists_and_leaves_it(tmp_path):
    (tmp_path / "run").mkdir()
    with pytest.raises(BadInput, match="exists"):
        create(tmp_path / "run")
    assert list((tmp_path / "run").iterdir()) == []
    (tmp_path / "link").symlink_to("nowhere")
    with pytest.raises(BadInput, match="exists"):
        create(tmp_path / "link")


def test_runs_of_the_same_second_have_directories_of_their_own(tmp_path, monkeypatch):
    class Stopped(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> datetime:
            return datetime(2026, 11, 29, 6, 0, 0, tzinfo=tz)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(start, "datetime", Stopped)
    study = load("jumbo-ipv6")
    for name in (f"jumbo-ipv6-20261129T060000Z{number}" for number in ("", "-2", "-3")):
        directory = start.new_directory(study, None)
        assert directory == Path("runs", name)
        directory.mkdir(parents=True)
    with pytest.raises(BadInput, match="exists"):
        start.new_directory(study, directory)


def test_says_why_it_cannot_write(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match="creating the run"):
        create(tmp_path / "file" / "run")


def test_an_error_while_creating_leaves_nothing(tmp_path):
    with pytest.raises(sqlite3.Error):
        Run.create(tmp_path / "run", "", None, STUDY, plan(STUDY, 1, 1) * 2, 1, "")
    assert list(tmp_path.iterdir()) == []


def change(directory, statement):
    with sqlite3.connect(directory / RUN_FILE) as connection:
        connection.execute(statement)


def test_refuses_what_is_no_run_of_this_version(tmp_path):
    def refusal(directory):
        with pytest.raises(BadInput) as caught:
            Run.open(directory)
        assert caught.value.exit_code == 2
        return str(caught.value)

    assert "does not exist" in refusal(tmp_path / "none")
    assert "has no run" in refusal(tmp_path)
    (tmp_path / RUN_FILE).write_text("no database at all, and long enough to be seen as none" * 20)
    assert "not a database" in refusal(tmp_path)
    (tmp_path / RUN_FILE).unlink()
    change(tmp_path, "CREATE TABLE something (x)")
    assert "not a run file" in refusal(tmp_path)
    (tmp_path / RUN_FILE).write_bytes(b"")
    assert "not a run file" in refusal(tmp_path)

    create(tmp_path / "newer")
    change(tmp_path / "newer", "PRAGMA user_version = 5")
    assert "format 5\n  expected: format 4\n  hint: it was written by a newer nettrial" in refusal(
        tmp_path / "newer"
    )


def test_records_are_kept_after_an_interrupted_extension_of_the_plan(tmp_path):
    run = create(tmp_path / "run")
    with run.session(ENVIRONMENT) as session:
        connection = session._connection
        session._connection = Interrupted(connection, "BEGIN")
        with pytest.raises(KeyboardInterrupt):
            session.planned([])
        session._connection = connection
        session.finished(run.plan[0], scenario_of(STUDY, run.plan[0].treatment), record())
        assert len(Run.open(run.directory).trials()) == 1


def test_a_document_of_another_version_is_told(tmp_path):
    run = create(tmp_path / "run")
    with run.session(ENVIRONMENT) as session:
        session._insert("trial", 1, session.number, b"", zlib.compress(b'{"format": 1, "more": 2}'))
    with pytest.raises(BadInput, match="can't read a record in it"):
        run.trials()


def test_a_damaged_document_is_told(tmp_path):
    run = create(tmp_path / "run")
    with run.session(ENVIRONMENT) as session:
        session._insert("trial", 1, session.number, b"", b"no compressed text")
    with pytest.raises(BadInput, match="can't read a record in it"):
        run.trials()


def test_a_run_of_the_first_format_reads_and_goes_on(tmp_path):
    run = create(tmp_path / "run")
    trial, scenario = run.plan[0], scenario_of(STUDY, run.plan[0].treatment)
    change(run.directory, "PRAGMA user_version = 1")
    change(run.directory, "DROP TABLE disturbed")
    change(run.directory, "DROP TABLE trial")
    columns = "number INTEGER PRIMARY KEY, session INTEGER, scenario TEXT NOT NULL, record TEXT NOT NULL"
    change(run.directory, f"CREATE TABLE trial ({columns}) STRICT")
    with Run.open(run.directory).session(ENVIRONMENT) as session:
        session.finished(trial, scenario, record())
    (again,) = Run.open(run.directory).trials()
    assert (again.record, again.scenario) == (record(), scenario)


def test_a_record_of_thousands_of_sizes_is_kept_small(tmp_path):
    draw = random.Random(1)
    sizes = [
        {
            "size_bytes": size,
            "rtt_us": [round(draw.gauss(20, 1), 3)],
            "rtt_minimum_us": [round(draw.gauss(15, 1), 3)],
            "total_us": [round(draw.gauss(2000, 100), 3)],
            "resent_pkts": 0,
        }
        for size in range(1000, 65_501, 10)
    ]
    made = record().model_dump(exclude_none=True, by_alias=True)
    made["flows"][0]["sizes"] = sizes
    large = Record.model_validate(made)
    run = create(tmp_path / "run")
    with run.session(ENVIRONMENT) as session:
        session.finished(run.plan[0], scenario_of(STUDY, run.plan[0].treatment), large)
    assert Run.open(run.directory).trials()[0].record == large
    assert (run.directory / RUN_FILE).stat().st_size < 250_000


def test_a_trial_without_a_series_takes_few_kilobytes(tmp_path):
    few, many = create(tmp_path / "few"), create(tmp_path / "many")
    for run, count in ((few, 2), (many, 12)):
        with run.session(ENVIRONMENT) as session:
            for trial in run.plan[:count]:
                session.finished(trial, scenario_of(STUDY, trial.treatment), record())
    sizes = [(run.directory / RUN_FILE).stat().st_size for run in (few, many)]
    assert (sizes[1] - sizes[0]) / 10 < 5000


def test_one_runner_at_a_time(tmp_path):
    run = create(tmp_path / "run")
    with run.session(ENVIRONMENT), pytest.raises(BadInput, match="another nettrial process is running it"):  # noqa: SIM117
        with Run.open(run.directory).session(ENVIRONMENT):
            pass
    with Run.open(run.directory).session(ENVIRONMENT):
        pass
    assert len(run.sessions) == 2


def test_a_runner_waits_for_who_reads_for_long(tmp_path):
    run = create(tmp_path / "run")
    reader = sqlite3.connect(run.directory / RUN_FILE, check_same_thread=False)
    reading = reader.execute("SELECT * FROM planned")
    assert reading.fetchone() is not None
    end = threading.Timer(5.5, reading.close)  # By default, SQLite waits for 5 s.
    end.start()
    with run.session(ENVIRONMENT) as session:
        session.finished(run.plan[0], scenario_of(STUDY, run.plan[0].treatment), record())
    end.join()
    assert len(Run.open(run.directory).trials()) == 1


FORKING = multiprocessing.get_context("fork")
"""Starts processes that have loaded nettrial already."""


def keep(name, directory, ready):
    """Locks a directory, or creates one, and keeps it for ten minutes."""
    with getattr(folders, name)(directory):
        ready.set()
        time.sleep(600)


@pytest.fixture
def held(tmp_path):
    """Returns a function that starts a process that locks a directory, or creates one."""
    started = []

    def start(name, directory):
        ready = FORKING.Event()
        process = FORKING.Process(target=keep, args=(name, directory, ready))
        process.start()
        started.append(process)
        assert ready.wait(300)
        return process

    yield start
    for process in started:
        process.kill()
        process.join()


def test_a_killed_runner_leaves_no_lock(tmp_path, held):
    run = create(tmp_path / "run")
    process = held("lock", run.directory)
    with pytest.raises(BadInput, match="another nettrial process is running it"), run.session(ENVIRONMENT):
        pass
    process.kill()
    process.join()
    with run.session(ENVIRONMENT):
        pass


def test_what_a_killed_runner_was_making_is_cleaned_up_by_the_next(tmp_path, held):
    killed, alive = held("appearing", tmp_path / "one"), held("appearing", tmp_path / "two")
    unfinished = {path.name: path for path in tmp_path.iterdir()}
    assert len(unfinished) == 2
    killed.kill()
    killed.join()
    create(tmp_path / "three")
    left = [path.name for path in tmp_path.iterdir()]
    assert alive.is_alive()
    assert "three" in left
    assert len(left) == 2
    assert len(set(left) & set(unfinished)) == 1


def test_only_what_nettrial_was_making_is_removed(tmp_path):
    """A virtual environment, a link to an unfinished directory, and a file stay."""
    environment = tmp_path / ".nettrial-venv"
    environment.mkdir()
    (environment / "pyvenv.cfg").write_text("home = /usr/bin")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / temporary.MARKER).touch()
    link, file, other, abandoned, empty, more = (f".nettrial-{digit * 16}" for digit in "123456")
    (tmp_path / link).symlink_to(elsewhere)
    (tmp_path / file).write_text("a file")
    (tmp_path / other).mkdir()
    (tmp_path / other / "thesis").touch()
    for name in (abandoned, more):
        (tmp_path / name / temporary.MADE / "deep").mkdir(parents=True)
        (tmp_path / name / temporary.MARKER).touch()
    (tmp_path / empty).mkdir()
    (tmp_path / more / "thesis").touch()
    run = create(tmp_path / "run")
    export(run, "csv", tmp_path / "exported")
    names = sorted(path.name for path in tmp_path.iterdir())
    kept = [link, file, other, more, ".nettrial-venv"]
    assert names == [*kept, "elsewhere", "exported", "run"]
    assert (environment / "pyvenv.cfg").exists()
    assert not (tmp_path / "exported" / temporary.MARKER).exists()


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_starter_does_not_remove_what_another_is_about_to_lock(tmp_path, monkeypatch, moment):
    """A second runner starts immediately before or after the first one locks its directory."""
    hold, calls = temporary.hold, []

    def interrupted(directory):
        calls.append(directory)
        first = len(calls) == 1
        if first and moment == "before":
            create(tmp_path / "other")
        held = hold(directory)
        if first and moment == "after":
            create(tmp_path / "other")
        return held

    with monkeypatch.context() as patched:
        patched.setattr(temporary, "hold", interrupted)
        create(tmp_path / "first")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["first", "other"]
    assert [path.name for path in (tmp_path / "first").iterdir()] == [RUN_FILE]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can change owners")
def test_what_another_user_left_stays(tmp_path):
    left = tmp_path / f".nettrial-{'1' * 16}"
    left.mkdir()
    (left / temporary.MARKER).touch()
    page = tmp_path / f".page.html.nettrial-{'1' * 16}"
    page.touch()
    for path in (left, page):
        os.chown(path, 65534, 65534)
    temporary.replace_file(tmp_path / "page.html", b"page")
    create(tmp_path / "run")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        [left.name, page.name, "page.html", "run"]
    )
    for path in (left, page):
        os.chown(path, os.geteuid(), -1)
    temporary.replace_file(tmp_path / "page.html", b"page")
    create(tmp_path / "other")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other", "page.html", "run"]


def test_a_kill_at_any_moment_leaves_nothing_after_the_next_directory(tmp_path):
    """A process is killed before each of its changes of the file system."""

    def make():
        with folders.appearing(tmp_path / "made") as unfinished:
            (unfinished / "file").write_text("all")

    left = set()
    for _ in each_moment(make):
        left.update(str(path.relative_to(path.parents[0])) for path in tmp_path.glob(".nettrial-*/*"))
        if (tmp_path / "made").exists():
            assert (tmp_path / "made" / "file").read_text() == "all"
            shutil.rmtree(tmp_path / "made")
        with folders.appearing(tmp_path / "next"):
            pass
        assert [path.name for path in tmp_path.iterdir()] == ["next"]
        (tmp_path / "next").rmdir()
    assert left == {temporary.MADE, temporary.MARKER}


def test_a_kill_at_any_moment_leaves_nothing_after_the_next_file(tmp_path):
    page = tmp_path / "page.html"
    others = tmp_path / f".other.html.nettrial-{'1' * 16}"
    others.touch()
    page.write_bytes(b"before")
    left = 0
    for _ in each_moment(lambda: temporary.replace_file(page, b"after")):
        left += len(list(tmp_path.iterdir())) - 2
        assert page.read_bytes() in (b"before", b"after")
        temporary.replace_file(page, b"before")
        assert {path.name for path in tmp_path.iterdir()} == {page.name, others.name}
    assert left


def at_once(work, *arguments):
    """Does work in a process for each argument, all at once; returns their exit statuses."""
    processes = [FORKING.Process(target=work, args=(argument,)) for argument in arguments]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    return [process.exitcode for process in processes]


def make_page(page):
    for _ in range(500):
        temporary.replace_file(page, b"a page" * 1000)


def test_writers_at_once_of_a_file_keep_out_of_each_others_way(tmp_path):
    assert at_once(make_page, *[tmp_path / "page.html"] * 3) == [0, 0, 0]
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
    assert (tmp_path / "page.html").read_bytes() == b"a page" * 1000


def make_directories(prefix):
    for number in range(150):
        with folders.appearing(Path(f"{prefix}{number}")) as made:
            (made / "file").write_text("kept")


def test_starters_at_once_keep_out_of_each_others_directories(tmp_path):
    assert at_once(make_directories, *(tmp_path / name for name in "abc")) == [0, 0, 0]
    made = list(tmp_path.iterdir())
    assert len(made) == 450
    assert all([path.name for path in directory.iterdir()] == ["file"] for directory in made)


def test_a_run_file_grows_with_its_trials_and_no_faster(tmp_path):
    study = load("jumbo-ipv6")
    sizes = []
    for blocks in (4, 8, 16):
        made = make_run(tmp_path / f"{blocks}", replicates=blocks, study=study)
        sizes.append((made.directory / RUN_FILE).stat().st_size / len(made.plan))
    assert max(sizes) < 5000
    assert sizes[2] <= sizes[1] <= sizes[0] * 1.02


def test_a_lean_record_is_the_same_record():
    made = full_record()
    thin = lean(full_record())
    assert thin == made
    assert thin.model_dump_json(by_alias=True, exclude_none=True) == made.model_dump_json(
        by_alias=True, exclude_none=True
    )
    first, second, _ = thin.flows[0].intervals
    assert first.model_fields_set is second.model_fields_set
    assert first.model_fields_set == made.flows[0].intervals[0].model_fields_set
    assert thin.flows[0].rtt_us.model_fields_set == made.flows[0].rtt_us.model_fields_set


def test_scenarios_are_read_when_asked_for_and_once_for_each_treatment(tmp_path):
    run = Run.open(make_run(tmp_path / "run", replicates=2).directory)
    trials = run.trials()
    assert run._scenarios == {}
    assert all(trial.scenario == scenario_of(STUDY, trial.planned.treatment) for trial in trials)
    assert len(run._scenarios) == 12
    assert len({id(trial.scenario) for trial in trials}) == 12


def test_a_damaged_scenario_is_told_when_it_is_asked_for(tmp_path):
    run = create(tmp_path / "run")
    with run.session(ENVIRONMENT) as session:
        text = record().model_dump_json(by_alias=True, exclude_none=True)
        session._insert("trial", 1, session.number, b"no compressed text", zlib.compress(text.encode()))
    (trial,) = run.trials()
    with pytest.raises(BadInput, match="can't read a scenario in it"):
        trial.scenario  # noqa: B018


def test_records_as_texts_are_those_that_were_kept(tmp_path):
    run = make_run(tmp_path / "run", replicates=1)
    texts = dict(run.record_texts())
    assert {number: Record.model_validate_json(text) for number, text in texts.items()} == {
        trial.planned.number: trial.record for trial in run.trials()
    }


def test_a_run_file_whose_tables_have_names_that_are_no_text_is_refused(tmp_path):
    file = make_run(tmp_path / "run").directory / RUN_FILE
    file.write_bytes(file.read_bytes().replace(b"planned", b"pl\x80nned"))
    with pytest.raises(BadInput, match=r"run\.sqlite"):
        Run.open(file.parent)
