"""Output to a terminal, a pipe and a log: it contains no control sequences, survives a reader that goes away,
and has tracebacks only in the log."""

import errno
import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from nettrial import scenario
from nettrial.cli import listing
from nettrial.report import live, serving
from nettrial.store import Run
from nettrial.study.catalogue import FOLDER
from nettrial.texts import visible
from tests import forked
from tests.unit.conftest import environment
from tests.unit.synthetic import make_run, record

SHORT = ("run", "jumbo-ipv6", "--set", "mtu=1500,9000", "--replicates", "1", "--seed", "1", "--out", "mine")
ESCAPES = "\x1b[2J\x1b]0;owned\x07\x9b2J\r\u202e"
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def test_what_a_terminal_obeys_is_shown():
    assert visible("a\tb\nÄ µ √") == "a\tb\nÄ µ √"
    assert visible(ESCAPES) == r"\u001b[2J\u001b]0;owned\u0007\u009b2J\u000d\u202e"
    assert visible("\udc80") == r"\udc80"


def test_a_study_with_control_characters_is_refused_and_shown(nettrial, tmp_path):
    text = (FOLDER / "jumbo-ipv6" / "study.yaml").read_text()
    file = tmp_path / "study.yaml"
    file.write_text(re.sub("^title: .*$", r'title: "\\e[2J\\x9b owned"', text, count=1, flags=re.M))
    done = nettrial("run", "--dry-run", str(file))
    assert done.returncode == 2
    assert r"title: '\x1b[2J\x9b owned'" in done.stderr
    assert "text without control characters" in done.stderr
    assert not OBEYED.search(done.stdout + done.stderr)


def test_escapes_in_a_run_file_are_shown(nettrial, tmp_path):
    warning = scenario.Warning(code=ESCAPES, object=ESCAPES, message=ESCAPES, consequence=ESCAPES)
    make_run(
        tmp_path / "mine", 1, maker=lambda trial: record(trial, [warning]) if trial.number > 1 else ESCAPES
    )
    for command in (("report", "mine"), ("compare", "mine", "mine"), ("export", "mine", "--to", "csv")):
        done = nettrial(*command)
        assert done.returncode == 0, done.stderr
        assert not OBEYED.search(done.stdout + done.stderr)
    done = nettrial("report", "mine")
    assert r"\u001b[2J" in done.stdout
    page = (tmp_path / "mine" / "report.html").read_text()
    assert not OBEYED.search(page)
    assert r"\u001b[2J" in page


def test_escapes_that_an_engine_says_are_shown(nettrial):
    done = nettrial(*SHORT, FAKE_FAIL="2", FAKE_ESCAPES="1")
    assert done.returncode == 4
    assert r"no such device\u001b[2J\u009b2J\u000d" in done.stderr
    assert not OBEYED.search(done.stdout + done.stderr)
    assert not OBEYED.search((nettrial.directory / "mine" / "nettrial.log").read_text())


def start(directory, *arguments, together=False):
    """Starts a command; `together`, both of its outputs are one."""
    return forked.Process(forked.Command(arguments, variables(directory), directory, together=together))


def variables(directory):
    return {**os.environ, **environment(directory), "FAKE_SECONDS": "0.05"}


def test_a_run_goes_on_when_its_reader_leaves(tmp_path):
    with start(tmp_path, *SHORT, together=True) as process:
        process.stdout.readline()
        process.stdout.close()
        assert process.wait() == 0
    run = Run.open(tmp_path / "mine")
    assert len(run.trials()) == len(run.plan) == 8
    assert [session.note for session in run.sessions] == ["finished"]
    assert (tmp_path / "mine" / "report.html").exists()


def test_ctrl_c_is_heard_when_the_reader_has_left(tmp_path):
    with start(tmp_path, *SHORT, together=True) as process:
        for _ in range(3):
            process.stdout.readline()
        process.stdout.close()
        process.send_signal(signal.SIGINT)
        assert process.wait() == 130


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no file is a full disk here")
def test_a_full_disk_is_no_fault_of_nettrial(tmp_path):
    command = [sys.executable, "-m", "nettrial.cli", "list", "metrics"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            command, env=variables(tmp_path), stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 5
    assert done.stderr == "error: No space left on device\n"


def test_a_run_that_a_full_disk_ends_says_how_to_resume_it(nettrial, monkeypatch):
    def fail(*_given):
        raise sqlite3.OperationalError("database or disk is full")

    with monkeypatch.context() as patched:
        patched.setattr("nettrial.running.apparatus.Apparatus.run_trials", fail)
        done = nettrial(*SHORT)
    assert done.returncode == 5
    assert done.stderr.splitlines()[-2:] == [
        "not finished; to resume: nettrial run --resume mine",
        "error: database or disk is full",
    ]
    assert nettrial("run", "--resume", "mine").returncode == 0


def test_an_encoding_without_a_character_gets_a_similar_one(tmp_path):
    code = "from nettrial.systems import write_unicode; write_unicode(); print('2 × 3 ± 1 … ▲ ☃')"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**variables(tmp_path), "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "2 x 3 +- 1 ... ^ \\u2603\n"


@pytest.mark.parametrize("kind", [OSError(errno.ENOSPC, "No space left on device"), RuntimeError("a fault")])
def test_a_fault_of_nettrial_names_the_log_with_its_traceback(nettrial, monkeypatch, kind):
    def fail(*given):
        raise kind

    monkeypatch.setattr(listing, "show", fail)
    done = nettrial("list", "metrics")
    assert done.returncode == 5
    assert "Traceback" not in done.stderr
    assert ("please report it" in done.stderr) == isinstance(kind, RuntimeError)
    if isinstance(kind, RuntimeError):
        found = re.search(r"please report it; the traceback is in (\S+)", done.stderr)
        assert found is not None
        log = Path(found[1])
        assert "RuntimeError: a fault" in log.read_text()
        log.unlink()


def test_a_fault_in_a_run_is_in_the_runs_log(nettrial, monkeypatch):
    monkeypatch.setattr("nettrial.running.session.traffic_seconds", None)
    done = nettrial(*SHORT)
    assert done.returncode == 5
    log = nettrial.directory / "mine" / "nettrial.log"
    assert f"please report it; the traceback is in {log}" in done.stderr
    assert "Traceback" in log.read_text()


def test_a_run_keeps_a_log_with_what_its_engine_says(nettrial):
    done = nettrial(*SHORT, FAKE_LOG="1")
    assert (done.returncode, "builds trial" in done.stderr) == (0, False)
    log = (nettrial.directory / "mine" / "nettrial.log").read_text()
    assert "nettrial.running.session: trial 1 begins: mtu " in log
    assert re.search(r"INFO +nettrial.backends.engine: engine \d+: nettrial_lab: builds trial 1", log)
    assert "a library says this" in log
    assert "DEBUG" not in log


@pytest.mark.parametrize(
    ("option", "variable", "shown", "level"),
    [
        ("-v", None, {"INFO"}, "info"),
        ("-vv", None, {"INFO", "DEBUG"}, "debug"),
        (None, "debug", {"INFO", "DEBUG"}, "debug"),
        (None, "error", set(), "error"),
        ("-v", "nettrial_lab=debug", {"INFO", "DEBUG"}, "nettrial_lab=debug"),
    ],
)
def test_how_much_is_logged_is_asked_for(nettrial, option, variable, shown, level):
    done = nettrial(
        *SHORT,
        *([option] if option else []),
        FAKE_LOG="1",
        **({"NETTRIAL_LOG": variable} if variable else {}),
    )
    assert done.returncode == 0
    assert set(re.findall(r"^[\d-]+ [\d:,]+ (\w+) ", done.stderr, re.M)) == shown
    if "DEBUG" in shown:
        assert f"nettrial_lab: NETTRIAL_LOG={level}\n" in done.stderr


def test_a_level_that_there_is_not_is_refused(nettrial):
    done = nettrial("list", "metrics", NETTRIAL_LOG="loud")
    assert (done.returncode, done.stdout) == (2, "")
    assert "NETTRIAL_LOG: loud\n  expected: one of error, warn, info, debug, trace" in done.stderr


def connect(process):
    """Returns a function that connects to the server of `watch`."""
    found = re.search(r"http://127.0.0.1:(\d+)/", process.stderr.readline())
    return lambda: socket.create_connection(("127.0.0.1", int(found[1])), timeout=300)


def test_watch_survives_what_its_connections_do(tmp_path, monkeypatch):
    make_run(tmp_path / "mine", 1, trials=0)
    with start(tmp_path, "watch", "mine") as process:
        opened = connect(process)
        for request in (
            b"",
            b"GET",
            b"GET / HTTP/1.1\r\n",
            b"\xff" * 100 + b"\r\n\r\n",
            b"GET /version HTTP/1.0\r\n",
        ):
            with opened() as connection:
                # The connection ends with a reset.
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
                connection.sendall(request)
        silent = [opened() for _ in range(2 * serving.MOST_CONNECTIONS)]
        refused = 0
        for connection in silent[serving.MOST_CONNECTIONS :]:
            with connection:
                try:
                    refused += connection.recv(1) == b""
                except ConnectionResetError:
                    refused += 1
        assert refused == serving.MOST_CONNECTIONS
        for connection in silent:
            connection.close()
        process.send_signal(signal.SIGINT)
        assert (process.stderr.read().strip(), process.wait(300)) == ("", 0)


def test_a_connection_that_dawdles_is_ended(monkeypatch):
    monkeypatch.setattr(serving, "CONNECTION_SECONDS", 0.2)
    with live._server(0) as server:
        serving_thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        serving_thread.start()
        with socket.create_connection(server.server_address[:2], 300) as client:
            client.sendall(b"GET / HTTP/1.1\r\nHost: ")
            assert client.recv(1) == b""
        server.shutdown()
        serving_thread.join()
