"""The lines between the engine and a controller, each a JSON document."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from typing import Any, Literal

Application = Literal["learning", "shortest_path", "ecmp", "k_shortest_paths"]
"""The application that chooses paths."""


@dataclass(frozen=True)
class Host:
    """An interface of a host or router at a switch."""

    mac: str
    """The Ethernet address."""
    switch: int
    """The switch's datapath."""
    port: int
    """The switch's port."""
    addresses: tuple[str, ...]
    """The IP addresses."""
    before: int = 0
    """The number of addresses that the same host has at ports before this one."""


@dataclass(frozen=True)
class FabricDescription:
    """The network and the application, as described by the engine."""

    application: Application
    """The application."""
    mode: Literal["proactive", "reactive"]
    """The time of installing rules: before the traffic, or on a flow's first packet."""
    paths: int
    """The largest number of paths of a pair of hosts."""
    seed: int
    """The seed of the hash that chooses among equal paths."""
    listen: int
    """The TCP port at which switches connect."""
    switches: int
    """The number of switches."""
    links: int
    """The number of links between switches."""
    hosts: tuple[Host, ...]
    """The hosts and routers at switches."""
    pairs: tuple[tuple[str, str], ...]
    """The pairs of IP addresses between which packets are sent."""

    @classmethod
    def of(cls, line: str) -> FabricDescription:
        """Returns the content of the engine's line."""
        document: dict[str, Any] = json.loads(line)
        hosts = (
            Host(host["mac"], host["switch"], host["port"], tuple(host["addresses"]), host["before"])
            for host in document.pop("hosts")
        )
        pairs = tuple((near, far) for near, far in document.pop("pairs"))
        return cls(hosts=tuple(hosts), pairs=pairs, **{"seed": 0, **document})


def say(event: str, **fields: Any) -> None:
    """Reports an event to the engine."""
    sys.stdout.write(json.dumps({"event": event, **fields}) + "\n")
    sys.stdout.flush()
