"""A run's directory, which appears completely or not at all, and is locked by one runner at a time.

Both rely on a lock of the directory, which the kernel releases when the owning process ends in any way, so
that a killed runner leaves no lock. New directories are prepared in a temporary directory next to a marker
file, and the temporary directory is locked before the marker is created: a temporary directory with a marker
but without a lock was abandoned. Nothing else is ever removed, whatever its name."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nettrial.errors import BadInput
from nettrial.systems import hold

TEMPORARY = ".nettrial-"
"""The beginning of the names of unfinished directories."""
MARKER = "nettrial-unfinished"
"""The file that distinguishes a temporary directory of nettrial from other directories."""
MADE = "made"
"""The directory within a temporary one that is finally renamed to the requested name."""
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
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        _remove_abandoned(directory.parent)
        temporary = directory.parent / f"{TEMPORARY}{secrets.token_hex(8)}"
        temporary.mkdir()
    except OSError as error:
        raise BadInput(doing, str(directory), error.strerror or str(error), "a place to write to") from None
    held = None
    try:
        held = hold(temporary)
        (temporary / MARKER).touch()  # from now on, whoever gets the lock may remove it
        (temporary / MADE).mkdir()
        yield temporary / MADE
        (temporary / MADE).rename(directory)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        if held is not None:
            os.close(held)


def refuse_existing(
    directory: Path, doing: str = CREATING, option: str = "--out", hint: str | None = None
) -> None:
    """Raises BadInput if the path exists."""
    if os.path.lexists(directory):
        if hint is None:
            hint = f"use `nettrial resume {directory}` to resume a run, or choose another directory"
        raise BadInput(doing, option, f"{directory} exists", "a directory that does not exist", hint)


def _remove_abandoned(parent: Path) -> None:
    """Removes temporary directories of runners that have ended."""
    for left in parent.glob(f"{TEMPORARY}*"):
        with contextlib.suppress(OSError):  # another runner may rename or remove it first
            if not _is_unfinished(left):
                continue
            held = hold(left)
            if held is None:
                continue
            try:
                if _is_unfinished(left):
                    shutil.rmtree(left, ignore_errors=True)
            finally:
                os.close(held)


def _is_unfinished(directory: Path) -> bool:
    """Returns whether a directory is a temporary directory of nettrial."""
    marker = directory / MARKER
    return not directory.is_symlink() and not marker.is_symlink() and marker.is_file()
