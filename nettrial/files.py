"""Files named by users, of which only regular ones are read, up to a limit; and files in directories that
somebody else may have made, such as the directory of a run.

In such a directory, any file may be a symbolic link, a FIFO, or another name of a file elsewhere. A file in
it is therefore opened without following links, and written only if it is a regular file with one name, which
belongs to the user, in a directory that belongs to the user, so that nobody else can replace it meanwhile."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from nettrial.errors import BadInput
from nettrial.systems import OPENED_SAFELY, is_of_user, is_writable_by_all

if TYPE_CHECKING:
    import sqlite3

RUN_FILE = "run.sqlite"
"""The file name of a run's database."""
BESIDE_DATABASE = ("-journal", "-wal", "-shm")
"""The ends of the names of files that SQLite keeps beside a database (https://www.sqlite.org/tempfiles.html)."""
_SUPER_JOURNAL = bytes.fromhex("d9d505f920a163d7")
"""The last bytes of a journal that names a super-journal (pager.c of SQLite, readSuperJournal)."""
_FOREIGN = "it belongs to another user"
_WAL_AT, _WAL = 18, 2
"""The place of the write version in a database's header, and its value in WAL mode
(https://www.sqlite.org/fileformat.html)."""


class Unreadable(Exception):
    """The error for an unreadable file; the text is the reason."""


class Unsuitable(ValueError):
    """The error for a file whose content can't be used, with the fault and the expectation."""

    def __init__(self, fault: str, expected: str) -> None:
        """Creates the error; `fault` is the fault, and `expected` the expectation."""
        super().__init__(fault)
        self.expected = expected


class Unsafe(Exception):
    """The error for a file or directory that somebody else may have placed where nettrial reads or writes;
    the text is the reason."""

    def as_bad_input(self, doing: str, path: Path) -> BadInput:
        """Returns the error for the user; `doing` describes the current action."""
        hint = "a directory of somebody else may lead nettrial to your files: look at it before you use it"
        if str(self) == _FOREIGN:
            hint = "copy the directory with `cp -r`, and use the copy"
        return BadInput(doing, str(path), str(self), "regular files and directories of your own", hint)


def read_bytes(path: Path, most: int) -> bytes:
    """Returns the content of a regular file of up to `most` bytes; raises Unreadable. It never blocks on
    other kinds of files, such as FIFOs and devices."""
    try:
        # Without O_NONBLOCK, opening a FIFO blocks until a writer opens it.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        with open(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise Unreadable("it is not a regular file")
            content = file.read(most + 1)
    except IsADirectoryError:
        raise Unreadable("it is not a regular file") from None
    except (OSError, ValueError) as error:  # ValueError: the name contains a zero byte
        raise Unreadable((error.strerror if isinstance(error, OSError) else None) or str(error)) from None
    if len(content) > most:
        raise Unreadable(f"it has more than {most} bytes")
    return content


def read_text(path: Path, most: int) -> str:
    """Returns the text of a regular UTF-8 file of up to `most` bytes; raises Unreadable."""
    try:
        return read_bytes(path, most).decode()
    except UnicodeDecodeError:
        raise Unreadable("it is not UTF-8 text") from None


def read_secret(path: Path, most: int) -> str:
    """Returns the text of a file with a token or a key, as `read_text`; raises Unreadable also if every user
    can write it."""
    text = read_text(path, most)
    if is_writable_by_all(path.stat()):
        raise Unreadable("every user of this machine can write it: `chmod o-w` changes that")
    return text


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


def refuse_foreign(path: Path) -> None:
    """Raises Unsafe if an existing file or directory does not belong to the user, or if it is a file that has
    other names, which may be elsewhere."""
    status = path.lstat()
    if not is_of_user(status):
        raise Unsafe(_FOREIGN)
    if stat.S_ISREG(status.st_mode) and status.st_nlink > 1:
        raise Unsafe("it has another name, which may be elsewhere (a hard link)")


def refuse_link(path: Path, is_directory: bool = False) -> None:
    """Raises Unsafe if a path is neither absent nor a regular file or, with `is_directory`, a directory;
    symbolic links are neither."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if stat.S_ISLNK(mode):
        raise Unsafe("it is a symbolic link")
    if not (stat.S_ISDIR(mode) if is_directory else stat.S_ISREG(mode)):
        raise Unsafe("it is not a directory" if is_directory else "it is not a regular file")


def appended(path: Path) -> TextIO:
    """Opens a file for appending text, after creating it if it is absent. Raises Unsafe if it is not a
    regular file of the user with this name alone, in a directory of the user, and OSError."""
    refuse_foreign(path.parent.resolve())
    refuse_link(path)
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | OPENED_SAFELY, 0o666)
    file = os.fdopen(descriptor, "a", encoding="utf-8")
    try:
        refuse_foreign(path)
    except Unsafe:
        file.close()
        raise
    return file


def created(path: Path) -> int:
    """Returns a descriptor for writing a new file, which replaces one that an earlier process left under this
    name. A link of this name is removed and not followed."""
    path.unlink(missing_ok=True)
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)


def database(file: Path, is_written: bool = False) -> str:
    """Returns the URI with which SQLite opens an existing database. Where the database, a file that SQLite
    keeps beside it, or their directory does not belong to the user, it is opened for reading only, because
    SQLite would otherwise complete a change that was interrupted; with `is_written`, Unsafe is raised.

    Raises Unsafe if one of these files is not a regular file, or if the journal names a file elsewhere, which
    SQLite would delete. Raises OSError if there is no such directory."""
    companions = [file.with_name(file.name + end) for end in BESIDE_DATABASE]
    for path in (file, *companions):
        refuse_link(path)
    if _end(companions[0], len(_SUPER_JOURNAL)) == _SUPER_JOURNAL:
        raise Unsafe(f"{companions[0].name} names a file elsewhere, which SQLite would delete")
    directory = file.parent.resolve()
    try:
        for path in (directory, file, *companions):
            if path.exists():
                refuse_foreign(path)
        is_own = os.access(directory, os.W_OK)
    except Unsafe:
        if is_written:
            raise
        is_own = False
    name = file.absolute().as_uri()
    if is_own:
        return f"{name}?mode=rw"
    # A database in WAL mode that nobody has open can be read without a file for locks beside it.
    is_idle = not companions[1].exists() and _begin(file, _WAL_AT + 1)[_WAL_AT:] == bytes([_WAL])
    return f"{name}?mode=ro{'&immutable=1' if is_idle else ''}"


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Commits the changes of the block to a database as a whole, or none of them."""
    try:
        # Ctrl-C may come as soon as the transaction has begun.
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _begin(path: Path, count: int) -> bytes:
    """Returns the first bytes of a file."""
    with open(os.open(path, os.O_RDONLY | OPENED_SAFELY), "rb") as file:
        return file.read(count)


def _end(path: Path, count: int) -> bytes:
    """Returns the last bytes of a file; none if it is absent or shorter."""
    try:
        with open(os.open(path, os.O_RDONLY | OPENED_SAFELY), "rb") as file:
            file.seek(-count, os.SEEK_END)
            return file.read(count)
    except OSError:
        return b""
