"""Runs that the documentation names are made once, and never left half made."""

import os
import subprocess
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
        'case "$*" in *--fail*) exit 4;; esac\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return log


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
