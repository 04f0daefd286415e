"""A run's directory: made whole or not at all, and held by one runner at a time.

Both rest on a lock of the directory: the kernel lets go of it with the process that has it, however that
ends, so a killed runner leaves no lock. What is being made is in a temporary directory, beside a marker, and
the temporary directory is locked before the marker is there: one that has a marker and no lock was abandoned.
Nothing else is ever removed, whatever its name."""

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
MARKER = "nettrial-unfinished"
"""The file that tells a temporary directory of nettrial from any other directory."""
MADE = "made"
"""The directory in a temporary one that takes the name that was asked for."""
CREATING = "creating the run"


@contextmanager
def lock(directory: Path) -> Iterator[None]:
    """Holds a run's directory; raises BadInput while another process does."""
    held = hold(directory)
    if held is None:
        hint = "wait for it, or stop it"
        raise BadInput("running the trials", str(directory), "another nettrial runs it", "", hint)
    try:
        yield
    finally:
        os.close(held)


@contextmanager
def appearing(
    directory: Path, doing: str = CREATING, option: str = "--out", hint: str | None = None
) -> Iterator[Path]:
    """A directory to fill, which takes its name `directory` when the block ends without an error. `doing`,
    `option` and `hint` are for the error where that can't be."""
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
        (temporary / MARKER).touch()  # now whoever gets the lock may remove it
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
    """Raises BadInput if there is anything of that name."""
    if os.path.lexists(directory):
        if hint is None:
            hint = f"`nettrial resume {directory}` goes on with a run; or choose another directory"
        raise BadInput(doing, option, f"{directory} exists", "a directory that does not exist", hint)


def _remove_abandoned(parent: Path) -> None:
    """Removes what runners that are gone were making."""
    for left in parent.glob(f"{TEMPORARY}*"):
        with contextlib.suppress(OSError):  # another runner may finish or remove it first
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
    """Returns whether it is a temporary directory of nettrial."""
    marker = directory / MARKER
    return not directory.is_symlink() and not marker.is_symlink() and marker.is_file()
