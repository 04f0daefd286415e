"""Runs that the documentation names are made once, and never left half made."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools import repeats

COMMAND = "nettrial run examples/mtu --backend sim --set mtu=1500 --seed 1"


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Puts a `nettrial` on the path that makes a directory, and fails with `--fail`. Returns the file of its
    commands."""
    log = tmp_path / "log"
    log.touch()
    program = tmp_path / "nettrial"
    program.write_text(
        f'#!/bin/sh\necho "$@" >> {log}\nfor out; do :; done\nmkdir "$out" || exit 2\n'
        'case "$*" in *--fail*) exit 4;; *virtual*) exit 3;; esac\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return log


@pytest.fixture(autouse=True)
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Makes a file the engine, and returns it."""
    program = tmp_path / "engine"
    program.write_text("first")
    program.chmod(0o755)
    monkeypatch.setenv("NETTRIAL_ENGINE", str(program))
    monkeypatch.setenv("NETTRIAL_KERNEL", "")
    repeats._programs.cache_clear()
    yield program
    repeats._programs.cache_clear()


def test_a_run_with_the_same_options_in_another_order_is_made_once(made: Path, tmp_path: Path) -> None:
    kept = repeats.repeat(COMMAND, tmp_path)
    other = "nettrial run examples/mtu --seed 1 \\\n  --set 'mtu=1500' --backend sim"
    assert repeats.repeat(other, tmp_path) == kept
    assert kept.is_dir()
    assert len(made.read_text().splitlines()) == 1
    assert repeats.repeat(COMMAND.replace("1500", "9000"), tmp_path) != kept
    assert len(made.read_text().splitlines()) == 2


def test_a_run_that_fails_is_not_kept(made: Path, tmp_path: Path) -> None:
    for _ in range(2):
        with pytest.raises(subprocess.CalledProcessError, match="status 4"):
            repeats.repeat(f"{COMMAND} --fail", tmp_path)
    assert len(made.read_text().splitlines()) == 2


def test_a_run_of_another_engine_is_made_again_in_place_of_the_old_one(
    made: Path, tmp_path: Path, engine: Path
) -> None:
    (tmp_path / "runs").mkdir()
    old = repeats.repeat(COMMAND, tmp_path / "runs")
    engine.write_text("second")
    repeats._programs.cache_clear()
    new = repeats.repeat(COMMAND, tmp_path / "runs")
    assert new != old
    assert list((tmp_path / "runs").iterdir()) == [new]
    assert len(made.read_text().splitlines()) == 2


def test_a_run_that_this_machine_cant_make_or_that_takes_long_is_left(made: Path, tmp_path: Path) -> None:
    with pytest.raises(repeats.Left, match="this machine can't"):
        repeats.repeat(COMMAND.replace("sim", "virtual"), tmp_path)
    long = "nettrial run wlan-stacks --full --seed 16"
    with pytest.raises(repeats.Left, match="--long"):
        repeats.repeat(long, tmp_path, long=False)
    assert repeats.repeat(long, tmp_path).is_dir()
    assert repeats.repeat(long, tmp_path, long=False).is_dir()


OLD = """\
Of two.

| place | figure | here |
| --- | --- | --- |
| Table 1 | rtt, 1500 B | 1.25 ms |
| Table 2 | rtt, 9000 B | 2.50 ms |
"""


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("2.50", "2.50", []),
        ("2.50", "2.75", ["Table 2 | rtt, 9000 B | here: 2.50 ms -> 2.75 ms"]),
        ("Of two.", "Of three.", ["- Of two.", "+ Of three."]),
        ("| Table 1 | rtt, 1500 B | 1.25 ms |\n", "", ["- | Table 1 | rtt, 1500 B | 1.25 ms |"]),
        ("here", "now", ["place | figure | here: here -> now"]),
    ],
)
def test_a_difference_names_the_row_and_the_column(old: str, new: str, said: list[str]) -> None:
    assert list(repeats.differences(OLD, OLD.replace(old, new))) == said


def test_the_outcome_says_what_differs(capsys: pytest.CaptureFixture[str]) -> None:
    outcome = repeats.Outcome()
    outcome.compare("one", [])
    outcome.compare("two", ["a: 1 -> 2"])
    outcome.leave("three", "it takes long")
    outcome.end()
    assert capsys.readouterr().out.splitlines() == [
        "one: the same",
        "two: differs",
        "  a: 1 -> 2",
        "three: left as it is: it takes long",
        "1 the same, 1 differ (two), 1 left as they are",
    ]
