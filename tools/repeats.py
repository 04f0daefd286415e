"""Runs that the documentation names, made again: each once, whichever pages and chapters name it."""

from __future__ import annotations

import argparse
import difflib
import hashlib
import itertools
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from nettrial.backends.find import engine, stacks
from nettrial.backends.virtual import find_kernel

ROOT = Path(__file__).parents[1]
LONG = re.compile(r"wlan-stacks .*--full|workload\.up\.traffic\.duration=30|jellyfish-vs-fat-tree.* --full")
"""The commands whose runs take more than ten minutes of CPU time."""
DETERMINISTIC = ("sim", "virtual", "fluid")
"""The backends whose runs are the same each time."""
REAL_TIME = "its run takes real time"
"""The reason why the other backends' runs are not compared."""
CANNOT_RUN = 3
"""The exit status of a command that this machine can't run, such as one in virtual time without a kernel."""


class Left(Exception):
    """A run that is not made; the text says why."""


def words(command: str) -> list[str]:
    """Returns the arguments of a command that a page may have on several lines."""
    return shlex.split(re.sub(r"\\?\n", " ", command), comments=True)


def repeat(command: str, runs: Path, *, long: bool = True) -> Path:
    """Returns the directory of a command's run, a directory in `runs`.

    A run that is there already, made by this command or by one with the same options in another order, is
    taken as it is, if engine, kernel, package and study are those that made it; if not, it is removed. Raises
    Left if this machine can't run the command, or if it takes long and `long` is false, and
    CalledProcessError if the command fails; its run is not taken later."""
    nettrial, run, study, *options = words(command)
    given = sorted(re.split(r" (?=--)", shlex.join(options)))
    name = f"{study.replace('/', '-')}-{hashlib.sha256(' '.join(given).encode()).hexdigest()[:12]}"
    kept = runs / f"{name}-{maker(study)[:12]}"
    if not kept.exists():
        if LONG.search(shlex.join([study, *options])) and not long:
            raise Left("its run takes more than ten minutes of CPU time, and is made with --long")
        for stale in runs.glob(f"{name}-*"):
            shutil.rmtree(stale)
        unfinished = runs / f"{name}-unfinished"
        arguments = [nettrial, run, study, *options]
        made = subprocess.run(
            [str(ROOT / "tools" / "stage.sh"), shlex.join(arguments), *arguments, "--out", str(unfinished)],
            stdout=subprocess.DEVNULL,
        )
        if made.returncode == CANNOT_RUN:
            raise Left("this machine can't make its run, for the reason above")
        made.check_returncode()
        unfinished.rename(kept)
    return kept


def maker(study: str) -> str:
    """Returns a digest of what makes the runs of a study: the engine, the kernel in virtual time, the TCP/IP
    stacks that are programs, the package, and the study's own files."""
    folder = ROOT / "studies" / study
    own = (file for file in sorted(folder.rglob("*")) if file.is_file() and file.name != "README.md")
    return hashlib.sha256(b"".join([_programs(), *map(Path.read_bytes, own)])).hexdigest()


@cache
def _programs() -> bytes:
    kernel = find_kernel()
    files = [engine(), *([kernel] if kernel else []), *sorted(stacks().glob("nettrial-stack-*"))]
    files += sorted((ROOT / "nettrial").rglob("*.py"))
    return b"".join(hashlib.sha256(file.read_bytes()).digest() for file in files)


def parser(description: str) -> argparse.ArgumentParser:
    """Returns a parser of the options of every program that repeats runs: the studies, `--check`, `--long`
    and `--runs`."""
    options = argparse.ArgumentParser(description=description)
    options.add_argument("studies", nargs="*", metavar="STUDY")
    options.add_argument("--check", action="store_true", help="compare, and write nothing")
    options.add_argument(
        "--long", action="store_true", help="make runs of more than ten minutes of CPU time, too"
    )
    options.add_argument("--runs", type=Path, help="the directory of kept runs")
    return options


@contextmanager
def directory(kept: Path | None) -> Iterator[Path]:
    """Yields the directory of the runs: `kept`, or otherwise one that is removed at the end."""
    if kept is not None:
        kept.mkdir(parents=True, exist_ok=True)
        yield kept
        return
    with tempfile.TemporaryDirectory() as made:
        yield Path(made)


class Outcome:
    """The parts that were compared: those that are the same, those that differ, and those that were left."""

    def __init__(self) -> None:
        """Begins without parts."""
        self.same = 0
        """The number of parts that are as before."""
        self.differing: list[str] = []
        """The names of those that are not."""
        self.left = 0
        """The number of those that were not made."""

    def compare(self, name: str, lines: Sequence[str]) -> None:
        """Prints whether a part is the same as before, or in which `lines` it differs."""
        print(f"{name}: {'differs' if lines else 'the same'}", *lines, sep="\n  ", flush=True)
        if lines:
            self.differing.append(name)
        else:
            self.same += 1

    def leave(self, name: str, why: str) -> None:
        """Prints why a part is left as it is."""
        print(f"{name}: left as it is: {why}", flush=True)
        self.left += 1

    def end(self) -> None:
        """Prints the numbers of all parts."""
        names = f" ({', '.join(self.differing)})" if self.differing else ""
        print(f"{self.same} the same, {len(self.differing)} differ{names}, {self.left} left as they are")


def differences(old: str, new: str) -> Iterator[str]:
    """Yields what differs between two texts: in the rows of a table each cell, with the row's name and the
    column's heading, and otherwise each line."""
    before, after = old.splitlines(), new.splitlines()
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    for kind, start, end, new_start, new_end in matcher.get_opcodes():
        if kind == "equal":
            continue
        pairs = itertools.zip_longest(range(start, end), range(new_start, new_end))
        for at, new_at in pairs:
            row = None if at is None else _cells(before[at])
            new_row = None if new_at is None else _cells(after[new_at])
            if row and new_row and len(row) == len(new_row):
                assert at is not None
                heading = _heading(before, at) or row
                for column, (cell, new_cell) in enumerate(zip(row, new_row, strict=True)):
                    if cell != new_cell:
                        named = [each for each in row[: min(column, 2)] if each]
                        yield f"{' | '.join([*named, heading[column]])}: {cell} -> {new_cell}"
                continue
            if at is not None:
                yield f"- {before[at]}"
            if new_at is not None:
                yield f"+ {after[new_at]}"


def _cells(line: str) -> list[str]:
    """Returns the cells of a table's row; none of another line."""
    if not line.startswith("|"):
        return []
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def _heading(lines: list[str], at: int) -> list[str]:
    """Returns the headings of the table that a row is in; none if there is no row of dashes above it."""
    for rule in range(at, 0, -1):
        if re.match(r"\| *:?-", lines[rule]):
            return _cells(lines[rule - 1])
        if not lines[rule].startswith("|"):
            break
    return []
