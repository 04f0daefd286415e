"""The inventory: the user's own machines, the ways to reach them, and the settings that may be changed
there."""

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
"""The current action, for error messages."""
INTERFACE = re.compile(r"[^\s/:](?:[^/:\n]{0,62}[^\s/:])?")
"""The name of an interface. Linux allows 15 characters without spaces (net/core/dev.c, dev_valid_name),
Windows more."""


def _address(text: str) -> str:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        raise wrong(expected="an IPv4 or IPv6 address, such as 192.0.2.1 or 2001:db8::1") from None
    if address.is_multicast or address.is_unspecified or address.is_link_local:
        hint = "its zone names an interface of one machine, which means nothing to the others"
        raise wrong(
            expected="a unicast address that is not link-local", hint=hint if address.is_link_local else ""
        )
    return str(address)


def _target(text: str) -> str:
    if not re.fullmatch(r"[^\s-]\S*", text):
        raise wrong(expected="a destination for `ssh`, such as user@host, or a name in its configuration")
    return text


class MachineSettings(Strict):
    """A machine, which is reached by one of `ssh`, `command` and `engine`."""

    ssh: Annotated[str, AfterValidator(_target)] | None = None
    """The destination for the OpenSSH client, such as `root@alpha`, which uses its usual configuration, keys,
    agents and jump hosts. It must connect without asking for anything."""
    command: Annotated[list[str], Field(min_length=1)] | None = None
    """A command that runs another command on the machine, connected to its own standard input and output,
    such as `[docker, exec, -i, web]` or `[ssh, -T, alpha, sudo, -n]`; `sh` is appended to its words."""
    engine: Annotated[list[str], Field(min_length=1)] | None = None
    """A command that runs the engine itself on the machine, for machines without a POSIX shell, such as
    `[ssh, -T, user@win, C:/nettrial/engine.exe]`; `machine serve` is appended to its words. The engine must
    be there already: `nettrial machines install` copies nothing to such a machine."""
    binary: Path | None = None
    """The engine for the machine's operating system and CPU, as a file on this machine, such as
    `engine-macos`, which `nettrial machines install` copies there. By default, this machine's own engine is
    copied. A relative path is relative to the inventory's directory."""
    starts: Annotated[list[str], Field(min_length=1)] | None = None
    """A command that starts the machine, such as `[qemu-system-x86_64, ...]`, for a virtual machine on the
    lab's links (`--backend lab`). Each interface has a file, a TAP device of the lab's, which the command
    inherits: where a word contains the interface's name in braces, such as `fd={eth1}`, it gets the file's
    number. The command runs in a network namespace of its own, whose loopback addresses reach it."""
    interfaces: Annotated[
        dict[str, list[Annotated[str, AfterValidator(_address)]]],
        Field(min_length=1),
    ]
    """The interfaces that traffic may use, each with its addresses; for a router, in the order of its links.
    No traffic is sent to other addresses. A machine on the lab's links has the addresses of the lab, and none
    here."""
    may_change: list[Literal["mtu", "offloads", "icmp", "congestion_control", "sysctls", "addresses"]] = []
    """The settings that nettrial may change there and then restores: the MTU and the offloads (TSO, GSO, GRO)
    of the interfaces, the ICMP answers of a router, the default congestion control of programs, the
    sysctls of a stack, and, of a machine on the lab's links, the addresses of the interfaces and the routes
    through them. By default, nothing may be changed."""
    nodes: list[Name] = []
    """The nodes of studies whose role it takes, unless the study assigns machines by `machine`."""
    set: Name | None = None
    """The set to which it belongs, if several sets of machines share a run. Each set takes all roles of a
    trial, and each block of a run stays on one set."""

    @model_validator(mode="after")
    def _fits(self) -> MachineSettings:
        ways = [name for name in ("ssh", "command", "engine") if getattr(self, name) is not None]
        if len(ways) != 1:
            given = {0: "missing", 2: "both given"}.get(len(ways), "all given")
            raise wrong(("ssh",), given, "one of ssh, command and engine")
        if self.engine and self.binary:
            raise wrong(
                ("binary",),
                str(self.binary),
                "no binary with `engine`, which runs an engine that is there already",
            )
        for name in self.interfaces:
            if not INTERFACE.fullmatch(name):
                raise wrong(("interfaces", name), name, "the name of an interface, such as eth0")
        self._fits_its_links()
        return self

    def _fits_its_links(self) -> None:
        """Refuses what a machine on the lab's links can't have, and what only such a machine can have."""
        for name, addresses in self.interfaces.items():
            if self.starts is None and not addresses:
                expected = "at least one address, unless the machine has `starts`"
                raise wrong(("interfaces", name), "none", expected)
            if self.starts is not None and addresses:
                hint = "a machine that `starts` starts has the addresses that the lab gives to its node"
                raise wrong(("interfaces", name), ", ".join(addresses), "no addresses", hint)
            if self.starts is not None and not any(f"{{{name}}}" in word for word in self.starts):
                expected = f"a command with {{{name}}}, for the file of the interface {name}"
                hint = "QEMU takes it as `-netdev tap,id=data,fd={NAME}`"
                raise wrong(("starts",), shlex.join(self.starts), expected, hint)
        if self.starts is None and "addresses" in self.may_change:
            hint = "nettrial gives addresses only to machines on the lab's links, which have `starts`"
            raise wrong(
                ("may_change",), "addresses", "mtu, offloads, icmp, congestion_control, sysctls", hint
            )
        if self.starts is not None and self.set is not None:
            raise wrong(
                ("set",), self.set, "no set with `starts`", "a trial in the lab is not shared by sets"
            )

    @property
    def reached_by(self) -> str:
        """The way to reach it, in the user's words."""
        return shlex.join(["ssh", self.ssh] if self.ssh else self.command or self.engine or [])

    @property
    def addresses(self) -> list[str]:
        """Returns all addresses that traffic may use."""
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
                        raise wrong(at, address, "a unique address", f"{taken[address]} has the same address")
                    taken[address] = name
        self._refuse_shared()
        return self

    def _refuse_shared(self) -> None:
        """Refuses machines that are in no set beside others that are in one, and those in two sets."""
        if len(self.sets()) == 1:
            return
        sharing: dict[str, tuple[str, str | None]] = {}
        for name, machine in self.machines.items():
            if machine.set is None:
                hint = "other machines of the inventory have one"
                raise wrong(("machines", name, "set"), "missing", "the name of a set, such as left", hint)
            other, its_set = sharing.setdefault(machine.reached_by, (name, machine.set))
            if its_set != machine.set:
                expected = f"another machine than those of the set {its_set}"
                hint = f"{other} is reached in the same way, and a machine can be in one set only"
                raise wrong(("machines", name, "set"), machine.set, expected, hint)

    @classmethod
    def load(cls, path: Path) -> Inventory:
        """Reads an inventory; raises BadInput with every fault found."""
        document = Document.load(path, READING)
        try:
            inventory = cls.model_validate(document.data)
        except ValidationError as error:
            raise document.bad(error, cls.model_validate) from None
        beside = {
            name: machine.model_copy(update={"binary": machine.binary and path.parent / machine.binary})
            for name, machine in inventory.machines.items()
        }
        return inventory.model_copy(update={"machines": beside})

    def only(self, names: Iterable[str]) -> Inventory:
        """The inventory with these machines alone; raises BadInput where it has one of them not."""
        wanted = list(names)
        for name in wanted:
            if name not in self.machines:
                raise BadInput(READING, "MACHINE", name, in_short(self.machines))
        return Inventory(machines={name: self.machines[name] for name in self.machines if name in wanted})

    def sets(self) -> dict[str | None, Inventory]:
        """Returns each set of machines by its name; all machines under None if the inventory has no sets."""
        names = dict.fromkeys(machine.set for machine in self.machines.values())
        return {
            name: Inventory.model_construct(
                machines={key: machine for key, machine in self.machines.items() if machine.set == name}
            )
            for name in names
        }

    def of(self, scenarios: Iterable[Scenario]) -> Inventory:
        """The inventory with the machines alone that stand for a node of one of the scenarios; the whole one
        where none does."""
        named: set[str] = set()
        for scenario in scenarios:
            for node in scenario.nodes:
                standing = {name for name, one in self.machines.items() if node.name in one.nodes}
                named |= {node.machine} if node.machine else standing
        return self.only(named & set(self.machines)) if named & set(self.machines) else self
