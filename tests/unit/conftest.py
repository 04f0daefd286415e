"""Fixtures for tests of the package: golden files, and a command line whose engine is a fake."""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
import typer.main

from nettrial import cli
from nettrial.backends.imports import ImportReader
from nettrial.imports import reading
from nettrial.study import Study, catalogue
from tests import forked

ROOT = Path(__file__).parents[2]
FAKE_ENGINE = ROOT / "tests" / "fake_engine.py"
GOLDEN = ROOT / "tests" / "golden"
LONGEST = (
    *("test_installed.py", "test_cluster.py", "test_packaging.py", "test_runner.py", "test_cli.py"),
    *("test_report_edges.py", "test_analysis_known.py", "test_systems.py", "test_compare.py"),
    *("test_report_html.py", "test_monitor.py", "test_hostile_input.py", "test_store.py"),
    *(
        "test_run_order.py",
        "test_sessions.py",
        "test_analysis_answers.py",
        "test_python.py",
        "test_analysis_edges.py",
    ),
    *("test_fabrics.py", "test_simulated.py", "test_until.py", "test_outputs.py", "test_costs.py"),
    *("test_monitor_alerts.py", "test_stamp.py", "test_ndt7.py", "test_imports.py", "test_machine_sets.py"),
)
"""The files whose tests take longest. They run first, because a worker runs whole files, and a long file at
the end would delay the result."""
ELAPSED = re.compile(r"(\d+ min )?\d+ s elapsed, ")
"""The part of a run's progress that depends on the machine's speed."""
PROGRESS = re.compile(r"^\d+/\d+ trials, .*\n", re.MULTILINE)
"""A line of a run's progress. Those between the first and the last appear only as ten seconds pass."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sorts the longest files to the front. Workers run files in this order (`--no-loadscope-reorder`)."""
    rank = {name: number for number, name in enumerate(LONGEST)}
    items.sort(key=lambda item: rank.get(item.path.name, len(rank)))


@pytest.fixture(scope="session", autouse=True)
def made_once() -> Iterator[None]:
    """Keeps the shipped studies, and the parser of the command line: making them again and again took a
    fourth of the unit tests' time."""
    read, folders = catalogue.read, (catalogue.FOLDER.resolve(), catalogue.EXAMPLES.resolve())
    kept = cache(read)

    def read_once(path: Path) -> Study:
        return kept(path) if path.parent.parent in folders else read(path)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(catalogue, "read", read_once)
        patch.setattr(typer.main, "get_command", cache(typer.main.get_command))
        yield


class KeptReader(ImportReader):
    """A reader of measurements whose engine reads the next file, too."""

    def __exit__(self, *_: object) -> None:
        pass


@pytest.fixture(scope="session", autouse=True)
def one_engine_for_imports() -> Iterator[None]:
    """Keeps the engine that reads measurements: starting one for each of 400 files took half a minute."""
    with pytest.MonkeyPatch.context() as patch:
        make = cache(KeptReader)
        patch.setattr(reading, "ImportReader", make)
        yield
        if make.cache_info().currsize:
            make().close()


def without_periodic_lines(text: str) -> str:
    """Returns a command's output with the first and the last line of its progress alone."""
    for line in reversed(list(PROGRESS.finditer(text))[1:-1]):
        text = text[: line.start()] + text[line.end() :]
    return text


@pytest.fixture
def golden() -> Callable[[str, str], None]:
    """Returns a function that compares a text with a file in tests/golden; with NETTRIAL_UPDATE_GOLDEN=1, it
    writes the file first."""

    def compare(name: str, text: str) -> None:
        file = GOLDEN / f"{name}.txt"
        text = ELAPSED.sub("", without_periodic_lines(text))
        if os.environ.get("NETTRIAL_UPDATE_GOLDEN"):
            file.write_text(text)
        assert text == file.read_text(), "if this is meant: NETTRIAL_UPDATE_GOLDEN=1 pytest"

    return compare


def environment(directory: Path) -> dict[str, str]:
    """Returns the environment of every command: the fake engine, a fixed width, no colour."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(directory),
        "PYTHONPATH": str(ROOT),
        "NETTRIAL_ENGINE": str(FAKE_ENGINE),
        "COLUMNS": "80",
        "NO_COLOR": "1",
    }


class CommandLine:
    """Runs nettrial in this process, in its own directory. It does not draw the charts of reports, which
    would take most of the time; tests/unit/test_report_html.py tests them."""

    def __init__(
        self, directory: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        self.directory = directory
        self._monkeypatch = monkeypatch
        self._capsys = capsys

    def __call__(self, *arguments: str, **fake: str) -> subprocess.CompletedProcess[str]:
        """Runs a command; `fake` are variables for the fake engine."""
        with self._monkeypatch.context() as patch:
            patch.chdir(self.directory)
            patch.setattr(sys, "argv", ["nettrial", *arguments])
            patch.setattr("nettrial.report.vega.on_page", lambda chart: "<svg></svg>")
            for name, value in {**environment(self.directory), **fake}.items():
                patch.setenv(name, value)
            with pytest.raises(SystemExit) as ended:
                cli.main()
        output, errors = self._capsys.readouterr()
        return subprocess.CompletedProcess(arguments, int(ended.value.code or 0), output, errors)


class Process:
    """Runs nettrial in separate processes, with a report of one line, because drawing charts takes
    seconds."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def start(self, *arguments: str, **fake: str) -> forked.Process:
        """Starts a command; `fake` are variables for the fake engine."""
        given = {**environment(self.directory), **fake}
        return forked.Process(forked.Command(arguments, given, self.directory, report=False))

    def __call__(self, *arguments: str, **fake: str) -> subprocess.CompletedProcess[str]:
        """Runs a command until it ends."""
        with self.start(*arguments, **fake) as process:
            output, errors = process.communicate(timeout=300)
        assert "Traceback" not in errors, errors
        return subprocess.CompletedProcess(arguments, process.wait(), output, errors)


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leaves the charts of pages undrawn."""
    from tests.unit import drawing

    monkeypatch.setattr("nettrial.report.vega.on_page", drawing.specified)


@pytest.fixture
def one_of_each_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draws one chart of each kind on pages."""
    from tests.unit import drawing

    monkeypatch.setattr("nettrial.report.vega.on_page", drawing.one_of_each_kind())


@pytest.fixture
def nettrial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> CommandLine:
    """Returns the command line, in an empty directory."""
    return CommandLine(tmp_path, monkeypatch, capsys)


@pytest.fixture
def nettrial_process(tmp_path: Path) -> Process:
    """Returns the command line with separate processes, in an empty directory."""
    return Process(tmp_path)
