"""The monitor against real servers: its measurements, the reasons for gaps, and the command, which is killed
and started again."""

import contextlib
import json
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from nettrial.monitor import mesh as meshes
from nettrial.monitor.archive import Archive
from nettrial.monitor.kinds import KINDS
from nettrial.monitor.outcome import MeasuredValues, Missed
from nettrial.monitor.task import Task
from tests.end_to_end.serving import TOKEN, Server, environment, serving, until
from tests.end_to_end.test_report_page import PATIENCE_MS, browser

__all__ = ["browser"]
pytestmark = [pytest.mark.end_to_end, pytest.mark.xdist_group("browser")]

MESH = """
mesh: loopback
hosts:
  here: {{}}
  served: {{address: 127.0.0.1, serves: nettrial, token_file: token, port: {port}}}
  other: {{address: 127.0.0.1, serves: nettrial, token_file: other, port: {port}}}
  closed: {{address: 127.0.0.1, serves: nettrial, token_file: token, port: 1}}
  silent: {{address: 127.0.0.1, serves: iperf3, port: 1}}
limits: {{share: 100%}}
measurements:
  goodput: {{kind: tcp, from: [here], to: [served, other, closed, silent], every: 10 min, duration: 200 ms}}
  delay: {{kind: rr, from: [served], to: [here], every: 10 min, duration: 200 ms}}
  path: {{kind: path, from: [here], to: [served], every: 10 min}}
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("serve")) as server:
        yield server


def outcome(task: Task) -> MeasuredValues | Missed:
    try:
        return KINDS[task.settings.kind].run(task)
    except Missed as missed:
        return missed


def test_measurements_have_figures_and_failures_their_reasons(server: Server, tmp_path: Path) -> None:
    (tmp_path / "token").write_text(TOKEN)
    (tmp_path / "other").write_text("another-token-than-the-servers")
    (tmp_path / "mesh.yaml").write_text(MESH.format(port=server.port))
    found = {task.key: outcome(task) for task in meshes.load(tmp_path / "mesh.yaml").tasks()}
    reasons = {key: each.reason for key, each in found.items() if isinstance(each, Missed)}
    assert reasons == {
        "goodput here other": "refused",
        "goodput here closed": "host gone",
        "goodput here silent": "host gone",
    }
    for key, headline in (("goodput here served", "goodput"), ("delay served here", "rtt")):
        measured = found[key]
        assert isinstance(measured, MeasuredValues)
        assert next(each.value for each in measured.figures if each.name == headline) > 0
        assert measured.bytes > 0
    path = found["path here served"]
    assert isinstance(path, MeasuredValues)
    assert path.states["route"] == "1:127.0.0.1"


COMMANDED = """
mesh: loopback
hosts:
  here: {{}}
  served: {{address: 127.0.0.1, serves: nettrial, token_file: token, port: {nettrial}}}
  mlab: {{address: 127.0.0.1, serves: ndt7, tls: none, port: {ndt7}}}
  reflector: {{address: 127.0.0.1, serves: stamp, token_file: key, port: {stamp}}}
limits: {{share: 100%}}
measurements:
  goodput: {{kind: tcp, from: [here], to: [served], every: 10 s, duration: 100 ms,
    thresholds: {{goodput: {{alarm: "< 0.001"}}}}}}
  download: {{kind: ndt7, from: [mlab], to: [here], every: 10 s, duration: 500 ms}}
  delay: {{kind: stamp, from: [here], to: [reflector], every: 10 s, duration: 100 ms,
    thresholds: {{rtt: {{alarm: "> -1"}}}}}}
"""
TASKS = {"goodput here served", "download mlab here", "delay here reflector"}


@contextlib.contextmanager
def monitoring(folder: Path, name: str) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """Runs the command with its page; yields the process and the address of the page."""
    log = folder / f"{name}.log"
    words = ["monitor", str(folder / "mesh.yaml"), "--port", "0"]
    with log.open("w") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "nettrial.cli", *words],
            env=environment(),
            stdout=errors,
            stderr=errors,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),  # as a shell in its background
        )
    try:
        found = until(lambda: re.search(r"page: (\S+)", log.read_text()), "the address of the page")
        yield process, found[1]
        assert "Traceback" not in log.read_text()
    finally:
        process.kill()
        process.wait()


def entries(folder: Path) -> list[tuple[str, int, int, str | None, str]]:
    """Returns the entries of the archive."""
    archive = Archive.open(folder / "loopback-archive")
    try:
        return archive.entries()
    finally:
        archive.close()


def await_measured(folder: Path, after: int) -> int:
    """Waits until each task has a measurement among the entries after a number; returns the number of all."""

    def measured() -> bool:
        return {key for key, _, _, reason, _ in entries(folder)[after:] if reason is None} >= TASKS

    until(measured, "measurements of all tasks")
    return len(entries(folder))


@pytest.mark.settles  # On a busy machine a measurement may fail.
def test_the_command_measures_is_killed_and_goes_on(tmp_path: Path, browser: Browser) -> None:
    (tmp_path / "token").write_text(TOKEN)
    (tmp_path / "key").write_text("00112233445566778899aabbccddeeff")
    folders = [tmp_path / name for name in ("nettrial", "ndt7", "stamp")]
    for folder in folders:
        folder.mkdir()
    with (
        serving(folders[0]) as one,
        serving(folders[1], "--ndt7", "--plain", token=None) as two,
        serving(folders[2], "--stamp", "--token-file", str(tmp_path / "key"), token=None) as three,
    ):
        ports = {"nettrial": one.port, "ndt7": two.port, "stamp": three.port}
        (tmp_path / "mesh.yaml").write_text(COMMANDED.format(**ports))
        with monitoring(tmp_path, "first") as (process, url):
            before = await_measured(tmp_path, 0)
            page = browser.new_page()
            page.set_default_timeout(PATIENCE_MS)
            page.goto(url)
            expect(page.locator("#measurement-goodput td.good a")).to_contain_text("Mbit/s")
            expect(page.locator("#measurement-delay td.alarm a")).to_contain_text("ms")
            expect(page.locator("#measurement-download td.measured a")).to_contain_text("Mbit/s")
            process.send_signal(signal.SIGKILL)
            assert process.wait() == -signal.SIGKILL
        with monitoring(tmp_path, "second") as (process, url):
            await_measured(tmp_path, before)
            page.goto(url)
            page.locator("#measurement-delay td.alarm a").click()
            expect(page.locator("h1")).to_have_text("delay: here to reflector")
            expect(page.locator("#values")).to_contain_text("Forward: one-way delay, mean")
            expect(page.locator("svg")).not_to_have_count(0)
            page.close()
            with urllib.request.urlopen(f"{url}metrics") as answer:
                assert 'nettrial_gap{mesh="loopback",measurement="delay"' in answer.read().decode()
            process.send_signal(signal.SIGINT)
            assert process.wait() == 0
    archive = Archive.open(tmp_path / "loopback-archive")
    assert archive._rows("PRAGMA integrity_check") == [("ok",)]
    assert [each.note for each in archive.sessions()] == ["killed, or running", "stopped by a signal"]
    for task in TASKS:
        own = [entry for entry in archive.entries() if entry[0] == task]
        assert all(then[1] == last[2] + 1 for last, then in pairwise(own)), "each interval has one entry"
        # On a busy machine, nothing may arrive within a short measurement.
        others = {reason for _, _, _, reason, detail in own if detail != "nothing arrived"}
        assert others <= {None, "not running", "collided"}, own
    numbers = [row[0] for row in archive._rows("SELECT entry FROM entry WHERE reason IS NULL")]
    documents = [json.loads(archive.record(number) or b"") for number in numbers]
    assert {"stamp", "ndt7"} <= {document.get("kind") for document in documents}
    archive.close()
