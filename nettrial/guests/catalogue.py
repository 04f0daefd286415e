"""The cache of systems: for each a small document by its name, and the files it names by their hashes."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from pydantic import Field, ValidationError

from nettrial.errors import BadInput
from nettrial.fields import Strict, SystemName
from nettrial.files import Unreadable, read_bytes, read_text
from nettrial.guests.archive import archive
from nettrial.guests.kernel import MOST_KERNEL_BYTES, Kernel
from nettrial.systems import guest_systems

_MOST_ENTRY_BYTES = 64 << 10
_MOST_ARCHIVE_BYTES = 1 << 30
_UNFINISHED = ".unfinished-"

Sha256 = Field(pattern="^[0-9a-f]{64}$")


class Entry(Strict):
    """A system of the cache."""

    name: SystemName
    """Its name in studies."""
    release: str
    """The release of its kernel."""
    source: str
    """The package or file that it comes from."""
    kernel: str = Sha256
    """The SHA-256 of the kernel's image."""
    modules: str = Sha256
    """The SHA-256 of the archive of its modules (cpio)."""


class Catalogue:
    """The systems in a directory."""

    def __init__(self, directory: Path | None = None) -> None:
        """The cache in `directory`; where none is given, the user's."""
        self.directory = directory or guest_systems()

    def add(self, name: str, kernel: Kernel, source: str) -> Entry:
        """Keeps a kernel under a name; raises BadInput where that is another kernel's."""
        modules = archive(
            "modules", [(f"{n:03}-{module}.ko", data) for n, (module, data) in enumerate(kernel.modules)]
        )
        try:
            entry = Entry(
                name=name,
                release=kernel.release,
                source=source,
                kernel=_sha256(kernel.image),
                modules=_sha256(modules),
            )
        except ValidationError:
            raise BadInput(
                "adding a system",
                "--name",
                name,
                "up to 63 letters, digits, -, _ and ., first a letter or digit",
            ) from None
        known = next((known for known in self.entries() if known.name == name), None)
        if known is not None and (known.kernel, known.modules) != (entry.kernel, entry.modules):
            raise BadInput(
                "adding a system",
                name,
                f"there is one of that name, of {known.source}",
                hint=f"give another --name, or `nettrial systems remove {name}` first",
            )
        self.directory.mkdir(parents=True, exist_ok=True)
        self._keep(entry.kernel, kernel.image)
        self._keep(entry.modules, modules)
        # The document comes last: a system is there with all its files or not at all.
        self._keep(f"{name}.json", entry.model_dump_json(indent=2).encode() + b"\n")
        return entry

    def entries(self) -> list[Entry]:
        """Every system, by name; raises BadInput where a document of the cache can't be read."""
        return [self._entry(file) for file in sorted(self.directory.glob("*.json"))]

    def check(self, entry: Entry) -> list[str]:
        """Returns what is wrong with a system's files, a sentence each; nothing where they are as added."""
        problems = []
        for what, hash, most in (
            ("kernel", entry.kernel, MOST_KERNEL_BYTES),
            ("modules", entry.modules, _MOST_ARCHIVE_BYTES),
        ):
            try:
                data = read_bytes(self.directory / hash, most)
            except Unreadable as error:
                problems.append(f"the file of its {what} can't be read: {error}")
                continue
            if _sha256(data) != hash:
                problems.append(f"the file of its {what} has changed since it was added")
        return problems

    def remove(self, name: str) -> None:
        """Removes a system, and the files that no other one needs; raises BadInput where there is none."""
        entries = self.entries()
        if name not in [entry.name for entry in entries]:
            known = ", ".join(entry.name for entry in entries) or "none: there is no system yet"
            raise BadInput("removing a system", name, "", f"one of the systems there are: {known}")
        (self.directory / f"{name}.json").unlink(missing_ok=True)
        kept = {hash for entry in entries if entry.name != name for hash in (entry.kernel, entry.modules)}
        for file in self.directory.iterdir():
            if file.suffix != ".json" and file.name not in kept:
                file.unlink(missing_ok=True)

    def _entry(self, file: Path) -> Entry:
        try:
            return Entry.model_validate_json(read_text(file, _MOST_ENTRY_BYTES))
        except (Unreadable, ValidationError) as error:
            raise BadInput(
                "reading the cache of systems",
                str(file),
                f"{error}" if isinstance(error, Unreadable) else "it is no document of a system",
                hint="remove the file, and add the system again",
            ) from None

    def _keep(self, name: str, data: bytes) -> None:
        """Writes a file under a name, where it is whole or absent whatever happens. What an earlier attempt
        left goes with the next removal."""
        unfinished = self.directory / f"{_UNFINISHED}{os.getpid()}"
        with unfinished.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(self.directory / name)


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
