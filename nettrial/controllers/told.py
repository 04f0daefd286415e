"""The lines between the engine and a controller, of JSON each."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from typing import Any, Literal

Application = Literal["learning", "shortest_path", "ecmp", "k_shortest_paths"]


@dataclass(frozen=True)
class Host:
    """A host or router, as the switch sees it that it is at."""

    mac: str
    switch: int
    """The switch's datapath."""
    port: int
    addresses: tuple[str, ...]


@dataclass(frozen=True)
class Told:
    """The network and the application, as the engine tells them."""

    application: Application
    mode: Literal["proactive", "reactive"]
    paths: int
    """The largest number of paths of a pair of hosts."""
    seed: int
    listen: int
    """The TCP port at which switches connect."""
    switches: int
    """The number of switches."""
    links: int
    """The number of links between them."""
    hosts: tuple[Host, ...]
    pairs: tuple[tuple[str, str], ...]
    """The pairs of IP addresses between which packets go."""

    @classmethod
    def of(cls, line: str) -> Told:
        """Reads the engine's line."""
        document: dict[str, Any] = json.loads(line)
        hosts = (
            Host(host["mac"], host["switch"], host["port"], tuple(host["addresses"]))
            for host in document.pop("hosts")
        )
        pairs = tuple((near, far) for near, far in document.pop("pairs"))
        return cls(hosts=tuple(hosts), pairs=pairs, **{"seed": 0, **document})


def say(event: str, **fields: Any) -> None:
    """Tells the engine of an event."""
    sys.stdout.write(json.dumps({"event": event, **fields}) + "\n")
    sys.stdout.flush()
