"""A run's directory, which appears completely or not at all, and is locked by one runner at a time.

Both rely on a lock, which the kernel releases when the owning process ends in any way, so that a killed
runner leaves no lock, and the next one removes the directory that it was filling."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from nettrial.errors import READING_OPTIONS, BadInput
from nettrial.systems import hold
from nettrial.temporary import temporary_directory

CREATING = "creating the run"
"""The current action, for error messages."""


@contextmanager
def lock(directory: Path) -> Iterator[None]:
    """Locks a run's directory; raises BadInput while another process holds the lock."""
    held = hold(directory)
    if held is None:
        hint = "wait for it, or stop it"
        raise BadInput(
            "running the trials", str(directory), "another nettrial process is running it", "", hint
        )
    try:
        yield
    finally:
        os.close(held)


@contextmanager
def appearing(
    directory: Path, doing: str = CREATING, option: str = "--out", hint: str | None = None
) -> Iterator[Path]:
    """Yields a directory to fill, which is renamed to `directory` when the block ends without an error.
    `doing`, `option` and `hint` are for the error if that is impossible."""
    refuse_existing(directory, doing, option, hint)
    with ExitStack() as stack:
        try:
            directory.parent.mkdir(parents=True, exist_ok=True)
            made = stack.enter_context(temporary_directory(directory.parent))
        except OSError as error:
            why = error.strerror or str(error)
            raise BadInput(doing, str(directory), why, "a place to write to") from None
        yield made
        made.rename(directory)


def refuse_existing(
    directory: Path, doing: str = CREATING, option: str = "--out", hint: str | None = None
) -> None:
    """Raises BadInput if the path exists."""
    if os.path.lexists(directory):
        if hint is None:
            hint = f"use `nettrial run --resume {directory}` to resume a run, or choose another directory"
        raise BadInput(doing, option, f"{directory} exists", "a directory that does not exist", hint)


def require_directory(option: str, file: Path | None) -> None:
    """Raises BadInput if the directory of a file to write does not exist, which a command that works for long
    would notice only at its end. None stands for no file."""
    if file is not None and not file.parent.is_dir():
        raise BadInput(READING_OPTIONS, option, str(file), "a file in a directory that exists")
