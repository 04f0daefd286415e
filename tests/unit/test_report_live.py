"""The page of a run in progress: the server's answers, the times when it draws the page, and the clients that
it serves."""

import contextlib
import http.client
import re
import signal
import socket
import threading
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nettrial.errors import BadInput, CannotRun
from nettrial.report import html, live
from nettrial.store import Run
from tests import forked
from tests.unit.conftest import environment
from tests.unit.synthetic import ENVIRONMENT, make_run, record, scenario_of


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Replaces the drawing of pages, and returns the list of revisions that were drawn."""
    revisions: list[str] = []

    def page(report: object, revision: str) -> str:
        revisions.append(revision)
        return f"a page of {revision}"

    monkeypatch.setattr(html, "page", page)
    monkeypatch.setattr(live, "gather", lambda run: None)
    return revisions


def go_on(run: Run) -> None:
    """Adds one more trial to the run, as another process would."""
    other = Run.open(run.directory)
    with other.session(ENVIRONMENT) as session:
        trial = other.pending()[0]
        session.finished(trial, scenario_of(other.study, trial.treatment), record(trial))
    other.close()


def test_it_is_drawn_again_when_the_run_has_grown_and_somebody_looks(
    tmp_path: Path, drawn: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    monkeypatch.setattr(live.time, "monotonic", lambda: now[0])
    run = make_run(tmp_path / "run", 2, trials=1)
    watched = live.Live(run.directory)
    watched.look()
    assert len(drawn) == 1
    go_on(run)
    now[0] += 1
    watched.look()
    assert watched.page.decode() == f"a page of {watched.revision}"
    assert len(set(drawn)) == len(drawn) == 2
    go_on(run)
    now[0] += live.ASKED_WITHIN + 1
    watched.look()
    assert len(drawn) == 2, "nobody looks"
    watched.page_requested()
    watched.look()
    assert len(drawn) == 3


def test_drawing_takes_no_more_than_its_share_of_the_time(
    tmp_path: Path, drawn: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    monkeypatch.setattr(live.time, "monotonic", lambda: now[0])

    def slow(run: object) -> None:
        now[0] += 2

    monkeypatch.setattr(live, "gather", slow)
    run = make_run(tmp_path / "run", 2, trials=1)
    watched = live.Live(run.directory)
    for _ in range(40):
        go_on(run) if run.pending() else None
        watched.page_requested()
        now[0] += 0.5
        watched.look()
    spent, passed = 2 * (len(drawn) - 1), now[0] - 102  # The time counts from the first drawing.
    assert spent / passed <= live.DRAWS_AT_MOST * 1.2
    assert len(drawn) > 2


@pytest.fixture
def server(tmp_path: Path, drawn: list[str]) -> Iterator[ThreadingHTTPServer]:
    run = make_run(tmp_path / "run", 2, trials=1)
    with live._server(0) as server:
        server.RequestHandlerClass = live.handler(live.Live(run.directory))
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def ask(server: ThreadingHTTPServer, path: str, host: str | None = None) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=300)
    connection.request("GET", path, headers={"Host": host} if host else {})
    return connection.getresponse()


def test_it_serves_the_page_and_its_revision_and_nothing_else(
    server: ThreadingHTTPServer, drawn: list[str]
) -> None:
    assert server.server_address[0] == "127.0.0.1"
    answer = ask(server, "/")
    assert answer.read().decode() == f"a page of {drawn[0]}"
    assert "connect-src 'self'" in (answer.headers["Content-Security-Policy"])
    assert ask(server, "/version").read().decode() == drawn[0]
    assert ask(server, "/run.sqlite").status == 404
    assert ask(server, "/../run.sqlite").status == 404


def test_a_page_of_another_name_does_not_read_it(server: ThreadingHTTPServer) -> None:
    """A request for a different host name is refused, because an attacker can let that name resolve to this
    machine (DNS rebinding)."""
    answer = ask(server, "/", host=f"elsewhere.example:{server.server_port}")
    assert (answer.status, b"a page" in answer.read()) == (403, False)


@given(data=st.binary(max_size=300), before=st.sampled_from([b"", b"GET / HTTP/1.1\r\n", b"GET /"]))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_hostile_bytes_end_in_nothing(server: ThreadingHTTPServer, data: bytes, before: bytes) -> None:
    caller = socket.create_connection(("127.0.0.1", server.server_port), 300)
    # The server may have closed the connection before the last byte.
    with caller, contextlib.suppress(ConnectionError):
        caller.sendall(before + data)
        caller.shutdown(socket.SHUT_WR)
        while caller.recv(65_536):
            pass
    assert ask(server, "/version").status == 200


def test_no_run_and_a_port_that_is_taken_are_told(tmp_path: Path, drawn: list[str]) -> None:
    with pytest.raises(BadInput, match="opening the run"):
        live.serve(tmp_path / "none", 0, print)
    run = make_run(tmp_path / "run", 1, trials=0)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(CannotRun, match=f"port {port} of 127.0.0.1: Address already in use"):
            live.serve(run.directory, port, print)
    assert drawn == []


def test_ctrl_c_ends_the_command_without_a_word_too_many(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", 1, trials=0)
    command = forked.Command(("watch", str(run.directory)), environment(tmp_path))
    with forked.Process(command) as process:
        line = process.stderr.readline()
        assert re.fullmatch(rf"watching {run.directory} at http://127.0.0.1:\d+/ until Ctrl-C\n", line)
        process.send_signal(signal.SIGINT)
        assert (process.stderr.read().strip(), process.wait(300)) == ("", 0)
    assert sorted(path.name for path in run.directory.iterdir()) == ["run.sqlite"]
