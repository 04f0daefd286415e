"""The cache of systems: a small document for each, by its name, and the files that the documents name by
their hashes."""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError, model_validator

from nettrial.errors import BadInput
from nettrial.fields import Strict, SystemName
from nettrial.files import Unreadable, Unsafe, appended, created, read_text, refuse_foreign, refuse_link
from nettrial.guests.archive import archive
from nettrial.guests.disk import Disk
from nettrial.guests.kernel import GuestKernel
from nettrial.guests.kernel_tree import UserMode
from nettrial.systems import guest_systems, hold, is_running

_MOST_ENTRY_BYTES = 64 << 10
_UNFINISHED = ".unfinished-"
_CALIBRATION = "calibration"
_INTENT = f"{_UNFINISHED}files"
"""The file with the names of the files that an addition has made so far, one a line."""
_LEFTOVER = re.compile(rf"({_CALIBRATION})?{re.escape(_UNFINISHED)}([0-9]+)")
"""The names of files that a process was writing when it was killed, with the number of the process."""
_HASH = re.compile("[0-9a-f]{64}")
LOCK_SECONDS = 60.0
"""The time in seconds that a process waits while another one changes the cache."""
_PIECE_BYTES = 1 << 20

Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
"""A SHA-256 hash in hexadecimal digits."""


_SYSTEM_FIELDS = ("release", "kernel", "modules", "image", "format", "program")
"""The fields of an entry that describe a system's files."""


class SystemEntry(Strict):
    """A system in the cache: a kernel with its modules, a disk image, or a kernel in virtual time."""

    name: SystemName
    """The name of the system in studies."""
    source: str
    """The package or file from which it comes."""
    release: str | None = None
    """The release of the kernel."""
    kernel: Sha256 | None = None
    """The SHA-256 of the kernel image."""
    modules: Sha256 | None = None
    """The SHA-256 of the cpio archive of its modules."""
    image: Sha256 | None = None
    """The SHA-256 of the disk image."""
    format: Literal["qcow2", "raw"] | None = None
    """The format of the disk image."""
    program: Sha256 | None = None
    """The SHA-256 of the program of a kernel in virtual time."""

    @model_validator(mode="after")
    def _is_one_of_three(self) -> SystemEntry:
        given = {name for name in _SYSTEM_FIELDS if getattr(self, name) is not None}
        if given not in ({"release", "kernel", "modules"}, {"image", "format"}, {"release", "program"}):
            raise ValueError("no kernel with its modules, no image of a disk, and no kernel in virtual time")
        return self

    @property
    def files(self) -> dict[str, str]:
        """Returns the SHA-256 of each of the system's files, by the file's role."""
        files = {name: getattr(self, name) for name in ("kernel", "modules", "image", "program")}
        return {what: hash for what, hash in files.items() if hash is not None}


class Catalogue:
    """The systems in a directory."""

    def __init__(self, directory: Path | None = None) -> None:
        """Opens the cache in `directory`, by default the user's."""
        self.directory = directory or guest_systems()

    def add(self, name: str, kernel: GuestKernel, source: str) -> SystemEntry:
        """Stores a kernel under a name; raises BadInput if another system has that name."""
        modules = archive(
            "modules",
            [(f"{n:03}-{module}.ko", content) for n, (module, content) in enumerate(kernel.modules)],
        )
        files = {"kernel": [kernel.image], "modules": [modules]}
        return self._add({"name": name, "source": source, "release": kernel.release}, files)

    def add_disk(self, name: str, disk: Disk) -> SystemEntry:
        """Stores a disk image under a name; raises BadInput if another system has that name, and OSError if
        the image can't be read or written."""
        with disk.path.open("rb") as image:
            pieces = iter(lambda: image.read(_PIECE_BYTES), b"")
            known = {"name": name, "source": str(disk.path), "format": disk.format}
            return self._add(known, {"image": pieces})

    def add_program(self, name: str, kernel: UserMode, source: str) -> SystemEntry:
        """Stores a kernel in virtual time under a name; raises BadInput if another system has that name, and
        OSError if the program can't be read or written."""
        with kernel.program.open("rb") as program:
            pieces = iter(lambda: program.read(_PIECE_BYTES), b"")
            known = {"name": name, "source": source, "release": kernel.release}
            entry = self._add(known, {"program": pieces})
        (self.directory / entry.files["program"]).chmod(0o755)
        return entry

    def newest_program(self) -> Path | None:
        """Returns the program of the newest kernel in virtual time, if there is one; raises BadInput if a
        document of the cache can't be read."""
        entries = [entry for entry in self.entries() if entry.program is not None]
        newest = max(entries, key=lambda entry: (_numbers(entry.release), entry.name), default=None)
        return self.directory / newest.files["program"] if newest else None

    def _add(self, known: dict[str, str], files: Mapping[str, Iterable[bytes]]) -> SystemEntry:
        """Stores the files of a system, each given in pieces, and its document."""
        name = known["name"]
        try:
            SystemEntry(name=name, source="", image="0" * 64, format="raw")
        except ValidationError:
            raise BadInput(
                "adding a system",
                "--name",
                name,
                "up to 63 letters, digits, -, _ and ., first a letter or digit",
            ) from None
        self.directory.mkdir(parents=True, exist_ok=True)
        with self._lock("adding a system", name):
            return self._add_alone(known, files)

    def _add_alone(self, known: dict[str, str], files: Mapping[str, Iterable[bytes]]) -> SystemEntry:
        """Stores a system while no other process changes the cache."""
        name = known["name"]
        self._clean()
        kept = {what: self._keep(pieces) for what, pieces in files.items()}
        entry = SystemEntry.model_validate({**known, **kept})
        other = next((other for other in self.entries() if other.name == name), None)
        if other is not None and other.files != entry.files:
            self._clean()
            raise BadInput(
                "adding a system",
                name,
                f"there is one of that name, of {other.source}",
                hint=f"give another --name, or `nettrial systems remove {name}` first",
            )
        # The document is written last, so that a system appears with all its files or not at all.
        document = entry.model_dump_json(indent=2, exclude_none=True).encode() + b"\n"
        self._keep([document], f"{name}.json")
        (self.directory / _INTENT).unlink(missing_ok=True)
        return entry

    def _clean(self) -> None:
        """Removes what additions left that were killed, while no other process changes the cache: files that
        they were writing, and files that they had made, as far as no system needs them."""
        intent = self.directory / _INTENT
        try:
            made = read_text(intent, _MOST_ENTRY_BYTES).split() if intent.exists() else []
        except Unreadable:
            made = []
        needed = {hash for entry in self.entries() for hash in entry.files.values()}
        for name in filter(_HASH.fullmatch, made):
            if name not in needed:
                (self.directory / name).unlink(missing_ok=True)
        for file in self.directory.iterdir():
            left = _LEFTOVER.fullmatch(file.name)
            # Engines write calibrations without the lock of the cache.
            if left and not file.is_dir() and not (left[1] and is_running(int(left[2]))):
                file.unlink(missing_ok=True)
        intent.unlink(missing_ok=True)

    def entries(self) -> list[SystemEntry]:
        """Returns all systems, ordered by name; raises BadInput if a document of the cache can't be read."""
        return [self._entry(file) for file in sorted(self.directory.glob("*.json"))]

    def check(self, entry: SystemEntry) -> list[str]:
        """Returns the faults of a system's files in a sentence each; empty if the files are unchanged."""
        problems = []
        for what, hash in entry.files.items():
            try:
                with (self.directory / hash).open("rb") as file:
                    digest = hashlib.file_digest(file, "sha256").hexdigest()
            except OSError as error:
                problems.append(f"the file of its {what} can't be read: {error.strerror}")
                continue
            if digest != hash:
                problems.append(f"the file of its {what} has changed since it was added")
        return problems

    def calibration(self) -> float | None:
        """Returns the goodput in bits per second of the transfer between two emulated guests that an engine
        measured on this machine; None if it was not measured."""
        try:
            calibration = json.loads(read_text(self.directory / _CALIBRATION, _MOST_ENTRY_BYTES))
            return float(calibration["goodput_bps"])
        except (Unreadable, ValueError, KeyError, TypeError):
            return None

    def forget_calibration(self) -> None:
        """Makes the next engine that needs the rate measure it again."""
        (self.directory / _CALIBRATION).unlink(missing_ok=True)

    def remove(self, name: str) -> None:
        """Removes a system, its files that no other one needs, and what additions left that were killed;
        raises BadInput if there is no such system. Other files in the directory stay."""
        with self._lock("removing a system", name):
            self._remove_alone(name)

    def _remove_alone(self, name: str) -> None:
        """Removes a system while no other process changes the cache."""
        entries = self.entries()
        if name not in [entry.name for entry in entries]:
            known = ", ".join(entry.name for entry in entries) or "none: there is no system yet"
            raise BadInput("removing a system", name, "", f"one of the systems there are: {known}")
        removed = {hash for entry in entries if entry.name == name for hash in entry.files.values()}
        kept = {hash for entry in entries if entry.name != name for hash in entry.files.values()}
        # A killed removal leaves files that the next one removes, because it has noted them.
        self._note(removed - kept)
        (self.directory / f"{name}.json").unlink(missing_ok=True)
        self._clean()

    @contextmanager
    def _lock(self, doing: str, name: str) -> Iterator[None]:
        """Keeps other processes from changing the cache; raises BadInput if one is changing it for long, or
        if the cache belongs to another user."""
        deadline = time.monotonic() + LOCK_SECONDS
        try:
            refuse_foreign(self.directory.resolve(strict=True))
            refuse_link(self.directory / _INTENT)
            while (held := hold(self.directory)) is None:
                if time.monotonic() > deadline:
                    hint = "another nettrial adds or removes a system: try again when it has ended"
                    raise BadInput(doing, name, f"{self.directory} is in use", hint=hint)
                time.sleep(0.1)
        except Unsafe as why:
            raise why.as_bad_input(doing, self.directory) from None
        except FileNotFoundError:  # There is no cache, and so no system.
            yield
            return
        try:
            yield
        finally:
            os.close(held)

    def _entry(self, file: Path) -> SystemEntry:
        try:
            entry = SystemEntry.model_validate_json(read_text(file, _MOST_ENTRY_BYTES))
            if file.name != f"{entry.name}.json":
                raise Unreadable(f"it is the document of {entry.name}")
            return entry
        except (Unreadable, ValidationError) as error:
            raise BadInput(
                "reading the cache of systems",
                str(file),
                f"{error}" if isinstance(error, Unreadable) else "it is no document of a system",
                hint="remove the file, and add the system again",
            ) from None

    def _keep(self, pieces: Iterable[bytes], name: str | None = None) -> str:
        """Writes a file under a name, or under its SHA-256, and returns the SHA-256. The file is complete or
        absent, whatever happens. Leftovers of earlier attempts are deleted by the next change."""
        unfinished = self.directory / f"{_UNFINISHED}{os.getpid()}"
        digest = hashlib.sha256()
        with open(created(unfinished), "wb") as file:
            for piece in pieces:
                digest.update(piece)
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
        if name is None and not (self.directory / digest.hexdigest()).exists():
            self._note([digest.hexdigest()])
        unfinished.replace(self.directory / (name or digest.hexdigest()))
        return digest.hexdigest()

    def _note(self, hashes: Iterable[str]) -> None:
        """Notes files of the cache that `_clean` removes unless a system needs them."""
        with appended(self.directory / _INTENT) as intent:
            intent.writelines(f"{hash}\n" for hash in hashes)


def _numbers(release: str | None) -> list[int]:
    """Returns the numbers in a kernel's release, by which releases are ordered."""
    return [int(number) for number in re.findall(r"\d+", release or "")]
