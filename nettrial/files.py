"""Reading files named by users: only regular files, up to a limit."""

from __future__ import annotations

import os
import stat
from pathlib import Path


class Unreadable(Exception):
    """The error for an unreadable file; the text is the reason."""


def read_bytes(path: Path, most: int) -> bytes:
    """Returns the content of a regular file of up to `most` bytes; raises Unreadable. It never blocks on
    other kinds of files, such as FIFOs and devices."""
    try:
        # Without O_NONBLOCK, opening a FIFO blocks until a writer opens it.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        with open(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise Unreadable("it is not a regular file")
            data = file.read(most + 1)
    except IsADirectoryError:
        raise Unreadable("it is not a regular file") from None
    except (OSError, ValueError) as error:  # ValueError: the name contains a zero byte
        raise Unreadable((error.strerror if isinstance(error, OSError) else None) or str(error)) from None
    if len(data) > most:
        raise Unreadable(f"it has more than {most} bytes")
    return data


def read_text(path: Path, most: int) -> str:
    """Returns the text of a regular UTF-8 file of up to `most` bytes; raises Unreadable."""
    try:
        return read_bytes(path, most).decode()
    except UnicodeDecodeError:
        raise Unreadable("it is not UTF-8 text") from None


def beside(folder: Path, name: str) -> Path:
    """Returns the path of a file in a directory or below it; raises Unreadable if the name, or a symbolic
    link, leads elsewhere."""
    try:
        path = (folder / name).resolve()
        within = path.is_relative_to(folder.resolve())
    except (OSError, ValueError, RuntimeError) as error:  # a zero byte, or a loop of links
        raise Unreadable(str(error)) from None
    if not within:
        raise Unreadable("it is outside the directory of the study file")
    return path
