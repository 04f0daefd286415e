"""Reading files that users name: regular files alone, and no more of them than is asked for."""

from __future__ import annotations

import os
import stat
from pathlib import Path


class Unreadable(Exception):
    """A file that can't be read; the text says why."""


def read_bytes(path: Path, most: int) -> bytes:
    """The bytes of a regular file of up to `most` bytes; raises Unreadable. Never waits for a file that is
    none, such as a FIFO or a device."""
    try:
        # Without O_NONBLOCK, opening a FIFO waits for someone to write to it.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        with open(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise Unreadable("it is no regular file")
            data = file.read(most + 1)
    except IsADirectoryError:
        raise Unreadable("it is no regular file") from None
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the name
        raise Unreadable((error.strerror if isinstance(error, OSError) else None) or str(error)) from None
    if len(data) > most:
        raise Unreadable(f"it has more than {most} bytes")
    return data


def read_text(path: Path, most: int) -> str:
    """The text of a regular file in UTF-8 of up to `most` bytes; raises Unreadable."""
    try:
        return read_bytes(path, most).decode()
    except UnicodeDecodeError:
        raise Unreadable("it is not UTF-8 text") from None


def beside(folder: Path, name: str) -> Path:
    """The file of that name in a folder or below it; raises Unreadable where the name, or a symbolic link,
    leads elsewhere."""
    try:
        path = (folder / name).resolve()
        within = path.is_relative_to(folder.resolve())
    except (OSError, ValueError, RuntimeError) as error:  # a zero byte, a loop of links
        raise Unreadable(str(error)) from None
    if not within:
        raise Unreadable("it is outside the folder of the study file")
    return path
