"""Runs that the documentation names, made again: each once, whichever pages and chapters name it."""

from __future__ import annotations

import argparse
import hashlib
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def words(command: str) -> list[str]:
    """Returns the arguments of a command that a page may have on several lines."""
    return shlex.split(re.sub(r"\\?\n", " ", command), comments=True)


def repeat(command: str, runs: Path) -> Path:
    """Returns the directory of a command's run, a directory in `runs`.

    A run that is there already, made by this command or by one with the same options in another order, is
    taken as it is. Raises CalledProcessError if the command fails; its run is not taken later."""
    nettrial, run, study, *options = words(command)
    given = sorted(re.split(r" (?=--)", shlex.join(options)))
    name = f"{study.replace('/', '-')}-{hashlib.sha256(' '.join(given).encode()).hexdigest()[:12]}"
    kept, unfinished = runs / name, runs / f"{name}.unfinished"
    if not kept.exists():
        shutil.rmtree(unfinished, ignore_errors=True)
        subprocess.run(
            [nettrial, run, study, *options, "--out", str(unfinished)], check=True, stdout=subprocess.DEVNULL
        )
        unfinished.rename(kept)
    return kept


def parser(description: str) -> argparse.ArgumentParser:
    """Returns a parser of the options of every program that repeats runs: the studies, and `--runs`."""
    options = argparse.ArgumentParser(description=description)
    options.add_argument("studies", nargs="*", metavar="STUDY")
    options.add_argument("--runs", type=Path, help="the directory of kept runs")
    return options


@contextmanager
def directory(kept: Path | None) -> Iterator[Path]:
    """Yields the directory of the runs: `kept`, or otherwise one that is removed at the end."""
    if kept is not None:
        yield kept
        return
    with tempfile.TemporaryDirectory() as made:
        yield Path(made)
