"""Registries of named entries: topologies, stacks, metrics, backends."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

Entry = TypeVar("Entry")
SYNONYMS = {
    "throughput": ("goodput",),
    **dict.fromkeys(("bandwidth", "bw"), ("rate", "goodput")),
    **dict.fromkeys(("latency", "ping"), ("rtt", "delay")),
    "delay": ("owd",),
    "jitter": ("jitter_rfc3550",),
    "drops": ("queue_drops",),
    **dict.fromkeys(("congestion", "cc", "cca"), ("congestion_control",)),
    **dict.fromkeys(("qdisc", "aqm"), ("discipline",)),
    **dict.fromkeys(("buffer", "limit", "max_queue_size"), ("queue",)),
    "protocol": ("transport",),
    "streams": ("parallel",),
    **dict.fromkeys(("reverse_rate", "reverse_delay"), ("reverse", "links")),
}
"""Names that users of other tools know things by, with nettrial's names, of which the first that is there is
meant."""


def nearest(name: str, names: Iterable[str]) -> str:
    """Returns the name in `names` that differs from `name` in capitals only, or is its synonym, or is the
    most similar to it; empty if there is none."""
    names = list(names)
    matches = [each for each in names if each.lower() == name.lower()]
    matches = matches or [each for each in SYNONYMS.get(name.lower(), ()) if each in names]
    matches = matches or difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    return matches[0] if matches else ""


def near(name: str, names: Iterable[str]) -> str:
    """Returns a hint with the nearest of `names`; empty if there is none."""
    match = nearest(name, names)
    return f"did you mean {match!r}?" if match else ""


class UnknownName(LookupError):
    """The error for a name that a registry does not have."""

    def __init__(self, kind: str, name: str, names: Iterable[str]) -> None:
        """Creates the error; `names` are the existing names."""
        names = list(names)
        super().__init__(f"unknown {kind} {name!r}")
        self.expected = ", ".join(names)
        self.hint = near(name, names)


class Registry(Generic[Entry]):
    """Entries by name, in the order in which they were added."""

    def __init__(self, kind: str) -> None:
        """Creates an empty registry; `kind` names its entries in the singular, such as "stack"."""
        self.kind = kind
        self._entries: dict[str, Entry] = {}

    def add(self, name: str, entry: Entry) -> None:
        """Adds an entry; raises ValueError if the name is taken."""
        if name in self._entries:
            raise ValueError(f"{self.kind} {name!r} is registered twice")
        self._entries[name] = entry

    def __getitem__(self, name: str) -> Entry:
        """Returns the entry of that name; raises UnknownName with the existing names."""
        try:
            return self._entries[name]
        except KeyError:
            raise UnknownName(self.kind, name, self._entries) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def values(self) -> Iterator[Entry]:
        """Returns the entries, in the order in which they were added."""
        return iter(self._entries.values())
