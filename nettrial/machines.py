"""The inventory: the user's own machines, how each is reached, and what may be changed there."""

from __future__ import annotations

import ipaddress
import re
import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, ValidationError, model_validator

from nettrial.errors import BadInput
from nettrial.fields import Name, Strict, in_short, wrong
from nettrial.scenario import Scenario
from nettrial.study import Document

READING = "reading the inventory"
INTERFACE = re.compile(r"[^\s/:](?:[^/:\n]{0,62}[^\s/:])?")
"""A name of an interface. Linux takes 15 characters without spaces (net/core/dev.c, dev_valid_name), Windows
more."""


def _address(text: str) -> str:
    try:
        found = ipaddress.ip_address(text)
    except ValueError:
        raise wrong(expected="an IPv4 or IPv6 address, such as 192.0.2.1 or 2001:db8::1") from None
    if found.is_multicast or found.is_unspecified or found.is_link_local:
        raise wrong(expected="an address that one machine has, and that is not link-local")
    return str(found)


def _target(text: str) -> str:
    if not re.fullmatch(r"[^\s-]\S*", text):
        raise wrong(
            expected="what `ssh` takes as a destination, such as user@host, or a name of its configuration"
        )
    return text


class MachineSettings(Strict):
    """A machine. It is reached by `ssh`, by a `command` or by an `engine`, one of the three."""

    ssh: Annotated[str, AfterValidator(_target)] | None = None
    """The destination for the OpenSSH client, such as `root@alpha`: with its configuration, keys, agents and
    jump hosts as they are. It must work without asking for anything."""
    command: Annotated[list[str], Field(min_length=1)] | None = None
    """A command that runs another command on the machine with this one's standard input and output: `sh` is
    added to its words. Such as `[docker, exec, -i, web]` or `[ssh, -T, alpha, sudo, -n]`."""
    engine: Annotated[list[str], Field(min_length=1)] | None = None
    """A command that runs the engine itself on the machine: `machine serve` is added to its words. It is for
    machines without a POSIX shell, such as `[ssh, -T, user@win, C:/nettrial/engine.exe]`, and has to be
    there already: `nettrial machines install` copies nothing to such a machine."""
    binary: Path | None = None
    """The engine for the machine's system and CPU, a file on this machine, such as `engine-macos`: `nettrial
    machines install` copies it there. Without it this machine's own engine is copied. A path that is not
    absolute begins at the inventory's directory."""
    interfaces: Annotated[
        dict[str, Annotated[list[Annotated[str, AfterValidator(_address)]], Field(min_length=1)]],
        Field(min_length=1),
    ]
    """The interfaces that traffic may use, each with its addresses; of a router in the order of its links. No
    traffic goes to other addresses."""
    may_change: list[Literal["mtu", "offloads", "icmp", "congestion_control", "sysctls"]] = []
    """The settings that nettrial may change there, and restores: the MTU and the offloads (TSO, GSO, GRO) of
    the interfaces, whether a router answers by ICMP, the congestion control of programs that choose none, and
    the sysctls of a stack. Nothing unless said."""
    nodes: list[Name] = []
    """The nodes of studies that it stands for, where the study does not say so by `machine`."""

    @model_validator(mode="after")
    def _fits(self) -> MachineSettings:
        ways = [name for name in ("ssh", "command", "engine") if getattr(self, name) is not None]
        if len(ways) != 1:
            given = {0: "missing", 2: "both given"}.get(len(ways), "all given")
            raise wrong(("ssh",), given, "one of ssh, command and engine")
        if self.engine and self.binary:
            raise wrong(("binary",), str(self.binary), "no binary where `engine` runs what is there already")
        for name in self.interfaces:
            if not INTERFACE.fullmatch(name):
                raise wrong(("interfaces", name), name, "the name of an interface, such as eth0")
        return self

    @property
    def reached_by(self) -> str:
        """The way to it, in the user's words."""
        return shlex.join(["ssh", self.ssh] if self.ssh else self.command or self.engine or [])

    @property
    def addresses(self) -> list[str]:
        """Every address that traffic may use."""
        return [address for addresses in self.interfaces.values() for address in addresses]


class Inventory(Strict):
    """The file `machines.yaml`."""

    machines: Annotated[dict[Name, MachineSettings], Field(min_length=1)]
    """The machines by name."""

    @model_validator(mode="after")
    def _fit_together(self) -> Inventory:
        taken: dict[str, str] = {}
        for name, machine in self.machines.items():
            for interface, addresses in machine.interfaces.items():
                for number, address in enumerate(addresses):
                    if address in taken:
                        at = ("machines", name, "interfaces", interface, number)
                        raise wrong(at, address, "an address of its own", f"{taken[address]} has it, too")
                    taken[address] = name
        return self

    @classmethod
    def load(cls, path: Path) -> Inventory:
        """Reads an inventory; raises BadInput with every fault found."""
        document = Document.load(path, READING)
        try:
            found = cls.model_validate(document.data)
        except ValidationError as error:
            raise document.bad(error) from None
        beside = {
            name: machine.model_copy(update={"binary": machine.binary and path.parent / machine.binary})
            for name, machine in found.machines.items()
        }
        return found.model_copy(update={"machines": beside})

    def only(self, names: Iterable[str]) -> Inventory:
        """The inventory with these machines alone; raises BadInput where it has one of them not."""
        wanted = list(names)
        for name in wanted:
            if name not in self.machines:
                raise BadInput(READING, "MACHINE", name, in_short(self.machines))
        return Inventory(machines={name: self.machines[name] for name in self.machines if name in wanted})

    def of(self, scenarios: Iterable[Scenario]) -> Inventory:
        """The inventory with the machines alone that stand for a node of one of the scenarios; the whole one
        where none does."""
        named: set[str] = set()
        for scenario in scenarios:
            for node in scenario.nodes:
                standing = {name for name, one in self.machines.items() if node.name in one.nodes}
                named |= {node.machine} if node.machine else standing
        return self.only(named & set(self.machines)) if named & set(self.machines) else self
