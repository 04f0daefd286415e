"""Runs pytest with workers that fail, warn and die."""

import re
import subprocess
import sys
from pathlib import Path

from tests.unit.conftest import ROOT

CONFTEST = """
from tests.conftest import pytest_addoption
from tests.workers import Workers

def pytest_configure(config):
    config.pluginmanager.register(Workers(config.getoption("--workers"), lambda test: test.split("-")[0]))
"""
TESTS = """
import os, signal, time, warnings
from pathlib import Path
import pytest

@pytest.fixture(scope="session")
def shared():
    yield os.getpid()
    Path(f"ended-{os.getpid()}").touch()

@pytest.mark.parametrize("name", ["a-1", "b-1", "b-2", "b-3", "c-1", "d-1"])
def test(name, shared, tmp_path):
    print("written by", name)
    if name == "b-2":
        warnings.warn("this is a warning")
    assert name != "b-3"
    with open("ran", "a") as file:
        file.write(f"{shared} {name}\\n")

@pytest.mark.skipif("not DIES")
def test_that_dies(tmp_path):
    os.kill(os.getpid(), signal.SIGKILL)
"""


def outcome(directory: Path, *options: str, dies: bool = False) -> tuple[int, str]:
    """Returns the exit status and the output of pytest with two workers."""
    (directory / "conftest.py").write_text(CONFTEST)
    (directory / "test_it.py").write_text(f"DIES = {dies}\n{TESTS}")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--workers", "2", *options]
    done = subprocess.run(
        [*command, "--rootdir", directory, directory],
        cwd=directory,
        env={"PATH": "", "PYTHONPATH": str(ROOT)},
        timeout=300,
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout + done.stderr


def test_each_test_runs_once_a_group_in_one_worker_and_what_it_says_is_reported(tmp_path: Path):
    status, text = outcome(tmp_path)
    assert (status, "1 failed, 5 passed, 1 skipped, 1 warning" in text) == (1, True), text
    assert "FAILED test_it.py::test[b-3]" in text
    assert "written by b-3" in text
    assert "written by a-1" not in text
    assert "this is a warning" in text
    ran = [line.split() for line in (tmp_path / "ran").read_text().splitlines()]
    assert sorted(name for _, name in ran) == ["a-1", "b-1", "b-2", "c-1", "d-1"]
    assert len({process for process, name in ran if name.startswith("b")}) == 1
    ended = {path.name.partition("-")[2] for path in tmp_path.glob("ended-*")}
    assert ended >= {process for process, _ in ran}, "fixtures of a session end"


def test_the_test_of_a_worker_that_dies_has_failed(tmp_path: Path):
    status, text = outcome(tmp_path, "-x", "-k", "dies", dies=True)
    assert (status, "stopping after 1 failures" in text) == (1, True), text
    assert re.search(r"FAILED test_it.py::test_that_dies.*exit status -9", text), text
