"""Named things of one kind: topologies, stacks, metrics, backends."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

Entry = TypeVar("Entry")


def near(name: str, names: Iterable[str]) -> str:
    """A hint with the name of `names` that is most like `name`; empty if none is."""
    found = difflib.get_close_matches(name, list(names), n=1, cutoff=0.5)
    return f"did you mean {found[0]!r}?" if found else ""


class UnknownName(LookupError):
    """A name that a registry does not have."""

    def __init__(self, kind: str, name: str, names: Iterable[str]) -> None:
        """`names` are the ones there are."""
        names = list(names)
        super().__init__(f"unknown {kind} {name!r}")
        self.expected = ", ".join(names)
        self.hint = near(name, names)


class Registry(Generic[Entry]):
    """Entries by name, in the order they were added."""

    def __init__(self, kind: str) -> None:
        """`kind` is what the entries are, in the singular: "stack"."""
        self.kind = kind
        self._entries: dict[str, Entry] = {}

    def add(self, name: str, entry: Entry) -> None:
        """Adds an entry; raises ValueError if the name is taken."""
        if name in self._entries:
            raise ValueError(f"{self.kind} {name!r} is registered twice")
        self._entries[name] = entry

    def __getitem__(self, name: str) -> Entry:
        """The entry of that name; raises UnknownName with the names there are."""
        try:
            return self._entries[name]
        except KeyError:
            raise UnknownName(self.kind, name, self._entries) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def values(self) -> Iterator[Entry]:
        """The entries, in the order they were added."""
        return iter(self._entries.values())
