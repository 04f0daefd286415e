"""Temporary directories and files, which the next process removes if their own was killed.

Each is locked by the process that makes it, and the kernel releases the lock when that process ends in any
way. What is not locked was therefore abandoned. Only what has a name of nettrial's, belongs to the user and
looks as nettrial makes it is removed:

- a directory `.nettrial-HEX` with nothing but a marker and the directory that was being filled; or an empty
  one, whose process was killed before it made the marker or after it removed it,
- a regular file `.NAME.nettrial-HEX` beside the file NAME that it would have replaced."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from nettrial.systems import hold, hold_file, is_of_user, remove_unheld, rename_held

MARKER = "nettrial-unfinished"
"""The file that distinguishes a temporary directory of nettrial from other directories."""
MADE = "made"
"""The directory within a temporary one that is filled."""
_DIRECTORY = re.compile(r"\.nettrial-[0-9a-f]{16}")
_FILE = r"\.{}\.nettrial-[0-9a-f]{{16}}"


@contextmanager
def temporary_directory(parent: Path | None = None) -> Iterator[Path]:
    """Yields a new directory, which nobody else can enter. It is below another one in `parent`, by default
    the system's directory of temporary files, and is removed at the end unless it was renamed; raises
    OSError. First removes those in `parent` whose process was killed."""
    parent = Path(tempfile.gettempdir()) if parent is None else parent
    _remove_abandoned_directories(parent)
    directory, held = _locked_directory(parent)
    try:
        (directory / MADE).mkdir()
        yield directory / MADE
    finally:
        _remove(directory, held)
        os.close(held)


def replace_file(target: Path, content: bytes) -> None:
    """Writes a file completely or not at all, readable by everybody, and replaces what had its name; raises
    OSError. A symbolic link of this name is replaced and not followed. First removes the files that killed
    processes were writing under this name."""
    _remove_abandoned_files(target)
    file, temporary = _locked_file(target)
    try:
        with file:
            file.write(content)
            # By its name, another user who owns the directory could lead this to any file.
            os.fchmod(file.fileno(), 0o644) if hasattr(os, "fchmod") else temporary.chmod(0o644)
            rename_held(file, temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _locked_directory(parent: Path) -> tuple[Path, int]:
    """Returns a new directory with a marker, and the descriptor that locks it."""
    while True:
        directory = parent / f".nettrial-{secrets.token_hex(8)}"
        directory.mkdir(0o700)
        # Before the lock, another process takes the directory for an abandoned one.
        with contextlib.suppress(FileNotFoundError):
            held = hold(directory)
            if held is None:
                continue
            try:
                (directory / MARKER).touch()
            except BaseException:
                os.close(held)
                with contextlib.suppress(OSError):
                    directory.rmdir()
                raise
            return directory, held


def _remove(directory: Path, held: int) -> None:
    """Removes a locked directory, with its marker last, so that an interrupted removal can be completed."""
    # With the descriptor, whoever may rename the directory can't lead this to another one.
    beside = shutil.rmtree.avoids_symlink_attacks
    shutil.rmtree(MADE if beside else directory / MADE, ignore_errors=True, dir_fd=held if beside else None)
    if os.path.lexists(directory / MADE):
        return
    with contextlib.suppress(OSError):
        os.unlink(MARKER if beside else directory / MARKER, dir_fd=held if beside else None)
    with contextlib.suppress(OSError):
        directory.rmdir()


def _remove_abandoned_directories(parent: Path) -> None:
    for directory in [path for path in parent.iterdir() if _DIRECTORY.fullmatch(path.name)]:
        with contextlib.suppress(OSError):  # another process may rename or remove it first
            status = directory.lstat()
            held = hold(directory) if stat.S_ISDIR(status.st_mode) and is_of_user(status) else None
            if held is None:
                continue
            try:
                if _is_abandoned(directory):
                    _remove(directory, held)
            finally:
                os.close(held)


def _is_abandoned(directory: Path) -> bool:
    """Returns whether a directory that no process locks is a temporary one of nettrial."""
    names = {path.name for path in directory.iterdir()}
    marker = directory / MARKER
    return not names or (names <= {MARKER, MADE} and marker.is_file() and not marker.is_symlink())


def _locked_file(target: Path) -> tuple[BinaryIO, Path]:
    """Returns a new file beside another one, which this process holds, and its path."""
    while True:
        temporary = target.with_name(f".{target.name}.nettrial-{secrets.token_hex(8)}")
        file = open(temporary, "xb", opener=lambda path, flags: os.open(path, flags, 0o600))  # noqa: SIM115
        # Until it is held, another process takes the file for an abandoned one.
        if hold_file(file.fileno()):
            return file, temporary
        file.close()


def _remove_abandoned_files(target: Path) -> None:
    name = re.compile(_FILE.format(re.escape(target.name)))
    for file in [path for path in target.parent.iterdir() if name.fullmatch(path.name)]:
        with contextlib.suppress(OSError):  # another process may rename or remove it first
            status = file.lstat()
            if stat.S_ISREG(status.st_mode) and is_of_user(status):
                remove_unheld(file)
